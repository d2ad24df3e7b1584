"""Scores from any framework: arrays, lists, frames, anything with ``__array__`` or DLPack."""

import numpy as np
import pandas as pd
import polars as pl

import pacshift

CLASSES = ["cat", "dog", "fox"]

# In place of your model: scores (one column per class) of examples drawn to two label mixes, and their labels.
population = pacshift.Population.synthetic(CLASSES, strength=3, rng=0)
source, labels = population.draw([0.4, 0.4, 0.2], 8_000, rng=1)
target, truth = population.draw([0.1, 0.2, 0.7], 8_000, rng=2)

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

# Logits work as well: a threshold only needs scores that are comparable. "margin" compares with the runner-up.
source, target = np.log(source).round(6), np.log(target).round(6)  # rounded: the same bits on every processor
certificate = pacshift.calibrate(source, labels, target, epsilon=0.1, delta=0.05, classes=CLASSES, score="margin")
result = pacshift.evaluate(certificate.sets(target), truth, classes=CLASSES)
print(f"margin  threshold {certificate.thresholds[0]:.4f}  error {result.error:.3f}  size {result.size:.2f}")
