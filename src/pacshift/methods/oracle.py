"""ORACLE: rejection sampling with the true weights."""

from dataclasses import dataclass, replace

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task, one_threshold
from pacshift.methods.ps import pac_threshold, too_few
from pacshift.tally import Tally
from pacshift.tally.coins import score_coins
from pacshift.weights.rejection import thin


@dataclass(frozen=True)
class Oracle(Method):
    """PS at (ε, δ) on the source examples, each kept with probability weight / largest weight. It has no options.

    Pass the weights q(y)/p(y) as ``calibrate(..., weights=[...])``, one per class in the order of the classes.
    The guarantee holds if they are the true ones.

    Examples
    --------
    >>> Oracle().name, Oracle().needs_weights
    ('ORACLE', True)
    """

    name = "ORACLE"
    idea = "rejection sampling with the true importance weights, which you must know"
    guarantee = "pac-target"
    extra_assumption = "The importance weights given are the true ones."
    needs_weights = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        if task.weights is None:
            raise InputError(
                "method ORACLE needs the true importance weights q(y)/p(y), one per class: pass them as weights=."
            )
        found = rejection_solution(tally, task, task.weights)
        return replace(found, weights=Interval(task.weights, task.weights))  # kept, so that it can be made again


def rejection_solution(tally: Tally, task: Task, weights: FloatArray) -> Solution:
    """PS on a sample thinned by ``weights`` as if they were true."""
    kept = thin(tally.counts, tally, weights / weights.max(), score_coins("rejection", tally, task.seed))
    few = too_few(
        int(kept.sum()), epsilon=task.epsilon, delta=task.delta, what="examples kept by rejection sampling"
    )
    threshold = pac_threshold(tally, kept, epsilon=task.epsilon, delta=task.delta)
    return Solution(one_threshold(tally, threshold), reasons=few)
