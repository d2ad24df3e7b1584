"""How close to the best that knows everything: set sizes on every panel of the paper.

Source and target are drawn from one population, so that the error and the set size of any thresholds on the target
are known exactly. Three floors know the whole population: the best single threshold, the best threshold per class,
and the best per class that misses no class more often than 3 epsilon ("with cap"), as tuned thresholds do. ORACLE
knows the true weights and calibrates on the same rows. The *excess* of a method is its mean size above the best
single threshold, and its *ratio* the share of PS-W's excess. PS-LP keeps the smaller of two kinds of sets, which
are shown too. "mix known" are its tuned thresholds if the label mix were known; the difference is the price of the
unknown mix.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import report
from pacshift import Population
from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.methods import PSC, PSLP, PSLW, PSW, Method, Oracle, RowAccess, Task
from pacshift.mix.region import PrevalenceRegion, prevalence_region
from pacshift.paths.sample import RowSample
from pacshift.ps_lp.theorem import EQUAL_MISS_RATE, MANY_ROWS, TUNED, betting_test, certified_thresholds, plan_for
from pacshift.ps_lp.tuned import CLASS_BALANCE, certified_on_path, tune
from pacshift.simulate.population import ROUNDING
from pacshift.tally import Tally
from paper.experiments.datasets import Dataset, load_dataset
from paper.experiments.panels import NATURAL_PANELS, Panel
from paper.experiments.summary import markdown_table

KINDS, KNOWN = (TUNED, EQUAL_MISS_RATE), "mix known"
FLOORS = ("best per class", "best with cap", "best threshold")
SIZES = (*FLOORS, "PS-LP", "ORACLE", *KINDS, KNOWN, "PS-W", "PS-C", "PS-LW")
RATIOS = ("ratio", "ratio of ORACLE", "broken", "gap", "of it mix")
SMALL_PANEL = "heart-natural-large-0.1"

HIGHEST_PRICE = 1e12
"""Beyond it a missed label costs more than any set size. A round number."""

Thresholds: TypeAlias = float | FloatArray


@dataclass(frozen=True)
class Line:
    """One panel: mean size and error of the floors and of each method, and in how many trials PS-LP missed ε."""

    panel: Panel
    sizes: dict[str, float]
    errors: dict[str, float]
    broken: int

    def ratio(self, method: str) -> float:
        best = self.sizes["best threshold"]
        return (self.sizes[method] - best) / (self.sizes["PS-W"] - best)

    def ratios(self) -> tuple[str, ...]:
        """Excesses, broken promises, and where the distance of the error to ε comes from."""
        gap, of_mix = self.panel.epsilon - self.errors[TUNED], self.errors[KNOWN] - self.errors[TUNED]
        excesses = (f"{self.ratio(method):.3f}" for method in ("PS-LP", "ORACLE"))
        return (*excesses, f"{self.broken}", f"{gap:.4f}", f"{of_mix:.4f}")


def run(lab: Lab) -> Blocks:
    """Sizes, ratios and averages over the panels. One table of both would be too wide for a page."""
    wanted, trials = lab.panels or lab.choose("", SMALL_PANEL), lab.trials or lab.choose(20, 2)
    lines = []
    for panel in NATURAL_PANELS:
        if wanted in panel.name:
            lines.append(measure(panel, load_dataset(panel.dataset, lab.data), trials))
            lab.say(f"sharpness {panel.name}: {lines[-1].sizes['PS-LP']:.3f}")
    if not lines:
        raise SystemExit(f"sharpness: no panel holds {wanted!r} in its name.")
    sizes = [(line.panel.name, *(f"{line.sizes[name]:.3f}" for name in SIZES)) for line in lines]
    ratios = [(line.panel.name, *line.ratios()) for line in lines]
    tables = markdown_table(("panel", *SIZES), sizes, left=1), markdown_table(("panel", *RATIOS), ratios, left=1)
    yield "sharpness", report(lab.command("sharpness"), *tables, summary(lines))


def measure(panel: Panel, data: Dataset, trials: int) -> Line:
    """Draw, calibrate by every method, look up the truth."""
    population, mix, epsilon = Population(data.probs, data.labels), panel.target_mix, panel.epsilon
    methods: tuple[Method, ...] = (
        PSLP(),
        Oracle(weights=panel.weights),
        PSW("elimination"),
        PSC("elimination"),
        PSLW(),
    )
    capped = best_class_thresholds(population, epsilon, mix, class_epsilon=CLASS_BALANCE * epsilon)
    floors: tuple[Thresholds, ...] = (
        best_class_thresholds(population, epsilon, mix),
        capped,
        population.best_threshold(epsilon, mix),
    )
    made: dict[str, list[Thresholds]] = {name: [cuts] for name, cuts in zip(FLOORS, floors, strict=True)}
    for trial in range(trials):
        rng = np.random.default_rng([*panel.drawn_name.encode(), trial])
        source, labels = population.draw(panel.source_mix, panel.n_source, rng)
        target = population.draw(mix, panel.n_target, rng)[0]
        tally = Tally.from_scores(source, labels, soft=False) + Tally.from_target(target, soft=False)
        sample = partial(RowSample.of, source, labels, target)
        rows = RowAccess(mean_sizes=partial(mean_sizes, target), sample=sample)
        task = Task(epsilon, panel.delta, 0, rows)
        thresholds = {method.name: method.solve(tally, task).thresholds for method in methods}
        for name, cuts in (thresholds | by_kind(tally, panel, sample)).items():
            made.setdefault(name, []).append(cuts)
    sizes = {name: float(np.mean([population.size(cuts, mix) for cuts in every])) for name, every in made.items()}
    errors = {name: np.array([population.error(cuts, mix) for cuts in every]) for name, every in made.items()}
    broken = int((errors["PS-LP"] > epsilon).sum())
    return Line(panel, sizes, {name: float(every.mean()) for name, every in errors.items()}, broken)


def mean_sizes(target: Any, cuts: Sequence[FloatArray]) -> list[float]:
    """Set sizes counted on the rows, as ``calibrate`` does."""
    return [float(np.count_nonzero(target >= each) / len(target)) for each in cuts]


def by_kind(tally: Tally, panel: Panel, sample: Callable[[], RowSample]) -> dict[str, Thresholds]:
    """The thresholds of every kind that PS-LP chooses from, and of tuned ones if the mix were known."""
    plan, nobody = plan_for(tally, epsilon=panel.epsilon, delta=panel.delta), np.zeros(tally.n_classes, bool)
    region = prevalence_region(tally.confusion, tally.target, delta=MANY_ROWS.region * panel.delta)
    tuning = tune(tally, epsilon=panel.epsilon, sample=sample)
    certified = certified_thresholds(tally, region, plan, included=nobody, tuning=tuning)
    test = betting_test(tally, only(np.array(panel.target_mix)), plan, included=nobody, held=tuning.held)
    found: dict[str, Thresholds] = {kind: certified[kind] for kind in KINDS}
    return found | {KNOWN: certified_on_path(tally, tuning.held, tuning.path, test.first_margin, test.passes)}


def best_class_thresholds(
    population: Population, epsilon: float, mix: Any, *, class_epsilon: float = 1.0
) -> FloatArray:
    """The thresholds per class with the smallest sets whose error under ``mix`` is at most ``epsilon``.

    No class is missed more often than ``class_epsilon``; by default a class may be missed always, if that makes
    the sets smallest. Infinite for a class that is in no set.

    Error and size are sums over the columns. So a price per missed label decides every column by itself, and
    bisection finds the lowest price at which few enough labels are missed. What is left of the allowed error goes
    to the column where it saves most. This goes along the convex hull of error and size, so it is exact up to a
    few rows per class; without a limit per class it is never worse than the best single threshold.
    """
    allowed, most = epsilon * (1 + ROUNDING), class_epsilon * (1 + ROUNDING)
    scores, index, shares = population.scores, population.index, population.row_shares(mix)
    columns = []  # of each class thresholds in rising order, what each misses, and what it adds to the size
    for label, column in enumerate(scores.T):
        own, order = index == label, np.argsort(column)
        # Only the scores of the class's own rows change what is missed; infinity is never in a set.
        thresholds = np.append(np.unique(column[own]), np.inf)
        place = np.searchsorted(column[order], thresholds)
        below = np.concatenate([[0.0], np.cumsum(shares[order])])
        missed = np.concatenate([[0.0], np.cumsum((shares * own)[order])])[place]
        kept = missed <= most * missed[-1]
        columns.append((thresholds[kept], missed[kept], (below[-1] - below[place])[kept]))

    def chosen(price: float) -> list[int]:
        return [int(np.argmin(size + price * missed)) for _, missed, size in columns]

    def total_missed(places: list[int]) -> float:
        return sum(float(missed[place]) for (_, missed, _), place in zip(columns, places, strict=True))

    low, high = 0.0, 1.0
    while total_missed(chosen(high)) > allowed and high < HIGHEST_PRICE:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if total_missed(chosen(middle)) > allowed else (low, middle)
    places = chosen(high)
    for _ in columns:  # raise the one threshold that saves most with the allowed error that is left
        rest = allowed - total_missed(places)
        further = [
            int(np.searchsorted(missed, missed[place] + rest, side="right")) - 1
            for (_, missed, _), place in zip(columns, places, strict=True)
        ]
        saved = [size[a] - size[b] for (_, _, size), a, b in zip(columns, places, further, strict=True)]
        best = int(np.argmax(saved))
        places[best] = max(places[best], further[best])
    found = np.array([thresholds[place] for (thresholds, _, _), place in zip(columns, places, strict=True)])
    if class_epsilon < 1:
        return found
    single = np.full(len(found), population.best_threshold(epsilon, mix))
    return min(found, single, key=lambda thresholds: population.size(thresholds, mix))


def only(mix: FloatArray) -> PrevalenceRegion:
    """The region of one mix, as if it were known."""
    nothing, point = np.empty((0, len(mix))), Interval(mix, mix)
    return PrevalenceRegion(nothing, np.empty(0), nothing, np.empty(0), point, 0.0, recall=point)


def summary(lines: Sequence[Line]) -> str:
    """Ratios over all lines."""
    ratios = np.array([line.ratio("PS-LP") for line in lines])
    means = ", ".join(
        f"{name} {np.mean([line.ratio(name) for line in lines]):.3f}" for name in (*KINDS, KNOWN, "ORACLE")
    )
    smaller = sum(line.sizes["PS-LP"] <= line.sizes["ORACLE"] for line in lines)
    over, over_capped = (
        np.exp(np.mean([np.log(line.sizes["PS-LP"] / line.sizes[floor]) for line in lines]))
        for floor in FLOORS[:2]
    )
    return (
        f"excess(PS-LP) / excess(PS-W): mean {ratios.mean():.3f}, largest {ratios.max():.3f}; means of others: "
        f"{means}. size(PS-LP) / size(best per class): geometric mean {over:.3f}; with the cap "
        f"of 3 ε per class {over_capped:.3f}. "
        f"PS-LP is at most as large as ORACLE on {smaller} of {len(lines)} panels; errors above ε: "
        f"{sum(line.broken for line in lines)}."
    )
