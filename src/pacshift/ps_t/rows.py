"""What PS-T works on: labelled target rows, split into a pilot and a test, and rows to plan with.

The pilot, the source and unlabelled target rows plan a path of thresholds; the test rows choose a step of it. Only
the test rows matter for the promise, and they must have no part in the planning (docs/methods/ps-t.md, Lemma 1).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when first used
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray, KeyArray
from pacshift.paths.sample import numbers_of_all, row_numbers
from pacshift.ps_t.looks import look_cuts
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally
from pacshift.tally.coins import coins
from pacshift.tally.grid import CODE_BITS, float_to_code

SOURCE_ROWS, TARGET_ROWS, PLANNING_SCORES = 20_000, 4_000, 2_000_000
"""Most rows of source and target, and most scores of either, that are planned with. Beyond a few thousand rows a
path hardly changes; the limit on scores keeps a thousand classes within a second or two."""

ScoreRows = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """Rows that a path of thresholds is planned with: scores as they come, and labels as columns.

    ``transform`` makes of them the scores that are compared with thresholds.
    """

    source: ScoreRows
    source_labels: IntArray
    target: ScoreRows
    pilot: ScoreRows
    pilot_labels: IntArray
    transform: Transform


MIN_UNLABELLED = 200
"""With fewer unlabelled target rows, source rows stand in for them. A round number; not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsToPlan:
    """What a path is planned with beside the pilot: labelled source rows, and unlabelled target rows."""

    source: ScoreRows
    source_labels: IntArray
    target: ScoreRows
    is_stand_in: bool = False
    """Whether ``target`` holds source rows, because hardly any target row is unlabelled."""

    @classmethod
    def of(
        cls, source: ScoreRows, labels: IntArray, target: ScoreRows, unlabelled: IntArray | None = None
    ) -> "RowsToPlan":
        """Not too many of either; source rows stand in where hardly any target row is unlabelled.

        ``unlabelled`` are the places of target rows that have no label; by default that is all of them.
        """
        chosen = planning_rows(source, labels, SOURCE_ROWS)
        seen, among = target, unlabelled
        is_stand_in = len(target if among is None else among) < MIN_UNLABELLED
        if is_stand_in:
            seen, among = source, None
        others = seen[planning_rows(seen, None, TARGET_ROWS, among)]
        return cls(source[chosen], labels[chosen], others, is_stand_in)

    def with_pilot(self, scores: ScoreRows, labels: IntArray, transform: Transform) -> Planning:
        """All that a path is planned with."""
        return Planning(self.source, self.source_labels, self.target, scores, labels, transform)

    def chance_to_see(self, test: ScoreRows) -> float:
        """At most how likely so many rows of the test stand in the source, if it does not hold them (Lemma 3).

        Samples hold all rows whose number is below their largest one, so rows are compared below both.
        """
        own, n_times = np.unique(_keys(self.source), return_counts=True)
        below = min(row_numbers(sample).max() for sample in (self.source, self.target))

        def seen(rows: ScoreRows) -> BoolArray:
            keys = _keys(rows[row_numbers(rows) < below])
            return np.isin(keys[~np.isin(keys, own[n_times > 1])], own)

        tested, others = seen(test), seen(self.target)
        if self.is_stand_in or not tested.any():
            return 1.0
        n_rows, n_seen = len(tested) + len(others), int(tested.sum() + others.sum())
        return float(scipy.stats.hypergeom.sf(tested.sum() - 1, n_rows, n_seen, len(tested)))


