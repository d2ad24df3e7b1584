"""Label shift does not hold here, and calibration says so."""

import numpy as np

import pacshift

# Scores of images from one scanner, drawn to the label mix of two groups of patients.
scanner = pacshift.Population.synthetic(3, strength=2, rng=0)
source, labels = scanner.draw([0.6, 0.3, 0.1], 20_000, rng=1)
same, _ = scanner.draw([0.2, 0.3, 0.5], 20_000, rng=2)

# The same scanner, other patients: label shift holds, and there is a certificate.
certificate = pacshift.calibrate(source, labels, same, epsilon=0.1, delta=0.05)
print("same scanner:", certificate.explain().splitlines()[0])

# A new scanner makes every image look more like class 0: no mix of patients explains so many such predictions.
odds = same * np.exp([8.0, 0.0, 0.0])
other = odds / odds.sum(axis=1, keepdims=True)
try:
    pacshift.calibrate(source, labels, other, epsilon=0.1, delta=0.05)
except pacshift.AssumptionError as refusal:
    print("new scanner: ", refusal)
else:
    raise SystemExit("the change went unnoticed")
