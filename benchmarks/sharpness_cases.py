"""Cases beyond the paper's panels: score sets for development, and small samples.

Constants of PS-LP (share held out, penalty of the curves, shares of δ and their crossover) were chosen on the
development cases only. The panels and the small samples report.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from paper.experiments.datasets import FILES, Dataset, load_dataset, load_scores
from paper.experiments.panels import Panel

Mix = tuple[float, ...]


def even(n_classes: int) -> Mix:
    """All classes equally frequent.

    >>> even(4)
    (0.25, 0.25, 0.25, 0.25)
    """
    return (1 / n_classes,) * n_classes


def more_of(label: int, share: float, n_classes: int) -> Mix:
    """One class has ``share``, the others share the rest.

    >>> more_of(1, 0.5, 3)
    (0.25, 0.5, 0.25)
    """
    return tuple(share if other == label else (1 - share) / (n_classes - 1) for other in range(n_classes))


def drawn(evenness: float, seed: int, n_classes: int) -> Mix:
    """A mix from a Dirichlet law, fixed by the seed."""
    return tuple(np.random.default_rng(seed).dirichlet(np.full(n_classes, evenness)).tolist())


def case(row: str, file: str, mixes: tuple[Mix, Mix], epsilon: float = 0.1, rows: int = 20_000) -> Panel:
    """Population mode, so that no test rows are drawn."""
    return Panel(row, file, *mixes, epsilon, rows, rows, 0)


DEVELOPMENT = tuple(
    case(f"development {row}", f"{file}.npz", mixes, epsilon)
    for row, file, mixes, epsilon in (
        ("mnist", "mnist/scores", (even(10), more_of(5, 0.4, 10)), 0.1),
        ("vgg16", "cifar10/scores_vgg16", (even(10), more_of(3, 0.4, 10)), 0.1),
        ("vgg16 drawn", "cifar10/scores_vgg16", (more_of(0, 0.2, 10), drawn(1, 11, 10)), 0.1),
        ("resnet20", "cifar10/scores_resnet20", (even(10), drawn(1, 1, 10)), 0.1),
        ("vgg19", "cifar10/scores_vgg19_bn", (more_of(2, 0.3, 10), more_of(5, 0.3, 10)), 0.1),
        ("repvgg", "cifar10/scores_repvgg_a2", (even(10), drawn(0.5, 2, 10)), 0.1),
        ("resnet50", "cifar10/scores_resnet50_cv", (even(10), more_of(4, 0.3, 10)), 0.1),
        ("resnet50 drawn", "cifar10/scores_resnet50_cv", (drawn(3, 4, 10), drawn(1, 5, 10)), 0.1),
        ("resnet50 large", "cifar10/scores_resnet50_cv", (even(10), more_of(3, 0.4, 10)), 0.1),
        ("chest", "chestxray14/scores_relaxed", (even(6), more_of(3, 0.45, 6)), 0.3),
        ("chest drawn", "chestxray14/scores_relaxed", (more_of(2, 0.4, 6), drawn(2, 3, 6)), 0.3),
        ("heart 2020", "heart/scores_2020", ((0.93, 0.07), (0.7, 0.3)), 0.1),
        ("heart 2020 small", "heart/scores_2020", ((0.9, 0.1), (0.93, 0.07)), 0.1),
        ("gpt2", "agnews/scores_gpt2_zeroshot", (even(4), more_of(1, 0.4, 4)), 0.4),
        ("gpt2 large", "agnews/scores_gpt2_zeroshot", (more_of(0, 0.4, 4), more_of(2, 0.5, 4)), 0.4),
    )
)
"""Score sets that nothing is reported on."""

_REAL: tuple[Panel, ...] = (
    case("cifar10", "cifar10", (even(10), more_of(3, 0.4, 10))),
    case("entity13", "entity13", (even(13), more_of(8, 0.44, 13))),
    case("agnews", "agnews", ((0.308, 0.308, 0.077, 0.307), more_of(2, 0.625, 4))),
    case("chestxray", "chestxray", (more_of(4, 0.045, 6), more_of(4, 0.445, 6)), 0.3),
    case("heart", "heart-natural", ((0.94, 0.06), (0.636, 0.364))),
    case("pathmnist", "pathmnist/scores.npz", (even(9), more_of(2, 0.3, 9))),
    case("20news", "20news/scores.npz", (even(20), drawn(1, 8, 20))),
    case("alexnet", "entity13/scores_alexnet.npz", (even(13), more_of(8, 0.3, 13))),
    case("imdb", "imdb/scores.npz", (even(2), (0.3, 0.7))),
)
OTHER_MIXES = tuple(replace(panel, row=f"other {panel.row}") for panel in _REAL)
SMALL = tuple(
    replace(panel, row=f"small {panel.row}", n_source=1000, n_target=1000, delta=0.05) for panel in _REAL
)
"""Nine real cases with 1,000 rows on each side."""


def load(panel: Panel, data_dir: str | None) -> Dataset | None:
    """The scores of a case; None where the file is not at hand."""
    if panel.dataset in FILES:
        return load_dataset(panel.dataset, data_dir)
    path = Path(data_dir or "") / panel.dataset
    return load_scores(path, name=panel.row) if data_dir and path.is_file() else None
