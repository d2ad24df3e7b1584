"""Scores from any framework: arrays, lists, frames, anything with ``__array__`` or DLPack."""

import numpy as np
import pandas as pd
import polars as pl

import pacshift

CLASSES = ["cat", "dog", "fox"]
rng = np.random.default_rng(0)


def classifier(n: int, mix: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Stand in for your model: scores (one column a class) of n examples, and their labels."""
    labels = rng.choice(3, n, p=mix)
    logits = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[labels]
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), np.array(CLASSES)[labels]


source, labels = classifier(8_000, [0.4, 0.4, 0.2])
target, truth = classifier(8_000, [0.1, 0.2, 0.7])

forms = {
    "NumPy": (source, target),
    "lists": (source.tolist(), target.tolist()),
    # A frame's column names are the class names, so here classes= is not needed and the order does not matter.
    "pandas": (
        pd.DataFrame(source, columns=CLASSES),
        pd.DataFrame(target, columns=CLASSES)[["fox", "cat", "dog"]],
    ),
    "polars": (pl.DataFrame(source, schema=CLASSES), pl.DataFrame(target, schema=CLASSES)),
}
for name, (source_scores, target_scores) in forms.items():
    certificate = pacshift.calibrate(
        source_scores, labels, target_scores, epsilon=0.1, delta=0.05, classes=CLASSES
    )
    result = pacshift.evaluate(certificate.sets(target_scores), truth, classes=CLASSES)
    print(f"{name:6}  threshold {certificate.thresholds[0]:.4f}  error {result.error:.3f}  size {result.size:.2f}")

# Logits will do as well: a threshold only needs scores that are comparable. "margin" compares with the runner-up.
certificate = pacshift.calibrate(
    np.log(source), labels, np.log(target), epsilon=0.1, delta=0.05, classes=CLASSES, score="margin"
)
result = pacshift.evaluate(certificate.sets(np.log(target)), truth, classes=CLASSES)
print(f"margin  threshold {certificate.thresholds[0]:.4f}  error {result.error:.3f}  size {result.size:.2f}")
