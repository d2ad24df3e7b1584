"""Speed in one picture: time and memory against rows and classes, of every command beside its floor and peers.

Nothing is judged here: what cannot be measured is left out and named. In memory, each contestant runs in a process
of its own as in ``speed``. Commands are whole processes, from their start to their end, and so are the peers that
read the same Parquet files.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks.lab import Blocks, Lab
from benchmarks.made_up import both_domains
from benchmarks.page import DOCS, conditions
from benchmarks.peers import FLOOR, OURS, ROOT, THEIRS, JobFailed, run_job
from benchmarks.scale_jobs import generate
from benchmarks.speed import DELTA, EPSILON
from pacshift import Certificate
from pacshift.experiments.summary import markdown_table

N_CLASSES = 10
ROWS = (10_000, 100_000, 1_000_000, 4_000_000)
CLASSES = (2, 10, 30, 100)
CLASSES_ROWS, SMALL_ROWS = 100_000, 5_000
ENTRIES = (FLOOR, *OURS, *(entry for entry in THEIRS if entry.setting == "LAC" and entry.library != "puncc"))
CALIBRATE, SETS = "calibrate, in memory", "sets, in memory"
COUNT, APPLY = "commands that count source and target", "commands that read the target"
COLUMNS = (CALIBRATE, SETS, COUNT, APPLY)
FLOORS = ("floor", "bare scan")
IMAGE = "![Time and memory of every command, its floor and its peers](figures/speed.png){ loading=lazy }"
COLOURS = {
    "floor": "black",
    "bare scan": "black",
    "MAPIE": "#b07aa1",
    "TorchCP": "#e377c2",
    "DuckDB": "#d4a500",
    "Polars": "#8c6d46",
}
OUR_COLOURS = ("#00735c", "#1f77b4", "#d62728", "#17becf", "#7f7f7f")


@dataclass
class Measured:
    """Seconds and bytes of every contestant, and what could not be measured."""

    found: dict[tuple[str, str, str, int], tuple[float, float]] = field(default_factory=dict)
    """By column, contestant, axis ("rows" or "classes") and size."""
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, column: str, title: str, at: tuple[str, int], seconds: float, memory: float) -> None:
        self.found[column, title, *at] = seconds, memory

    def titles(self, column: str) -> list[str]:
        return list(dict.fromkeys(key[1] for key in self.found if key[0] == column))

    def line(self, column: str, title: str, axis: str) -> list[tuple[int, tuple[float, float]]]:
        """Sizes of an axis with what was measured there.

        >>> measured = Measured()
        >>> measured.add(SETS, "floor", ("rows", 10), 0.5, 7.0)
        >>> measured.line(SETS, "floor", "rows"), measured.line(SETS, "floor", "classes")
        ([(10, (0.5, 7.0))], [])
        """
        return sorted((key[3], value) for key, value in self.found.items() if key[:3] == (column, title, axis))


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
    draw(measured, lab.choose(CLASSES_ROWS, SMALL_ROWS)).savefig(folder / "speed.png", dpi=110)
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
    source, target = (generate(folder / name, rows, n_classes, seed=seed) for seed, name in enumerate(("a", "b")))
    certificate, out = folder / "certificate.json", folder / "sets.parquet"
    first = ["--label", "label", "--force", "--quiet", "-o"]
    commands: dict[str, tuple[str, list[Any]]] = {
        "calibrate": (COUNT, ["calibrate", source, target, *first, certificate]),
        "compare": (COUNT, ["compare", source, target, "--label", "label", "--quiet"]),
        "prevalence": (COUNT, ["prevalence", source, target, "--label", "label", "--quiet"]),
        "verify": (COUNT, ["verify", certificate, source, target]),
        "tally": (COUNT, ["tally", source, *first, folder / "tally.npz"]),
        "predict": (APPLY, ["predict", certificate, target, "--force", "--quiet", "-o", out]),
        "check": (APPLY, ["check", certificate, target, "--label", "label", "--quiet"]),
        "label": (APPLY, ["label", target, "--budget", "400", "--force", "--quiet", "-o", folder / "sheet.csv"]),
    }
    jobs = [
        (column, name, {"kind": "command", "words": [str(word) for word in words]})
        for name, (column, words) in commands.items()
    ]
    both: dict[str, Any] = {"paths": [str(source), str(target)], "n_classes": n_classes}
    jobs += [
        (COUNT, name.split(" c")[0], {"kind": name, **both})
        for name in ("bare scan", "DuckDB counts", "Polars counts")
    ]
    for column, title, job in jobs:
        timed(lab, measured, (column, title), at, job)
    if not certificate.exists():
        return
    made = Certificate.load(certificate)
    own = {
        "paths": [str(target)],
        "out": str(out),
        "thresholds": made.thresholds.tolist(),
        "sql": made.to_sql("duckdb"),
    }
    for name in ("bare scan", "DuckDB sets", "Polars sets"):
        timed(
            lab, measured, (APPLY, name.split(" s")[0] if name != "bare scan" else name), at, {"kind": name, **own}
        )


def timed(lab: Lab, measured: Measured, place: tuple[str, str], at: tuple[str, int], job: dict[str, Any]) -> None:
    """Least seconds of a few whole processes, and the least of their peaks."""
    try:
        found = [whole_process(job) for _ in range(lab.choose(3, 1))]
    except JobFailed as failure:
        measured.failed[place[1]] = str(failure)
        return
    measured.add(*place, at, *(min(each) for each in zip(*found, strict=True)))


def whole_process(job: dict[str, Any]) -> tuple[float, float]:
    """Seconds from the start of a process to its end, and its peak memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.picture_jobs", json.dumps(job)]
    # As an installed package is: compiled once, and not by every process.
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=compiled)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise JobFailed((done.stderr.strip().splitlines() or ["no message"])[-1])
    return seconds, float(json.loads(done.stdout.splitlines()[-1])["peak"])


