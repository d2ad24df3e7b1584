"""Which class the sets miss on the heart panels: why PS-W exceeds PS-C there with one model only."""

import numpy as np

from benchmarks.lab import Lab
from pacshift.arrays import FloatArray
from pacshift.methods import Method, Task
from pacshift.methods.ps_w import PSW
from paper.experiments.panels import Panel, select_panels
from paper.experiments.summary import markdown_table
from paper.experiments.trial import AS_PUBLISHED, Draw, Experiment

SHIFTS = ("heart-small-0.1", "heart-large-0.1", "heart-natural-small-0.1", "heart-natural-large-0.1")
HEALTHY, SICK = np.eye(2)
SHOWN: dict[str, Method] = {
    "PS-C": AS_PUBLISHED["PS-C"],
    "PS-W": AS_PUBLISHED["PS-W"],
    "PS-W by class": PSW(intervals="elimination", worst_case="class"),
    "PS-LP": AS_PUBLISHED["PS-LP"],
}
"""PS-W as published takes the worst weight of every example; by class, one weight for all examples of a class."""


def misses_table(lab: Lab) -> str:
    """One line per panel: the weight of the sick with its interval, then size and misses of each method."""
    trials = lab.trials or lab.choose(10, 1)
    panels = select_panels(lab.choose(SHIFTS, SHIFTS[:1]))
    headings = ("panel", "true weight of the sick", "interval of PS-W", *SHOWN, "healthy missed by PS-W")
    rows = [line(panel, trials, lab) for panel in panels]
    title = (
        f"Mean set size and, in brackets, the share of the sick that is missed; averages of {trials} draws in "
        "population mode."
    )
    return f"{title}\n\n{markdown_table(headings, rows, left=1).strip()}"


def line(panel: Panel, trials: int, lab: Lab) -> list[str]:
    """The averages of one panel."""
    found = np.mean([one_draw(panel, trial) for trial in range(trials)], axis=0)
    lab.say(f"heart: {panel.name}")
    (lower, upper), sizes = found[:2], found[2:].reshape(len(SHOWN), 3)
    healthy = sizes[list(SHOWN).index("PS-W"), 1]
    shown = [f"{size:.3f} ({sick:.1%})".replace("%", " %") for size, _, sick in sizes]
    interval = f"{lower:.2f} to {upper:.2f}"
    return [panel.name, f"{panel.weights[1]:.2f}", interval, *shown, f"{healthy:.2%}".replace("%", " %")]


def one_draw(panel: Panel, trial: int) -> FloatArray:
    """PS-W's interval of the weight of the sick; then size, missed healthy and missed sick of each method."""
    draw = Draw(Experiment(panel, population=True), trial)
    population, task = draw.population("probability"), Task(epsilon=panel.epsilon, delta=panel.delta, seed=0)
    solved = {name: method.solve(draw.tally("probability"), task) for name, method in SHOWN.items()}
    box = solved["PS-W"].weights
    assert box is not None
    found = [box.lower[1], box.upper[1]]
    for one in solved.values():
        found += [population.size(one.thresholds, panel.target_mix)]
        found += [population.error(one.thresholds, mix) for mix in (HEALTHY, SICK)]
    return np.array(found)
