"""A pilot as a small world: labelled rows, from which samples of any size are drawn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, KeyArray, Label, LabelsLike, ScoresLike, cached_property
from pacshift.errors import InputError, param
from pacshift.rows.base import Matrix
from pacshift.rows.rows import Rows, bind_source
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.frames import in_class_order
from pacshift.scores.names import by_class, shorten
from pacshift.scores.transforms import mix_bits
from pacshift.simulate import check_mix, resample
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions

MAX_ROWS = 50_000
"""Rows of a pilot that data are drawn from. Every one is looked at for every certificate: 2,000,000 rows take
eight times as long and tell little more. An interval for certificates of 20,000 rows is about a fifth wider from
50,000 rows than from any number, √(1 + 20/50), because both the pilot and the data vary."""
CHUNK_VALUES = 1 << 22
"""Scores that are drawn at once: 32 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixes:
    """Label mixes of source and target."""

    source: FloatArray
    target: FloatArray


@dataclass(frozen=True, eq=False)
class Pilot:
    """Labelled rows: ``scores``, and ``index``, the columns of their labels.

    ``rows`` are places of the rows that it holds, label after label. Another pilot that might have been drawn
    holds some of the same rows several times, and shares their scores.
    """

    scores: Matrix
    index: IntArray
    classes: tuple[Label, ...]
    source_mix: FloatArray
    """Share of each class among the labelled rows, those that were left out as well."""
    rows: IntArray

    @classmethod
    def of_blocks(cls, blocks: Iterable[tuple[Matrix, Any]], classes: tuple[Label, ...]) -> "Pilot":
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
            held.append(_keep_rows((scores, index, numbers), limits))
            if sum(len(part[1]) for part in held) > 1.25 * MAX_ROWS:  # now and then: it copies all that is held
                limits = _find_limits(held, limits)
                held = [_keep_rows(part, limits) for part in held]
        if missing := np.flatnonzero(counts == 0).tolist():
            names = shorten([classes[label] for label in missing])
            raise InputError(f"the pilot has no rows of class {names}. It needs some of every class.")
        limits = _find_limits(held, limits)
        parts = zip(*(_keep_rows(part, limits) for part in held), strict=True)
        scores, index, _ = (np.concatenate(each) for each in parts)
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
        sizes = self._by_class(np.count_nonzero(self.scores >= thresholds, axis=1))
        # Not `@`: the same bits on any number of BLAS threads.
        return float((check_mix(target_mix, len(self.classes)) * sizes).sum())

    def class_error(self, thresholds: FloatArray) -> FloatArray:
        """Miss rate of each class, if the pilot were the population."""
        true_scores = self.scores[np.arange(len(self.index)), self.index]
        return self._by_class(true_scores < thresholds[self.index])

    def again(self, rng: np.random.Generator) -> "Pilot":
        """Another pilot of the same size, drawn from this one: its own uncertainty."""
        by_label = np.split(self.rows, np.flatnonzero(np.diff(self._labels)) + 1)
        return replace(self, rows=np.concatenate([rng.choice(rows, len(rows)) for rows in by_label]))

    @cached_property
    def _labels(self) -> IntArray:
        """Of each of the ``rows``, so ascending."""
        return self.index[self.rows]

    def _by_class(self, values: NDArray[Any]) -> FloatArray:
        """Mean of a value per row over the rows of each class, each as often as it is held."""
        times = np.bincount(self.rows, minlength=len(self.index))
        return np.bincount(self.index, values * times) / np.bincount(self.index, times)


def _keep_rows(part: tuple[NDArray[Any], ...], limits: KeyArray) -> tuple[NDArray[Any], ...]:
    """Scores, labels and numbers of the rows whose number is within the limit of their class."""
    kept = part[2] <= limits[part[1]]
    return part if kept.all() else tuple(each[kept] for each in part)


def _find_limits(held: Sequence[tuple[NDArray[Any], ...]], limits: KeyArray) -> KeyArray:
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


def make_pilot(pilot: ScoresLike | Rows, labels: LabelsLike | None, classes: Sequence[Label] | None) -> Pilot:
    """A pilot of labelled rows, with some rows of every class."""
    if isinstance(pilot, Tally):
        raise InputError("a tally has no rows to draw from: what sets hold depends on whole rows. Pass rows.")
    rows = bind_source(pilot, labels, name="pilot", classes=classes)
    return Pilot.of_blocks(rows.map(lambda batch: (batch.scores, batch.labels)), rows.classes)


def check_mixes(pilot: Pilot, source_mix: Any, target_mix: Any) -> list[Mixes]:
    """The mix of the source, with each mix that the target may have."""
    source = pilot.source_mix if source_mix is None else _read_mix(source_mix, pilot.classes)
    if target_mix is None:
        raise InputError(f"{param('target_mix')} is missing: the expected share of each class in the target.")
    several = isinstance(target_mix, Sequence) and not isinstance(target_mix[0], int | float)
    mixes = list(target_mix) if several or np.ndim(target_mix) == 2 else [target_mix]
    return [Mixes(source, _read_mix(mix, pilot.classes)) for mix in mixes]


def _read_mix(mix: Any, classes: tuple[Label, ...]) -> FloatArray:
    """Shares by class name, or in the order of the classes."""
    if isinstance(mix, Mapping):
        shares = by_class(mix, classes, "mix")
        mix = [shares.get(place, 0.0) for place in range(len(classes))]
    return check_mix(in_class_order(mix, classes, "mix"), len(classes))
