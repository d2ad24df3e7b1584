"""PS-LW and LWCP: one threshold per class from that class alone, valid for any mix of labels."""

from dataclasses import dataclass
from math import floor
from typing import ClassVar

import numpy as np

from pacshift.bounds import binomial_cut
from pacshift.methods.base import Guarantee, Solution, Task
from pacshift.methods.ps import examples_needed
from pacshift.tally import Tally
from pacshift.tally.threshold import class_threshold


@dataclass(frozen=True)
class PSLW:
    """PS for each class at (ε, δ/K): every class is missed at most ε of the time, hence every mix of classes.

    It has no options and does not use the target.

    Examples
    --------
    >>> PSLW()
    PSLW()
    """

    name: ClassVar[str] = "PS-LW"
    guarantee: ClassVar[Guarantee] = "pac-target"
    needs_target: ClassVar[bool] = False
    needs_soft: ClassVar[bool] = False
    needs_bins: ClassVar[bool] = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class."""
        delta = task.delta / tally.n_classes
        cuts = [binomial_cut(int(m), epsilon=task.epsilon, delta=delta) for m in tally.class_counts]
        return _per_class(tally, cuts, needed=examples_needed(epsilon=task.epsilon, delta=delta))


@dataclass(frozen=True)
class LWCP:
    """The conformal quantile of each class: at most ⌊ε(m_j + 1)⌋ - 1 misses (Sadinle, Lei, Wasserman 2019).

    It has no options and does not use the target.

    Examples
    --------
    >>> LWCP()
    LWCP()
    """

    name: ClassVar[str] = "LWCP"
    guarantee: ClassVar[Guarantee] = "marginal"
    needs_target: ClassVar[bool] = False
    needs_soft: ClassVar[bool] = False
    needs_bins: ClassVar[bool] = False

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
