"""Label shift does not hold here: calibration refuses, and 400 labels of the target lead to a certificate."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import pacshift

# Scores of images from one scanner, drawn to the label mix of two groups of patients.
classes = ["healthy", "benign", "malignant"]
scanner = pacshift.Population.synthetic(classes, strength=2, rng=0)
source, labels = scanner.draw([0.6, 0.3, 0.1], 20_000, rng=1)
target, truth = scanner.draw([0.2, 0.3, 0.5], 20_000, rng=2)
asked: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05, "classes": classes}


def hazy(scores: np.ndarray, haze: float) -> np.ndarray:
    """A new scanner makes every image look more like class "healthy"."""
    odds = scores * np.exp([haze, 0.0, 0.0])
    shares: np.ndarray = odds / odds.sum(axis=1, keepdims=True)
    return shares.round(6)  # the same bits on every processor


# The second group is seen by a new scanner. This is not label shift, and calibration refuses.
old = pacshift.calibrate(source, labels, target, **asked)  # for images of the same scanner
misses = {}
for haze in (2, 3, 4):
    try:
        pacshift.calibrate(source, labels, hazy(target, haze), **asked)
    except pacshift.AssumptionError as refusal:
        misses[haze] = pacshift.evaluate(old.sets(hazy(target, haze)), truth, classes=classes).error
        print(f"haze {haze}: the old sets would miss {100 * misses[haze]:.0f} %. Refused: {refusal}\n")
    else:
        raise SystemExit(f"haze {haze} went unnoticed")

# The fewer rows there are, the less a test can see: from 500 rows haze 2 is certified without labels. But the
# certificate says what it implies, and you know better: at most 30 % of the patients here are healthy.
few = hazy(target[:500], 2)
fooled = pacshift.calibrate(source, labels, few, **asked)
missed = pacshift.evaluate(fooled.sets(hazy(target, 2)), truth, classes=classes).error
print(f"500 rows of haze 2, no labels: certified, and the sets miss {100 * missed:.0f} %.")
print(fooled.explain().splitlines()[1])
try:
    pacshift.calibrate(source, labels, few, known_mix={"healthy": (0.0, 0.3)}, **asked)
    raise SystemExit("what is known did not help")
except pacshift.AssumptionError as refusal:
    print("With what you know:", str(refusal).split(". ")[0] + ".\n")

# The way on: label 400 random images. No assumption about the shift is needed, so nothing is refused.
chosen = np.random.default_rng(3).permutation(len(truth)) < 400
some_labels = [label if known else None for label, known in zip(truth, chosen, strict=True)]
certified = {}
for haze in misses:
    seen = hazy(target, haze)
    certificate = pacshift.calibrate(source, labels, pacshift.Rows(seen, some_labels), **asked)
    result = pacshift.evaluate(certificate.sets(seen), truth, classes=classes)
    certified[haze] = result.error
    print(f"haze {haze}, 400 labels: {result.size:.2f} labels per set, {100 * result.error:.1f} % missed.")
print(f"\n{certificate.explain()}")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for shift, errors, colour in ((-0.2, misses, "#8a939c"), (0.2, certified, "#0072b2")):
    name = "refused: sets of the old scanner" if errors is misses else "certified by 400 labels"
    places = [place + shift for place in range(len(errors))]
    axes.bar(places, [100 * error for error in errors.values()], 0.38, color=colour, label=name)
axes.axhline(10, color="#c44f00", linestyle="--")
axes.set_xticks(range(len(misses)), [f"haze {haze}" for haze in misses])
axes.set_ylabel("missed, in % (allowed: 10)")
axes.legend()
figure.savefig("label_shift_refuted.png", dpi=150)
