"""How cost grows with rows, with classes and with trials; exponents are fitted on logarithms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.contestants import Given
from benchmarks.contestants.pacshift import Ours
from benchmarks.lab import Blocks, Lab, Say
from benchmarks.made_up import both_domains
from benchmarks.measure import run_times
from benchmarks.page import conditions
from pacshift.ps_lp.theorem import MAX_LP_CLASSES
from paper.experiments.panels import select_panels
from paper.experiments.summary import markdown_table
from paper.experiments.trial import Experiment, run_trial

ROWS_CLASSES = 4
METHODS_SHOWN = ("PS", "PS-W", "PS-LP")
TIME_LIMIT = 120.0
"""Seconds: a step that takes longer is not run at the next, larger size."""


@dataclass(frozen=True)
class Curve:
    """Seconds of one step at growing sizes; None where it was not run."""

    title: str
    sizes: tuple[int, ...]
    seconds: tuple[float | None, ...]
    fitted_to: float = np.inf
    """Sizes beyond this do not count for the exponents."""

    def exponents(self) -> tuple[float, float]:
        """Fitted over all sizes, and between the two largest.

        >>> overall, last = Curve("step", (10, 100, 1000, 10_000), (1.0, 10.0, 1000.0, None)).exponents()
        >>> round(overall, 6), round(last, 6)
        (1.5, 2.0)
        """
        pairs = zip(self.sizes, self.seconds, strict=True)
        known = [(size, value) for size, value in pairs if value and size <= self.fitted_to]
        if len(known) < 2:
            return np.nan, np.nan
        size, seconds = np.log(np.array(known, float)).T
        return float(np.polyfit(size, seconds, 1)[0]), float(np.polyfit(size[-2:], seconds[-2:], 1)[0])


def grow(
    sizes: Sequence[int],
    steps: Sequence[str],
    make: Callable[[int], Callable[[str], Callable[[], Any]]],
    say: Say,
    *,
    repeats: int,
    limit: float = TIME_LIMIT,
) -> list[Curve]:
    """Least seconds of each step at each size: ``make(size)`` prepares the data, its ``(step)`` is the work.

    >>> def make(size):
    ...     return lambda step: lambda: None
    >>> slow = grow([1, 2], ["step"], make, lambda line: None, repeats=1, limit=-1)
    >>> slow[0].seconds[1] is None, "not run" in table("heading", slow)
    (True, True)
    """
    found: dict[str, list[float | None]] = {step: [] for step in steps}
    for size in sizes:
        prepared = make(size)
        for step, values in found.items():
            if values and (values[-1] is None or values[-1] > limit):
                values.append(None)
                continue
            seconds, _ = run_times(prepared(step), repeats, limit)
            values.append(min(seconds))
            say(f"growth {size:,} {step}: {min(seconds):.4f} s")
    return [Curve(step, tuple(sizes), tuple(values)) for step, values in found.items()]


def prepared(rows: int, n_classes: int) -> Callable[[str], Callable[[], Any]]:
    """Calibrating with each method and making sets, on ``rows`` source and as many target rows in 32 bits."""
    source, labels, target = both_domains(rows, n_classes, np.float32)
    given = Given(source, labels, target, n_classes, epsilon=0.1, delta=0.01)
    certificate = Ours("PS").calibrate(given)

    def step(name: str) -> Callable[[], Any]:
        if name == "sets":
            return lambda: certificate.sets(target)
        return lambda: Ours(name.removeprefix("calibrate ")).calibrate(given)

    return step


def trials(panel: str) -> Callable[[int], Callable[[str], Callable[[], Any]]]:
    """Trials of a panel of the paper, every method of it."""
    experiment = Experiment(select_panels([panel])[0])
    run_trial(experiment, 0, ["PS"])  # loads the scores
    return lambda count: (
        lambda _: lambda: [run_trial(experiment, trial, experiment.panel.methods) for trial in range(count)]
    )


def table(heading: str, curves: Sequence[Curve]) -> str:
    """One row per step: seconds at each size and the exponents."""
    headings = ["step", *(f"{size:,}" for size in curves[0].sizes), "exponent, fitted", "exponent, last step"]
    rows = []
    for curve in curves:
        cells = ["not run" if value is None else f"{value:.3g} s" for value in curve.seconds]
        rows.append([curve.title, *cells, *(f"{exponent:.2f}" for exponent in curve.exponents())])
    return f"### {heading}\n\n{markdown_table(headings, rows, left=1).strip()}"


def run(lab: Lab) -> Blocks:
    """The three tables."""
    rows = lab.choose((10_000, 100_000, 1_000_000, 10_000_000), (1_000, 4_000))
    classes, classes_rows = lab.choose(((2, 10, 30, 100, 300, 1000), 50_000), ((2, 8), 2_000))
    counts, panel = lab.choose(((2, 4, 8, 16), "cifar10-large-0.1"), ((1, 2), "agnews-0.05"))
    steps, repeats = [*(f"calibrate {name}" for name in METHODS_SHOWN), "sets"], lab.choose(3, 1)
    by_rows = grow(rows, steps, lambda size: prepared(size, ROWS_CLASSES), lab.say, repeats=repeats)
    by_classes = grow(classes, steps, lambda size: prepared(classes_rows, size), lab.say, repeats=repeats)
    by_classes = [
        replace(curve, fitted_to=MAX_LP_CLASSES) if curve.title == "calibrate PS-LP" else curve
        for curve in by_classes
    ]
    by_trials = grow(counts, [f"trials of {panel}, all its methods"], trials(panel), lab.say, repeats=1)
    parts = [
        conditions("growth"),
        table(f"Rows (source and as many target rows, {ROWS_CLASSES} classes, float32)", by_rows),
        table(f"Classes ({classes_rows:,} source and target rows, float32)", by_classes),
        f"Above {MAX_LP_CLASSES} classes PS-LP solves no programs; its exponents are fitted up to there.",
        table("Trials of the reproduction (one process)", by_trials),
    ]
    yield "growth", "\n\n".join(parts)