def draw(measured: Measured, classes_rows: int = CLASSES_ROWS) -> Figure:
    """Four rows of panels: time and memory, against rows and against classes."""
    figure = Figure((17, 15), layout="constrained")
    panels = figure.subplots(4, len(COLUMNS))
    for column, title in enumerate(COLUMNS):
        for row, (axis, what) in enumerate((axis, what) for axis in ("rows", "classes") for what in (0, 1)):
            panel(panels[row, column], measured, title, axis, what)
        panels[0, column].set_title(title, fontsize=12, fontweight="bold", pad=84)
        panels[0, column].legend(fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.suptitle(
        f"Upper half: against rows of source and target each, {N_CLASSES} classes. Lower half: against classes, "
        f"{classes_rows:,} rows.\nThick: pacshift. Dashed: floors. Thin: peers.",
        fontsize=12,
    )
    return figure


def panel(axes: Axes, measured: Measured, column: str, axis: str, what: int) -> None:
    """Seconds (``what`` 0) or megabytes (1) of every contestant, on logarithms."""
    ours = iter(OUR_COLOURS)
    for title in measured.titles(column):
        line = measured.line(column, title, axis)
        peer = next((name for name in COLOURS if title.startswith(name)), None)
        is_floor = title in FLOORS
        values = [value[what] / (1e6 if what else 1.0) for _, value in line]
        axes.plot(
            [size for size, _ in line],
            [max(value, 1.0) if what else value for value in values],  # growth below 1 MB is noise
            "o--" if is_floor else "o-",
            color=next(ours) if peer is None else COLOURS[peer],
            linewidth=1.4 if peer else 2.6,
            markersize=4,
            label=title,
        )
    axes.set(xscale="log", yscale="log", xlabel=axis, ylabel="memory" if what else "time")
    axes.set_xticks(sorted({key[3] for key in measured.found if key[2] == axis}))
    axes.xaxis.set_major_formatter(lambda size, _: f"{size / 1e6:g}M" if size >= 1e6 else f"{size:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g} MB" if what else duration(value))
    for side in (axes.xaxis, axes.yaxis):
        side.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    if high < 10 * low:  # at least two powers of ten have a tick
        axes.set_ylim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
    axes.grid(True, which="both", alpha=0.2)


def duration(seconds: float) -> str:
    """Seconds for an axis.

    >>> [duration(seconds) for seconds in (1e-5, 0.01, 10.0)]
    ['10 µs', '10 ms', '10 s']
    """
    unit, size = next(pair for pair in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= pair[1] * 0.999)
    return f"{seconds / size:,.0f} {unit}"


def table(measured: Measured) -> str:
    """At the largest sizes: each of ours, its floor, and the fastest peer that does part of the same work."""
    lines = []
    for column in COLUMNS:
        for axis in ("rows", "classes"):
            lines += list(_compared(measured, column, axis))
    headings = ("work", "contestant", "at", "time", "memory", "time / floor", "fastest peer", "time / peer's")
    return markdown_table(headings, lines, left=3)


def _compared(measured: Measured, column: str, axis: str) -> Iterable[Sequence[str]]:
    ends = {title: line[-1] for title in measured.titles(column) if (line := measured.line(column, title, axis))}
    largest = max((size for size, _ in ends.values()), default=0)
    found = {title: value for title, (size, value) in ends.items() if size == largest}
    floors = [value[0] for title, value in found.items() if title in FLOORS]
    peers = {t: v[0] for t, v in found.items() if t not in FLOORS and t.startswith(tuple(COLOURS))}
    fastest = min(peers, key=lambda title: peers[title], default="")
    for title, (seconds, memory) in found.items():
        if title in FLOORS or title in peers:
            continue
        beside = [f"{seconds / floors[0]:.2f}" if floors else "", fastest]
        beside += [f"{seconds / peers[fastest]:.2f}" if fastest else ""]
        yield column, title, f"{largest:,} {axis}", f"{seconds:.3g} s", f"{memory / 1e6:,.0f} MB", *beside
