"""Several findings in one image: one certificate for each of them, all of them right at once."""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

FINDINGS, CLASSES = ["effusion", "pneumonia", "fracture"], ["absent", "present"]
BEFORE, NOW = [0.20, 0.10, 0.05], [0.35, 0.30, 0.05]  # how frequent each finding is
EPSILON, DELTA = 0.05, 0.05
model = {name: pacshift.Population.synthetic(CLASSES, strength=3, rng=i) for i, name in enumerate(FINDINGS)}


def images(shares: list[float], n: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """In place of your model: for each finding the scores of absent and present, and the truth."""
    drawn = {
        name: model[name].draw([1 - share, share], n, rng=seed + i)
        for i, (name, share) in enumerate(zip(FINDINGS, shares, strict=True))
    }
    return {name: each[0] for name, each in drawn.items()}, {name: each[1] for name, each in drawn.items()}


source, labels = images(BEFORE, 20_000, seed=10)
target, _ = images(NOW, 20_000, seed=20)
new, truth = images(NOW, 20_000, seed=30)
share = DELTA / len(FINDINGS)  # so all certificates hold at once with probability 1 - DELTA
wrong = {}
for name in FINDINGS:
    rows = source[name], labels[name], target[name]
    certificate = pacshift.calibrate(*rows, epsilon=EPSILON, delta=share, classes=CLASSES)
    sets = certificate.sets(new[name])
    wrong[name] = ~np.where(truth[name] == "present", sets[:, 1], sets[:, 0])
    missed, left_open = 100 * wrong[name].mean(), 100 * sets.all(axis=1).mean()
    print(f"{name:10} missed in {missed:.1f} % of the images, left open in {left_open:.1f} %")
any_wrong = np.logical_or.reduce(list(wrong.values())).mean()
print(f"some finding missed in {100 * any_wrong:.1f} % of the images (promised: at most 15 %)")

figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
axes.barh(FINDINGS, [100 * wrong[name].mean() for name in FINDINGS], color="#0072b2", label="missed")
axes.axvline(100 * EPSILON, color="#d55e00", ls="--", label="allowed for each finding")
axes.set(xlabel="images, in %", xlim=(0, 10))
axes.invert_yaxis()
axes.legend(frameon=False, loc="center right")
figure.savefig("findings_per_image.png", dpi=150)
