"""A pilot as a small world: rows, or counts, from which samples of any size are drawn.

Rows are drawn again as they are. Counts keep less: cells and true-label scores are drawn independently of each
other, and the scores of other classes are known only as they lie in the pilot's target.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label, LabelsLike, ScoresLike, running_sum
from pacshift.errors import InputError
from pacshift.mix.programs import nonnegative_least_squares
from pacshift.scores.frames import in_class_order
from pacshift.scores.names import by_class, shorten
from pacshift.simulate import Population, check_mix
from pacshift.tally import Tally
from pacshift.tally.cells import Cells
from pacshift.tally.grid import count_bins, mean_binned_size
from pacshift.tally.stores import sum_by_key

CHUNK_VALUES = 1 << 22
"""Scores that are drawn at once: 32 MB."""
EXPECTED_ROWS = 1_000_000
"""Rows of the imagined target whose bins tell the size of sets: so many that their noise is below 0.1 %."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixes:
    """Label mixes of source and target."""

    source: FloatArray
    target: FloatArray


class RowPilot:
    """Labelled rows."""

    approximate = False
    """Whether sizes under another mix do not follow exactly."""

    def __init__(self, population: Population) -> None:
        self._population, self.classes = population, population.classes

    @cached_property
    def source_mix(self) -> FloatArray:
        """Share of each class among the labelled rows."""
        counts = np.bincount(self._population.index, minlength=len(self.classes))
        return np.asarray(counts / counts.sum())

    def draw(self, mixes: Mixes, n_source: int, n_target: int, rng: np.random.Generator) -> Tally:
        """Counts of a source and a target of these sizes."""
        options: dict[str, Any] = {"classes": self.classes, "soft": False}
        source = [Tally.from_scores(*rows, **options) for rows in self._drawn(mixes.source, n_source, rng)]
        target = [Tally.from_target(scores, **options) for scores, _ in self._drawn(mixes.target, n_target, rng)]
        return Tally.sum([*source, *target])

    def _drawn(self, mix: FloatArray, n_rows: int, rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
        """Scores and labels of so many rows, in chunks."""
        step = max(1, CHUNK_VALUES // len(self.classes))
        for start in range(0, n_rows, step):
            yield self._population.draw(mix, min(step, n_rows - start), rng)

    def size(self, thresholds: FloatArray, target_mix: FloatArray) -> float:
        """Mean size of sets on the target, if the pilot were the population."""
        return self._population.size(thresholds, target_mix)

    def class_error(self, thresholds: FloatArray) -> FloatArray:
        """Miss rate of each class, if the pilot were the population."""
        return self._population.class_error(thresholds)

    def again(self, rng: np.random.Generator) -> "RowPilot":
        """Another pilot of the same size, drawn from this one: its own uncertainty."""
        index = self._population.index
        order = np.argsort(index, kind="stable")
        by_label = np.split(order, np.flatnonzero(np.diff(index[order])) + 1)
        rows = np.concatenate([rng.choice(own, len(own)) for own in by_label])
        labels = [self.classes[label] for label in index[rows]]
        return RowPilot(Population(self._population.scores[rows], labels, classes=self.classes))


class CountPilot:
    """Counts of labelled and unlabelled rows. A plan asks the same of it as of a ``RowPilot``."""

    def __init__(self, tally: Tally) -> None:
        self._tally, self.classes = tally, tally.classes

    @property
    def approximate(self) -> bool:
        return len(self.classes) > 2

    @cached_property
    def source_mix(self) -> FloatArray:
        return np.asarray(self._tally.class_counts / self._tally.n_source)

    @cached_property
    def target_mix(self) -> FloatArray:
        """The label mix that explains the pilot's target best."""
        given_label = self._tally.confusion / np.maximum(self._tally.class_counts, 1)
        found = nonnegative_least_squares(given_label, self._tally.target / self._tally.n_target)
        return np.asarray(found / found.sum())

    def draw(self, mixes: Mixes, n_source: int, n_target: int, rng: np.random.Generator) -> Tally:
        tally, cells, size = self._tally, self._tally.source_cells, len(self.classes)

        def drawn(known: IntArray, labels: IntArray, counts: IntArray) -> IntArray:
            """So many of each label, in the proportions that are known."""
            found = np.zeros(len(known), np.int64)
            for label in np.flatnonzero(counts):
                own = labels == label
                found[own] = rng.multinomial(counts[label], known[own] / known[own].sum())
            return found

        counts = rng.multinomial(n_source, mixes.source)
        source = drawn(cells.counts, cells.labels, counts)
        target = drawn(cells.counts, cells.labels, rng.multinomial(n_target, mixes.target))
        bins = np.array([rng.multinomial(n_target, shares) for shares in self._bin_shares(mixes.target)])
        scores = drawn(tally.counts, np.repeat(np.arange(size), np.diff(tally.starts)), counts)
        seen, kept = target > 0, scores > 0
        return replace(
            tally,
            source_cells=Cells(cells.codes[source > 0], source[source > 0], size, cells.bins),
            target_cells=Cells(*sum_by_key(cells.codes[seen] // size, target[seen]), 1, cells.bins),
            bins=bins,
            soft=None,
            inputs=(),
            n_more_inputs=0,
            values=tally.values[kept],
            counts=scores[kept],
            starts=running_sum(kept.astype(np.int64))[tally.starts],
        )

    def size(self, thresholds: FloatArray, target_mix: FloatArray) -> float:
        expected = (self._bin_shares(target_mix) * EXPECTED_ROWS).round().astype(np.int64)
        return mean_binned_size(expected, thresholds)

    def class_error(self, thresholds: FloatArray) -> FloatArray:
        return np.asarray(self._tally.misses(thresholds) / np.maximum(self._tally.class_counts, 1))

    def again(self, rng: np.random.Generator) -> "CountPilot":
        mixes = Mixes(self.source_mix, self.target_mix)
        return CountPilot(self.draw(mixes, self._tally.n_source, self._tally.n_target, rng))

    def _bin_shares(self, target_mix: FloatArray) -> FloatArray:
        """Share of target rows per class and bin, under another mix: own rows and others, in new proportions.

        The others keep their proportions among themselves, so this is exact for two classes only.
        """
        own, others = self._own_and_others
        shares = target_mix[:, None] * own + (1 - target_mix)[:, None] * others
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    @cached_property
    def _own_and_others(self) -> tuple[FloatArray, FloatArray]:
        """Shares of the scores of a class in each bin: on rows of that class, and on all other rows."""
        tally, shares = self._tally, []
        assert tally.bins is not None
        for label in range(len(self.classes)):
            part = slice(tally.starts[label], tally.starts[label + 1])
            counted = count_bins(np.repeat(tally.values[part], tally.counts[part])[None, :])
            assert counted is not None  # the target has bins, so scores are probabilities
            shares.append(counted[0] / counted.sum())
        own, everyone = np.array(shares), tally.bins / tally.n_target
        mix = self.target_mix[:, None]
        others = np.clip(everyone - mix * own, 0, None) + 1e-12 * everyone  # where a class has all rows: everyone
        return own, np.asarray(others / others.sum(axis=1, keepdims=True))


Pilot: TypeAlias = RowPilot | CountPilot


def make_pilot(pilot: ScoresLike | Tally, labels: LabelsLike | None, classes: Sequence[Label] | None) -> Pilot:
    """A pilot of labelled rows, or of counts, with some rows of every class."""
    if isinstance(pilot, Tally):
        if not pilot.n_source or pilot.bins is None or pilot.score != "probability":
            raise InputError(
                "a pilot tally must hold labelled rows and unlabelled rows with bins of plain scores: only these "
                "tell how large sets are. Add both tallies up (source + target), or give scores and labels."
            )
        if (pilot.class_counts == 0).any():
            raise InputError(
                "a pilot needs rows of every class. Add rows of the missing classes, or merge classes."
            )
        return CountPilot(pilot)
    if labels is None:
        raise InputError("a pilot of scores needs the labels of its rows: plan(scores, labels, ...).")
    population = Population(pilot, labels, classes=classes)
    missing = sorted(set(range(len(population.classes))) - set(population.index.tolist()))
    if missing:
        names = shorten([population.classes[label] for label in missing])
        raise InputError(f"the pilot has no rows of class {names}. It needs some of every class.")
    return RowPilot(population)


def check_mixes(pilot: Pilot, source_mix: Any, target_mix: Any) -> list[Mixes]:
    """The mix of the source, with each mix that the target may have."""
    source = pilot.source_mix if source_mix is None else _mix(source_mix, pilot.classes)
    if target_mix is None:
        if not isinstance(pilot, CountPilot):
            raise InputError("target_mix is missing: the expected share of each class on the target.")
        return [Mixes(source, pilot.target_mix)]
    several = isinstance(target_mix, Sequence) and not isinstance(target_mix[0], int | float)
    given = list(target_mix) if several or np.ndim(target_mix) == 2 else [target_mix]
    return [Mixes(source, _mix(each, pilot.classes)) for each in given]


def _mix(given: Any, classes: tuple[Label, ...]) -> FloatArray:
    """Shares by class name, or in the order of the classes."""
    if isinstance(given, Mapping):
        shares = by_class(given, classes, "mix")
        given = [shares.get(place, 0.0) for place in range(len(classes))]
    return check_mix(in_class_order(given, classes, "mix"), len(classes))
