"""How many rows for which size of sets: give all but one of the three, and the plan finds the one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.certificate.explain import percent
from pacshift.errors import InputError
from pacshift.methods import Method, resolve_method
from pacshift.planning.curve import Curve
from pacshift.planning.pilot import CountPilot, Mixes, Pilot, RowPilot
from pacshift.planning.simulate import NORMAL_90, Effort, Progress, Simulator, effort_for
from pacshift.scores.check import check_rate, shorten
from pacshift.simulate import Population
from pacshift.simulate.mix import check_mix
from pacshift.tally import Tally

MIN_ROWS = 100
MAX_VALUES = 20_000_000
"""Rows times classes that may be asked about: more would take too long to draw."""
MAX_SEARCHED_VALUES = 4_000_000
"""Rows times classes up to which wanted sizes are looked for."""
FAR_ENOUGH = 0.93
"""A size below this part of the wanted one is clearly smaller."""
CURVE_SPAN = 4.0
"""A curve around given rows goes from a quarter to four times as many."""


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
    found : {"size", "n_source", "n_target"}
        Which of the three was found; the other two were given.
    interval : tuple of two floats
        Where the one that was found lies in 90 % of cases: another pilot and other data would give other numbers.
        Infinite where no number of rows that was tried is enough.
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
    >>> made.found, made.interval[0] < made.size < made.interval[1]
    ('size', True)
    """

    epsilon: float
    delta: float
    n_source: int
    n_target: int
    size: float
    found: Literal["size", "n_source", "n_target"]
    interval: tuple[float, float]
    bottleneck: Label
    bottleneck_share: float
    class_rows: IntArray
    classes: tuple[Label, ...]
    target_mixes: FloatArray
    curve_over: Literal["n_source", "n_target"]
    curve_rows: IntArray
    curve_sizes: FloatArray

    def explain(self) -> str:
        """Say the plan in plain words.

        Returns
        -------
        str
            A few sentences.
        """
        low, high = self.interval
        rows = f"{self.n_source:,} labelled source rows and {self.n_target:,} unlabelled target rows"
        start = f"With {rows}, sets hold {self.size:.3f} labels on average"
        if self.found == "size":
            answer = f"{start} (in 90 % of cases {low:.3f} to {high:.3f})."
        else:
            kind = "source" if self.found == "n_source" else "target"
            most = "more than was tried" if math.isinf(high) else f"{high:,.0f}"
            answer = f"{start}. Needed {kind} rows: in 90 % of cases {low:,.0f} to {most}."
        promise = f"They miss at most {percent(self.epsilon)}, with confidence {percent(1 - self.delta)}."
        fewest = self.class_rows[list(self.classes).index(self.bottleneck)]
        return (
            f"{answer} {promise} Bottleneck: class {self.bottleneck!r} with {fewest:,} source rows "
            f"({self.bottleneck_share:.0%} of the uncertainty from the source). Add rows of this class first."
        )


