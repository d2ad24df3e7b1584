"""How close to the best single threshold: ``python benchmarks/sharpness.py [--trials 20] [--data DIR]``.

Every panel of the paper in population mode: source and target are drawn with replacement from one base of scores,
so that the error and the set size of any threshold on the target are known exactly. The *best* threshold is the
largest with an error of at most ε; the *excess* of a method is its mean size above that, and its *ratio* the share
of PS-W's excess. PS-LP keeps the smallest of three kinds of sets, shown too: one threshold for all classes,
rescaled thresholds, and an equal miss rate for all classes. "mix known" is its single threshold if the label mix
were known: what lies between is the price of the unknown mix.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.experiments.datasets import Dataset, load_dataset
from pacshift.experiments.panels import PANELS, Panel
from pacshift.methods import PSC, PSLP, PSW, Method, Oracle, Task
from pacshift.ps_lp.method import (
    EQUAL_MISS_RATE,
    ONE_THRESHOLD,
    RESCALED,
    THREE_KINDS,
    betting_test,
    certified_thresholds,
)
from pacshift.ps_lp.region import PrevalenceRegion, prevalence_region
from pacshift.simulate import resample
from pacshift.tally import Tally
from pacshift.tally.threshold import largest_threshold

METHODS: tuple[Method, ...] = (Oracle(), PSW(), PSC(), PSLP())
KINDS, KNOWN = (ONE_THRESHOLD, RESCALED, EQUAL_MISS_RATE), "mix known"
SHOWN = ("ORACLE", "PS-W", "PS-C", "PS-LP", *KINDS, KNOWN)


class Population:
    """Exact errors and sizes of thresholds on a target of known label mix."""

    def __init__(self, data: Dataset, target_mix: Sequence[float]) -> None:
        self.data, self.mix = data, np.array(target_mix)
        classes = range(data.n_classes)
        rows = [data.probs[data.labels == label] for label in classes]
        self.own = [np.sort(part[:, label]) for label, part in zip(classes, rows, strict=True)]
        self.all = [np.sort(part, axis=0) for part in rows]

    def error(self, thresholds: ArrayLike) -> float:
        cuts = np.broadcast_to(thresholds, len(self.own))
        below = [np.searchsorted(own, cut) / len(own) for own, cut in zip(self.own, cuts, strict=True)]
        return float(np.array(below) @ self.mix)

    def size(self, thresholds: ArrayLike) -> float:
        """Labels a set: for each true label the shares of rows whose scores of all labels reach the thresholds."""
        cuts = np.broadcast_to(thresholds, len(self.own))
        below = [[np.searchsorted(part[:, y], cut) / len(part) for y, cut in enumerate(cuts)] for part in self.all]
        return float((1 - np.array(below)).sum(axis=1) @ self.mix)

    def best_threshold(self, epsilon: float) -> float:
        values = np.unique(np.concatenate(self.own))
        low, high = 0, len(values)  # the smallest score misses nothing
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.error(values[middle]) <= epsilon else (low, middle)
        return float(values[low])


@dataclass(frozen=True)
class Line:
    """One panel: the best size, and for each method the sizes and errors of all trials."""

    panel: Panel
    best: float
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


def measure(panel: Panel, data: Dataset, trials: int) -> Line:
    """Draw, calibrate by every method, look up the truth."""
    population = Population(data, panel.target_mix)
    names = [*(method.name for method in METHODS), *KINDS, KNOWN]
    found: dict[str, list[ArrayLike]] = {name: [] for name in names}
    nobody = np.zeros(data.n_classes, bool)
    for trial in range(trials):
        rng = np.random.default_rng([*panel.name.encode(), trial])
        source = resample(data.labels, panel.source_mix, panel.n_source, rng)
        target = resample(data.labels, panel.target_mix, panel.n_target, rng)
        tally = Tally.from_scores(data.probs[source], data.labels[source], soft=False)
        tally = tally + Tally.from_target(data.probs[target], soft=False)
        weights = np.array(panel.target_mix) / np.array(panel.source_mix)
        for method in METHODS:
            task = Task(panel.epsilon, panel.delta, rng, weights if method.name == "ORACLE" else None)
            found[method.name].append(method.solve(tally, task).thresholds)
        region = prevalence_region(tally.confusion, tally.target, delta=THREE_KINDS.region * panel.delta)
        proven = certified_thresholds(tally, region, epsilon=panel.epsilon, delta=panel.delta, included=nobody)
        for kind in KINDS:
            found[kind].append(proven[kind])
        mix = only(np.array(panel.target_mix))
        known = betting_test(tally, mix, epsilon=panel.epsilon, delta=panel.delta, included=nobody)
        found[KNOWN].append(largest_threshold(tally, known.passes))
    sizes = {name: np.array([population.size(value) for value in found[name]]) for name in names}
    errors = {name: np.array([population.error(value) for value in found[name]]) for name in names}
    return Line(panel, population.size(population.best_threshold(panel.epsilon)), sizes, errors)


def only(mix: FloatArray) -> PrevalenceRegion:
    """The region of one mix, as if it were known."""
    nothing: FloatArray = np.empty((0, len(mix)))
    return PrevalenceRegion(nothing, np.empty(0), nothing, np.empty(0), Interval(mix, mix), 0.0)


def table(lines: Sequence[Line]) -> str:
    """Markdown: sizes, ratios, broken promises, and where the distance to ε comes from."""
    head = f"| panel | best | {' | '.join(SHOWN)} | ratio | ratio of ORACLE | broken | gap | of it mix |"
    rows = [
        f"| {line.panel.name} | {line.best:.3f} | "
        + " | ".join(f"{line.size(name):.3f}" for name in SHOWN)
        + f" | {line.ratio('PS-LP'):.3f} | {line.ratio('ORACLE'):.3f} | {line.broken('PS-LP')}"
        + f" | {line.gap(ONE_THRESHOLD):.4f} | {line.gap(ONE_THRESHOLD) - line.gap(KNOWN):.4f} |"
        for line in lines
    ]
    return "\n".join([head, "|---|" + "---:|" * (len(SHOWN) + 6), *rows])


def summary(lines: Sequence[Line]) -> str:
    """The goals, counted."""
    ratios = np.array([line.ratio("PS-LP") for line in lines])
    names = (*KINDS, KNOWN, "ORACLE")
    means = ", ".join(f"{name} {np.mean([line.ratio(name) for line in lines]):.3f}" for name in names)
    smaller = sum(line.size("PS-LP") <= line.size("ORACLE") for line in lines)
    broken = sum(line.broken("PS-LP") for line in lines)
    return (
        f"excess(PS-LP) / excess(PS-W): mean {ratios.mean():.3f}, largest {ratios.max():.3f}; means of others: "
        f"{means}\n"
        f"PS-LP at most as large as ORACLE on {smaller} of {len(lines)} panels; errors above epsilon: {broken}"
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the table panel by panel, then the averages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20, help="draws a panel (default 20)")
    parser.add_argument("--data", help="folder of real scores (default: PACSHIFT_DATA, else what is shipped)")
    parser.add_argument("--panels", default="", help="only panels whose name holds this")
    options = parser.parse_args(arguments)
    lines: list[Line] = []
    for panel in PANELS:
        if options.panels in panel.name:
            lines.append(measure(panel, load_dataset(panel.dataset, options.data), options.trials))
            printed = table(lines).splitlines()
            print("\n".join(printed if len(lines) == 1 else printed[-1:]), flush=True)
    print("\n" + summary(lines))


if __name__ == "__main__":
    main()
