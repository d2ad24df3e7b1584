"""How close the twins are to the real scores: ``python scripts/compare_twins.py DATA_DIR [--write PAGE]``."""

import argparse
from pathlib import Path

import numpy as np
from doc_blocks import replace_block

from pacshift.arrays import FloatArray
from pacshift.experiments.datasets import Dataset, load_dataset
from pacshift.experiments.panels import Panel, select_panels
from pacshift.experiments.summary import markdown_table
from pacshift.experiments.trial import Draw, Experiment, run_trial

TWINS = ("cifar10", "entity13", "chestxray")
METHODS = ("PS", "PS-C", "PS-W", "PS-LP")
TRIALS = 10


def main() -> None:
    """Print two tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", help="folder of real scores")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="page with a block named twins")
    options = parser.parse_args()
    text = f"{score_table(options.data_dir)}\n{size_table(options.data_dir)}"
    if options.write:
        replace_block(options.write, "twins", text)
    else:
        print(text)


def score_table(data_dir: str) -> str:
    """Accuracy, confusion and quantiles of the true label's score."""
    levels = (0.01, 0.05, 0.1, 0.25, 0.5)
    rows = []
    for name in TWINS:
        real, twin = load_dataset(name, data_dir), load_dataset(name)
        gap = f"{np.abs(confusion(real) - confusion(twin)).max():.3f}"
        for data, difference in ((real, ""), (twin, gap)):
            truth = data.probs[np.arange(len(data.labels)), data.labels]
            accuracy = (data.probs.argmax(axis=1) == data.labels).mean()
            quantiles = [f"{value:.2g}" for value in np.quantile(truth, levels)]
            rows.append((data.title, f"{len(data.labels):,}", f"{accuracy:.4f}", difference, *quantiles))
    quantile_names = [f"{level:.0%} quantile" for level in levels]
    headings = ("scores", "rows", "accuracy", "largest difference of P(predicted given true)", *quantile_names)
    return markdown_table(headings, rows, left=1)


def confusion(data: Dataset) -> FloatArray:
    """P(predicted = i given true = j)."""
    counts = np.zeros((data.n_classes, data.n_classes))
    np.add.at(counts, (data.probs.argmax(axis=1), data.labels), 1.0)
    return np.asarray(counts / counts.sum(axis=0))


def size_table(data_dir: str) -> str:
    """Set sizes on real scores and on the twin, panel by panel."""
    rows = []
    for name in TWINS:
        for panel in select_panels([name]):
            real, twin = sizes(panel, data_dir), sizes(panel, None)
            rows.append((panel.name, *(f"{a:.3f} / {b:.3f}" for a, b in zip(real, twin, strict=True))))
    return markdown_table(("panel, real / twin", "best threshold", *METHODS), rows, left=1)


def sizes(panel: Panel, data_dir: str | None) -> list[float]:
    """Mean sizes in population mode: at the best threshold, then of each method."""
    experiment = Experiment(panel, population=True, data_dir=data_dir)
    trials = [run_trial(experiment, trial, METHODS) for trial in range(TRIALS)]
    means = [float(np.nanmean([rows[k].size for rows in trials])) for k in range(len(METHODS))]
    return [Draw(experiment, 0).best_size, *means]


if __name__ == "__main__":
    main()
