"""A pilot as a small world: rows, or counts, from which samples of any size are drawn.

Rows are drawn again as they are. Counts keep less: cells and true-label scores are drawn independently of each
other, and the scores of other classes are known only as they lie in the pilot's target.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import (
    FloatArray,
    IntArray,
    KeyArray,
    Label,
    LabelsLike,
    ScoresLike,
    cached_property,
    running_sum,
)
from pacshift.errors import InputError, param
from pacshift.mix.programs import nonnegative_least_squares
from pacshift.rows.base import CheckedRows
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.frames import in_class_order
from pacshift.scores.names import by_class, shorten
from pacshift.scores.transforms import mix_bits
from pacshift.simulate import Population, check_mix, resample
from pacshift.tally import Tally
from pacshift.tally.cells import Cells
from pacshift.tally.counter import BLOCK_VALUES, Counter, CountOptions
from pacshift.tally.grid import count_bins, mean_binned_size
from pacshift.tally.stores import Distinct, sum_by_key

MAX_ROWS = 50_000
"""Rows of a pilot that data are drawn from. Every one is looked at for every certificate: 2,000,000 rows take
eight times as long and tell little more. An interval for certificates of 20,000 rows is about a fifth wider from
50,000 rows than from any number, √(1 + 20/50), because both the pilot and the data vary."""
CHUNK_VALUES = 1 << 22
"""Scores that are drawn at once: 32 MB."""
EXPECTED_ROWS = 1_000_000
"""Rows of the imagined target whose bins tell the size of sets: so many that their noise is below 0.1 %."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixes:
    """Label mixes of source and target."""

    source: FloatArray
    target: FloatArray


