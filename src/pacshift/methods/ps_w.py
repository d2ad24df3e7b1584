"""PS-W, the paper's method: a box around the weights, then rejection sampling for its worst member."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, binomial_cdf
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task, one_threshold
from pacshift.methods.ps import too_few
from pacshift.tally import Tally
from pacshift.tally.coins import score_coins
from pacshift.tally.grid import largest_threshold
from pacshift.weights.box import Intervals, check_intervals, lacking, split_delta, weight_box
from pacshift.weights.elimination import NoBox
from pacshift.weights.rejection import thin


@dataclass(frozen=True)
class PSW(Method):
    """The paper's Algorithm 1 with the corrections of the docs page "slips".

    Parameters
    ----------
    intervals : {"elimination", "strict", "hull"}
        How the box around the importance weights is computed: signed interval elimination, Algorithm 1 to the
        letter, or the tightest box by linear programs.
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
    >>> PSW(intervals="hull", worst_case="class").envelope is None
    True
    """

    intervals: Intervals = "elimination"
    worst_case: Literal["example", "class"] = "example"
    envelope: float | None = None

    name = "PS-W"
    idea = "the paper's method: bounds the importance weights, then rejection sampling with the worst of them"
    guarantee = "pac-target"
    tests_assumption = True
    needs_target = True

    def __post_init__(self) -> None:
        check_intervals(self.intervals)
        if self.worst_case not in ("example", "class"):
            raise InputError(f"worst_case must be 'example' or 'class', got {self.worst_case!r}.")
        if self.envelope is not None and not _is_envelope(self.envelope):
            raise InputError(f"envelope must be a finite number >= 1 (weights average 1), got {self.envelope!r}.")

    @property
    def extra_assumption(self) -> str:
        """What the promise rests on besides label shift, in words."""
        if self.envelope is None:
            return (
                "As published, the envelope of the importance weights is read off the data; the proof needs an "
                "envelope that was fixed beforehand (option envelope)."
            )
        return f"No importance weight q(y)/p(y) exceeds the envelope {self.envelope:g}, fixed beforehand."

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold for all classes."""
        delta = split_delta(task.delta, tally.n_classes)
        try:
            weights = weight_box(tally, delta=delta, intervals=self.intervals, contamination=task.contamination)
        except NoBox as failure:
            return Solution(one_threshold(tally, -np.inf), reasons=(lacking(failure, tally, delta=delta),))
        if self.envelope is not None:
            weights = Interval(np.minimum(weights.lower, self.envelope), np.minimum(weights.upper, self.envelope))
        envelope = self.envelope or weights.upper.max()
        search = example_threshold if self.worst_case == "example" else worst_class_threshold
        keep = Interval(weights.lower / envelope, weights.upper / envelope)
        rng = score_coins("rejection", tally, task.seed)
        threshold, accepted = search(tally, keep, epsilon=task.epsilon, delta=delta, rng=rng)
        few = too_few(accepted, epsilon=task.epsilon, delta=delta, what="examples kept by rejection sampling")
        return Solution(one_threshold(tally, threshold), weights=weights, reasons=few)


def _is_envelope(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(np.isfinite(float(value)) and value >= 1)


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

    def passes(sure_errors: IntArray, all_errors: IntArray) -> bool:
        is_error = place[joining] < tally.starts[label[joining]] + _distinct_below(all_errors)[label[joining]]
        errors = _merged_majorant(is_error.astype(float), ends) + sure_errors.sum()
        totals = n_sure + np.arange(len(errors))
        return bool((binomial_cdf(np.floor(errors + 1e-9), totals, epsilon) <= delta).all())

    def _distinct_below(errors: IntArray) -> IntArray:
        first = tally.cumulative[tally.starts[:-1]]
        return np.searchsorted(tally.cumulative, first + errors) - tally.starts[:-1]

    return largest_threshold(tally, passes, sure_counts, tally.counts), n_sure


def _merged_majorant(steps: FloatArray, ends: IntArray) -> FloatArray:
    """Largest sum of the classes' concave majorants for 0, 1, 2, ... joined examples."""
    slopes = [
        scipy.optimize.isotonic_regression(part, increasing=False).x
        for part in np.split(steps, ends[:-1])
        if len(part)
    ]
    merged = np.sort(np.concatenate(slopes))[::-1] if slopes else np.empty(0)
    return np.concatenate([[0.0], np.cumsum(merged)])
