"""A pilot as a small world: rows, or counts, from which samples of any size are drawn.

Rows are drawn again as they are. Counts keep less: cells and true-label scores are drawn independently of each
other, and the scores of other classes are known only as they lie in the pilot's target.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, IntArray, running_sum
from pacshift.errors import InputError
from pacshift.mix.programs import nonnegative_least_squares
from pacshift.simulate import Population
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
        rows = np.concatenate([rng.choice(own, len(own)) for own in _rows_by_label(index)])
        labels = [self.classes[label] for label in index[rows]]
        return RowPilot(Population(self._population.scores[rows], labels, classes=self.classes))


def _rows_by_label(index: IntArray) -> list[IntArray]:
    order = np.argsort(index, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(index[order])) + 1)


class CountPilot:
    """Counts of labelled and unlabelled rows. A plan asks the same of it as of a ``RowPilot``."""

    def __init__(self, tally: Tally) -> None:
        self._tally, self.classes = _check_tally(tally), tally.classes

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
        counts, size = rng.multinomial(n_source, mixes.source), len(self.classes)
        codes, drawn = self._draw_cells(counts, rng)
        target_codes, target_drawn = self._draw_cells(rng.multinomial(n_target, mixes.target), rng)
        bins = self._tally.source_cells.bins
        return replace(
            self._tally,
            source_cells=Cells(codes, drawn, size, bins),
            target_cells=Cells(*sum_by_key(target_codes // size, target_drawn), 1, bins),
            bins=np.array([rng.multinomial(n_target, shares) for shares in self._bin_shares(mixes.target)]),
            soft=None,
            inputs=(),
            n_more_inputs=0,
            **self._draw_scores(counts, rng),
        )

    def _draw_cells(self, counts: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        cells = self._tally.source_cells
        drawn = np.zeros(len(cells.codes), np.int64)
        for label in np.flatnonzero(counts):
            own = cells.labels == label
            drawn[own] = rng.multinomial(counts[label], cells.counts[own] / cells.counts[own].sum())
        return cells.codes[drawn > 0], drawn[drawn > 0]

    def _draw_scores(self, counts: IntArray, rng: np.random.Generator) -> dict[str, Any]:
        drawn = np.zeros(len(self._tally.values), np.int64)
        for label in np.flatnonzero(counts):
            own = slice(self._tally.starts[label], self._tally.starts[label + 1])
            drawn[own] = rng.multinomial(counts[label], self._tally.counts[own] / self._tally.counts[own].sum())
        kept = drawn > 0
        starts = running_sum(kept.astype(np.int64))[self._tally.starts]
        return {"values": self._tally.values[kept], "counts": drawn[kept], "starts": starts}

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
        bins = self._tally.bins
        assert bins is not None
        everyone = bins / self._tally.n_target
        own = np.array([self._own_bins(label) for label in range(len(self.classes))])
        mix = self.target_mix[:, None]
        others = np.clip(everyone - mix * own, 0, None) + 1e-12 * everyone  # where a class has all rows: everyone
        return own, np.asarray(others / others.sum(axis=1, keepdims=True))

    def _own_bins(self, label: int) -> FloatArray:
        part = slice(self._tally.starts[label], self._tally.starts[label + 1])
        counted = count_bins(np.repeat(self._tally.values[part], self._tally.counts[part])[None, :])
        assert counted is not None  # the target has bins, so scores are probabilities
        return np.asarray(counted[0] / counted.sum())


Pilot: TypeAlias = RowPilot | CountPilot


def _check_tally(tally: Tally) -> Tally:
    if not tally.n_source or tally.bins is None or tally.score != "probability":
        raise InputError(
            "a pilot tally must hold labelled rows and unlabelled rows with bins of plain scores: only these tell "
            "how large sets are. Add both tallies up (source + target), or give scores and labels."
        )
    if (tally.class_counts == 0).any():
        raise InputError("a pilot needs rows of every class. Add rows of the missing classes, or merge classes.")
    return tally
