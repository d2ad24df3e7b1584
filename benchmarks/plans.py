"""How well a plan foresees set sizes: predicted from a pilot, beside what fresh draws of that size give."""

import numpy as np

from benchmarks.lab import Blocks, Lab, quiet
from benchmarks.page import report
from pacshift import Population, Tally
from pacshift.methods import PSLP, Task
from pacshift.planning.pilot import Mixes, make_pilot
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
    """One line per panel of the paper: the size predicted from rows, and the true size."""
    draws, n_pilots = lab.trials or lab.choose(12, 1), lab.choose(2, 1)
    rows, close, inside = [], 0, []
    # Panels that differ in their numbers of rows only are one case here.
    cases = {(panel.dataset, panel.source_mix, panel.target_mix, panel.epsilon): panel for panel in PANELS[::-1]}
    panels = [panel for panel in PANELS if panel in cases.values() and lab.panels in panel.name]
    for panel in panels[: lab.choose(len(panels), 1)]:
        data = load_dataset(panel.dataset, lab.data)
        population = Population(data.probs, data.labels)
        effort = lab.choose(effort_for(len(population.classes)), Effort(1, 1, 1, 2))
        truth = np.array([true_size(population, panel, seed) for seed in range(draws)])
        plans = [foresee(population, panel, number, effort) for number in range(n_pilots)]
        error = np.mean([size for size, _ in plans]) / truth.mean() - 1
        inside.append(np.mean([np.abs(truth - size) <= width for size, width in plans]))
        close += abs(error) <= CLOSE
        rows.append((panel.name, f"{truth.mean():.3f}", f"{100 * error:+.1f} %", f"{100 * inside[-1]:.0f} %"))
        lab.say(f"plans: {' '.join(rows[-1])}")
    about = (
        f"Pilots of {PILOT_ROWS:,} rows, {n_pilots} per panel; certificates from {N_ROWS:,} source and target "
        f"rows, δ = {DELTA:g}; true sizes of {draws} fresh certificates. Within 5 % on average: {close} of "
        f"{len(rows)}. The interval made for 90 % of cases held the size of a fresh certificate in "
        f"{100 * np.mean(inside):.0f} % of all cases."
    )
    headings = "panel", "true size", "predicted", "in the interval"
    yield "plans", report(lab.command("plans"), about, markdown_table(headings, rows))


def foresee(population: Population, panel: Panel, number: int, effort: Effort) -> tuple[float, float]:
    """What ``plan`` answers from a pilot, size and half of the interval, without the curve."""
    rng = np.random.default_rng([PANELS.index(panel), number, 11])
    pilot = make_pilot(*population.draw(panel.source_mix, PILOT_ROWS, rng), population.classes)
    mixes = Mixes(np.array(panel.source_mix), np.array(panel.target_mix))
    simulator = Simulator(pilot, [mixes], PSLP(), Task(epsilon=panel.epsilon, delta=DELTA))
    size = float(simulator.sizes(N_ROWS, N_ROWS, effort.final_draws).mean())
    return size, half_width(simulator.sizes_of_pilots(N_ROWS, N_ROWS, effort.pilots), effort.final_draws)


def true_size(population: Population, panel: Panel, seed: int) -> float:
    """The size of one certificate by PS-LP from fresh rows, on the whole population."""
    rng = np.random.default_rng([seed, 5])
    source = Tally.from_scores(*population.draw(panel.source_mix, N_ROWS, rng), soft=False)
    target = Tally.from_target(population.draw(panel.target_mix, N_ROWS, rng)[0], soft=False)
    with quiet():
        thresholds = PSLP().solve(source + target, Task(epsilon=panel.epsilon, delta=DELTA)).thresholds
    return population.size(thresholds, panel.target_mix)
