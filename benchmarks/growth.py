"""Part 3, how cost grows: with rows, with classes, with trials; exponents fitted on logarithms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.contestants import Given
from benchmarks.contestants.pacshift import Ours
from benchmarks.measure import run_times
from benchmarks.simulate import scores_and_labels, shifted_mix
from pacshift.experiments.panels import select_panels
from pacshift.experiments.trial import Experiment, run_trial
from pacshift.ps_lp.method import MAX_LP_CLASSES

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
ROWS_CLASSES = 4
CLASSES = (2, 10, 30, 100, 300, 1000)
CLASSES_ROWS = 50_000
TRIALS = (2, 4, 8, 16)
TRIALS_PANEL = "cifar10-large-0.1"
METHODS_SHOWN = ("PS", "PS-W", "PS-LP")
LIMIT = 120.0  # seconds: a method that takes longer is not asked for the next, larger size


@dataclass(frozen=True)
class Curve:
    """Seconds of one step at growing sizes; None where it was not run."""

    title: str
    sizes: tuple[int, ...]
    seconds: tuple[float | None, ...]
    fitted_to: float = np.inf
    """Sizes beyond this do not count for the exponents."""

    def exponents(self) -> tuple[float, float]:
        """Fitted over all sizes, and between the two largest."""
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
    say: Callable[[str], None],
    *,
    repeats: int = 3,
    limit: float = LIMIT,
) -> list[Curve]:
    """Least seconds of each step at each size: ``make(size)`` prepares the data, of that ``(step)`` the work."""
    found: dict[str, list[float | None]] = {step: [] for step in steps}
    for size in sizes:
        prepared = make(size)
        for step in steps:
            if found[step] and (found[step][-1] is None or found[step][-1] > limit):  # type: ignore[operator]
                found[step].append(None)
                continue
            seconds, _ = run_times(prepared(step), repeats, limit)
            found[step].append(min(seconds))
            say(f"growth {size:,} {step}: {min(seconds):.4f} s")
    return [Curve(step, tuple(sizes), tuple(values)) for step, values in found.items()]


def prepared(rows: int, n_classes: int) -> Callable[[str], Callable[[], Any]]:
    """Calibrating with each method and making sets, on ``rows`` source and as many target rows in 32 bits."""
    rng = np.random.default_rng(0)
    source, labels = scores_and_labels(rows, n_classes, rng, dtype=np.float32)
    target, _ = scores_and_labels(rows, n_classes, rng, mix=shifted_mix(n_classes), dtype=np.float32)
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


def table(heading: str, what: str, curves: Sequence[Curve]) -> str:
    """One row a step: seconds at each size and the exponents."""
    sizes = curves[0].sizes
    lines = [
        f"### {heading}",
        "",
        f"| {what} | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent, fitted | exponent, last step |",
        "|---" * (len(sizes) + 3) + "|",
    ]
    for curve in curves:
        cells = ["not run" if value is None else f"{value:.3g} s" for value in curve.seconds]
        overall, last = curve.exponents()
        lines.append(f"| {curve.title} | " + " | ".join(cells) + f" | {overall:.2f} | {last:.2f} |")
    return "\n".join(lines)


def measure(
    say: Callable[[str], None],
    *,
    rows: Sequence[int] = ROWS,
    classes: Sequence[int] = CLASSES,
    classes_rows: int = CLASSES_ROWS,
    counts: Sequence[int] = TRIALS,
    panel: str = TRIALS_PANEL,
    repeats: int = 3,
) -> str:
    """The three tables."""
    steps = [*(f"calibrate {name}" for name in METHODS_SHOWN), "sets"]
    by_rows = grow(rows, steps, lambda size: prepared(size, ROWS_CLASSES), say, repeats=repeats)
    by_classes = grow(classes, steps, lambda size: prepared(classes_rows, size), say, repeats=repeats)
    by_classes = [
        replace(curve, fitted_to=MAX_LP_CLASSES) if curve.title == "calibrate PS-LP" else curve
        for curve in by_classes
    ]
    by_trials = grow(counts, [f"trials of {panel}, all its methods"], trials(panel), say, repeats=1)
    return "\n\n".join(
        [
            table(f"Rows (source and as many target rows, {ROWS_CLASSES} classes, float32)", "step", by_rows),
            table(f"Classes ({classes_rows:,} source and target rows, float32)", "step", by_classes),
            f"Above {MAX_LP_CLASSES} classes PS-LP takes every mix as possible and solves no programs; "
            "its exponents are fitted up to there.",
            table("Trials of the reproduction (one process)", "step", by_trials),
        ]
    )
