"""How good is the model now, without one new label? Bounds of its accuracy and of the recall of each class."""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

CLASSES = ["healthy", "flu", "pneumonia"]
SUMMER, WINTER = np.array([0.85, 0.10, 0.05]), np.array([0.30, 0.50, 0.20])
clinic = pacshift.Population.synthetic(CLASSES, strength=2.5, rng=0)


def patients(mix: np.ndarray, n: int, rng: int) -> tuple[np.ndarray, np.ndarray]:
    """In place of your model: scores and diagnoses. In summer its probabilities are right."""
    scores, labels = clinic.draw(mix, n, rng)
    odds = scores * SUMMER
    return odds / odds.sum(axis=1, keepdims=True), labels


source, labels = patients(SUMMER, 40_000, rng=1)
target, hidden = patients(WINTER, 40_000, rng=2)  # the diagnoses of the target are used for the last column only
found = pacshift.prevalence(source, labels, target, delta=0.05, classes=CLASSES)

right = np.array(CLASSES)[target.argmax(axis=1)] == hidden
bounds = [(found.accuracy, found.accuracy_at_most), *zip(found.recall.lower, found.recall.upper, strict=True)]
truth = [right.mean(), *(right[hidden == name].mean() for name in CLASSES)]
names = ["accuracy", *(f"recall of {name}" for name in CLASSES)]
for name, (low, high), true in zip(names, bounds, truth, strict=True):
    low, high = np.floor(1000 * low) / 10, np.ceil(1000 * high) / 10  # bounds are rounded outward
    print(f"{name:20} {low:5.1f} to {high:5.1f} %   truth {100 * true:5.1f} %")
print(f"mean confidence of the model: {100 * target.max(axis=1).mean():.1f} %")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
low, high = 100 * np.array(bounds).T
axes.hlines(names, low, high, color="#0072b2", lw=8, label="95 % bounds, together")
axes.plot(100 * np.array(truth), names, "k|", ms=18, mew=2, label="truth")
axes.plot(100 * target.max(axis=1).mean(), "accuracy", "x", color="#8a939c", ms=9, mew=2, label="mean confidence")
axes.set(xlabel="%", xlim=(0, 102))
axes.margins(y=0.2)
axes.invert_yaxis()
axes.legend(frameon=False, loc="upper left")
figure.savefig("performance_without_labels.png", dpi=150)
