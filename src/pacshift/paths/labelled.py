"""What PS-T works on: labelled target rows, split into a pilot and a test, and families of thresholds.

The pilot, the source and unlabelled target rows plan a path of thresholds; the test rows choose a step of it. Only
the test rows matter for the promise, and they must have no part in the planning (docs/methods/ps-t.md, Lemma 1).
Every family is nested: a larger parameter never lowers a threshold.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray, KeyArray, scipy
from pacshift.paths.looks import look_cuts
from pacshift.paths.path import ThresholdPath, fit_isotonic, last_passing
from pacshift.paths.posterior import fit_posterior, log_evidence, move_posterior
from pacshift.paths.sample import numbers_of_all, row_numbers
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally
from pacshift.tally.coins import coins
from pacshift.tally.grid import CODE_BITS, class_threshold, float_to_code, largest_threshold, mean_binned_size

if TYPE_CHECKING:
    from pacshift.acceptance.tops import TopScoreTable

SOURCE_ROWS, TARGET_ROWS, PLANNING_SCORES = 20_000, 4_000, 2_000_000
"""Most rows of source and target, and most scores of either, that are planned with. Beyond a few thousand rows a
path hardly changes; the limit on scores keeps a thousand classes within a second or two."""

MIN_UNLABELLED = 200
"""With fewer unlabelled target rows, source rows stand in for them. A round number; not measured."""

AIM = 2.0
"""No threshold is planned to miss more than this multiple of ε of a class of the source: an aim, not a promise.

Without it a rare class is given up: on halves of a survey the worst class was missed 61 % with 400 labels, with
the aim 26 %, at sets that are 16 % larger.
"""

LEVEL_ENDS, LEVEL_STEPS = (-25.0, 25.0), 1 << 20
"""Levels, as log-odds, from "every label" to "none", further than scores of 1e-9 reach; steps too small to
matter, which bisection finds at once."""

EQUAL_STEPS = 1000
"""Steps of the family of equal miss rates. A round number; not measured."""

ScoreRows = NDArray[np.floating[Any]]


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
        is_stand_in = len(target if unlabelled is None else unlabelled) < MIN_UNLABELLED
        seen, among = (source, None) if is_stand_in else (target, unlabelled)
        others = seen[planning_rows(seen, None, TARGET_ROWS, among)]
        return cls(source[chosen], labels[chosen], others, is_stand_in)

    def with_pilot(self, scores: ScoreRows, labels: IntArray, transform: Transform) -> "Planning":
        """All that a path is planned with."""
        return Planning(self, scores, labels, transform)

    def chance_to_see(self, test: ScoreRows) -> float:
        """At most how likely so many rows of the test stand in the source, if it does not hold them (Lemma 3).

        Samples hold all rows whose number is below their largest one, so rows are compared below both.
        """
        source_keys, n_times = np.unique(_keys(self.source), return_counts=True)
        below = min(row_numbers(sample).max() for sample in (self.source, self.target))

        def seen(rows: ScoreRows) -> BoolArray:
            keys = _keys(rows[row_numbers(rows) < below])
            return np.isin(keys[~np.isin(keys, source_keys[n_times > 1])], source_keys)

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
class Planning:
    """All that a path of thresholds is planned with: scores as they come, and labels as columns.

    ``transform`` makes of them the scores that are compared with thresholds.
    """

    rows: RowsToPlan
    pilot: ScoreRows
    pilot_labels: IntArray
    transform: Transform


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
    tops : TopScoreTable or None
        The rows of the test that have a class, by predicted label and top score; None where only counts are at
        hand.
    blanks : Blanks or None
        Rows of the test that nobody was asked about (Lemma 4); None if there are none.
    other_looks : tuple of LabelledTarget
        Other looks at the same sheet, where blanks leave several in reach. All hold at once.
    is_sheet : bool
        Whether rows may have been left blank, so that rows without a class may be among them (Lemma 5).
    path : str
        Fingerprint of what the thresholds are planned with.
    """

    counted: Tally
    test: Tally
    n_unknown: int = 0
    n_unknown_pilot: int = 0
    looks: tuple[int, ...] = ()
    look: int = 0
    planning: Planning | None = None
    tops: "TopScoreTable | None" = None
    blanks: "Blanks | None" = None
    other_looks: "tuple[LabelledTarget, ...]" = ()
    is_sheet: bool = False
    path: str = ""

    @classmethod
    def of_tally(cls, counted: Tally) -> "LabelledTarget":
        """Counts alone: every row is tested, at one look."""
        return cls(counted, counted, looks=(counted.n_source,))

    @property
    def n_rows(self) -> int:
        """Labelled rows in all, with those that nobody could label."""
        return self.counted.n_source + self.n_unknown + self.n_unknown_pilot

    @property
    def n_blank(self) -> int:
        """Rows of the test that nobody was asked about."""
        return 0 if self.blanks is None else len(self.blanks.scores)

    @property
    def n_without_class(self) -> int:
        """Rows that nobody could label, pilot and test, or was asked about: each may be of any class."""
        return self.n_unknown + self.n_unknown_pilot + self.n_blank

    @property
    def is_tuned(self) -> bool:
        """Whether labels of a pilot plan the thresholds."""
        return self.planning is not None and len(self.planning.pilot) > 0

    def chance_to_match(self, source: Tally) -> float:
        """At most how likely so many rows of the test have, with their label, the score of exactly as many source
        rows as labelled ones, if they are not the same rows (Lemma 3).
        """
        (rows, times), (source_values, source_times) = _times(self.counted), _times(source)
        place = np.minimum(np.searchsorted(source_values, rows), len(source_values) - 1)
        tested = np.isin(rows, _times(self.test)[0])
        alike = tested & (source_values[place] == rows) & (source_times[place] == times)
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
        numbers = numbers_of_all(scores)[chosen]
        last = np.partition(numbers, most - 1)[most - 1]
        sure, alike = np.flatnonzero(numbers < last), np.flatnonzero(numbers == last)
        if labels is not None:  # of equal rows at the end as many of each label as are in proportion
            alike = alike[np.argsort(labels[chosen][alike], kind="stable")]
        wanted = most - len(sure)
        middle = (2 * np.arange(wanted) + 1) * len(alike) // (2 * wanted)
        chosen = chosen[np.concatenate([sure, alike[middle]])]
    names = () if labels is None else (labels[chosen],)
    return np.asarray(chosen[np.lexsort((*names, *scores[chosen].T))])


