"""How often does each method break its promise? Seeded Monte Carlo where the true target error is known exactly.

    python scripts/measure_guarantee.py > docs/tables/guarantee.md     # two or three minutes

A finite population of scores stands for the world. Source and target are drawn from it, with replacement, to their
label mixes. The target error of a threshold is then a plain count over the population: no test set, no noise.
"""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from pacshift import AssumptionError, Tally, UninformativeWarning, calibrate_tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods import METHODS
from pacshift.methods.base import Method
from pacshift.methods.ps_w import PSW
from pacshift.simulate import resample

EPSILON, DELTA = 0.1, 0.1
SOURCE_MIX = np.array([0.45, 0.35, 0.20])
TARGET_MIX = np.array([0.20, 0.20, 0.60])
PROMISE = {
    "pac-target": "PAC on the target",
    "pac-source": "PAC on the source",
    "marginal": "marginal",
    "none": "nothing",
}
ADAPTIVE = ("APS",)  # on plain APS scores: without random ties the true error stays a count


@dataclass(frozen=True)
class World:
    """The population: scores and labels of every member."""

    scores: FloatArray
    labels: IntArray

    @classmethod
    def make(cls, rng: np.random.Generator, *, size: int = 30_000, spread: float = 1.1) -> "World":
        """Three Gaussian classes in the plane, the third the hardest; scores are the posterior on the source."""
        centres = np.array([[0.0, 2.2], [-1.9, -1.1], [0.4, 0.1]])
        labels = np.repeat(np.arange(3), size // 3)
        points = centres[labels] + spread * rng.standard_normal((len(labels), 2))
        distance = ((points[:, None, :] - centres) ** 2).sum(axis=2)
        return cls(softmax(np.log(SOURCE_MIX) - distance / (2 * spread**2), axis=1), labels)

    def draw(self, mix: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
        """Rows drawn with replacement to a label mix."""
        return resample(self.labels, mix, size, rng)


@dataclass
class Count:
    """What happened to one method so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)


def variants() -> Iterator[tuple[str, Method]]:
    """Every method with its defaults, and PS-W with its sharper options."""
    for name, method in METHODS.items():
        yield name, method()
        if name == "PS-W":
            yield "PS-W, worst class", PSW(worst_case="class")
            yield "PS-W, hull, worst class", PSW(intervals="hull", worst_case="class")


def measure(n_source: int, n_target: int, trials: int, seed: int) -> dict[str, Count]:
    """Calibrate every method on the same draws and compare with the truth."""
    world = World.make(np.random.default_rng(seed))
    truth = {
        score: Tally.from_scores(world.scores, world.labels, score=score) for score in ("probability", "aps-plain")
    }
    counts: dict[str, Count] = {name: Count() for name, _ in variants()}
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        source = world.draw(SOURCE_MIX, n_source, rng)
        target = Tally.from_target(world.scores[world.draw(TARGET_MIX, n_target, rng)])
        tallies = {
            score: Tally.from_scores(world.scores[source], world.labels[source], score=score) + target
            for score in truth
        }
        for name, method in variants():
            score = "aps-plain" if name in ADAPTIVE else "probability"
            record(
                counts[name], method, tallies[score], truth[score], world, np.random.default_rng([seed, trial, 1])
            )
    return counts


def record(
    count: Count, method: Method, tally: Tally, truth: Tally, world: World, rng: np.random.Generator
) -> None:
    """One calibration, judged."""
    try:
        certificate = calibrate_tally(
            tally,
            epsilon=EPSILON,
            delta=DELTA,
            method=method,
            weights=TARGET_MIX / SOURCE_MIX if method.name == "ORACLE" else None,
            rng=rng,
        )
    except AssumptionError:
        count.outcomes["refused"] += 1
        return
    error = float(TARGET_MIX @ (truth.misses(certificate.thresholds) / truth.class_counts))
    sizes = certificate.sets(world.scores).sum(axis=1)
    per_class = np.bincount(world.labels, weights=sizes) / truth.class_counts
    count.outcomes["failed" if error > EPSILON else "trivial" if certificate.trivial else "kept"] += 1
    count.errors.append(error)
    count.sizes.append(float(TARGET_MIX @ per_class))


def table(counts: dict[str, Count], trials: int) -> Iterator[str]:
    """Markdown, one row a method."""
    yield "| method | promises | target error above ε | share | mean target error | mean set size | all labels |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    methods = dict(variants())
    for name, count in counts.items():
        failed = count.outcomes["failed"]
        yield (
            f"| {name} | {PROMISE[methods[name].guarantee]} | {failed} | {failed / trials:.3f} "
            f"| {np.mean(count.errors):.4f} | {np.mean(count.sizes):.3f} | {count.outcomes['trivial']} |"
        )


def main() -> None:
    """Two sample sizes, one table each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UninformativeWarning)  # counted in the last column
    for n_source, n_target in ((1000, 1000), (10_000, 10_000)):
        counts = measure(n_source, n_target, options.trials, options.seed)
        title = f"**m = {n_source:,}, n = {n_target:,}, ε = {EPSILON}, δ = {DELTA}, {options.trials} trials**"
        sys.stdout.write("\n".join([title, "", *table(counts, options.trials), "", ""]))


if __name__ == "__main__":
    main()
