"""Pairs of populations that are not label-shifted: halves of real people, and real scores that were changed.

The people answered BRFSS, a survey of health; an answer splits those of a year. The settings of PS-T were chosen
on pairs called *seen*; on the others nothing was chosen.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.lab import Lab
from benchmarks.violations import SIMULATED_MIXES, add_to, noise, replace_rows, scale
from pacshift import Population
from pacshift.arrays import BoolArray, FloatArray
from paper.experiments.datasets import load_scores


@dataclass(frozen=True)
class Year:
    """A year of the survey: where its scores are, which column holds the label, and by which people are split."""

    group: str
    scores: str
    label: str
    columns: tuple[str, ...]


PEOPLE = {
    2020: Year(
        "people, seen",
        "scores_2020.npz",
        "HeartDisease",
        (
            "Sex", "Smoking", "AgeCategory", "GenHealth", "Diabetic", "PhysicalActivity", "DiffWalking",
            "KidneyDisease", "Asthma", "SkinCancer",
        ),
    ),
    2015: Year(
        "people, unseen",
        "scores.npz",
        "HeartDiseaseorAttack",
        ("Sex", "Age", "Income", "Education", "Smoker", "PhysActivity", "GenHlth", "HighBP"),
    ),
}  # fmt: skip


def read_survey(folder: Path, year: int) -> tuple[Population, dict[str, FloatArray]]:
    """The people that the classifier was not fitted on, and their answers."""
    from pyarrow import parquet

    described, table = PEOPLE[year], parquet.read_table(folder / f"brfss{year}.parquet")
    kept = ~np.asarray(table["fit"].to_numpy(), bool)
    stored = np.load(folder / described.scores)
    answers = {name: _codes(table[name].to_numpy()[kept]) for name in (described.label, *described.columns)}
    if not np.array_equal(answers.pop(described.label), stored["labels"]):
        raise SystemExit(f"The rows of brfss{year}.parquet and {described.scores} do not match.")
    return Population(stored["probs"].astype(float), stored["labels"].astype(np.int64)), answers


def _codes(answers: np.ndarray) -> FloatArray:
    """Answers as numbers; words by their alphabetical order."""
    if answers.dtype.kind in "OUS":
        return np.unique(answers.astype(str), return_inverse=True)[1].astype(float)
    return np.asarray(answers, float)


def halves(answers: FloatArray) -> Iterator[tuple[str, BoolArray, BoolArray]]:
    """Both directions of the split at the median: what the target has, the source, and the target."""
    low, below = answers <= np.median(answers), answers < np.median(answers)
    low = below if low.mean() >= 0.9 and below.any() else low
    yield "higher values", low, ~low
    yield "lower values", ~low, low


Change = Callable[[FloatArray, np.random.Generator], FloatArray]
SEEN: dict[str, Change] = {"second logit + 1": add_to(1, 1.0), "15 % of rows are noise": replace_rows(0.15)}
UNSEEN: dict[str, Change] = {"logits times 1.5": scale(1.5), "noise of sd 1 on logits": noise(1.0)}
SMALLEST = 1e-9
"""Logarithms are taken of at least this."""
CHANGED_ROWS = 30_000
"""Rows of a target population that is made from scores."""


def _even(n_classes: int, but: Mapping[int, float] | None = None) -> tuple[float, ...]:
    """All classes equally frequent, but for some that are so many times as frequent.

    >>> _even(3, {1: 4.0})
    (1.0, 4.0, 1.0)
    """
    return tuple((but or {}).get(label, 1.0) for label in range(n_classes))


SCORES: dict[str, tuple[str, tuple[float, ...], tuple[float, ...], dict[str, Change]]] = {
    "PathMNIST": ("pathmnist/scores.npz", _even(9), _even(9, {0: 2, 2: 5, 6: 3}), SEEN),
    "IMDB": ("imdb/scores.npz", (50, 50), (15, 85), SEEN),
    "Entity-13, AlexNet": ("entity13/scores_alexnet.npz", _even(13), _even(13, {6: 9}), SEEN),
    "AG News": ("agnews/scores.npz", (30.8, 30.8, 7.7, 30.8), (12.5, 12.5, 62.5, 12.5), SEEN),
    "CIFAR-10": ("cifar10/scores.npz", _even(10), _even(10, {3: 6}), SEEN),
    "20 Newsgroups": ("20news/scores.npz", _even(20), _even(20, {0: 8, 19: 4}), UNSEEN),
    "chest X-rays": ("chestxray14/scores.npz", _even(6, {4: 0.236}), _even(6, {4: 4}), UNSEEN),
    "Entity-13": (
        "entity13/scores.npz",
        _even(13),
        (7.1, 3.6, 3.6, 3.6, 3.6, 10.71, 3.6, 7.1, 43.69, 3.6, 3.6, 3.6, 3.6),
        UNSEEN,
    ),
}
"""File, label mix of source and target, and what is done to the target."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Where a certificate is made and where it is used."""

    group: str
    name: str
    source: Population
    source_mix: FloatArray
    target: Population

    @property
    def target_mix(self) -> FloatArray:
        """The label mix of the target: that of its rows."""
        return own_mix(self.target)


def own_mix(population: Population) -> FloatArray:
    """How frequent the classes are among the rows."""
    return np.bincount(population.index, minlength=len(population.classes)) / len(population.index)


def pairs(lab: Lab) -> Iterator[Pair]:
    """People and scores; two made-up pairs where there are no real data. A small run keeps to what is seen."""
    if not lab.data:
        yield from made_up()
        return
    for year in list(PEOPLE)[: lab.choose(None, 1)]:
        yield from people(lab, year)
    for name in list(SCORES)[: lab.choose(None, 1)]:
        yield from changed_scores(Path(lab.data), name)


def people(lab: Lab, year: int) -> Iterator[Pair]:
    """One half of the people certified for the other half, both directions."""
    everyone, answers = read_survey(Path(lab.data or "") / "heart", year)
    for column in PEOPLE[year].columns[: lab.choose(None, 1)]:
        for name, *half in halves(answers[column]):
            source, target = (Population(everyone.scores[chosen], everyone.index[chosen]) for chosen in half)
            yield Pair(PEOPLE[year].group, f"{year}, {column}: {name}", source, own_mix(source), target)


def changed_scores(folder: Path, name: str) -> Iterator[Pair]:
    """Another label mix, and label shift broken on top."""
    file, source_mix, target_mix, changes = SCORES[name]
    data = load_scores(folder / file)
    source = Population(data.probs, data.labels)
    group = "scores, seen" if changes is SEEN else "scores, unseen"
    for title, change in changes.items():
        yield _changed(group, f"{name}: {title}", source, (source_mix, target_mix), change)


def made_up() -> Iterator[Pair]:
    """Three classes of an imagined classifier."""
    source = Population.synthetic(3, strength=4.0, rows_per_class=20_000, rng=0)
    mixes = tuple(SIMULATED_MIXES[0]), tuple(SIMULATED_MIXES[1])
    for title, change in SEEN.items():
        yield _changed("made up", f"made up: {title}", source, mixes, change)


def _changed(
    group: str,
    name: str,
    source: Population,
    mixes: tuple[tuple[float, ...], tuple[float, ...]],
    change: Change,
) -> Pair:
    rng = np.random.default_rng(5)
    scores, labels = source.draw(mixes[1], CHANGED_ROWS, rng)
    logits = np.log(np.maximum(np.asarray(scores, float), SMALLEST))
    target = Population(softmax(change(logits, rng), axis=1), labels)
    return Pair(group, name, source, np.array(mixes[0]) / sum(mixes[0]), target)
