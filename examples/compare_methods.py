"""Every method on the same data: which ones keep the promise on the target, and how large are their sets?"""

import matplotlib.pyplot as plt
import numpy as np

import pacshift

CLASSES = ["healthy", "flu", "pneumonia"]
SUMMER, WINTER = np.array([0.85, 0.10, 0.05]), np.array([0.30, 0.30, 0.40])
clinic = pacshift.Population.synthetic(CLASSES, strength=2.5, rng=0)


def patients(mix: np.ndarray, n: int, rng: int) -> tuple[np.ndarray, np.ndarray]:
    """In place of your model: scores and diagnoses. It learned in summer that pneumonia is rare."""
    scores, labels = clinic.draw(mix, n, rng)
    odds = scores * SUMMER
    return odds / odds.sum(axis=1, keepdims=True), labels


source, labels = patients(SUMMER, 10_000, rng=1)
target, truth = patients(WINTER, 10_000, rng=2)  # the truth is used to count misses, not to calibrate

table = pacshift.compare(
    source, labels, pacshift.Rows(target, truth), classes=CLASSES, epsilon=0.1, delta=0.05, rng=0
)
print(table)
names = [row.method for row in table.rows]

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), sharey=True, layout="constrained")
left.barh(names, [100 * (row.error or 0) for row in table.rows], color="#0072b2")
left.axvline(10, color="#c44f00", linestyle="--", label="allowed")
left.legend(loc="upper right")
left.set_xlabel("missed on the target, in %")
right.barh(names, [row.size or 0 for row in table.rows], color="#8a939c")
right.set_xlabel("labels per set")
left.invert_yaxis()
figure.savefig("compare_methods.png", dpi=150)
