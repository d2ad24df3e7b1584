"""How close to the best that knows everything: set sizes on every panel of the paper.

Source and target are drawn from one population, so that the error and the set size of any thresholds on the target
are known exactly. Three floors know the whole population: the best single threshold, the best threshold per class,
and the best per class that misses no class more often than 3 epsilon ("with cap"), as tuned thresholds do. ORACLE
knows the true weights and calibrates on the same rows. The *excess* of a method is its mean size above the best
single threshold, and its *ratio* the share of PS-W's excess.
PS-LP keeps the smaller of two kinds of sets, which are shown too. "from counts" is PS-LP where only a tally is at
hand; "balance 6" and "balance none" are its other class balances. "mix known" are its tuned thresholds if the
label mix were known; the difference is the price of the unknown mix. Score sets for development, other mixes and
small samples have tables of their own (``--panels development``, ``other``, ``small``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from benchmarks.sharpness_cases import DEVELOPMENT, OTHER_MIXES, SMALL, load
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
from paper.experiments.datasets import Dataset
from paper.experiments.panels import NATURAL_PANELS, Panel
from paper.experiments.summary import markdown_table

FROM_COUNTS, BALANCES = "from counts", ("balance 6", "balance none")
METHODS: dict[str, Method] = {
    "PS-LP": PSLP(),
    FROM_COUNTS: PSLP(),
    "balance 6": PSLP(class_balance=6),
    "balance none": PSLP(class_balance="none"),
    "ORACLE": Oracle(),
    "PS-W": PSW(intervals="elimination"),  # as published
    "PS-C": PSC(intervals="elimination"),
    "PS-LW": PSLW(),
}
KINDS, KNOWN = (TUNED, EQUAL_MISS_RATE), "mix known"
SHOWN = ("PS-LP", "ORACLE", FROM_COUNTS, *BALANCES, *KINDS, KNOWN, "PS-W", "PS-C", "PS-LW")
HEADINGS = (
    "panel", "best per class", "best with cap", *SHOWN[:2], "best threshold", *SHOWN[2:],
    "ratio", "ratio of ORACLE", "broken", "gap", "of it mix",
)  # fmt: skip
SMALL_PANEL = "heart-natural-large-0.1"
GROUPS = {
    "The paper's panels": NATURAL_PANELS,
    "Other mixes, 20,000 rows on each side": OTHER_MIXES,
    "Small samples, 1,000 rows on each side, δ = 0.05": SMALL,
    "Development: score sets on which constants were chosen": DEVELOPMENT,
}

HIGHEST_PRICE = 1e12
"""Beyond it a missed label costs more than any set size. A round number."""

Thresholds: TypeAlias = float | FloatArray


@dataclass(frozen=True)
class Line:
    """One panel: the floors that know everything, and for each method sizes and errors of all trials."""

    panel: Panel
    best: float
    best_per_class: float
    best_capped: float
    sizes: dict[str, FloatArray]
    errors: dict[str, FloatArray]

    def size(self, method: str) -> float:
        return float(self.sizes[method].mean())

    def ratio(self, method: str) -> float:
        return (self.size(method) - self.best) / (self.size("PS-W") - self.best)

    def broken(self, method: str) -> int:
        return int((self.errors[method] > self.panel.epsilon).sum())

    def gap(self, method: str) -> float:
        """Mean distance of the true error below ε."""
        return float(self.panel.epsilon - self.errors[method].mean())

    def cells(self) -> list[str]:
        """The line for the table: sizes, ratios, broken promises, and where the distance to ε comes from."""
        found = list(map(self.size, SHOWN))
        floors = self.best_per_class, self.best_capped
        sizes = (*floors, *found[:2], self.best, *found[2:], self.ratio("PS-LP"), self.ratio("ORACLE"))
        gaps = self.gap(TUNED), self.gap(TUNED) - self.gap(KNOWN)
        return [
            self.panel.name,
            *(f"{value:.3f}" for value in sizes),
            f"{self.broken('PS-LP')}",
            *(f"{gap:.4f}" for gap in gaps),
        ]


def run(lab: Lab) -> Blocks:
    """Every panel and the averages, then the other groups of cases that are asked for or at hand."""
    wanted, trials = lab.panels or lab.choose("", SMALL_PANEL), lab.trials or lab.choose(20, 2)
    parts = [conditions(lab.command("sharpness"))]
    for title, panels in GROUPS.items():
        lines = []
        for panel in panels:
            if wanted in panel.name and (data := load(panel, lab.data)):
                lines.append(measure(panel, data, trials))
                lab.say(f"sharpness {panel.name}: {lines[-1].size('PS-LP'):.3f}, {lines[-1].best_per_class:.3f}")
        if lines:
            parts += [f"**{title}**", *tables(lines), summary(lines)]
    if len(parts) == 1:
        raise SystemExit(f"sharpness: no case at hand holds {wanted!r} in its name.")
    yield "sharpness", "\n\n".join(parts)


def tables(lines: Sequence[Line]) -> list[str]:
    """Floors and PS-LP, its kinds and other methods, and ratios. One table would be too wide for a page."""
    rows = [HEADINGS, *(line.cells() for line in lines)]
    cuts = [1, HEADINGS.index(TUNED), HEADINGS.index("ratio"), len(HEADINGS)]
    parts = ([(row[0], *row[first:last]) for row in rows] for first, last in pairwise(cuts))
    return [markdown_table(head, body, left=1).strip() for head, *body in parts]


def measure(panel: Panel, data: Dataset, trials: int) -> Line:
    """Draw, calibrate by every method, look up the truth."""
    population, mix = Population(data.probs, data.labels), panel.target_mix
    found: dict[str, list[Thresholds]] = {name: [] for name in SHOWN}
    for trial in range(trials):
        rng = np.random.default_rng([*panel.drawn_name.encode(), trial])
        source, labels = population.draw(panel.source_mix, panel.n_source, rng)
        target = population.draw(mix, panel.n_target, rng)[0]
        tally = Tally.from_scores(source, labels, soft=False) + Tally.from_target(target, soft=False)
        sample = partial(RowSample.of, source, labels, target)
        access = RowAccess(mean_sizes=partial(mean_sizes, target), sample=sample)
        task = Task(panel.epsilon, panel.delta, 0, access)
        for name, method in (METHODS | {"ORACLE": Oracle(weights=panel.weights)}).items():
            rows = replace(task, rows=replace(access, sample=None)) if name == FROM_COUNTS else task
            found[name].append(method.solve(tally, rows).thresholds)
        for kind, thresholds in by_kind(tally, panel, sample).items():
            found[kind].append(thresholds)
    best = population.size(population.best_threshold(panel.epsilon, mix), mix)
    best_per_class = population.size(best_class_thresholds(population, panel.epsilon, mix), mix)
    capped = best_class_thresholds(population, panel.epsilon, mix, class_epsilon=CLASS_BALANCE * panel.epsilon)
    sizes = {name: np.array([population.size(value, mix) for value in found[name]]) for name in SHOWN}
    errors = {name: np.array([population.error(value, mix) for value in found[name]]) for name in SHOWN}
    return Line(panel, best, best_per_class, population.size(capped, mix), sizes, errors)


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
    names = (*KINDS, KNOWN, "ORACLE")
    means = ", ".join(f"{name} {np.mean([line.ratio(name) for line in lines]):.3f}" for name in names)
    smaller = sum(line.size("PS-LP") <= line.size("ORACLE") for line in lines)
    broken = sum(line.broken("PS-LP") for line in lines)
    floors = np.array([[line.best_per_class, line.best_capped] for line in lines])
    sizes = np.array([line.size("PS-LP") for line in lines])
    over, over_capped = np.exp(np.log(sizes[:, None] / floors).mean(axis=0))
    others = np.array([[line.size(name) for name in (FROM_COUNTS, *BALANCES)] for line in lines])
    counted, *balances = np.exp(np.log(sizes[:, None] / others).mean(axis=0))
    worst = max(lines, key=lambda line: line.size("PS-LP") / line.size(FROM_COUNTS))
    return (
        f"excess(PS-LP) / excess(PS-W): mean {ratios.mean():.3f}, largest {ratios.max():.3f}; means of others: "
        f"{means}. size(PS-LP) / size(best per class): geometric mean {over:.3f}; with the cap "
        f"of 3 ε per class {over_capped:.3f}. size(PS-LP) / size({FROM_COUNTS}): geometric mean {counted:.3f}, "
        f"largest {worst.size('PS-LP') / worst.size(FROM_COUNTS):.3f} ({worst.panel.name}). Sets have "
        f"{1 / balances[0]:.3f} of their size with balance 6, and {1 / balances[1]:.3f} with none. "
        f"PS-LP is at most as large as ORACLE on {smaller} of {len(lines)} panels; errors above ε: {broken}."
    )
