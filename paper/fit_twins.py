"""Fit the twins in ``paper/experiments/data`` to real scores: ``python -m paper.fit_twins DATA_DIR``."""

import argparse

import numpy as np
from scipy import special, stats

from pacshift.arrays import FloatArray, IntArray
from paper.experiments.datasets import DATA, LEVELS, Twin, load_dataset

MIN_ROWS_FOR_QUANTILES = 30
"""Rows that a group needs for its own quantiles. A round number; not measured."""


def main() -> None:
    """Write one small NPZ of parameters per data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", help="folder of real scores, laid out as paper/data-sets.md says")
    data_dir = parser.parse_args().data_dir
    for name in ("entity13", "chestxray"):
        real = load_dataset(name, data_dir)
        if real.origin != "real":
            raise SystemExit(f"{data_dir} holds no scores of {name}: nothing to fit")
        twin = fit_twin(real.probs, real.labels, relative=name == "entity13")
        path = DATA / f"{name}.npz"
        np.savez_compressed(path, allow_pickle=False, class_names=np.array(real.class_names), **twin.arrays())
        print(f"{name}: fitted to {len(real.labels):,} rows, {path.stat().st_size / 1024:.0f} KB")


def fit_twin(probs: FloatArray, labels: IntArray, *, relative: bool = False) -> Twin:
    """Parameters of a twin of these scores."""
    n_classes, predicted = probs.shape[1], probs.argmax(axis=1)
    logs = np.log(np.maximum(probs, np.finfo(np.float32).tiny))
    gaps = logs.max(axis=1, keepdims=True) - logs
    if relative:
        largest = np.maximum(gaps.max(axis=1), np.finfo(np.float32).tiny)
        gaps /= largest[:, None]
        gaps[np.arange(len(gaps)), predicted] = largest
    right = predicted == labels
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (predicted, labels), 1.0)
    groups = range(n_classes)
    right_rows = [gaps[right & (labels == label)] for label in groups]
    wrong_rows = [gaps[~right & (predicted == label)] for label in groups]
    wrong_true = [labels[~right & (predicted == label)] for label in groups]
    return Twin(
        shares=confusion.sum(axis=0) / confusion.sum(),
        confusion=confusion / confusion.sum(axis=0),
        right=np.stack([_quantiles(rows) for rows in right_rows]),
        wrong=np.stack([_wrong_quantiles(r, t) for r, t in zip(wrong_rows, wrong_true, strict=True)]),
        missed=np.stack([_missed_quantiles(r, t) for r, t in zip(wrong_rows, wrong_true, strict=True)]),
        right_factor=np.stack([_factor(rows) for rows in right_rows]),
        wrong_factor=np.stack([_factor(rows) for rows in wrong_rows]),
        relative=relative,
    )


def _quantiles(rows: FloatArray) -> FloatArray:
    return np.quantile(rows, LEVELS, axis=0).T


def _wrong_quantiles(rows: FloatArray, true: IntArray) -> FloatArray:
    """Per label its gap's quantiles on the rows where it is not the true one."""
    return np.stack([np.quantile(rows[true != k, k], LEVELS) for k in range(rows.shape[1])])


def _missed_quantiles(rows: FloatArray, true: IntArray) -> FloatArray:
    """Per true label the quantiles of its own gap; those of all wrong rows where there are too few."""
    own_gap = rows[np.arange(len(rows)), true]
    return np.stack(
        [
            np.quantile(own_gap[true == k] if (true == k).sum() >= MIN_ROWS_FOR_QUANTILES else own_gap, LEVELS)
            for k in range(rows.shape[1])
        ]
    )


def _factor(rows: FloatArray) -> FloatArray:
    """A square root of the correlation matrix of the rows' normal scores."""
    ranks = stats.rankdata(rows, axis=0) / (len(rows) + 1)
    scores = special.ndtri(ranks)
    spread = np.where(np.ptp(scores, axis=0) > 0, scores.std(axis=0), 1.0)  # the predicted label's gap is always 0
    correlation = (scores - scores.mean(axis=0)).T @ (scores - scores.mean(axis=0)) / len(rows)
    correlation /= np.outer(spread, spread)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    norm = np.sqrt((root**2).sum(axis=1))
    return np.asarray(root / np.where(norm > 0, norm, 1.0)[:, None])


if __name__ == "__main__":
    main()
