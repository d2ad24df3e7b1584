"""PS-LW and LWCP: one threshold per class from that class alone, valid for any mix of labels."""

from dataclasses import dataclass
from math import floor

import numpy as np

from pacshift.bounds import binomial_cut
from pacshift.methods.base import Method, Solution, Task
from pacshift.methods.ps import examples_needed
from pacshift.tally import Tally
from pacshift.tally.threshold import class_threshold


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
        delta = task.delta / tally.n_classes
        cuts = [binomial_cut(int(m), epsilon=task.epsilon, delta=delta) for m in tally.class_counts]
        return _per_class(tally, cuts, needed=examples_needed(epsilon=task.epsilon, delta=delta))


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


def _per_class(tally: Tally, cuts: list[int], *, needed: int) -> Solution:
    thresholds = [class_threshold(tally, label, cut) for label, cut in enumerate(cuts)]
    reasons = tuple(
        f"class {tally.classes[label]!r} is in every set: {tally.class_counts[label]} source examples, "
        f"at least {needed} are needed."
        for label, cut in enumerate(cuts)
        if cut < 0
    )
    return Solution(np.array(thresholds), reasons=reasons)
