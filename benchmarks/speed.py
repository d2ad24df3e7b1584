"""Speed and memory beside the peers: the same arrays for everybody, each contestant in a process of its own."""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.made_up import both_domains
from benchmarks.measure import megabytes
from benchmarks.page import conditions
from benchmarks.peers import FLOOR, OURS, THEIRS, Entry, JobFailed, run_job
from paper.experiments.summary import markdown_table

SIZES = ((2_000, 10), (20_000, 10), (200_000, 10), (1_000_000, 10), (100_000, 100))
IN_SHORT = (1_000_000, 10)
EPSILON, DELTA = 0.1, 0.01
TIMED = (FLOOR, *OURS, *(e for e in THEIRS if e.setting in ("LAC", "APS", "class-wise PAC", "plain")))
"""One or two settings per library: the others of it cost about the same."""


@dataclass
class Result:
    """What was measured of one contestant, or why nothing was."""

    entry: Entry
    answer: dict[str, Any] = field(default_factory=dict)
    failure: str = ""

    def seconds(self, step: str, rows: int) -> tuple[float, float]:
        """Least and largest seconds for ``rows`` rows; scaled up where only some of them could be afforded.

        >>> slow = Result(FLOOR, {"sets": [0.5, 0.7], "sets_rows": 100, "calibrate": [2.0]})
        >>> slow.seconds("sets", 1000), slow.seconds("calibrate", 1000), slow.scaled(1000), slow.scaled(100)
        ((5.0, 7.0), (2.0, 2.0), True, False)
        """
        factor = rows / self.answer["sets_rows"] if step == "sets" else 1.0
        return factor * min(self.answer[step]), factor * max(self.answer[step])

    def scaled(self, rows: int) -> bool:
        return bool(self.answer["sets_rows"] < rows)


Table = dict[str, Result]


def run(lab: Lab) -> Blocks:
    """One table per size."""
    sizes = lab.choose(SIZES, ((5_000, 10),))
    tables = {size: measure(lab, *size) for size in sizes}
    parts = [
        conditions("speed", stage=lab.stage.among(TIMED)),
        *(one_size(table, *size) for size, table in tables.items()),
    ]
    yield "speed", "\n\n".join(parts)
    if IN_SHORT in tables:
        yield "in-short", in_short(without_failures(tables[IN_SHORT]), *IN_SHORT)


def measure(lab: Lab, rows: int, n_classes: int, *, repeats: int = 9, budget: float = 4.0) -> Table:
    """All contestants, one after the other."""
    table = {entry.title: Result(entry) for entry in lab.stage.ready(TIMED)}
    job = {"kind": "speed", "epsilon": EPSILON, "delta": DELTA, "repeats": repeats, "budget": budget}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for array_name, array in zip(("source", "labels", "target"), both_domains(rows, n_classes), strict=True):
            np.save(folder / f"{array_name}.npy", array)
        for result in table.values():
            try:
                result.answer = run_job(lab.stage, result.entry, job, folder)
            except JobFailed as failure:
                result.failure = str(failure)
                continue
            least, sets = (result.seconds(step, rows)[0] for step in ("calibrate", "sets"))
            lab.say(
                f"speed {rows:,} x {n_classes}, {result.entry.title}: calibrate {least:.3f} s, sets {sets:.3f} s"
            )
    return table


def one_size(table: Table, rows: int, n_classes: int) -> str:
    """All contestants at one size."""
    failed = [result for result in table.values() if result.failure]
    table = without_failures(table)
    reference = table.get("MAPIE LAC", table[FLOOR.title])
    headings = (
        "contestant", "domains", "calibrate", f"ratio to {reference.entry.title}", "cores", "memory",
        f"sets of {rows:,} rows", "ratio", "cores", "memory",
    )  # fmt: skip
    lines = [cells(result, reference, rows) for result in table.values()]
    parts = [f"### {rows:,} rows × {n_classes} classes", markdown_table(headings, lines, left=1).strip()]
    cut = [f"{r.entry.title} {r.answer['sets_rows']:,}" for r in table.values() if r.scaled(rows)]
    if cut:
        parts.append(f"≈: scaled up from as many rows as the time budget of a run allowed ({', '.join(cut)}).")
    parts += [f"{result.entry.title} could not be measured: `{result.failure}`." for result in failed]
    return "\n\n".join(parts)


def in_short(table: Table, rows: int, n_classes: int) -> str:
    """One line per contestant that a reader asks about first: our default, and the peer known best.

    >>> answer = {"sets": [0.004], "sets_rows": 10, "calibrate": [0.2]}
    >>> answer |= {"calibrate_memory": 5e7, "sets_memory": 1e7}
    >>> print(in_short({OURS[0].title: Result(OURS[0], answer)}, 10, 2))
    Source and target of 10 rows and 2 classes each:
    <BLANKLINE>
    - **pacshift PS-LP** calibrates in 200 ms with 50 MB beyond its input, and makes all sets in 4 ms with 10 MB.
    """
    lines = [f"Source and target of {rows:,} rows and {n_classes} classes each:\n"]
    for title in (OURS[0].title, OURS[1].title, "MAPIE LAC"):
        if title in table:
            result = table[title]
            (fit, fit_memory), (sets, sets_memory) = (
                (result.seconds(step, rows)[0], megabytes(result.answer[f"{step}_memory"]))
                for step in ("calibrate", "sets")
            )
            side = "" if result.entry.both else " (source only)"
            lines.append(
                f"- {title} calibrates{side} in {1e3 * fit:.3g} ms with {fit_memory} beyond its input, and makes "
                f"all sets in {1e3 * sets:.3g} ms with {sets_memory}."
            )
    return "\n".join(lines)


def cells(result: Result, reference: Result, rows: int) -> tuple[str, ...]:
    """One contestant."""
    scaled, found = result.scaled(rows), []
    for step in ("calibrate", "sets"):
        least, most = result.seconds(step, rows)
        known = step == "calibrate" or not scaled
        found += [
            ("" if known else "≈ ") + span(least, most),
            f"{least / reference.seconds(step, rows)[0]:.3g}",
            f"{result.answer[f'{step}_cores']:.1f}",
            megabytes(result.answer[f"{step}_memory"]) if known else "",
        ]
    return (result.entry.title, "2" if result.entry.both else "1", *found)


def without_failures(table: Table) -> Table:
    """Contestants that were measured.

    >>> answer = {"sets": [1.0], "sets_rows": 10, "calibrate": [1.0]}
    >>> answer |= {f"{step}_{what}": 1.0 for step in ("sets", "calibrate") for what in ("memory", "cores")}
    >>> table = {FLOOR.title: Result(FLOOR, answer), "MAPIE LAC": Result(THEIRS[0], failure="ValueError: no")}
    >>> one_size(table, 10, 2).splitlines()[-1]
    'MAPIE LAC could not be measured: `ValueError: no`.'
    """
    return {title: result for title, result in table.items() if not result.failure}


def span(least: float, most: float) -> str:
    """Least time, and the largest in brackets.

    >>> span(0.0123, 0.5), span(2.0, 3.0), span(250.0, 300.0)
    ('12.3 ms (to 500)', '2 s (to 3)', '250 s')
    """
    unit, factor = ("s", 1.0) if least >= 1 else ("ms", 1e3)
    return f"{least * factor:,.3g} {unit} (to {most * factor:,.3g})" if least < 100 else f"{least:,.0f} s"
