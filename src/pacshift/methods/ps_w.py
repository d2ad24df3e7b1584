"""PS-W, the paper's method, and PS-C, its conservative baseline: both bound the importance weights by a box.

PS-W then does rejection sampling for the worst weights in the box, PS-C divides ε by the largest of them.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np

from pacshift.arrays import FloatArray, IntArray, scipy
from pacshift.bounds import Interval, binomial_cdf
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task, check_options, one_threshold
from pacshift.methods.point_weights import thin
from pacshift.methods.ps import pac_threshold, too_few
from pacshift.methods.weight_box import MAX_HULL_CLASSES, Intervals, NoBox, weight_box
from pacshift.tally import Tally
from pacshift.tally.coins import score_coins
from pacshift.tally.grid import largest_threshold
from pacshift.words.numbers import number_up


@dataclass(frozen=True)
class BoxedWeights(Method):
    """Base of PS-W and PS-C, which bound the importance weights by a box, at the same share of δ for each cell."""

    intervals: Intervals = "hull"

    guarantee = "pac-target"
    needs_target = True
    allows_contamination = True
    version = "2"

    def __post_init__(self) -> None:
        check_options(self)

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold for all classes."""
        delta = split_delta(task.delta, tally.n_classes)
        try:
            weights = weight_box(tally, delta=delta, intervals=self.intervals, contamination=task.contamination)
        except NoBox as failure:
            return Solution(
                one_threshold(tally, -np.inf),
                reasons=(lacking(failure, tally, delta=delta, intervals=self.intervals),),
            )
        return self._within(weights, tally, task, delta)

    def _within(self, weights: Interval, tally: Tally, task: Task, delta: float) -> Solution:
        """The largest threshold that is safe for all weights of the box, at ``delta``."""
        raise NotImplementedError


@dataclass(frozen=True)
class PSW(BoxedWeights):
    """The paper's Algorithm 1 with the corrections of the docs page "errata", and a tighter box.

    Parameters
    ----------
    intervals : {"hull", "elimination", "strict"}
        How the box around the importance weights is computed: the tightest one by linear programs (above 200
        classes by elimination, which is quicker), the paper's elimination on intervals of any sign, or Algorithm 1
        to the letter.
    worst_case : {"example", "class"}
        ``"example"`` is the published code: every error at the upper end of its weight, every other example at the
        lower end. ``"class"`` uses one weight per class, as the paper's equation does. It replaces the path of a
        class by its concave majorant, which is valid and slightly conservative.
    envelope : float, optional
        A bound on the true weights that is known before the data are seen. By default the largest upper end of
        the box is used, as published: see ``extra_assumption``.

    Raises
    ------
    InputError
        If an option has another value.

    Examples
    --------
    >>> PSW(intervals="elimination", worst_case="class").envelope is None
    True
    """

    worst_case: Literal["example", "class"] = "example"
    envelope: float | None = None

    name = "PS-W"
    idea = "the paper's method: bounds the weights, samples with the worst of them"

    def __post_init__(self) -> None:
        check_options(self)
        known = self.envelope
        if known is not None and (
            isinstance(known, bool) or not isinstance(known, Real) or not 1 <= known < np.inf
        ):
            raise InputError(f"envelope must be a finite number >= 1 (weights average 1), got {self.envelope!r}.")

    @property
    def extra_assumption(self) -> str:
        """What the promise rests on besides label shift, in words."""
        if self.envelope is None:
            return (
                "As published, the envelope of the weights is read off the data; the proof needs one that was "
                "fixed beforehand (option envelope)."
            )
        return f"No weight exceeds the envelope {self.envelope:g}, fixed beforehand."

    def _within(self, weights: Interval, tally: Tally, task: Task, delta: float) -> Solution:
        """Rejection sampling for the worst weights in the box."""
        if self.envelope is not None:
            weights = Interval(np.minimum(weights.lower, self.envelope), np.minimum(weights.upper, self.envelope))
        envelope = self.envelope or weights.upper.max()
        search = example_threshold if self.worst_case == "example" else worst_class_threshold
        keep = Interval(weights.lower / envelope, weights.upper / envelope)
        rng = score_coins("rejection", tally, task.seed)
        threshold, accepted = search(tally, keep, epsilon=task.epsilon, delta=delta, rng=rng)
        few = too_few(accepted, epsilon=task.epsilon, delta=delta, what="rows kept by rejection sampling")
        if few:
            few += (heaviest(weights, tally),)
        return Solution(one_threshold(tally, threshold), weights=weights, reasons=few)


@dataclass(frozen=True)
class PSC(BoxedWeights):
    """PS at ε / b: the target error is at most b times the source error, b the largest upper weight.

    The bound b is read off the data, and the promise is proven all the same (docs page "PS-C"): where the box
    holds, b is at least the largest true weight w, so that the threshold is not above the one of PS at the fixed
    level ε / w. Source: the paper, appendix "Conservative Baseline".

    Parameters
    ----------
    intervals : {"hull", "elimination", "strict"}
        How the box around the importance weights is computed, as in ``PSW``.

    Raises
    ------
    InputError
        If ``intervals`` has another value.

    Examples
    --------
    >>> PSC(intervals="elimination")
    PSC(intervals='elimination')
    """

    name = "PS-C"
    idea = "bounds the weights and divides epsilon by the largest"

    def _within(self, weights: Interval, tally: Tally, task: Task, delta: float) -> Solution:
        """PS at ε divided by the largest weight."""
        epsilon = task.epsilon / float(weights.upper.max())
        threshold = pac_threshold(tally, tally.counts, epsilon=epsilon, delta=delta)
        few = too_few(tally.n_source, epsilon=epsilon, delta=delta)
        if few:
            few += (heaviest(weights, tally),)
        return Solution(one_threshold(tally, threshold), weights=weights, reasons=few)


