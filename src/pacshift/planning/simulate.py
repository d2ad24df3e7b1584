"""Sizes of sets that certificates will have, and their curve: by drawing data from a pilot and calibrating."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import AssumptionError
from pacshift.methods import Method, Task
from pacshift.planning.pilot import Mixes, Pilot
from pacshift.progress import Progress

COVERAGE = 0.9
"""Share of cases in which the interval of a plan is to hold the size that comes out. Measured on fresh
certificates of the paper's panels: 91 % from rows, 71 % from tallies (docs/tables/plans.md)."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How many certificates are made at most, by the number of classes: many classes take long each.

    ``points`` of the curve get ``draws`` each. The answer gets ``final_draws`` from the pilot itself and one from
    each of ``pilots`` other pilots that might have been drawn: few of them make a wide interval. Where rows are
    looked for, ``refinements`` points with ``final_draws`` each are added near the answer.
    """

    points: int
    draws: int
    final_draws: int
    pilots: int
    refinements: int = 2

    @property
    def total(self) -> int:
        return self.points * self.draws + (1 + self.refinements) * self.final_draws + self.pilots


def effort_for(n_classes: int) -> Effort:
    """A few seconds for few classes, below half a minute for 100: as many certificates as that time allows."""
    if n_classes <= 5:
        return Effort(points=8, draws=4, final_draws=8, pilots=40)
    if n_classes <= 20:
        return Effort(points=8, draws=2, final_draws=4, pilots=30)
    if n_classes <= 50:
        return Effort(points=6, draws=1, final_draws=3, pilots=20)
    return Effort(points=4, draws=1, final_draws=2, pilots=12)


def half_width(sizes_of_pilots: FloatArray, final_draws: int) -> float:
    """How far the size of one future certificate lies from the predicted size, in 90 % of cases.

    One size from each of several pilots that might have been drawn: they vary around the predicted size as the
    future size does, by the pilot and by the data. The root is there because the predicted size is a mean of
    ``final_draws`` sizes, the t quantile because a standard deviation of few numbers is uncertain.

    >>> round(half_width(np.array([1.1, 1.2, 1.3]), final_draws=8), 3)
    0.31
    """
    quantile = float(scipy.special.stdtrit(len(sizes_of_pilots) - 1, (1 + COVERAGE) / 2))
    return float(quantile * sizes_of_pilots.std(ddof=1) * math.sqrt(1 + 1 / final_draws))


class Simulator:
    """Draws from a pilot and calibrates.

    The same seed and the same questions in the same order give the same numbers. No draw comes twice.
    """

    def __init__(
        self, pilot: Pilot, mixes: Sequence[Mixes], method: Method, task: Task, progress: Progress | None = None
    ) -> None:
        self.pilot, self.mixes, self.task = pilot, mixes, task
        self.effort = effort_for(len(pilot.classes))
        self._method, self._progress = method, progress
        self._done, self._total = 0, self.effort.total * len(mixes)
        self._asked: Counter[tuple[int, int]] = Counter()
        self.thresholds: list[FloatArray] = []

    def sizes(self, n_source: int, n_target: int, draws: int) -> FloatArray:
        """Sizes of ``draws`` certificates, on the pilot as the population; further ones if asked again."""
        start = self._asked[n_source, n_target]
        self._asked[n_source, n_target] += draws
        rngs = [self._rng(n_source, n_target, draw) for draw in range(start, start + draws)]
        return np.array([self._worst_size(self.pilot, n_source, n_target, rng) for rng in rngs])

    def sizes_of_pilots(self, n_source: int, n_target: int, pilots: int) -> FloatArray:
        """Sizes of certificates, each on a population of its own that the pilot might have come from."""
        rngs = [self._rng(n_source, n_target, 1_000_000 + number) for number in range(pilots)]
        return np.array([self._worst_size(self.pilot.again(rng), n_source, n_target, rng) for rng in rngs])

    def _rng(self, n_source: int, n_target: int, draw: int) -> np.random.Generator:
        return np.random.default_rng([self.task.seed, n_source, n_target, draw])

    def _worst_size(self, pilot: Pilot, n_source: int, n_target: int, rng: np.random.Generator) -> float:
        """The largest mean size over the target mixes."""
        return max(self._size(pilot, mixes, n_source, n_target, rng) for mixes in self.mixes)

    def _size(self, pilot: Pilot, mixes: Mixes, n_source: int, n_target: int, rng: np.random.Generator) -> float:
        tally = pilot.draw(mixes, n_source, n_target, rng)
        self._done += 1
        if self._progress:
            self._progress(min(self._done, self._total), self._total)
        # Label shift holds for these draws, so only the method is run, without the test of label shift before it.
        try:
            thresholds = self._method.solve(tally, self.task).thresholds
        except AssumptionError:  # at most a share delta of the draws: all labels is what is left
            return float(len(pilot.classes))
        if pilot is self.pilot:
            self.thresholds.append(thresholds)
        return pilot.size(thresholds, mixes.target)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Points of simulated sizes; ``draws`` says how many certificates each mean is over.

    More rows never make sets larger on average, so the points are smoothed to a curve that does not grow.
    """

    rows: IntArray
    means: FloatArray
    draws: IntArray

    @classmethod
    def empty(cls) -> "Curve":
        return cls(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))

    def with_point(self, n_rows: int, sizes: FloatArray) -> "Curve":
        """The curve with one point more, or with more draws at a point that it has.

        >>> Curve.empty().with_point(100, np.array([2.0])).with_point(100, np.array([1.0])).means
        array([1.5])
        """
        place = int(np.searchsorted(self.rows, n_rows))
        if n_rows in self.rows:
            means, draws = self.means.copy(), self.draws.copy()
            draws[place] += len(sizes)
            means[place] += (sizes.mean() - means[place]) * len(sizes) / draws[place]
            return Curve(self.rows, means, draws)
        return Curve(
            np.insert(self.rows, place, n_rows),
            np.insert(self.means, place, sizes.mean()),
            np.insert(self.draws, place, len(sizes)),
        )

    @property
    def sizes(self) -> FloatArray:
        """The smoothed means."""
        return np.asarray(scipy.optimize.isotonic_regression(self.means, weights=self.draws, increasing=False).x)

    def rows_for(self, size: float) -> float:
        """Rows that give this size, between the points on a logarithmic scale; infinite where none does.

        >>> curve = Curve(np.array([100, 10_000]), np.array([2.0, 1.0]), np.array([1, 1]))
        >>> round(curve.rows_for(1.5)), curve.rows_for(3.0), curve.rows_for(0.5)
        (1000, 100.0, inf)
        """
        sizes = self.sizes
        if size < sizes[-1]:
            return math.inf
        place = int(np.argmax(sizes <= size))
        if place == 0:
            return float(self.rows[0])
        low, high = np.log(self.rows[place - 1 : place + 1])
        above, below = sizes[place - 1 : place + 1]
        return float(np.exp(low + (high - low) * (above - size) / (above - below)))
