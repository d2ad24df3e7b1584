"""How well a plan foresees set sizes: predicted from a pilot, beside what fresh draws of that size give."""

import warnings

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from pacshift import Population, Tally, UninformativeWarning
from pacshift.arrays import FloatArray
from pacshift.methods import PSLP, Task
from pacshift.planning.pilot import CountPilot, Mixes, Pilot, RowPilot
from pacshift.planning.solve import Effort, Simulator, effort_for, half_width
from paper.experiments.datasets import load_dataset
from paper.experiments.panels import NATURAL_PANELS as PANELS
from paper.experiments.panels import Panel
from paper.experiments.summary import markdown_table

DELTA = 0.05
PILOT_ROWS = 10_000
N_ROWS = 20_000
"""Source rows, and as many target rows, of the certificates that are predicted."""
CLOSE = 0.05
"""A plan is close if the true size differs by at most this part."""


def run(lab: Lab) -> Blocks:
    """One line per panel of the paper: the size predicted from rows and from a tally, and the true size."""
    draws, n_pilots = lab.trials or lab.choose(12, 1), lab.choose(2, 1)
    rows, found = [], []
    # Panels that differ in their numbers of rows only are one case here.
    cases = {(panel.dataset, panel.source_mix, panel.target_mix, panel.epsilon): panel for panel in PANELS[::-1]}
    panels = [panel for panel in PANELS if panel in cases.values() and lab.panels in panel.name]
    for panel in panels[: lab.choose(len(panels), 1)]:
        data = load_dataset(panel.dataset, lab.data)
        population = Population(data.probs, data.labels)
        effort = lab.choose(effort_for(len(population.classes)), Effort(1, 1, 1, 2))
        truth = np.array([true_size(population, panel, seed) for seed in range(draws)])
        errors, inside = compared(truth, population, panel, effort, n_pilots)
        found.append((np.abs(errors) <= CLOSE, inside))
        parts = *(f"{100 * part:+.1f} %" for part in errors), *(f"{100 * part:.0f} %" for part in inside)
        rows.append((panel.name, f"{truth.mean():.3f}", *parts))
        lab.say(f"plans: {' '.join(rows[-1])}")
    close, held = np.sum([each for each, _ in found], axis=0), 100 * np.mean([each for _, each in found], axis=0)
    text = [
        conditions("plans" + (f" --trials {lab.trials}" if lab.trials else "")),
        f"Pilots of {PILOT_ROWS:,} rows, {n_pilots} per panel; certificates from {N_ROWS:,} source and target "
        f"rows, δ = {DELTA:g}; true sizes of {draws} fresh certificates. Within 5 % on average: {close[0]} of "
        f"{len(rows)} from rows, {close[1]} of {len(rows)} from a tally. The interval made for 90 % of cases held "
        f"the size of a fresh certificate in {held[0]:.0f} % of all cases from rows, in {held[1]:.0f} % from a "
        "tally.",
        markdown_table(HEADINGS, rows).strip(),
    ]
    yield "plans", "\n\n".join(text)


HEADINGS = (
    "panel",
    "true size",
    "predicted from rows",
    "from a tally",
    "in the interval, from rows",
    "from a tally",
)


def compared(
    truth: FloatArray, population: Population, panel: Panel, effort: Effort, n_pilots: int
) -> tuple[FloatArray, FloatArray]:
    """From rows and from a tally: the relative error of plans on average, and how often their interval held."""
    both = [pilots(population, panel, number) for number in range(n_pilots)]
    found = np.array([[foreseen(pilot, panel, effort) for pilot in pair] for pair in both])
    sizes, widths = found[..., :1], found[..., 1:]
    inside = (np.abs(truth - sizes) <= widths).mean(axis=(0, 2))
    return sizes.mean(axis=(0, 2)) / truth.mean() - 1, inside


def pilots(population: Population, panel: Panel, number: int) -> tuple[Pilot, Pilot]:
    """The same pilot as rows, and as the tally of these rows and as many unlabelled ones of the source's mix."""
    rng = np.random.default_rng([PANELS.index(panel), number, 11])
    scores, labels = population.draw(panel.source_mix, PILOT_ROWS, rng)
    others = population.draw(panel.source_mix, PILOT_ROWS, rng)[0]
    tally = Tally.from_scores(scores, labels, soft=False) + Tally.from_target(others, soft=False)
    return RowPilot.of(scores, labels, population.classes), CountPilot(tally)


def foreseen(pilot: Pilot, panel: Panel, effort: Effort) -> tuple[float, float]:
    """What ``plan`` answers, size and half of the interval, without the curve."""
    mixes = Mixes(np.array(panel.source_mix), np.array(panel.target_mix))
    simulator = Simulator(pilot, [mixes], PSLP(), Task(epsilon=panel.epsilon, delta=DELTA))
    size = float(simulator.sizes(N_ROWS, N_ROWS, effort.final_draws).mean())
    return size, half_width(simulator.sizes_of_pilots(N_ROWS, N_ROWS, effort.pilots), effort.final_draws)


def true_size(population: Population, panel: Panel, seed: int) -> float:
    """The size of one certificate from fresh rows, on the whole population."""
    return population.size(fresh_thresholds(population, panel, seed), panel.target_mix)


def fresh_thresholds(population: Population, panel: Panel, seed: int) -> FloatArray:
    """Those of PS-LP, which is what plans simulate."""
    rng = np.random.default_rng([seed, 5])
    source = Tally.from_scores(*population.draw(panel.source_mix, N_ROWS, rng), soft=False)
    target = Tally.from_target(population.draw(panel.target_mix, N_ROWS, rng)[0], soft=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)  # its size, K, says it
        task = Task(epsilon=panel.epsilon, delta=DELTA)
        return PSLP().solve(source + target, task).thresholds
