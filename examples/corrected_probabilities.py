"""The model says 30 % flu, but flu has become frequent. What is the probability now, and how sure are we?"""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

CLASSES = ["healthy", "flu"]
rng = np.random.default_rng(0)


def patients(n: int, share_flu: float) -> tuple[np.ndarray, np.ndarray]:
    """In place of your model: calibrated probabilities for a clinic where 10 % have flu, and the truth."""
    flu = rng.random(n) < share_flu
    odds = np.exp(rng.normal(np.where(flu, 1.0, -1.0), 1.4142)) * 0.1 / 0.9
    p = odds / (1 + odds)
    return np.column_stack([1 - p, p]), flu


source, labels = patients(4_000, share_flu=0.10)  # last summer, with diagnoses
target, hidden = patients(10_000, share_flu=0.40)  # this winter, without
found = pacshift.prevalence(source, np.array(CLASSES)[labels.astype(int)], target, delta=0.05, classes=CLASSES)


def corrected(scores: np.ndarray, share: float) -> np.ndarray:
    """Bayes with another prior: every class's probability times its weight, divided by the sum."""
    weighted = scores * np.array([1 - share, share]) / np.array([0.9, 0.1])
    return np.asarray(weighted[:, 1] / weighted.sum(axis=1))


low, high = (corrected(target, end) for end in (found.mix.lower[1], found.mix.upper[1]))  # grows with the share
print(f"flu this winter: {100 * found.mix.lower[1]:.0f} to {100 * found.mix.upper[1]:.0f} % (truth 40 %)")
bins = [(0.05, 0.15), (0.25, 0.35), (0.45, 0.55), (0.65, 0.75)]
groups = [(target[:, 1] >= least) & (target[:, 1] < largest) for least, largest in bins]
said, least, most, seen = (
    [100 * values[some].mean() for some in groups] for values in (target[:, 1], low, high, hidden)
)
for model, first, last, flu in zip(said, least, most, seen, strict=True):
    print(f"model says {model:.0f} %: corrected {first:.0f} to {last:.0f} %, {flu:.0f} % had flu")

figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
axes.vlines(said, least, most, color="#0072b2", lw=8, label="corrected")
axes.plot(said, seen, "k_", ms=18, mew=2, label="had flu")
axes.plot([0, 100], [0, 100], color="#8a939c", lw=1, label="as the model says")
axes.set(xlabel="model says, in %", ylabel="flu this winter, in %", xlim=(0, 100), ylim=(0, 100))
axes.legend(frameon=False, loc="lower right")
figure.savefig("corrected_probabilities.png", dpi=150)
