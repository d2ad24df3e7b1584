"""PS and APS: PAC prediction sets on the source, which ignore any shift.

PS: Vovk (2012), Park et al. (2020). APS is the same rule on adaptive scores: Romano, Sesia, Candès (2020).
"""

from dataclasses import dataclass
from math import ceil, log, log1p

from pacshift.arrays import IntArray
from pacshift.bounds import binomial_cdf
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task, one_threshold
from pacshift.tally import Tally
from pacshift.tally.grid import largest_threshold
from pacshift.words.numbers import all_but, given


@dataclass(frozen=True)
class PS(Method):
    """The largest τ with at most k(m, ε, δ) errors among the m source examples. It has no options.

    Examples
    --------
    >>> PS().guarantee, PS().needs_target
    ('pac-source', False)
    """

    name = "PS"
    idea = "the binomial bound on the source; ignores the shift"
    guarantee = "pac-source"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        threshold = pac_threshold(tally, tally.counts, epsilon=task.epsilon, delta=task.delta)
        reasons = too_few(tally.n_source, epsilon=task.epsilon, delta=task.delta)
        return Solution(one_threshold(tally, threshold), reasons=reasons)


@dataclass(frozen=True)
class APS(Method):
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
    guarantee = "pac-source"
    default_score = "aps"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        if tally.score not in ("aps", "aps-plain", "raps", "raps-plain"):
            raise InputError(
                f"method APS needs a tally of adaptive scores, this one holds {tally.score!r} scores. "
                'Make it from the scores with score="aps".'
            )
        return PS().solve(tally, task)


def pac_threshold(tally: Tally, counts: IntArray, *, epsilon: float, delta: float) -> float:
    """PS on any ``counts`` of the tally's scores: errors ≤ k(n, ε, δ), that is Binom(errors; n, ε) ≤ δ."""
    total = int(counts.sum())
    return largest_threshold(
        tally, lambda errors: bool(binomial_cdf(errors.sum(), total, epsilon) <= delta), counts
    )


def examples_needed(*, epsilon: float, delta: float) -> int:
    """The fewest examples of which none may be missed: (1 - ε)^n ≤ δ."""
    # A delta shared among classes may have become 0, and an epsilon of 1e-320 divides to infinity.
    smallest = 5e-324
    return ceil(min(log(max(delta, smallest)) / log1p(-epsilon), 1e18))


def too_few(total: int, *, epsilon: float, delta: float, what: str = "source examples") -> tuple[str, ...]:
    """Why only "all labels" is valid, where ``total`` examples cannot show an error below ε."""
    needed = examples_needed(epsilon=epsilon, delta=delta)
    if total >= needed:
        return ()
    return (
        f"{total} {what} cannot show an error rate below {given(epsilon)} with confidence {all_but(delta)}: "
        f"at least {needed} are needed.",
    )