def example_threshold(
    tally: Tally, keep: Interval, *, epsilon: float, delta: float, rng: np.random.Generator
) -> tuple[float, int]:
    """Worst weight for every example; also how many examples are kept at the lowest threshold."""
    upper = thin(tally.counts, tally, keep.upper, rng)
    ratio = np.divide(keep.lower, keep.upper, out=np.zeros_like(keep.lower), where=keep.upper > 0)
    lower = thin(upper, tally, ratio, rng)  # kept at the lower weight: a thinning of those kept at the upper
    sure = int(lower.sum())

    def passes(upper_errors: IntArray, lower_errors: IntArray) -> bool:
        errors = int(upper_errors.sum())
        total = errors + sure - int(lower_errors.sum())
        return bool(binomial_cdf(errors, total, epsilon) <= delta)

    return largest_threshold(tally, passes, upper, lower), sure


def worst_class_threshold(
    tally: Tally, keep: Interval, *, epsilon: float, delta: float, rng: np.random.Generator
) -> tuple[float, int]:
    """Worst weight for every class: no choice of one weight per class may make the errors too many.

    As the weight of a class grows from its lower end, examples join in the order of their V. The least concave
    majorant of that path of errors (slopes by pooling adjacent violators) bounds it from above. The majorants of
    all classes add up by merging slopes from steep to flat, and errors(n) ≤ k(n, ε, δ) must hold at every n on the
    way. Majorants lie above the paths, so the answer is valid but may be lower than the exact minimum over W.
    """
    label = np.repeat(np.arange(tally.n_classes), tally.class_counts)
    place = np.repeat(np.arange(len(tally.values)), tally.counts)  # examples in the order of `values`
    uniform = rng.random(len(label))
    sure = uniform <= keep.lower[label]
    joining = np.flatnonzero(~sure & (uniform <= keep.upper[label]))
    joining = joining[np.lexsort((uniform[joining], label[joining]))]
    sure_counts = np.bincount(place[sure], minlength=len(tally.values))
    ends = np.cumsum(np.bincount(label[joining], minlength=tally.n_classes))
    n_sure = int(sure.sum())
    first = tally.cumulative[tally.starts[:-1]]

    def passes(sure_errors: IntArray, all_errors: IntArray) -> bool:
        past = np.searchsorted(tally.cumulative, first + all_errors)  # of each class, the place of the threshold
        is_error = place[joining] < past[label[joining]]
        errors = merged_majorant(is_error.astype(float), ends) + sure_errors.sum()
        totals = n_sure + np.arange(len(errors))
        return bool((binomial_cdf(np.floor(errors + 1e-9), totals, epsilon) <= delta).all())

    return largest_threshold(tally, passes, sure_counts, tally.counts), n_sure


def merged_majorant(steps: FloatArray, ends: IntArray) -> FloatArray:
    """Largest sum of the classes' concave majorants for 0, 1, 2, ... joined examples."""
    slopes = [
        scipy.optimize.isotonic_regression(part, increasing=False).x
        for part in np.split(steps, ends[:-1])
        if len(part)
    ]
    merged = np.sort(np.concatenate(slopes))[::-1] if slopes else np.empty(0)
    return np.concatenate([[0.0], np.cumsum(merged)])


def split_delta(delta: float, n_classes: int) -> float:
    """The share of δ for each of K·K cells of the confusion matrix, K target cells and the threshold, all equal.

    Parameters
    ----------
    delta : float
        Allowed probability of a failure in all.
    n_classes : int
        Number of classes K.

    Returns
    -------
    float
        delta / (K(K + 1) + 1).

    Examples
    --------
    >>> split_delta(0.07, n_classes=2)
    0.01
    """
    return delta / (n_classes * n_classes + n_classes + 1)


def heaviest(weights: Interval, tally: Tally) -> str:
    """Which class has the largest upper weight: all others pay for it."""
    label = int(np.argmax(weights.upper))
    return (
        f"The weight of class {tally.classes[label]!r} may be up to {number_up(weights.upper[label])}: "
        f"more than its {tally.class_counts[label]} source rows would help; PS-LP and PS-LW need fewer."
    )


def lacking(failure: NoBox, tally: Tally, *, delta: float, intervals: Intervals) -> str:
    """Which class has too little data for a box, and what would help."""
    row, column = failure.cell
    label = row if column is None else column
    text = (
        f"class {tally.classes[label]!r}: {tally.class_counts[label]} source rows cannot bound its "
        f"weight at delta={delta:.2g} per cell ({failure})."
    )
    unseen = np.flatnonzero(tally.class_counts == 0)
    if len(unseen):
        names = ", ".join(repr(tally.classes[one]) for one in unseen[:3].tolist()) + ", ..." * (len(unseen) > 3)
        return text + f" The source has no row of {names}: add some, merge classes, or use PS-LP."
    if intervals != "hull" and tally.n_classes <= MAX_HULL_CLASSES:
        return text + ' The default, intervals="hull", needs no pivots and finds bounds from the same rows.'
    return text + " More data or fewer classes would help; PS-LP and PS-LW need less."
