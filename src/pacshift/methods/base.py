"""What a method is: a frozen set of options that turns a tally into thresholds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import BoundCurve, Interval
from pacshift.tally import Tally

Guarantee: TypeAlias = Literal["pac-target", "pac-source", "marginal", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What the user asked for. ``weights`` are the true importance weights, for ORACLE alone.

    ``count_labels`` gives the mean set size on the target for each vector of thresholds in a list, counted on the
    rows themselves; None where only a tally is at hand.
    """

    epsilon: float
    delta: float
    rng: np.random.Generator
    weights: FloatArray | None = None
    count_labels: Callable[[Sequence[FloatArray]], list[float]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What a method found. ``reasons`` say why thresholds are -inf, or what was fallen back to.

    ``curve`` computes the bound curve when somebody looks at it.
    """

    thresholds: FloatArray
    weights: Interval | None = None
    prevalence: Interval | None = None
    accuracy: float | None = None
    reasons: tuple[str, ...] = ()
    curve: Callable[[], BoundCurve | None] | None = None


class Method(Protocol):
    """Every method of :data:`pacshift.METHODS`: its options are the fields of a frozen dataclass."""

    name: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    needs_target: ClassVar[bool]
    needs_soft: ClassVar[bool]
    needs_bins: ClassVar[bool]

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold a class."""
        ...


def one_threshold(tally: Tally, threshold: float) -> FloatArray:
    """The same threshold for every class."""
    return np.full(tally.n_classes, threshold)