CountLabels: TypeAlias = Callable[[Sequence[FloatArray]], list[float]]
"""Mean set sizes on the target rows for several vectors of thresholds."""


def mean_sizes(
    tally: Tally, candidates: Sequence[FloatArray], count_labels: CountLabels | None
) -> list[float] | None:
    """Labels per set on the target: counted on the rows if they are at hand, else by bins; None if neither is."""
    if count_labels is not None:
        return count_labels(candidates)
    if tally.bins is not None and tally.score == "probability":
        return [mean_binned_size(tally.bins, cuts) for cuts in candidates]
    return None


def smallest(tally: Tally, candidates: Sequence[FloatArray], count_labels: CountLabels | None) -> int:
    """The place of the thresholds with the smallest sets. All of them hold at once, so any rule may choose.

    If nothing tells the sizes: the first that are not all labels.
    """
    sizes = mean_sizes(tally, candidates, count_labels)
    return int(np.argmin([np.isneginf(cuts).all() for cuts in candidates] if sizes is None else sizes))


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Rows of the target to plan with: scores that are compared with thresholds, and chances of every label."""

    scores: FloatArray
    chances: FloatArray

    def size_at(self, path: ThresholdPath, error: float) -> float:
        """Labels per set at the last step of a path that would miss at most ``error`` of the true labels."""
        rows = len(self.scores)
        step = last_passing(path, lambda cuts: error - float(self.chances[self.scores < cuts].sum() / rows))
        return float(np.count_nonzero(self.scores >= path.thresholds(step)) / rows)


def typical_error(cut: int, rows: int) -> float:
    """About the error of thresholds at which ``cut`` of ``rows`` may be missed: the chosen step misses as many."""
    return (cut + 0.5) / (rows + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Blanks:
    """Rows of the test without a label: their scores, as they are compared with thresholds (Lemma 4 of ps-t.md).

    Such a row counts as missed unless its set is full; or, where ``hopeful``, only if it is empty.
    """

    scores: FloatArray
    hopeful: bool = False

    def count_misses(self, thresholds: FloatArray) -> int:
        """How many of them count as missed."""
        below = self.scores < thresholds
        return int(np.count_nonzero(below.all(axis=1) if self.hopeful else below.any(axis=1)))


class Family(Protocol):
    """A nested family of thresholds: its largest member at which at most ``cut`` rows of the test are missed.

    Those among ``blanks`` that count are among them. -inf where there is none.
    """

    def __call__(self, test: Tally, cut: int, blanks: Blanks | None = None) -> FloatArray: ...


def families(labelled: LabelledTarget, source: Tally, *, epsilon: float) -> list[Family]:
    """The families that are tried, each at its part of δ. They know neither the rows of the test nor the look.

    With a pilot one family, tuned; without, one threshold for all classes. With counts alone two families: one
    threshold, and equal miss rates of the classes of the source.
    """
    if labelled.planning is None:
        return [largest_single, partial(largest_equal_misses, source)]
    if not labelled.is_tuned:
        return [largest_single]
    path = tuned_path(forecast(labelled.planning), source, epsilon=epsilon)

    def largest_step(test: Tally, cut: int, blanks: Blanks | None = None) -> FloatArray:
        def room(cuts: FloatArray) -> float:
            return float(cut - test.misses(cuts).sum() - (0 if blanks is None else blanks.count_misses(cuts)))

        return path.thresholds(last_passing(path, room))

    return [largest_step]


def largest_single(test: Tally, cut: int, blanks: Blanks | None = None) -> FloatArray:
    """The same threshold for all classes: the largest that passes.

    A blank row leaves the full sets, or becomes empty, at one of its own scores: the lowest, or the highest.
    """
    if blanks is None:
        return np.full(test.n_classes, largest_threshold(test, lambda missed: bool(missed.sum() <= cut)))
    last_scores = blanks.scores.max(axis=1) if blanks.hopeful else blanks.scores.min(axis=1)
    last = np.sort(np.concatenate([np.repeat(test.values, test.counts), last_scores]))
    threshold = -np.inf if cut < 0 else float(last[cut]) if cut < len(last) else np.inf
    return np.full(test.n_classes, threshold)


def largest_equal_misses(source: Tally, test: Tally, cut: int, blanks: Blanks | None = None) -> FloatArray:
    """Thresholds that miss the same share of every class of the source: the largest, in steps of a thousandth."""
    assert blanks is None  # a sheet comes with rows to plan with
    if cut < 0:
        return np.full(test.n_classes, -np.inf)
    low, high = 0, EQUAL_STEPS + 1  # step 0 misses nothing
    while high - low > 1:
        middle = (low + high) // 2
        missed = test.misses(equal_miss_thresholds(source, middle / EQUAL_STEPS)).sum()
        low, high = (middle, high) if missed <= cut else (low, middle)
    return equal_miss_thresholds(source, low / EQUAL_STEPS)


def forecast(planning: Planning) -> Forecast:
    """What a posterior that was fitted on the source and moved towards the pilot says of the target."""
    rows = planning.rows
    posterior = fit_posterior(log_evidence(rows.source), rows.source_labels)
    posterior = move_posterior(posterior, log_evidence(planning.pilot), planning.pilot_labels)
    scores = np.asarray(planning.transform.apply(rows.target), float)
    return Forecast(scores, posterior.of(log_evidence(rows.target)))


def path_digest(
    labelled: LabelledTarget, source: Tally, *, epsilon: float, limits: FloatArray | None = None
) -> str:
    """Fingerprint of everything that a family of thresholds is made from (Lemma 4 of ps-t.md).

    Without a pilot there is one family, whatever the data are. ``limits`` of the error of each label are
    fixed too: whoever chose them after a look would choose among certificates, each of which is right by itself.
    """
    digest, planning = hashlib.sha256(b"one threshold"), labelled.planning
    if limits is not None:
        digest.update(repr(limits.tolist()).encode())
    if planning is None or not labelled.is_tuned:
        return digest.hexdigest()
    rows, aims = planning.rows, aims_of(source, epsilon=epsilon)
    for part in (rows.source, rows.source_labels, rows.target, planning.pilot, planning.pilot_labels, aims):
        digest.update(np.ascontiguousarray(part, np.float64).tobytes())
    digest.update(planning.transform.name.encode())
    return digest.hexdigest()


def aims_of(source: Tally, *, epsilon: float) -> FloatArray:
    """The aim of each class: the largest score with at most its share of source rows below; inf with too few."""
    cuts = [int(AIM * epsilon * total) for total in source.class_counts.tolist()]
    return np.array([class_threshold(source, label, cut) if cut else np.inf for label, cut in enumerate(cuts)])


def tuned_path(expected: Forecast, source: Tally, *, epsilon: float) -> ThresholdPath:
    """Thresholds where the planned posterior of the class reaches one level, below the aim of every class."""
    curves = fit_isotonic(expected.scores, expected.chances)
    return ThresholdPath(curves, aims_of(source, epsilon=epsilon), LEVEL_ENDS, LEVEL_STEPS, grid=False)


def equal_miss_thresholds(source: Tally, share: float | FloatArray) -> FloatArray:
    """Thresholds that miss about ``share`` of every class of the source; they never fall as the share grows.

    Several shares give a row of thresholds each.
    """
    cuts = (np.multiply.outer(share, source.class_counts + 1)).astype(np.int64) - 1
    return np.stack([class_threshold(source, label, cuts[..., label]) for label in range(source.n_classes)], -1)
