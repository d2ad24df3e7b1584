"""How frequent is each class now? Intervals from predictions alone; counting the predictions would be wrong."""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

CLASSES = ["healthy", "flu", "pneumonia"]
SUMMER, WINTER = np.array([0.85, 0.10, 0.05]), np.array([0.30, 0.50, 0.20])
clinic = pacshift.Population.synthetic(CLASSES, strength=2.5, rng=0)


def patients(mix: np.ndarray, n: int, rng: int) -> tuple[np.ndarray, np.ndarray]:
    """In place of your model: scores and diagnoses. It learned in summer that pneumonia is rare."""
    scores, labels = clinic.draw(mix, n, rng)
    odds = scores * SUMMER
    return odds / odds.sum(axis=1, keepdims=True), labels


source, labels = patients(SUMMER, 20_000, rng=1)
target, _ = patients(WINTER, 20_000, rng=2)
found = pacshift.prevalence(source, labels, target, delta=0.05, classes=CLASSES)
predicted = found.predicted_counts / found.predicted_counts.sum()
for name, low, high, counted in zip(CLASSES, found.mix.lower, found.mix.upper, predicted, strict=True):
    print(f"{name:10} {100 * low:4.1f} to {100 * high:4.1f} % of the target (predicted for {100 * counted:.1f} %)")
print(f"accuracy on the target: at least {100 * found.accuracy:.1f} %")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hlines(CLASSES, 100 * found.mix.lower, 100 * found.mix.upper, color="#0072b2", lw=8, label="95 % interval")
axes.plot(100 * WINTER, CLASSES, "k|", ms=18, mew=2, label="truth")
axes.plot(100 * predicted, CLASSES, "x", color="#8a939c", ms=9, mew=2, label="share of predictions")
axes.set(xlabel="share of the target, in %", xlim=(0, 80))
axes.margins(y=0.2)
axes.invert_yaxis()
axes.legend(frameon=False, loc="lower right")
figure.savefig("how_many_are_sick.png", dpi=150)
