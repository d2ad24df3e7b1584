"""How speed and sharpness change from version to version: ratios to floors of the same run, kept in a table.

Ratios, not seconds: another machine or a busy hour moves both sides alike.
"""

import csv
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial

import numpy as np

from benchmarks.core import floor_of_calibrating
from benchmarks.lab import Blocks, Lab
from benchmarks.made_up import both_domains, shifted_mix
from benchmarks.measure import timed
from benchmarks.page import RESULTS
from pacshift import Population, __version__, calibrate
from paper.experiments.summary import markdown_table

STORE = RESULTS / "history.csv"
SHOWN = 12
"""Last lines shown on the page; the file keeps all."""
SIZE = (200_000, 10)
RATIOS = (
    "calibrate PS / floor", "calibrate PS-LP / floor", "sets / bare comparison", "PS-LP's sets / best threshold's",
)  # fmt: skip
Line = Mapping[str, str]


def run(lab: Lab) -> Blocks:
    """Measure, add a line to the table, show the last ones with their trend."""
    rows, n_classes = SIZE
    found = {**speed(rows // lab.choose(1, 20), n_classes, lab.choose(7, 2)), **sharpness(lab.choose(5, 1))}
    lines = added(read(), {"date": date.today().isoformat(), "version": __version__}, found)
    if lab.write:
        write(lines)
    yield "history", table(lines[-SHOWN:])


def speed(rows: int, n_classes: int, repeats: int) -> dict[str, float]:
    """Seconds of the calls over those of what cannot be avoided."""
    source, labels, target = both_domains(rows, n_classes)
    floor, _ = floor_of_calibrating(source, labels, target, repeats)
    found = {}
    for name, method in zip(RATIOS, ("PS", "PS-LP"), strict=False):
        work = partial(calibrate, source, labels, target, epsilon=0.1, delta=0.01, method=method, rng=0)
        found[name] = timed(work, repeats)[0] / floor
    certificate = calibrate(source, labels, target, epsilon=0.1, delta=0.01, method="PS")
    bare, _ = timed(lambda: target >= certificate.thresholds[0], 3 * repeats)
    return found | {RATIOS[2]: timed(partial(certificate.sets, target), 3 * repeats)[0] / bare}


def sharpness(draws: int) -> dict[str, float]:
    """Mean size of PS-LP's sets over that of the best single threshold, on scores that no release changes."""
    population, n_classes = Population.synthetic(10, strength=4.3, rows_per_class=2000, rng=0), 10
    mix, sizes = np.array(shifted_mix(n_classes)), []
    for trial in range(draws):
        rng = np.random.default_rng(trial)
        source, labels = population.draw(np.full(n_classes, 1 / n_classes), 10_000, rng)
        target, _ = population.draw(mix, 10_000, rng)
        certificate = calibrate(source, labels, target, epsilon=0.1, delta=0.05)
        sizes.append(population.size(certificate.thresholds, mix))
    best = population.size(population.best_threshold(0.1, mix), mix)
    return {RATIOS[3]: float(np.mean(sizes)) / best}


def read() -> list[Line]:
    """The lines so far."""
    if not STORE.exists():
        return []
    with STORE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(lines: Sequence[Line]) -> None:
    """All lines, oldest first."""
    with STORE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ("date", "version", *RATIOS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def added(lines: Sequence[Line], when: Line, found: Mapping[str, float]) -> list[Line]:
    """The lines with a new one, in place of an earlier one of the same day and version.

    >>> first = added([], {"date": "2026-11-16", "version": "0.2.0"}, {"a": 2.0})
    >>> added(first, {"date": "2026-11-16", "version": "0.2.0"}, {"a": 1.5})
    [{'date': '2026-11-16', 'version': '0.2.0', 'a': '1.500'}]
    """
    kept = [line for line in lines if any(line[name] != value for name, value in when.items())]
    return [*kept, {**when, **{name: f"{value:.3f}" for name, value in found.items()}}]


def table(lines: Sequence[Line]) -> str:
    """The lines, and below them the change from the first line shown to the last."""
    rows = [(line["date"], line["version"], *(line[name] for name in RATIOS)) for line in lines]
    changes = [f"{100 * (float(lines[-1][name]) / float(lines[0][name]) - 1):+.0f} %" for name in RATIOS]
    trend = [("**last against first**", "", *changes)] if len(lines) > 1 else []
    return markdown_table(("date", "version", *RATIOS), [*rows, *trend], left=2)
