"""Label shift does not hold here, and calibration says so: where the target differs, and the ways on."""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

# Scores of images from one scanner, drawn to the label mix of two groups of patients.
classes = ["healthy", "benign", "malignant"]
scanner = pacshift.Population.synthetic(classes, strength=2, rng=0)
source, labels = scanner.draw([0.6, 0.3, 0.1], 20_000, rng=1)
target, truth = scanner.draw([0.2, 0.3, 0.5], 20_000, rng=2)


def hazy(scores: np.ndarray, haze: float) -> np.ndarray:
    """A new scanner makes every image look more like class "healthy"."""
    odds = scores * np.exp([haze, 0.0, 0.0])
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


# The same scanner, other patients: label shift holds, and there is a certificate.
certificate = pacshift.calibrate(source, labels, target, epsilon=0.1, delta=0.05, classes=classes)
print("same scanner:", "\n  ".join(certificate.explain().splitlines()[:2]))

# The new scanner: what the certificate's sets would miss there, and what calibration says.
errors = {}
for haze in (2, 3, 4):
    seen = hazy(target, haze)
    missed = pacshift.evaluate(certificate.sets(seen), truth, classes=classes).error
    try:
        pacshift.calibrate(source, labels, seen, epsilon=0.1, delta=0.05, classes=classes)
    except pacshift.AssumptionError as refusal:
        errors[f"haze {haze}:\nrefused"] = missed
        print(f"\nhaze {haze}: the old sets would miss {100 * missed:.0f} %. Refused: {refusal}")
    else:
        raise SystemExit(f"haze {haze} went unnoticed")

# What would have been missed without the test.
errors["same scanner:\ncertified"] = pacshift.evaluate(certificate.sets(target), truth, classes=classes).error
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.bar(list(errors), [100 * error for error in errors.values()], color=["#8a939c"] * 3 + ["#0072b2"])
axes.axhline(10, color="#c44f00", linestyle="--")
axes.set_ylabel("missed, in % (allowed: 10)")
figure.savefig("label_shift_refuted.png", dpi=150)

# The fewer rows there are, the less a test can see: from 1,000 rows haze 2 is certified. But the certificate says
# what it implies, and you know better: at most 30 % of the patients here are healthy.
few = hazy(target[:1000], 2)
fooled = pacshift.calibrate(source, labels, few, epsilon=0.1, delta=0.05, classes=classes)
missed = pacshift.evaluate(fooled.sets(hazy(target, 2)), truth, classes=classes).error
print(f"\n1,000 rows of haze 2: certified, and the sets miss {100 * missed:.0f} %.")
print(fooled.explain().splitlines()[1])
known = {"healthy": (0.0, 0.3)}
try:
    pacshift.calibrate(source, labels, few, epsilon=0.1, delta=0.05, classes=classes, known_mix=known)
except pacshift.AssumptionError as refusal:
    print("With what you know:", str(refusal).split(". ")[0] + ".")
else:
    raise SystemExit("what is known did not help")
