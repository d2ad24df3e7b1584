"""PS: PAC prediction sets on the source, which ignore any shift (Vovk 2012; Park et al. 2020)."""

from dataclasses import dataclass
from math import ceil, log, log1p

from pacshift.arrays import IntArray
from pacshift.bounds import binomial_cdf
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
