"""The two ways to HiGHS beside each other: CPU time of a certificate, and whether its thresholds are the same."""

import time
from unittest.mock import patch

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import report
from pacshift import Certificate, Population, calibrate
from pacshift.mix import lp
from pacshift.mix.lp import HighspyProgram, ScipyProgram
from paper.experiments.summary import markdown_table

CASES = ((2, 2_000), (5, 5_000), (10, 20_000), (20, 20_000), (50, 50_000))
"""Classes, and rows of source and target each."""
HEADINGS = ("classes", "rows on each side", "highspy", "SciPy", "ratio", "largest difference of thresholds")


def run(lab: Lab) -> Blocks:
    """PS-LP, the method with most linear programs; both solvers take turns, the least of three counts."""
    rows = []
    for n_classes, n_rows in lab.choose(CASES, CASES[:1]):
        lab.say(f"solvers: {n_classes} classes")
        rows.append(measured(n_classes, n_rows, lab.choose(3, 1)))
    yield "solvers", report("solvers", markdown_table(HEADINGS, rows, left=0), packages=("SciPy", "highspy"))


def measured(n_classes: int, n_rows: int, repeats: int) -> tuple[str, ...]:
    """One line: a target in which later classes are more frequent."""
    model = Population.synthetic(list(range(n_classes)), strength=4 if n_classes > 20 else 3, rng=0)
    source, labels = model.draw(np.full(n_classes, 1 / n_classes), n_rows, rng=1)
    target, _ = model.draw(np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum(), n_rows, rng=2)
    seconds, made = np.full((repeats, 2), np.inf), list[Certificate]()
    for turn in range(repeats):
        for place, program in enumerate((HighspyProgram, ScipyProgram)):
            with patch.object(lp, "solver", lambda chosen=program: chosen):
                begin = time.process_time()
                made.append(calibrate(source, labels, target, epsilon=0.1, delta=0.05, rng=0))
                seconds[turn, place] = time.process_time() - begin
    fast, slow = seconds.min(axis=0).tolist()
    apart = float(np.abs(made[0].thresholds - made[1].thresholds).max())
    return str(n_classes), f"{n_rows:,}", f"{fast:.2f} s", f"{slow:.2f} s", f"{slow / fast:.1f}", f"{apart:g}"
