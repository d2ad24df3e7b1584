"""How many rows for which size of sets: give all but one of the three, and the plan finds the one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label, LabelsLike, ScoresLike, scipy
from pacshift.errors import AssumptionError, InputError, did_you_mean, param
from pacshift.methods import Method, Task, resolve_method
from pacshift.parallel import one_blas_thread
from pacshift.planning.pilot import Mixes, Pilot, check_mixes, make_pilot
from pacshift.progress import Progress
from pacshift.rows.rows import Rows
from pacshift.scores.check import check_rate
from pacshift.words.display import short_repr
from pacshift.words.numbers import all_but, given, mean_size, percent

MAX_VALUES = 20_000_000
"""Rows times classes that may be asked about: 160 MB of scores; more would take too long to draw."""
MIN_ROWS = 100
"""Fewest rows that are tried. A round number: below log(1/δ)/ε, about 30 by default, nothing can be certified."""
MAX_SEARCHED_VALUES = 4_000_000
"""Rows times classes up to which wanted sizes are looked for: 32 MB of scores. A round number."""
FAR_ENOUGH = 0.93
"""A size below this part of the wanted one is clearly smaller. Wider than the noise of a few draws; not
measured."""
CURVE_SPAN = 4
"""A curve around given rows goes from a quarter to four times as many: what one might still change. A round
number."""
COVERAGE = 0.9
"""Share of cases in which the interval of a plan is to hold the size that comes out. Measured on fresh
certificates of the paper's panels: 97 % (benchmarks/results/plans.md)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """How many rows give sets of which size.

    Attributes
    ----------
    epsilon, delta : float
        What the certificate will promise.
    n_source, n_target : int
        Labelled source rows and unlabelled target rows.
    size : float
        Mean number of labels per set that these rows give.
    solved_for : {"size", "n_source", "n_target"}
        Which of the three was found; the other two were given.
    interval : tuple of two floats
        Made to hold the one that was found in 90 % of cases: another pilot and other data give other numbers. A
        size is that of one future certificate. The page "How much data do I need?" says how often the interval
        held it. Infinite where no number of rows that was tried is enough.
    bottleneck : str, int, float or bool
        The class whose source rows are the first to add.
    bottleneck_share : float
        Its part of the uncertainty that comes from the source, between 0 and 1.
    class_rows : int array of shape (K,)
        Source rows of each class.
    classes : tuple
        Class names.
    target_mixes : float array of shape (number of mixes, K)
        Expected label mixes of the target. The size is that of the worst one.
    curve_over : {"n_source", "n_target"}
        What changes along the curve.
    curve_rows, curve_sizes : arrays
        The curve: numbers of rows, and the mean size with each.

    Examples
    --------
    >>> from pacshift import Population, plan
    >>> scores, labels = Population.synthetic(2, strength=4, rng=0).draw([0.8, 0.2], 1500, rng=1)
    >>> made = plan(scores, labels, epsilon=0.1, delta=0.05, target_mix=[0.5, 0.5], n_source=4000, n_target=900,
    ...             method="PS-LW")
    >>> made.solved_for, made.interval[0] < made.size < made.interval[1]
    ('size', True)
    """

    epsilon: float
    delta: float
    n_source: int
    n_target: int
    size: float
    solved_for: Literal["size", "n_source", "n_target"]
    interval: tuple[float, float]
    bottleneck: Label
    bottleneck_share: float
    class_rows: IntArray
    classes: tuple[Label, ...]
    target_mixes: FloatArray
    curve_over: Literal["n_source", "n_target"]
    curve_rows: IntArray
    curve_sizes: FloatArray

    __repr__ = short_repr

    def explain(self) -> str:
        """Say the plan in plain words.

        Returns
        -------
        str
            A few sentences.
        """
        low, high = self.interval
        rows = f"{self.n_source:,} labelled source rows and {self.n_target:,} unlabelled target rows"
        start = f"With {rows}, expect {mean_size(self.size)} labels per set"
        if self.solved_for == "size":
            answer = f"{start} ({mean_size(low)} to {mean_size(high)} in about 90 % of repetitions)."
        else:
            kind = "source" if self.solved_for == "n_source" else "target"
            most = "more than was tried" if math.isinf(high) else f"{high:,.0f}"
            answer = f"{start}. Needed {kind} rows: in about 90 % of repetitions {low:,.0f} to {most}."
        promise = f"At most {given(self.epsilon)} missed, confidence {all_but(self.delta)}."
        fewest = self.class_rows[list(self.classes).index(self.bottleneck)]
        return (
            f"{answer} {promise} What limits it: {self.bottleneck!r} with {fewest:,} source rows "
            f"({percent(self.bottleneck_share, 2)} of the uncertainty from the source). "
            "Add rows of this class first."
        )


@one_blas_thread()
@did_you_mean
def plan(
    pilot: ScoresLike | Rows,
    labels: LabelsLike | None = None,
    *,
    epsilon: float = 0.1,
    delta: float = 0.05,
    target_mix: Any = None,
    n_source: int | None = None,
    n_target: int | None = None,
    size: float | None = None,
    source_mix: Any = None,
    classes: Sequence[Label] | None = None,
    method: str | Method = "PS-LP",
    rng: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Find out how many rows give sets of a wanted size, or which size given rows will give.

    Give two of ``n_source``, ``n_target`` and ``size``; the third is found. Data of other sizes are drawn from the
    pilot and calibrated, so the answer is as good as the pilot. Its own uncertainty is part of the interval.

    Parameters
    ----------
    pilot : array_like, frame or Rows
        Scores of some labelled rows, one column per class, or what ``read`` gives. Of more than 50,000 rows so
        many are chosen, equally of all classes or all that a class has; the interval covers this.
    labels : array_like, optional
        True labels of the scores; not for rows that were read.
    epsilon, delta : float
        What the certificate will promise, as in ``calibrate``. Defaults: 0.1 and 0.05.
    target_mix : mapping, array_like, or list of them
        Expected share of each class on the target, scaled to add up to 1. With several mixes the plan is for the
        worst.
    n_source, n_target : int, optional
        Labelled source rows and unlabelled target rows.
    size : float, optional
        Wanted mean number of labels per set.
    source_mix : mapping or array_like, optional
        Share of each class among the source rows; default: as in the pilot.
    classes : sequence, optional
        Class names in the order of the columns; default: the column names of a frame, else 0 to K-1.
    method : str or Method, default "PS-LP"
        Makes the certificate.
    rng : int, default 0
        Seed: the same seed gives the same plan.
    progress : callable, optional
        Called with the certificates made so far and how many there will be at most.

    Returns
    -------
    Plan
        The three numbers, an interval for the one that was found, the bottleneck and the curve.

    Raises
    ------
    InputError
        If not exactly one of the three is left out, the pilot lacks a class, or the size cannot be reached.

    Examples
    --------
    >>> from pacshift import Population
    >>> scores, labels = Population.synthetic(2, strength=4, rng=0).draw([0.8, 0.2], 1500, rng=1)
    >>> needed = plan(scores, labels, epsilon=0.1, delta=0.05, target_mix=[0.5, 0.5], n_target=900, size=0.95,
    ...               method="PS-LW")
    >>> 500 < needed.n_source < 20000
    True
    """
    question = Question(n_source, n_target, size)
    chosen = resolve_method(method)
    if chosen.needs_weights or chosen.needs_soft or chosen.default_score != "probability":
        raise InputError(
            f"a plan cannot simulate method {chosen.name}. Choose PS-LP, PS-W, PS-C, PS-LW, LWCP or PS."
        )
    world = make_pilot(pilot, labels, classes)
    mixes = check_mixes(world, source_mix, target_mix)
    question.require_at_most(MAX_VALUES // len(world.classes))
    task = Task(epsilon=check_rate(epsilon, "epsilon"), delta=check_rate(delta, "delta"), seed=rng)
    simulator = Simulator(world, mixes, chosen, task, progress)

    curve = question.curve(simulator)
    rows = question.answer(curve)
    simulator.thresholds.clear()  # those of the answer are wanted, not those of the curve
    mean = float(simulator.sizes(*rows, simulator.effort.final_draws).mean())
    spread = half_width(simulator.sizes_of_pilots(*rows, simulator.effort.pilots), simulator.effort.final_draws)
    interval = mean - spread, mean + spread
    if size is not None:
        interval = curve.rows_for(size + spread), curve.rows_for(size - spread)
    class_rows = np.round(mixes[0].source * rows[0]).astype(np.int64)
    parts = parts_of_uncertainty(simulator, class_rows)
    label = int(np.argmax(parts))
    return Plan(
        epsilon=task.epsilon,
        delta=task.delta,
        n_source=rows[0],
        n_target=rows[1],
        size=mean,
        solved_for="size" if size is None else question.over,
        interval=interval,
        bottleneck=world.classes[label],
        bottleneck_share=float(parts[label] / parts.sum()),
        class_rows=class_rows,
        classes=world.classes,
        target_mixes=np.array([mix.target for mix in mixes]),
        curve_over=question.over,
        curve_rows=curve.rows,
        curve_sizes=curve.sizes,
    )


@dataclass(frozen=True, slots=True)
class Question:
    """Two of the three numbers; None stands for the one that is looked for."""

    n_source: int | None
    n_target: int | None
    size: float | None

    def __post_init__(self) -> None:
        if (n_said := 3 - [self.n_source, self.n_target, self.size].count(None)) != 2:
            raise InputError(
                f"give two of {param('n_source=')}, {param('n_target=')} and {param('size=')}, and the third is "
                f"found; got {n_said} of them."
            )
        if self.size is not None and not self.size > 0:
            raise InputError(
                f"{param('size')} must be the mean number of labels per set, above 0, got {self.size!r}."
            )

    def require_at_most(self, limit: int) -> None:
        """Refuse more rows than can be drawn."""
        for rows in (self.n_source, self.n_target):
            if rows is not None and not 1 <= rows <= limit:
                raise InputError(f"rows must be between 1 and {limit:,} for this number of classes, got {rows!r}.")

    @property
    def over(self) -> Literal["n_source", "n_target"]:
        """What changes along the curve: the rows that are looked for, or those of the source."""
        return "n_target" if self.n_target is None else "n_source"

    def at(self, n_rows: int) -> tuple[int, int]:
        """Rows of source and target at a point of the curve."""
        return (int(self.n_source or 0), n_rows) if self.over == "n_target" else (n_rows, int(self.n_target or 0))

    def curve(self, simulator: Simulator) -> Curve:
        """Sizes around the source rows that are given, or along the rows that are looked for."""
        effort, n_classes, size = simulator.effort, len(simulator.pilot.classes), self.size
        if size is None:
            n_source = int(self.n_source or 0)
            first = max(MIN_ROWS, n_source // CURVE_SPAN)
            last = min(MAX_VALUES // n_classes, n_source * CURVE_SPAN)
        else:
            first, last = max(MIN_ROWS, 10 * n_classes), MAX_SEARCHED_VALUES // n_classes
        curve = Curve()
        for n_rows in np.unique(np.geomspace(first, max(last, first), effort.points).astype(np.int64)).tolist():
            curve.add(n_rows, simulator.sizes(*self.at(n_rows), effort.draws))
            sizes = curve.sizes
            # Where the wanted size was reached clearly, or at two points, more rows only cost more time.
            if size is not None and (sizes[-1] < FAR_ENOUGH * size or np.count_nonzero(sizes <= size) >= 2):
                break
        if size is None:
            return curve
        for _ in range(effort.refinements):  # more draws where the curve reaches the wanted size
            if not math.isinf(needed := curve.rows_for(size)):
                curve.add(round(needed), simulator.sizes(*self.at(round(needed)), effort.final_draws))
        return curve

    def answer(self, curve: Curve) -> tuple[int, int]:
        """Rows of source and target: those that were given, or enough for the wanted size."""
        if self.size is None:
            return int(self.n_source or 0), int(self.n_target or 0)
        needed = curve.rows_for(self.size)
        if math.isinf(needed):
            tried = f"{int(curve.rows[-1]):,} {self.over.removeprefix('n_')} rows"
            raise InputError(
                f"sets of {self.size:g} labels on average cannot be reached: {tried} still give "
                f"{curve.sizes[-1]:.3f}. Ask for larger sets, add rows of the other kind, allow a larger epsilon, "
                "or use a better classifier."
            )
        digits = 10 ** max(0, math.floor(math.log10(needed)) - 1)
        return self.at(int(math.ceil(needed / digits) * digits))  # two digits: the simulation does not know more


def parts_of_uncertainty(simulator: Simulator, class_rows: IntArray) -> FloatArray:
    """What each class adds to the variance of the estimated error, Σ t_j² e_j (1 - e_j) / m_j."""
    some = np.maximum(class_rows, 1)
    thresholds = simulator.thresholds or [np.full(len(some), -np.inf)]
    rates = np.mean([simulator.pilot.class_error(cuts) for cuts in thresholds], axis=0)
    rates = np.clip(rates, 1 / some, 0.5)  # a class that was never missed may still be missed
    shares = np.max([mix.target for mix in simulator.mixes], axis=0)
    return np.asarray(shares**2 * rates * (1 - rates) / some)


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
        return np.array([self._size(n_source, n_target, draw) for draw in range(start, start + draws)])

    def sizes_of_pilots(self, n_source: int, n_target: int, pilots: int) -> FloatArray:
        """Sizes of certificates, each on a population of its own that the pilot might have come from."""
        return np.array([self._size(n_source, n_target, 1_000_000 + draw, again=True) for draw in range(pilots)])

    def _size(self, n_source: int, n_target: int, draw: int, *, again: bool = False) -> float:
        """The largest mean size over the target mixes."""
        rng, sizes = np.random.default_rng([self.task.seed, n_source, n_target, draw]), []
        pilot = self.pilot.again(rng) if again else self.pilot
        for mixes in self.mixes:
            tally = pilot.draw(mixes, n_source, n_target, rng)
            self._done += 1
            if self._progress:
                self._progress(min(self._done, self._total), self._total)
            # Label shift holds for these draws, so only the method is run, without the test of label shift before.
            try:
                thresholds = self._method.solve(tally, self.task).thresholds
            except AssumptionError:  # at most a share delta of the draws: all labels is what is left
                sizes.append(float(len(pilot.classes)))
                continue
            if not again:
                self.thresholds.append(thresholds)
            sizes.append(pilot.size(thresholds, mixes.target))
        return max(sizes)


class Curve:
    """Points of simulated sizes: those of all certificates that were made at each number of rows.

    More rows never make sets larger on average, so the means are smoothed to a curve that does not grow.
    """

    def __init__(self, points: Mapping[int, Sequence[float]] | None = None) -> None:
        self._points = {n_rows: list(sizes) for n_rows, sizes in (points or {}).items()}

    def add(self, n_rows: int, sizes: FloatArray) -> None:
        """Add a point, or more sizes to one that is there."""
        self._points.setdefault(n_rows, []).extend(sizes.tolist())

    @property
    def rows(self) -> IntArray:
        """Numbers of rows, rising."""
        return np.array(sorted(self._points), np.int64)

    @property
    def sizes(self) -> FloatArray:
        """The smoothed means."""
        drawn = [self._points[n_rows] for n_rows in sorted(self._points)]
        means, weights = [np.mean(sizes) for sizes in drawn], [len(sizes) for sizes in drawn]
        return np.asarray(scipy.optimize.isotonic_regression(means, weights=weights, increasing=False).x)

    def rows_for(self, size: float) -> float:
        """Rows that give this size, between the points on a logarithmic scale; infinite where none does.

        >>> curve = Curve({100: [2.5, 1.5], 10_000: [1.0]})
        >>> round(curve.rows_for(1.5)), curve.rows_for(3.0), curve.rows_for(0.5)
        (1000, 100.0, inf)
        """
        rows, sizes = self.rows, self.sizes
        if size < sizes[-1]:
            return math.inf
        place = int(np.argmax(sizes <= size))
        if place == 0:
            return float(rows[0])
        low, high = np.log(rows[place - 1 : place + 1])
        above, below = sizes[place - 1 : place + 1]
        return float(np.exp(low + (high - low) * (above - size) / (above - below)))
