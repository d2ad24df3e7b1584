"""Part 1, speed and memory: the same arrays for everybody, each contestant in a process of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.peers import FLOOR, OURS, THEIRS, Entry, JobFailed, Stage, run_job
from benchmarks.simulate import scores_and_labels, shifted_mix

SIZES = ((200_000, 10), (1_000_000, 10), (100_000, 100))
EPSILON, DELTA = 0.1, 0.01
TIMED = (FLOOR, *OURS, *(e for e in THEIRS if e.setting in ("LAC", "APS", "plain")))
"""One or two settings a library: the others of it cost about the same."""


@dataclass
class Result:
    """What was measured of one contestant, over all rounds."""

    entry: Entry
    answers: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""

    def seconds(self, step: str, rows: int) -> tuple[float, float]:
        """Least and largest seconds for ``rows`` rows; scaled up where only a part could be afforded."""
        seconds = [
            value * (rows / answer["sets_rows"] if step == "sets" else 1.0)
            for answer in self.answers
            for value in answer[step]
        ]
        return min(seconds), max(seconds)

    def sets_rows(self) -> int:
        return int(min(answer["sets_rows"] for answer in self.answers))

    def scaled(self, rows: int) -> bool:
        return self.sets_rows() < rows

    def memory(self, step: str) -> float:
        return float(max(answer[f"{step}_memory"] for answer in self.answers))

    def cores(self, step: str) -> float:
        return float(np.median([answer[f"{step}_cores"] for answer in self.answers]))


Table = dict[str, Result]


def measure(
    stage: Stage,
    rows: int,
    n_classes: int,
    say: Callable[[str], None],
    *,
    repeats: int = 9,
    rounds: int = 1,
    budget: float = 4.0,
) -> Table:
    """Several rounds over all contestants, so that a busy minute of the machine does not hit only one."""
    table = {entry.title: Result(entry) for entry in stage.ready(TIMED)}
    job = {"kind": "speed", "epsilon": EPSILON, "delta": DELTA, "repeats": repeats, "budget": budget}
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_arrays(folder, rows, n_classes)
        for number in range(rounds):
            for position, result in enumerate(table.values(), start=1):
                try:
                    answer = run_job(stage, result.entry, job, folder)
                except JobFailed as failure:
                    result.failure = str(failure)
                    continue
                result.answers.append(answer)
                say(
                    f"speed {rows:,} x {n_classes}, round {number + 1}/{rounds}, {position}/{len(table)} "
                    f"{result.entry.title}: calibrate {min(answer['calibrate']):.3f} s, "
                    f"sets {min(answer['sets']) * rows / answer['sets_rows']:.3f} s"
                )
    return table


def write_arrays(folder: Path, rows: int, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    source, labels = scores_and_labels(rows, n_classes, rng)
    target, _ = scores_and_labels(rows, n_classes, rng, mix=shifted_mix(n_classes))
    for name, array in (("source", source), ("labels", labels), ("target", target)):
        np.save(folder / f"{name}.npy", array)


def markdown(tables: dict[tuple[int, int], Table]) -> str:
    """One table a size, then the goals."""
    parts = [_one_size(table, *size) for size, table in tables.items()]
    aimed = {size: table for size, table in tables.items() if size in SIZES}
    return "\n\n".join([*parts, _goals(aimed)] if aimed else parts)


def _one_size(table: Table, rows: int, n_classes: int) -> str:
    failed = [result for result in table.values() if result.failure]
    table = without_failures(table)
    reference = table.get("MAPIE LAC", table[FLOOR.title])
    calibrate, sets = reference.seconds("calibrate", rows)[0], reference.seconds("sets", rows)[0]
    lines = [
        f"### {rows:,} rows × {n_classes} classes",
        "",
        f"| contestant | domains | calibrate | ratio to {reference.entry.title} | cores | memory "
        f"| sets of {rows:,} rows | ratio | cores | memory |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for result in table.values():
        about, domains = "≈ " if result.scaled(rows) else "", 2 if result.entry.both else 1
        lines.append(
            f"| {result.entry.title} | {domains} | {span(*result.seconds('calibrate', rows))} "
            f"| {result.seconds('calibrate', rows)[0] / calibrate:.3g} | {result.cores('calibrate'):.1f} "
            f"| {size_of(result.memory('calibrate'))} | {about}{span(*result.seconds('sets', rows))} "
            f"| {result.seconds('sets', rows)[0] / sets:.3g} | {result.cores('sets'):.1f} "
            f"| {'' if result.scaled(rows) else size_of(result.memory('sets'))} |"
        )
    cut = [f"{r.entry.title} {r.sets_rows():,}" for r in table.values() if r.scaled(rows)]
    if cut:
        lines += ["", f"≈: scaled up from as many rows as the time budget of a run allowed ({', '.join(cut)})."]
    lines += [f"\n{r.entry.title} takes no part: `{r.failure}`." for r in failed]
    return "\n".join(lines)


def without_failures(table: Table) -> Table:
    return {title: result for title, result in table.items() if not result.failure}


def span(least: float, most: float) -> str:
    """Least time, and the largest in brackets."""
    unit, factor = ("s", 1.0) if least >= 1 else ("ms", 1e3)
    return f"{least * factor:,.3g} {unit} (to {most * factor:,.3g})" if least < 100 else f"{least:,.0f} s"


def size_of(memory: float) -> str:
    return f"{memory / 1e6:,.0f} MB"


def _goals(tables: dict[tuple[int, int], Table]) -> str:
    """What issue by issue was aimed at, and what this run says."""
    lines = ["### Goals", "", "| goal | size | measured | |", "|---|---|---|---|"]
    for (rows, n_classes), table in tables.items():
        size = f"{rows:,} × {n_classes}"
        for goal, measured, met in _goal_rows(without_failures(table), rows, (rows, n_classes) == (1_000_000, 10)):
            lines.append(f"| {goal} | {size} | {measured} | {'met' if met else '**missed**'} |")
    return "\n".join(lines)


def _goal_rows(table: Table, rows: int, large: bool) -> Sequence[tuple[str, str, bool]]:
    def ratio(one: str, other: str, step: str) -> float:
        return table[one].seconds(step, rows)[0] / table[other].seconds(step, rows)[0]

    goals: list[tuple[str, float, float]] = []
    methods = [entry.title for entry in OURS if entry.title in table]
    for title in methods[:2]:
        if "MAPIE LAC" in table:
            goals.append(
                (
                    f"{title}: both domains no slower than MAPIE LAC with one",
                    ratio(title, "MAPIE LAC", "calibrate"),
                    1.0,
                )
            )
    if "MAPIE LAC" in table:
        faster, bare = (1 / ratio(title, "MAPIE LAC", "sets") for title in (methods[0], FLOOR.title))
        goals.append(
            (f"sets at least 50 × faster than MAPIE LAC (a bare comparison: {bare:.0f} ×)", -faster, -50.0)
        )
    goals.append(("sets within 1.5 × of the bare comparison", ratio(methods[0], FLOOR.title, "sets"), 1.5))
    if large:
        for title, limit in (("**pacshift PS-W**", 2.0), ("**pacshift PS**", 1.3)):
            goals.append(
                (f"{title} within {limit:g} × of the floor", ratio(title, FLOOR.title, "calibrate"), limit)
            )
    return [(goal, f"{abs(value):.2f} ×", value <= limit) for goal, value, limit in goals]
