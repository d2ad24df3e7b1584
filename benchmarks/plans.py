"""How well a plan foresees set sizes: predicted from a pilot, beside what fresh draws of that size give."""

import warnings

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from pacshift import Population, Tally, UninformativeWarning
from pacshift.arrays import FloatArray
from pacshift.experiments.datasets import load_dataset
from pacshift.experiments.panels import PANELS, Panel
from pacshift.experiments.summary import markdown_table
from pacshift.methods import PSLP, Task
from pacshift.planning.pilot import CountPilot, Mixes, Pilot, RowPilot
from pacshift.planning.simulate import Simulator

DELTA = 0.05
PILOT_ROWS = 10_000
N_ROWS = 20_000
"""Source rows, and as many target rows, of the certificates that are foreseen."""
CLOSE = 0.05
"""A plan is close if the true size differs by at most this part."""


def run(lab: Lab) -> Blocks:
    """One line per panel of the paper: the size foreseen from rows and from a tally, and the true size."""
    draws, rows, close = lab.trials or lab.choose(12, 1), [], np.zeros(2, int)
    # Panels that differ in their numbers of rows only are one case here.
    cases = {(panel.dataset, panel.source_mix, panel.target_mix, panel.epsilon): panel for panel in PANELS[::-1]}
    panels = [panel for panel in PANELS if panel in cases.values() and lab.panels in panel.name]
    for panel in panels[: lab.choose(len(panels), 1)]:
        data = load_dataset(panel.dataset, lab.data)
        population = Population(data.probs, data.labels)
        truth = np.mean([true_size(population, panel, seed) for seed in range(draws)])
        found = [foreseen(pilot, panel, draws) / truth - 1 for pilot in pilots(population, panel)]
        close += np.abs(found) <= CLOSE
        rows.append((panel.name, f"{truth:.3f}", *(f"{100 * part:+.1f} %" for part in found)))
        lab.say(f"plans: {' '.join(rows[-1])}")
    headings = "panel", "true size", "foreseen from rows", "from a tally"
    text = [
        conditions("plans" + (f" --trials {lab.trials}" if lab.trials else "")),
        f"Pilots of {PILOT_ROWS:,} rows; certificates from {N_ROWS:,} source and target rows, δ = {DELTA:g}; "
        f"means of {draws} draws. Within 5 %: {close[0]} of {len(rows)} from rows, "
        f"{close[1]} of {len(rows)} from a tally.",
        markdown_table(headings, rows).strip(),
    ]
    yield "plans", "\n\n".join(text)


def pilots(population: Population, panel: Panel) -> tuple[Pilot, Pilot]:
    """The same pilot as rows, and as the tally of these rows and as many unlabelled ones of the source's mix."""
    scores, labels = population.draw(panel.source_mix, PILOT_ROWS, 11)
    others = population.draw(panel.source_mix, PILOT_ROWS, 12)[0]
    tally = Tally.from_scores(scores, labels, soft=False) + Tally.from_target(others, soft=False)
    return RowPilot(Population(scores, labels)), CountPilot(tally)


def foreseen(pilot: Pilot, panel: Panel, draws: int) -> float:
    """What ``plan`` answers, without the curve and the interval around it."""
    mixes = Mixes(np.array(panel.source_mix), np.array(panel.target_mix))
    simulator = Simulator(
        pilot, [mixes], epsilon=panel.epsilon, delta=DELTA, method=PSLP(), seed=0, total=draws, progress=None
    )
    return float(simulator.sizes(N_ROWS, N_ROWS, draws).mean())


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
