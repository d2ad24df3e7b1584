"""Methods that look at the source alone: PS and APS ignore any shift, PS-LW and LWCP are for any label mix.

PS: Vovk (2012), Park et al. (2020). APS is the same rule on adaptive scores: Romano, Sesia, Candès (2020). PS-LW
and LWCP find one threshold per class from that class alone.
"""

from dataclasses import dataclass, replace
from math import ceil, floor, log, log1p

import numpy as np

from pacshift.arrays import IntArray
from pacshift.bounds import binomial_cdf, binomial_cut
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task, one_threshold
from pacshift.tally import Tally
from pacshift.tally.grid import class_threshold, largest_threshold, rank_threshold
from pacshift.words.numbers import all_but, given


@dataclass(frozen=True)
class PS(Method):
    """The largest τ with at most k(m, ε, δ) errors among the m source rows. It has no options.

    Examples
    --------
    >>> PS().guarantee, PS().needs_target
    ('pac-source', False)
    """

    name = "PS"
    idea = "binomial bound on the source; ignores the shift"
    guarantee = "pac-source"
    needs_predicted = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        cut = binomial_cut(tally.n_source, epsilon=task.epsilon, delta=task.delta)
        threshold = rank_threshold(tally, cut)
        reasons = too_few(tally.n_source, epsilon=task.epsilon, delta=task.delta)
        return Solution(one_threshold(tally, threshold), reasons=reasons)


@dataclass(frozen=True)
class APS(PS):
    """PS on APS scores. It has no options.

    The adaptive score of a label depends on the whole row, so the tally must be made with ``score="aps"``
    (or ``"aps-plain"``, ``"raps"``, ``"raps-plain"``). ``calibrate`` does that.

    Examples
    --------
    >>> APS().guarantee, APS().default_score
    ('pac-source', 'aps')
    """

    name = "APS"
    idea = "PS on adaptive scores; ignores the shift"
    default_score = "aps"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        if tally.score not in ("aps", "aps-plain", "raps", "raps-plain"):
            raise InputError(
                f"method APS needs a tally of adaptive scores, this one holds {tally.score!r} scores. "
                'Make it from the scores with score="aps".'
            )
        return super().solve(tally, task)


def pac_threshold(tally: Tally, counts: IntArray, *, epsilon: float, delta: float) -> float:
    """PS on any ``counts`` of the tally's scores: errors ≤ k(n, ε, δ), that is Binom(errors; n, ε) ≤ δ.

    Parameters
    ----------
    tally : Tally
        Its ``values`` are the true-label scores.
    counts : array of int
        How often each of them counts; ``tally.counts`` for all rows.
    epsilon, delta : float
        The share that may be missed, and the probability that more is.

    Returns
    -------
    float
        The largest threshold that is proven, -inf if there is none.
    """
    total = int(counts.sum())
    return largest_threshold(
        tally, lambda errors: bool(binomial_cdf(errors.sum(), total, epsilon) <= delta), counts
    )


def fewest_examples(*, epsilon: float, delta: float) -> int:
    """The fewest examples of which none may be missed: (1 - ε)^n ≤ δ."""
    # A delta shared among classes may have become 0, and an epsilon of 1e-320 divides to infinity.
    smallest = 5e-324
    return ceil(min(log(max(delta, smallest)) / log1p(-epsilon), 1e18))


def too_few(total: int, *, epsilon: float, delta: float, what: str = "source rows") -> tuple[str, ...]:
    """Why only "all labels" is valid, where ``total`` examples cannot show an error below ε.

    Parameters
    ----------
    total : int
        Number of examples.
    epsilon, delta : float
        The share that may be missed, and the probability that more is.
    what : str
        What the examples are called.

    Returns
    -------
    tuple of str
        One sentence, or none where there are enough examples: the ``reasons`` of a ``Solution``.
    """
    needed = fewest_examples(epsilon=epsilon, delta=delta)
    if total >= needed:
        return ()
    return (
        f"{total} {what} cannot promise {given(epsilon)} with confidence {all_but(delta)}, even without a miss: "
        f"at least {needed} are needed.",
    )


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
    idea = "one threshold per class, each from that class alone; holds for every label mix"
    guarantee = "pac-target"
    any_mix = True
    needs_predicted = False

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
    needs_predicted = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class."""
        cuts = [floor(task.epsilon * (int(m) + 1)) - 1 for m in tally.class_counts]
        return _per_class(tally, cuts, needed=int(np.ceil(min(1 / task.epsilon, 1e18))) - 1)


def class_wise_solution(
    tally: Tally, *, epsilon: float, delta: float, n_unknown: int = 0, what: str = "source rows"
) -> Solution:
    """PS-LW: with probability at least 1 - δ no class is missed more than ε.

    Each of ``n_unknown`` more rows may be of any class, and is missed. A class has at most so many more rows, and
    with one more row the cut grows by one at most: so it is enough to allow for all of them at once.
    """
    share = delta / tally.n_classes
    cuts = [binomial_cut(int(m) + n_unknown, epsilon=epsilon, delta=share) for m in tally.class_counts]
    needed = fewest_examples(epsilon=epsilon, delta=share)
    return _per_class(tally, [cut - n_unknown for cut in cuts], needed=needed, what=what)


def limit_classes(
    solution: Solution,
    tally: Tally,
    *,
    class_epsilon: float,
    delta: float,
    n_unknown: int = 0,
    what: str = "source rows",
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
    )


def _per_class(tally: Tally, cuts: list[int], *, needed: int, what: str = "source rows") -> Solution:
    thresholds = [class_threshold(tally, label, cut) for label, cut in enumerate(cuts)]
    reasons = tuple(
        f"class {tally.classes[label]!r} is in every set: {tally.class_counts[label]} {what}, "
        f"at least {needed} are needed."
        for label, cut in enumerate(cuts)
        if cut < 0
    )
    return Solution(np.array(thresholds), reasons=reasons)