def _keys(scores: ScoreRows) -> KeyArray:
    """Numbers by which rows are found again, also where their scores were stored as float32 in between."""
    with np.errstate(over="ignore"):
        return row_numbers(np.asarray(scores, np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTarget:
    """Labelled rows of the target, a random sample of it.

    Parameters
    ----------
    counted : Tally
        Every labelled row that has a class, pilot and test.
    test : Tally
        The rows of the test that have a class.
    n_unknown : int
        Rows of the test that nobody could label. They count as missed (Lemma 2).
    n_unknown_pilot : int
        Rows of the pilot that nobody could label. The pilot does without them.
    looks : tuple of int
        Rows of the test at every look that was planned (Lemma 1); one number if there is one look.
    look : int
        Which of the looks this is.
    planning : Planning or None
        None where only counts are at hand.
    """

    counted: Tally
    test: Tally
    n_unknown: int = 0
    n_unknown_pilot: int = 0
    looks: tuple[int, ...] = ()
    look: int = 0
    planning: Planning | None = None

    @classmethod
    def of_tally(cls, counted: Tally) -> "LabelledTarget":
        """Counts alone: every row is tested, at one look."""
        return cls(counted, counted, looks=(counted.n_source,))

    @property
    def n_rows(self) -> int:
        """Labelled rows in all, with those that nobody could label."""
        return self.counted.n_source + self.n_without_class

    @property
    def n_without_class(self) -> int:
        """Rows that nobody could label, pilot and test: each may be of any class."""
        return self.n_unknown + self.n_unknown_pilot

    def chance_to_match(self, source: Tally) -> float:
        """At most how likely so many rows of the test have, with their label, the score of exactly as many source
        rows as labelled ones, if they are not the same rows (Lemma 3).
        """
        (rows, times), (own, own_times) = _times(self.counted), _times(source)
        place = np.minimum(np.searchsorted(own, rows), len(own) - 1)
        tested = np.isin(rows, _times(self.test)[0])
        alike = tested & (own[place] == rows) & (own_times[place] == times)
        # Were the number of source rows Poisson, each would be alike with a chance of at most 1/e, independently.
        tail = scipy.special.bdtrc(alike.sum() - 1, tested.sum(), np.exp(-1)) if alike.any() else 1.0
        return float(min(1.0, np.exp(1) * np.sqrt(source.n_source) * tail))

    def cut(self, *, epsilon: float, delta: float) -> int:
        """How many rows of the test that have a class may be missed at this look; negative if none passes."""
        return look_cuts(self.looks, epsilon=epsilon, delta=delta)[self.look] - self.n_unknown


def _times(tally: Tally) -> tuple[IntArray, IntArray]:
    """The true-label scores of every class, on the grid, as ascending numbers; and how many rows have each."""
    columns = np.repeat(np.arange(tally.n_classes), np.diff(tally.starts))
    numbers = (columns << CODE_BITS) + float_to_code(tally.values)
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return numbers[first], np.add.reduceat(tally.counts, first)


def choose_pilot(scores: ScoreRows, labels: IntArray, n_pilot: int, seed: int) -> IntArray:
    """Places of the rows of the pilot: a random choice, the same in whatever order the rows come.

    The rows are put in order by their content before coins are thrown that are seeded by all of it, so which rows
    are chosen has no relation to what they are ("Coins" of docs/methods/ps-lp-proof.md).
    """
    values = np.asarray(scores, float)
    order = np.lexsort((*values.T, labels))
    rng = coins("pilot", seed, values[order], labels[order])
    return np.asarray(order[rng.permutation(len(order))[:n_pilot]])


def planning_rows(
    scores: ScoreRows, labels: IntArray | None, most: int, among: IntArray | None = None
) -> IntArray:
    """Places of up to ``most`` rows to plan with: the same rows, one after the other, in whatever order they come.
    Only those ``among`` these places, if they are given, and without a copy of the others.

    Those whose ``row_numbers`` are the smallest. Any choice is valid that does not look at the rows of the test.
    In an order of their own, because sums of floats depend on it.
    """
    chosen, most = np.arange(len(scores)), min(most, max(PLANNING_SCORES // scores.shape[1], 1))
    chosen = chosen if among is None else among
    if len(chosen) > most:
        numbers, own = numbers_of_all(scores)[chosen], None if labels is None else labels[chosen]
        chosen = chosen[_smallest(numbers, own, most)]
    names = () if labels is None else (labels[chosen],)
    return np.asarray(chosen[np.lexsort((*names, *scores[chosen].T))])


def _smallest(numbers: KeyArray, labels: IntArray | None, most: int) -> IntArray:
    """Places of the smallest numbers; of equal rows at the end as many of each label as are in proportion."""
    last = np.partition(numbers, most - 1)[most - 1]
    sure, alike = np.flatnonzero(numbers < last), np.flatnonzero(numbers == last)
    if labels is not None:
        alike = alike[np.argsort(labels[alike], kind="stable")]
    wanted = most - len(sure)
    return np.concatenate([sure, alike[(2 * np.arange(wanted) + 1) * len(alike) // (2 * wanted)]])