def plan(
    pilot: Any,
    labels: Any = None,
    *,
    epsilon: float,
    delta: float,
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
    pilot : array_like, frame or Tally
        Scores of some labelled rows, one column per class. Or the tally of labelled and unlabelled rows; the size
        is then approximate for more than two classes.
    labels : array_like, optional
        True labels of the scores; not for a tally.
    epsilon, delta : float
        What the certificate will promise, as in ``calibrate``.
    target_mix : mapping, array_like, or list of them, optional
        Expected share of each class on the target, scaled to add up to 1. With several mixes the plan is for the
        worst. Default for a tally: the mix of its unlabelled rows.
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
    found = _check_question(n_source, n_target, size)
    chosen = resolve_method(method)
    world = CountPilot(pilot) if isinstance(pilot, Tally) else _row_pilot(pilot, labels, classes)
    mixes = _check_mixes(world, source_mix, target_mix)
    effort = effort_for(len(world.classes))
    simulator = Simulator(
        world,
        mixes,
        epsilon=check_rate(epsilon, "epsilon"),
        delta=check_rate(delta, "delta"),
        method=chosen,
        seed=rng,
        total=effort.total,
        progress=progress,
    )
    limit = MAX_VALUES // len(world.classes)
    question = _Question(found, _check_rows(n_source, limit), _check_rows(n_target, limit), size)
    return _answer(question, simulator, world, mixes, effort, limit, (epsilon, delta))


@dataclass(frozen=True, slots=True)
class _Question:
    """What is given; None is what is looked for."""

    found: Literal["size", "n_source", "n_target"]
    n_source: int | None
    n_target: int | None
    size: float | None

    @property
    def curve_over(self) -> Literal["n_source", "n_target"]:
        return "n_target" if self.found == "n_target" else "n_source"

    def rows(self, n_rows: int) -> tuple[int, int]:
        """Source and target rows where the curve has ``n_rows``."""
        if self.curve_over == "n_target":
            return self.n_source or 0, n_rows
        return n_rows, self.n_target or 0


def _answer(
    question: _Question,
    simulator: Simulator,
    pilot: Pilot,
    mixes: Sequence[Mixes],
    effort: Effort,
    limit: int,
    promise: tuple[float, float],
) -> Plan:
    curve = _curve(question, simulator, effort, limit, len(pilot.classes))
    rows = question.n_source or 0
    if question.size is not None:
        curve = _refined(curve, question.size, question, simulator, effort)
        rows = _needed(curve, question.size, question)
    n_source, n_target = question.rows(rows)
    simulator.thresholds.clear()
    sizes = simulator.sizes(n_source, n_target, effort.final_draws)
    spread = NORMAL_90 * float(simulator.sizes_of_pilots(n_source, n_target, effort.pilots).std(ddof=1))
    size = float(sizes.mean())
    if question.size is None:
        interval = (size - spread, size + spread)
    else:
        interval = (curve.rows_for(question.size + spread), curve.rows_for(question.size - spread))
    class_rows = np.round(mixes[0].source * n_source).astype(np.int64)
    label, share = _bottleneck(simulator, pilot, mixes, class_rows)
    return Plan(
        epsilon=promise[0],
        delta=promise[1],
        n_source=n_source,
        n_target=n_target,
        size=size,
        found=question.found,
        interval=interval,
        bottleneck=pilot.classes[label],
        bottleneck_share=share,
        class_rows=class_rows,
        classes=pilot.classes,
        target_mixes=np.array([mix.target for mix in mixes]),
        curve_over=question.curve_over,
        curve_rows=curve.rows,
        curve_sizes=curve.sizes,
    )


def _curve(question: _Question, simulator: Simulator, effort: Effort, limit: int, n_classes: int) -> Curve:
    """Along the rows that are looked for, or around the source rows that are given."""
    if question.size is None:
        centre = question.n_source or 0
        first, last = max(MIN_ROWS, int(centre / CURVE_SPAN)), min(limit, int(centre * CURVE_SPAN))
    else:
        first, last = max(MIN_ROWS, 10 * n_classes), MAX_SEARCHED_VALUES // n_classes
    curve = Curve.empty()
    for n_rows in np.unique(np.geomspace(first, max(last, first), effort.points).astype(np.int64)).tolist():
        curve = curve.with_point(n_rows, simulator.sizes(*question.rows(n_rows), effort.draws))
        if question.size is not None and _is_past(curve, question.size):
            break  # more rows only cost more time
    return curve


def _is_past(curve: Curve, size: float) -> bool:
    """Whether the wanted size was reached clearly, or at two points."""
    return bool(curve.sizes[-1] < FAR_ENOUGH * size or np.count_nonzero(curve.sizes <= size) >= 2)


def _refined(curve: Curve, size: float, question: _Question, simulator: Simulator, effort: Effort) -> Curve:
    """The curve with more draws where it reaches the wanted size."""
    for _ in range(effort.refinements):
        needed = curve.rows_for(size)
        if math.isinf(needed):
            break
        n_rows = round(needed)
        curve = curve.with_point(n_rows, simulator.sizes(*question.rows(n_rows), effort.final_draws))
    return curve


def _needed(curve: Curve, size: float, question: _Question) -> int:
    needed = curve.rows_for(size)
    if math.isinf(needed):
        rows = f"{int(curve.rows[-1]):,} {'source' if question.found == 'n_source' else 'target'} rows"
        raise InputError(
            f"a mean size of {size:g} cannot be reached: {rows} still give {curve.sizes[-1]:.3f}. "
            "Ask for larger sets, add rows of the other kind, allow a larger epsilon, or use a better classifier."
        )
    digits = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return int(math.ceil(needed / digits) * digits)  # two digits: the simulation does not know more


def _bottleneck(
    simulator: Simulator, pilot: Pilot, mixes: Sequence[Mixes], class_rows: IntArray
) -> tuple[int, float]:
    """The class that adds most to the variance of the estimated error, Σ t_j² e_j (1 - e_j) / m_j."""
    rows = np.maximum(class_rows, 1)
    thresholds = simulator.thresholds or [np.full(len(rows), -np.inf)]
    rates = np.mean([pilot.class_error(cuts) for cuts in thresholds], axis=0)
    rates = np.clip(rates, 1 / rows, 0.5)  # a class that was never missed may still be missed
    weights = np.max([mix.target for mix in mixes], axis=0)
    parts = weights**2 * rates * (1 - rates) / rows
    label = int(np.argmax(parts))
    return label, float(parts[label] / parts.sum())


def _check_question(
    n_source: int | None, n_target: int | None, size: float | None
) -> Literal["size", "n_source", "n_target"]:
    given = {"n_source": n_source, "n_target": n_target, "size": size}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        raise InputError(
            f"give two of n_source, n_target and size, and the third is found; got {3 - len(missing)} of them."
        )
    if size is not None and not size > 0:
        raise InputError(f"size must be the mean number of labels per set, above 0, got {size!r}.")
    return missing[0]  # type: ignore[return-value]


def _check_rows(n_rows: int | None, limit: int) -> int | None:
    if n_rows is not None and not 1 <= n_rows <= limit:
        raise InputError(f"rows must be between 1 and {limit:,} for this number of classes, got {n_rows!r}.")
    return None if n_rows is None else int(n_rows)


def _row_pilot(scores: Any, labels: Any, classes: Sequence[Label] | None) -> RowPilot:
    if labels is None:
        raise InputError("a pilot of scores needs the labels of its rows: plan(scores, labels, ...).")
    population = Population(scores, labels, classes=classes)
    missing = sorted(set(range(len(population.classes))) - set(population.index.tolist()))
    if missing:
        names = shorten([population.classes[label] for label in missing])
        raise InputError(f"the pilot has no rows of class {names}. It needs some of every class.")
    return RowPilot(population)


def _check_mixes(pilot: Pilot, source_mix: Any, target_mix: Any) -> list[Mixes]:
    source = pilot.source_mix if source_mix is None else _mix(source_mix, pilot.classes)
    if target_mix is None:
        if not isinstance(pilot, CountPilot):
            raise InputError("target_mix is missing: the expected share of each class on the target.")
        return [Mixes(source, pilot.target_mix)]
    several = isinstance(target_mix, Sequence) and not isinstance(target_mix[0], int | float)
    given = list(target_mix) if several or np.ndim(target_mix) == 2 else [target_mix]
    return [Mixes(source, _mix(each, pilot.classes)) for each in given]


def _mix(given: Any, classes: tuple[Label, ...]) -> FloatArray:
    """Shares by class name, or in the order of the classes."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in classes]
        if unknown:
            raise InputError(f"the mix names {shorten(unknown)}, but the classes are {shorten(classes)}.")
        given = [given.get(name, 0.0) for name in classes]
    return check_mix(given, len(classes))
