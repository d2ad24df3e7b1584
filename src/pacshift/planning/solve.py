"""How many rows for which size of sets: give all but one of the three, and the plan finds the one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label, LabelsLike, ScoresLike
from pacshift.defaults import DELTA, EPSILON
from pacshift.methods import Method, Task, resolve_method
from pacshift.planning.curve import Curve
from pacshift.planning.pilot import CountPilot
from pacshift.planning.request import Question, check_mixes, check_rows, require_simulable, require_two, row_pilot
from pacshift.planning.search import find_curve, needed_rows, refined
from pacshift.planning.simulate import Simulator, half_width
from pacshift.progress import Progress
from pacshift.scores.check import check_rate
from pacshift.tally import Tally
from pacshift.words.display import short_repr
from pacshift.words.numbers import all_but, given, mean_size, percent

MAX_VALUES = 20_000_000
"""Rows times classes that may be asked about: 160 MB of scores; more would take too long to draw."""


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
        Made to hold the one that was found in 90 % of cases: another pilot and other data give other numbers. A
        size is that of one future certificate. The page "How much data do I need?" says how often the interval
        held it. Infinite where no number of rows that was tried is enough.
    approximate : bool
        Whether the pilot is a tally of more than two classes. It tells sizes roughly, and the interval does not
        cover this error.
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
    approximate: bool
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
        start = f"With {rows}, sets hold {mean_size(self.size)} labels on average"
        if self.found == "size":
            answer = f"{start} (in about 90 % of cases {mean_size(low)} to {mean_size(high)})."
        else:
            kind = "source" if self.found == "n_source" else "target"
            most = "more than was tried" if math.isinf(high) else f"{high:,.0f}"
            answer = f"{start}. Needed {kind} rows: in about 90 % of cases {low:,.0f} to {most}."
        if self.approximate:
            answer += " A tally of more than two classes tells sizes roughly: the interval does not cover this."
        promise = f"They miss at most {given(self.epsilon)}, with confidence {all_but(self.delta)}."
        fewest = self.class_rows[list(self.classes).index(self.bottleneck)]
        return (
            f"{answer} {promise} Bottleneck: class {self.bottleneck!r} with {fewest:,} source rows "
            f"({percent(self.bottleneck_share, 2)} of the uncertainty from the source). "
            "Add rows of this class first."
        )


def plan(
    pilot: ScoresLike | Tally,
    labels: LabelsLike | None = None,
    *,
    epsilon: float = EPSILON,
    delta: float = DELTA,
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
        What the certificate will promise, as in ``calibrate``. Defaults: 0.1 and 0.05.
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
    require_two(n_source, n_target, size)
    chosen = require_simulable(resolve_method(method))
    world = CountPilot(pilot) if isinstance(pilot, Tally) else row_pilot(pilot, labels, classes)
    mixes = check_mixes(world, source_mix, target_mix)
    task = Task(epsilon=check_rate(epsilon, "epsilon"), delta=check_rate(delta, "delta"), seed=rng)
    limit = MAX_VALUES // len(world.classes)
    question = Question(check_rows(n_source, limit), check_rows(n_target, limit), size)
    return _answer(question, Simulator(world, mixes, chosen, task, progress), limit)


def _answer(question: Question, simulator: Simulator, limit: int) -> Plan:
    """Find the curve, on it the rows, and with these the size and how sure it is."""
    pilot, mixes, effort = simulator.pilot, simulator.mixes, simulator.effort
    curve = find_curve(question, simulator, limit)
    rows = question.n_source or 0
    if question.size is not None:
        curve = refined(curve, question.size, question, simulator)
        rows = needed_rows(curve, question.size, question)
    n_source, n_target = question.rows(rows)
    simulator.thresholds.clear()  # those of the answer are wanted, not those of the curve
    size = float(simulator.sizes(n_source, n_target, effort.final_draws).mean())
    spread = half_width(simulator.sizes_of_pilots(n_source, n_target, effort.pilots), effort.final_draws)
    class_rows = np.round(mixes[0].source * n_source).astype(np.int64)
    label, share = _bottleneck(simulator, class_rows)
    return Plan(
        epsilon=simulator.task.epsilon,
        delta=simulator.task.delta,
        n_source=n_source,
        n_target=n_target,
        size=size,
        found=question.found,
        interval=_interval(question, curve, size, spread),
        approximate=pilot.approximate,
        bottleneck=pilot.classes[label],
        bottleneck_share=share,
        class_rows=class_rows,
        classes=pilot.classes,
        target_mixes=np.array([mix.target for mix in mixes]),
        curve_over=question.curve_over,
        curve_rows=curve.rows,
        curve_sizes=curve.sizes,
    )


def _interval(question: Question, curve: Curve, size: float, spread: float) -> tuple[float, float]:
    """Of the size, or of the rows that give the wanted size."""
    if question.size is None:
        return size - spread, size + spread
    return curve.rows_for(question.size + spread), curve.rows_for(question.size - spread)


def _bottleneck(simulator: Simulator, class_rows: IntArray) -> tuple[int, float]:
    """The class that adds most to the variance of the estimated error, Σ t_j² e_j (1 - e_j) / m_j."""
    rows = np.maximum(class_rows, 1)
    thresholds = simulator.thresholds or [np.full(len(rows), -np.inf)]
    rates = np.mean([simulator.pilot.class_error(cuts) for cuts in thresholds], axis=0)
    rates = np.clip(rates, 1 / rows, 0.5)  # a class that was never missed may still be missed
    weights = np.max([mix.target for mix in simulator.mixes], axis=0)
    parts = weights**2 * rates * (1 - rates) / rows
    label = int(np.argmax(parts))
    return label, float(parts[label] / parts.sum())
