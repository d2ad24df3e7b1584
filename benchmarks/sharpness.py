"""How close to the best single threshold: ``python benchmarks/sharpness.py [--trials 20] [--data DIR]``.

Every panel of the paper in population mode: source and target are drawn with replacement from one base of scores,
so that the error and the set size of any threshold on the target are known exactly. The *best* threshold is the
largest with an error of at most ε; the *excess* of a method is its mean size above that, and its *ratio* the share
of PS-W's excess. "mix known" is PS-LP told the true label mix: what lies between the two is the price of the mix.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.experiments.datasets import Dataset, load_dataset
from pacshift.experiments.panels import PANELS, Panel
from pacshift.methods import PSC, PSLP, PSW, Method, Oracle, Task
from pacshift.methods.ps_lp import SHARES
from pacshift.shift.region import PrevalenceRegion
from pacshift.shift.wealth import Wealth
from pacshift.shifting import resample
from pacshift.tally import Tally
from pacshift.threshold import largest_threshold

METHODS: tuple[Method, ...] = (Oracle(), PSW(), PSC(), PSLP())
KNOWN = "mix known"


class Population:
    """Exact errors and sizes of single thresholds on a target of known label mix."""

    def __init__(self, data: Dataset, target_mix: Sequence[float]) -> None:
        self.data, self.mix = data, np.array(target_mix)
        classes = range(data.n_classes)
        rows = [data.probs[data.labels == label] for label in classes]
        self.own = [np.sort(part[:, label]) for label, part in zip(classes, rows, strict=True)]
        self.all = [np.sort(part.ravel()) for part in rows]

    def error(self, threshold: float) -> float:
        return float(self._below(self.own, threshold) @ self.mix)

    def size(self, threshold: float) -> float:
        return float((1 - self._below(self.all, threshold)) @ self.mix) * len(self.mix)

    def best_threshold(self, epsilon: float) -> float:
        values = np.unique(np.concatenate(self.own))
        low, high = 0, len(values)  # the smallest score misses nothing
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.error(values[middle]) <= epsilon else (low, middle)
        return float(values[low])

    def _below(self, sorted_values: list[FloatArray], threshold: float) -> FloatArray:
        return np.array([np.searchsorted(values, threshold) / len(values) for values in sorted_values])


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
    names = [*(method.name for method in METHODS), KNOWN]
    found: dict[str, list[float]] = {name: [] for name in names}
    for trial in range(trials):
        rng = np.random.default_rng([*panel.name.encode(), trial])
        source = resample(data.labels, panel.source_mix, panel.n_source, rng)
        target = resample(data.labels, panel.target_mix, panel.n_target, rng)
        tally = Tally.from_scores(data.probs[source], data.labels[source], soft=False)
        tally = tally + Tally.from_target(data.probs[target], soft=False)
        weights = np.array(panel.target_mix) / np.array(panel.source_mix)
        for method in METHODS:
            task = Task(panel.epsilon, panel.delta, rng, weights if method.name == "ORACLE" else None)
            found[method.name].append(float(method.solve(tally, task).thresholds[0]))
        found[KNOWN].append(known_mix(tally, np.array(panel.target_mix), panel.epsilon, panel.delta))
    sizes = {name: np.array([population.size(value) for value in found[name]]) for name in names}
    errors = {name: np.array([population.error(value) for value in found[name]]) for name in names}
    return Line(panel, population.size(population.best_threshold(panel.epsilon)), sizes, errors)


def known_mix(tally: Tally, mix: FloatArray, epsilon: float, delta: float) -> float:
    """PS-LP's threshold if the label mix were known."""
    nothing: FloatArray = np.empty((0, len(mix)))
    region = PrevalenceRegion(nothing, np.empty(0), nothing, np.empty(0), Interval(mix, mix), 0.0)
    counts: IntArray = tally.class_counts
    wealth = Wealth(
        region,
        counts,
        tally.target,
        epsilon=epsilon,
        delta=SHARES.wealth * delta,
        miss_delta=SHARES.misses * delta,
        included=np.zeros(len(mix), bool),
    )
    return largest_threshold(tally, wealth.passes)


def table(lines: Sequence[Line]) -> str:
    """Markdown: sizes, ratios, broken promises, and where the distance to ε comes from."""
    head = (
        "| panel | best | ORACLE | PS-W | PS-C | PS-LP | mix known | ratio | ORACLE's | broken | gap | of it mix |"
    )
    rows = [
        f"| {line.panel.name} | {line.best:.3f} | "
        + " | ".join(f"{line.size(name):.3f}" for name in ("ORACLE", "PS-W", "PS-C", "PS-LP", KNOWN))
        + f" | {line.ratio('PS-LP'):.3f} | {line.ratio('ORACLE'):.3f} | {line.broken('PS-LP')}"
        + f" | {line.gap('PS-LP'):.4f} | {line.gap('PS-LP') - line.gap(KNOWN):.4f} |"
        for line in lines
    ]
    return "\n".join([head, "|---|" + "---:|" * 11, *rows])


def summary(lines: Sequence[Line]) -> str:
    """The goals, counted."""
    ratios = np.array([line.ratio("PS-LP") for line in lines])
    known, oracle = (np.mean([line.ratio(name) for line in lines]) for name in (KNOWN, "ORACLE"))
    smaller = sum(line.size("PS-LP") <= line.size("ORACLE") for line in lines)
    broken = sum(line.broken("PS-LP") for line in lines)
    return (
        f"excess(PS-LP) / excess(PS-W): mean {ratios.mean():.3f}, largest {ratios.max():.3f}; with the mix known "
        f"{known:.3f}; ORACLE {oracle:.3f}\n"
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
