"""How close the twins are to the real scores they were fitted to."""

import numpy as np

from benchmarks.lab import Blocks, Lab
from pacshift.arrays import FloatArray
from paper.experiments.datasets import Dataset, load_dataset
from paper.experiments.panels import Panel, select_panels
from paper.experiments.summary import markdown_table
from paper.experiments.trial import Draw, Experiment, run_trial

TWINS = ("entity13", "chestxray")
METHODS = ("PS", "PS-C", "PS-W", "PS-LP")
TRIALS = 10


def run(lab: Lab) -> Blocks:
    """One table of the scores, one of the set sizes."""
    yield "twins", f"{score_table(lab)}\n{size_table(lab)}"


def score_table(lab: Lab) -> str:
    """Accuracy, confusion and quantiles of the true label's score."""
    levels = (0.01, 0.05, 0.1, 0.25, 0.5)
    rows = []
    for name in TWINS:
        real, twin = load_dataset(name, lab.data), load_dataset(name)
        if real.origin != "real":
            raise SystemExit(f"twins: no real scores of {name}. Name their folder with --data or PACSHIFT_DATA.")
        gap = f"{np.abs(confusion(real) - confusion(twin)).max():.3f}"
        for data, difference in ((real, ""), (twin, gap)):
            truth = data.probs[np.arange(len(data.labels)), data.labels]
            accuracy = (data.probs.argmax(axis=1) == data.labels).mean()
            quantiles = [f"{value:.2g}" for value in np.quantile(truth, levels)]
            rows.append((data.title, f"{len(data.labels):,}", f"{accuracy:.4f}", difference, *quantiles))
    quantile_names = [f"{100 * level:.0f} % quantile" for level in levels]
    headings = ("scores", "rows", "accuracy", "largest difference of P(predicted given true)", *quantile_names)
    return markdown_table(headings, rows, left=1)


def confusion(data: Dataset) -> FloatArray:
    """P(predicted = i given true = j)."""
    counts = np.zeros((data.n_classes, data.n_classes))
    np.add.at(counts, (data.probs.argmax(axis=1), data.labels), 1.0)
    return np.asarray(counts / counts.sum(axis=0))


def size_table(lab: Lab) -> str:
    """Set sizes on real scores and on the twin, panel by panel."""
    rows, trials = [], lab.trials or lab.choose(TRIALS, 1)
    for name in TWINS[: lab.choose(None, 1)]:
        for panel in select_panels([name]):
            real, twin = sizes(panel, lab.data, trials), sizes(panel, None, trials)
            lab.say(f"twins {panel.name}")
            rows.append((panel.name, *(f"{a:.3f} / {b:.3f}" for a, b in zip(real, twin, strict=True))))
    return markdown_table(("panel, real / twin", "best threshold", *METHODS), rows, left=1)


def sizes(panel: Panel, data_dir: str | None, n_trials: int) -> list[float]:
    """Mean sizes in population mode: at the best threshold, then of each method."""
    experiment = Experiment(panel, population=True, data_dir=data_dir)
    trials = [run_trial(experiment, trial, METHODS) for trial in range(n_trials)]
    means = [float(np.nanmean([rows[k].size for rows in trials])) for k in range(len(METHODS))]
    return [Draw(experiment, 0).best_size, *means]
