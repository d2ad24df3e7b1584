"""Speed in one picture: time and memory against rows and classes, of every command beside its floor and peers.

Nothing is judged here: what cannot be measured is left out and named. In memory, each contestant runs in a process
of its own as in ``speed``. Commands are whole processes, from their start to their end, and so are the peers that
read the same Parquet files.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.made_up import both_domains, shifted_mix, write_table
from benchmarks.measure import run_times
from benchmarks.page import DOCS, conditions
from benchmarks.peers import FLOOR, OURS, THEIRS, JobFailed, answer_of, run_job
from benchmarks.picture_shown import CALIBRATE, COUNT, ONE, OWN_FLOORS, SETS, USE, Measured, draw, table
from benchmarks.speed import DELTA, EPSILON
from pacshift import Certificate

N_CLASSES = 10
ROWS = (10_000, 100_000, 1_000_000, 4_000_000)
CLASSES = (2, 10, 30, 100)
CLASSES_ROWS, SMALL_ROWS = 100_000, 5_000
PLANNED = "10000"
"""Rows a side that ``plan`` plans for: some eighty calibrations of so many, whatever the pilot has."""
ENTRIES = (FLOOR, *OURS, *(entry for entry in THEIRS if entry.setting == "LAC" and entry.library != "puncc"))
IMAGE = "![Time and memory of every command, its floor and its peers](../../docs/figures/speed.png)"


def run(lab: Lab) -> Blocks:
    """Measure everything, draw the picture, and say by numbers where others are faster."""
    measured = Measured()
    for axis, size, rows, n_classes in sizes(lab):
        lab.say(f"picture: {rows:,} rows x {n_classes} classes")
        with TemporaryDirectory() as name:
            in_memory(lab, measured, (axis, size), rows, n_classes, Path(name))
            on_files(lab, measured, (axis, size), rows, n_classes, Path(name))
    folder = DOCS / "figures" if lab.write else lab.out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    fixed = {"rows": f"{N_CLASSES} classes", "classes": f"{lab.choose(CLASSES_ROWS, SMALL_ROWS):,} rows"}
    draw(measured, fixed).savefig(folder / "speed.png", dpi=110)
    lab.say(f"picture: {folder / 'speed.png'}")
    stage = None if lab.small else lab.stage.among(ENTRIES)
    part = lab.choose("picture", "picture --small")
    text = [conditions(part, ("NumPy", "pyarrow", "DuckDB", "Polars"), stage), IMAGE, table(measured)]
    text += [f"{title} could not be measured: `{why}`." for title, why in measured.failed.items()]
    yield "picture", "\n\n".join(text)


def sizes(lab: Lab) -> Iterator[tuple[str, int, int, int]]:
    """Axis, size on it, rows and classes."""
    for rows in lab.choose(ROWS, (2_000, 20_000)):
        yield "rows", rows, rows, N_CLASSES
    for n_classes in lab.choose(CLASSES, (2, 20)):
        yield "classes", n_classes, lab.choose(CLASSES_ROWS, SMALL_ROWS), n_classes


def in_memory(lab: Lab, measured: Measured, at: tuple[str, int], rows: int, n_classes: int, folder: Path) -> None:
    """Calibrating and sets of arrays; memory is what the process grows by."""
    arrays = zip(("source", "labels", "target"), both_domains(rows, n_classes), strict=True)
    for name, array in arrays:
        np.save(folder / f"{name}.npy", array)
    job = {"kind": "speed", "epsilon": EPSILON, "delta": DELTA, "repeats": lab.choose(5, 1), "budget": 2.0}
    for entry in lab.stage.ready(ENTRIES):
        title = "floor" if entry is FLOOR else entry.title.replace("*", "").replace(" LAC", "")
        try:
            answer = run_job(lab.stage, entry, job, folder)
        except JobFailed as failure:
            measured.failed[title] = str(failure)
            continue
        share = rows / answer["sets_rows"]
        measured.add(CALIBRATE, title, at, min(answer["calibrate"]), answer["calibrate_memory"])
        if title.removeprefix("pacshift ") not in ("PS-W", "PS"):  # their sets are made in the same way
            measured.add(SETS, title.split(" ")[0], at, share * min(answer["sets"]), answer["sets_memory"])


def on_files(lab: Lab, measured: Measured, at: tuple[str, int], rows: int, n_classes: int, folder: Path) -> None:
    """Commands and databases on Parquet files; memory is the peak of the whole process."""
    source, target = (
        write_table(folder / name, rows, n_classes, seed=seed) for seed, name in enumerate(("a", "b"))
    )
    for (work, title), words in commands(source, target, folder, n_classes).items():
        timed(lab, measured, (work, title), at, {"kind": "command", "words": [str(word) for word in words]})
    counting: dict[str, Any] = {"n_classes": n_classes}
    for work, paths in ((COUNT, [source, target]), (ONE, [source])):
        beside(lab, measured, work, at, "counts", {**counting, "paths": [str(path) for path in paths]})
    timed(lab, measured, (USE, OWN_FLOORS["report"]), at, {"kind": "imports", "code": "import matplotlib.figure"})
    certificate = folder / "certificate.json"
    if certificate.exists():
        made = Certificate.load(certificate)
        sets: dict[str, Any] = {"thresholds": made.thresholds.tolist(), "sql": made.to_sql("duckdb")}
        beside(lab, measured, USE, at, "sets", {**sets, "paths": [str(target)], "out": f"{folder}/sets.parquet"})


def commands(source: Path, target: Path, folder: Path, n_classes: int) -> dict[tuple[str, str], list[Any]]:
    """The words of every command that grows with rows or classes; later ones read what earlier ones wrote."""
    certificate, tally = folder / "certificate.json", folder / "source.tally"
    label, write = ["--label", "label"], ["--force", "-o"]
    mix = ",".join(f"{name}={share!r}" for name, share in enumerate(shifted_mix(n_classes)))
    planned = ["--target-mix", mix, "--n-source", PLANNED, "--n-target", PLANNED]
    return {
        (COUNT, "calibrate"): ["calibrate", source, target, *label, "--force", "-o", certificate],
        (COUNT, "accept"): ["accept", source, target, *label, "--force", "-o", folder / "accept.json"],
        (COUNT, "compare"): ["compare", source, target, *label],
        (COUNT, "prevalence"): ["prevalence", source, target, *label],
        (COUNT, "verify"): ["verify", certificate, source, target],
        (ONE, "tally"): ["tally", source, *label, "--force", "-o", tally],
        (ONE, "label"): ["label", target, "--budget", "400", *write, folder / "sheet.csv"],
        (ONE, "monitor"): ["monitor", tally, target, *write, folder / "monitor.html"],
        (ONE, "plan"): ["plan", source, *planned, *label],
        (USE, "predict"): ["predict", certificate, target, *write, folder / "sets.parquet"],
        (USE, "check"): ["check", certificate, target, *label],
        (USE, "report"): ["report", certificate, *write, folder / "report.html"],
    }


def beside(lab: Lab, measured: Measured, work: str, at: tuple[str, int], what: str, job: dict[str, Any]) -> None:
    """A bare scan of the files of a job, and what databases do with them."""
    timed(lab, measured, (work, "bare scan"), at, {"kind": "bare scan", **job})
    for peer in ("DuckDB", "Polars"):
        timed(lab, measured, (work, peer), at, {"kind": f"{peer} {what}", **job})


def timed(lab: Lab, measured: Measured, place: tuple[str, str], at: tuple[str, int], job: dict[str, Any]) -> None:
    """Least seconds of a few whole processes, and the least of their peaks."""
    peaks: list[float] = []
    try:
        seconds, _ = run_times(lambda: peaks.append(whole_process(job)[1]), lab.choose(3, 1), budget=8.0)
    except JobFailed as failure:
        measured.failed[place[1]] = str(failure)
        return
    measured.add(*place, at, min(seconds), min(peaks))


def whole_process(job: dict[str, Any]) -> tuple[float, float]:
    """Seconds from the start of a process to its end, and its peak memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.jobs", json.dumps(job)]
    # As an installed package is: compiled once, and not by every process.
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    peak = float(answer_of(command, compiled)["peak"])
    return time.perf_counter() - start, peak
