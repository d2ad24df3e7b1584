"""PS-LW and LWCP: one threshold per class from that class alone, valid for any mix of labels."""

from dataclasses import dataclass, replace
from math import floor

import numpy as np

from pacshift.bounds import binomial_cut
from pacshift.methods.base import Method, Solution, Task
from pacshift.methods.ps import examples_needed
from pacshift.tally import Tally
from pacshift.tally.grid import class_threshold


@dataclass(frozen=True)
class PSLW(Method):
    """PS for each class at (ε, δ/K). It has no options.

    The miss rate of every class is at most ε, and so is that of any mix of the classes.

    Examples
    --------
    >>> PSLW().guarantee, PSLW().any_mix
    ('pac-target', True)
    """

    name = "PS-LW"
    idea = "one threshold per class, from that class alone"
    guarantee = "pac-target"
    any_mix = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class."""
        return class_wise_solution(tally, epsilon=task.epsilon, delta=task.delta)


@dataclass(frozen=True)
class LWCP(Method):
    """The conformal quantile of each class: at most ⌊ε(m_j + 1)⌋ - 1 misses. It has no options.

    Sadinle, Lei and Wasserman (2019). On average over calibrations, the miss rate of every class is at most ε.

    Examples
    --------
    >>> LWCP().guarantee, LWCP().any_mix
    ('marginal', True)
    """

    name = "LWCP"
    idea = "one conformal quantile per class"
    guarantee = "marginal"
    any_mix = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class."""
        cuts = [floor(task.epsilon * (int(m) + 1)) - 1 for m in tally.class_counts]
        return _per_class(tally, cuts, needed=int(np.ceil(min(1 / task.epsilon, 1e18))) - 1)


def class_wise_solution(
    tally: Tally, *, epsilon: float, delta: float, n_unknown: int = 0, what: str = "source examples"
) -> Solution:
    """PS-LW: with probability at least 1 - δ no class is missed more than ε.

    Each of ``n_unknown`` more rows may be of any class, and is missed. A class has at most so many more rows, and
    with one more row the cut grows by one at most: so it is enough to allow for all of them at once.
    """
    share = delta / tally.n_classes
    cuts = [binomial_cut(int(m) + n_unknown, epsilon=epsilon, delta=share) for m in tally.class_counts]
    needed = examples_needed(epsilon=epsilon, delta=share)
    return _per_class(tally, [cut - n_unknown for cut in cuts], needed=needed, what=what)


def capped(
    solution: Solution,
    tally: Tally,
    *,
    class_epsilon: float,
    delta: float,
    n_unknown: int = 0,
    what: str = "source examples",
) -> Solution:
    """``solution`` with thresholds low enough that no class is missed more than ``class_epsilon``.

    Lemma 2 of docs/methods/trust-proofs.md: the elementwise minimum with PS-LW's thresholds. Lower
    thresholds miss less, so what was promised of ``solution`` still holds, and the cap holds with probability at
    least 1 - δ besides.
    """
    cap = class_wise_solution(tally, epsilon=class_epsilon, delta=delta, n_unknown=n_unknown, what=what)
    is_lower = cap.thresholds < solution.thresholds
    binding = cap.reasons if (np.isneginf(cap.thresholds) & is_lower).any() else ()
    return replace(
        solution,
        thresholds=np.minimum(solution.thresholds, cap.thresholds),
        reasons=(*solution.reasons, *(f"class_epsilon: {reason}" for reason in binding)),
        curve=None if is_lower.any() else solution.curve,  # the curve was drawn for other thresholds
    )


def _per_class(tally: Tally, cuts: list[int], *, needed: int, what: str = "source examples") -> Solution:
    thresholds = [class_threshold(tally, label, cut) for label, cut in enumerate(cuts)]
    reasons = tuple(
        f"class {tally.classes[label]!r} is in every set: {tally.class_counts[label]} {what}, "
        f"at least {needed} are needed."
        for label, cut in enumerate(cuts)
        if cut < 0
    )
    return Solution(np.array(thresholds), reasons=reasons)