@dataclass(frozen=True, eq=False)
class RowPilot:
    """Labelled rows: ``scores``, and ``index``, the columns of their labels.

    ``rows`` are places of the rows that it holds, label after label. Another pilot that might have been drawn
    holds some of the same rows several times, and shares their scores.
    """

    scores: NDArray[np.floating[Any]]
    index: IntArray
    classes: tuple[Label, ...]
    source_mix: FloatArray
    """Share of each class among the labelled rows, those that were left out as well."""
    rows: IntArray
    approximate: ClassVar[bool] = False
    """Whether sizes under another mix do not follow exactly."""

    @classmethod
    def of(cls, scores: NDArray[np.floating[Any]], index: IntArray, classes: tuple[Label, ...]) -> "RowPilot":
        """The pilot of these rows, or of ``MAX_ROWS`` of them."""
        if len(index) <= MAX_ROWS:
            return cls._of_all(scores, index, classes, np.bincount(index, minlength=len(classes)))
        step = max(1, BLOCK_VALUES // len(classes))
        blocks = (slice(start, start + step) for start in range(0, len(index), step))
        return cls.of_blocks(((scores[rows], index[rows]) for rows in blocks), classes)

    @classmethod
    def of_blocks(
        cls, blocks: Iterable[tuple[NDArray[np.floating[Any]], IntArray]], classes: tuple[Label, ...]
    ) -> "RowPilot":
        """The pilot of scores and labels that come block after block; the same however they are cut into blocks.

        Of every row a number says whether it is kept, which depends on its place alone. A number made of its
        scores would keep all rows that are alike, or none of them.
        """
        counts = np.zeros(len(classes), np.int64)
        limits = np.full(len(classes), np.iinfo(np.uint64).max, np.uint64)
        held: list[tuple[NDArray[Any], ...]] = []
        for scores, index in blocks:
            numbers = mix_bits(np.arange(counts.sum(), counts.sum() + len(index)).astype(np.uint64))
            counts += np.bincount(index, minlength=len(classes))
            held.append(_kept((scores, index, numbers), limits))
            if sum(len(part[1]) for part in held) > 1.25 * MAX_ROWS:  # now and then: it copies all that is held
                limits = _limits(held, limits)
                held = [_kept(part, limits) for part in held]
        if not held:
            raise InputError("the pilot has no rows. It needs some of every class.")
        limits = _limits(held, limits)
        scores, index, _ = (
            np.concatenate(each) for each in zip(*(_kept(part, limits) for part in held), strict=True)
        )
        return cls._of_all(scores, index, classes, counts)

    @classmethod
    def _of_all(
        cls, scores: NDArray[np.floating[Any]], index: IntArray, classes: tuple[Label, ...], counts: IntArray
    ) -> "RowPilot":
        if missing := np.flatnonzero(counts == 0).tolist():
            names = shorten([classes[label] for label in missing])
            raise InputError(f"the pilot has no rows of class {names}. It needs some of every class.")
        return cls(scores, index, classes, np.asarray(counts / counts.sum()), np.argsort(index, kind="stable"))

    def draw(self, mixes: Mixes, n_source: int, n_target: int, rng: np.random.Generator) -> Tally:
        """Counts of a source and a target of these sizes."""
        sides, step, labels = [], max(1, CHUNK_VALUES // len(self.classes)), self._labels
        for mix, n_rows, labelled in ((mixes.source, n_source, True), (mixes.target, n_target, False)):
            counter = Counter(len(self.classes), CountOptions(soft=False), labelled=labelled)
            for start in range(0, n_rows, step):
                rows = self.rows[resample(labels, mix, min(step, n_rows - start), rng)]
                matrix = ScoreMatrix(self.scores[rows], self.classes)
                counter.count_matrix(matrix, self.index[rows] if labelled else None, name="pilot")
            sides.append(Tally.from_counter(counter, self.classes))
        return Tally.sum(sides)

    def size(self, thresholds: FloatArray, target_mix: FloatArray) -> float:
        """Mean size of sets on the target, if the pilot were the population."""
        by_class = self._by_class(np.count_nonzero(self.scores >= thresholds, axis=1))
        return float(
            (check_mix(target_mix, len(self.classes)) * by_class).sum()
        )  # not `@`: the same bits on any number of BLAS threads

    def class_error(self, thresholds: FloatArray) -> FloatArray:
        """Miss rate of each class, if the pilot were the population."""
        true_scores = self.scores[np.arange(len(self.index)), self.index]
        return self._by_class(true_scores < thresholds[self.index])

    def again(self, rng: np.random.Generator) -> "RowPilot":
        """Another pilot of the same size, drawn from this one: its own uncertainty."""
        by_label = np.split(self.rows, np.flatnonzero(np.diff(self._labels)) + 1)
        return replace(self, rows=np.concatenate([rng.choice(own, len(own)) for own in by_label]))

    @cached_property
    def _labels(self) -> IntArray:
        """Of each of the ``rows``, so ascending."""
        return self.index[self.rows]

    def _by_class(self, values: NDArray[Any]) -> FloatArray:
        """Mean of a value per row over the rows of each class, each as often as it is held."""
        times = np.bincount(self.rows, minlength=len(self.index))
        return np.bincount(self.index, values * times) / np.bincount(self.index, times)


def _kept(part: tuple[NDArray[Any], ...], limits: KeyArray) -> tuple[NDArray[Any], ...]:
    """Scores, labels and numbers of the rows whose number is within the limit of their class."""
    kept = part[2] <= limits[part[1]]
    return part if kept.all() else tuple(each[kept] for each in part)


def _limits(held: Sequence[tuple[NDArray[Any], ...]], limits: KeyArray) -> KeyArray:
    """The largest number of a row of each class that is kept, of more than ``MAX_ROWS`` rows.

    As many rows of each class are kept, or all that it has, so that rare classes lose none.
    """
    index, numbers = (np.concatenate([part[place] for part in held]) for place in (1, 2))
    if len(index) <= MAX_ROWS:
        return limits
    counts = np.bincount(index, minlength=len(limits))
    rising = np.sort(counts)
    level = (MAX_ROWS - (np.cumsum(rising) - rising)) // np.arange(len(counts), 0, -1)  # if all rarer are whole
    most = max(1, int(level[np.argmax(level <= rising)]))
    by_label = np.lexsort((numbers, index))
    last = by_label[np.minimum(np.cumsum(counts) - counts + most, len(index)) - 1]
    return np.where(counts > most, numbers[last], limits)


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
            scores=Distinct(tally.values[kept], scores[kept], running_sum(kept.astype(np.int64))[tally.starts]),
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


def make_pilot(
    pilot: ScoresLike | CheckedRows | Tally, labels: LabelsLike | None, classes: Sequence[Label] | None
) -> Pilot:
    """A pilot of labelled rows, or of counts, with some rows of every class."""
    if isinstance(pilot, Tally):
        if labels is not None or classes is not None:
            raise InputError("labels and classes are about rows, but a tally holds counts alone. Leave them out.")
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
    if isinstance(pilot, CheckedRows):
        if labels is not None or classes is not None or pilot.labels != "all":
            raise InputError(
                "a pilot that was read has its labels and classes: name the column of labels when it is read "
                f"({param('label=COLUMN')}), and leave labels= and {param('classes=')} out."
            )
        parts = pilot.map(lambda batch: (batch.scores, batch.labels))
        labelled = ((scores, index) for scores, index in parts if index is not None)
        return RowPilot.of_blocks(labelled, pilot.classes)
    if labels is None:
        raise InputError("a pilot of scores needs the labels of its rows: plan(scores, labels, ...).")
    population = Population(pilot, labels, classes=classes)
    return RowPilot.of(population.scores, population.index, population.classes)


def check_mixes(pilot: Pilot, source_mix: Any, target_mix: Any) -> list[Mixes]:
    """The mix of the source, with each mix that the target may have."""
    source = pilot.source_mix if source_mix is None else _mix(source_mix, pilot.classes)
    if target_mix is None:
        if not isinstance(pilot, CountPilot):
            raise InputError(f"{param('target_mix')} is missing: the expected share of each class in the target.")
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
