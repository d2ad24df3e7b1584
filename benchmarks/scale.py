"""``python -m benchmarks.scale [rows classes files workers cost]``: tables on disk, measured, into docs/scale.md.

Every figure comes from a process of its own that reads generated files: seconds are the least of three runs, the
bare scan and the count in turn; peak memory is that of a process that only counts (or only writes sets).
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.page import fill, processor
from benchmarks.peers import ROOT
from benchmarks.scale_jobs import generate

PAGE = ROOT / "docs" / "scale.md"
ROWS = (1_000_000, 4_000_000, 16_000_000)
CLASSES = (10, 100, 1000, 10_000)
CLASSES_VALUES = 16_000_000
FILES = (1, 16, 256)
FILES_ROWS = 4_000_000
REPEATS = 3


def run(**job: Any) -> dict[str, float]:
    """One job in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale_jobs", json.dumps(job, default=str)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{job}: {done.stderr[-2000:]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def megabytes(peak: float) -> str:
    return f"{peak / 1e6:,.0f} MB"


COMPARED = ["bare scan", "count", "ratio", "bare scan, processor", "count, processor", "ratio"]


def compared(speed: dict[str, float]) -> list[str]:
    """Bare scan and count on the clock and in processor time; a ratio of 1: counting costs nothing."""
    cells = []
    for kind in ("", "_cpu"):
        bare, ours = speed["bare" + kind], speed["tally" + kind]
        cells += [f"{bare:.2f} s", f"{ours:.2f} s", f"{bare / ours:.2f}"]
    return cells


def by_rows(home: Path, sizes: Sequence[int], repeats: int) -> str:
    """Speed beside a bare scan, and peak memory."""
    lines = []
    for rows, dtype in [*((rows, "float64") for rows in sizes), (sizes[1], "float32")]:
        path = generate(home / f"rows{rows}{dtype}", rows, 10, dtype=dtype)
        speed = run(kind="speed", path=path, repeats=repeats)
        peak, sets = run(kind="memory", path=path), run(kind="memory", path=path, sets=True)
        lines.append([f"{rows:,}", dtype, *compared(speed), megabytes(peak["peak"]), megabytes(sets["peak"])])
        _remove(path)
    return table(["rows × 10", "scores", *COMPARED, "peak memory, count", "peak memory, sets"], lines)


def by_classes(home: Path, classes: Sequence[int], values: int, repeats: int) -> str:
    """The same number of scores in fewer and fewer, wider and wider rows."""
    lines = []
    for n_classes in classes:
        path = generate(home / f"classes{n_classes}", values // n_classes, n_classes)
        scores = "p_*" if n_classes <= 100 else "scores"
        speed = run(kind="speed", path=path, repeats=repeats if n_classes <= 1000 else 1, scores=scores)
        peak = run(kind="memory", path=path, scores=scores)
        lines.append([f"{n_classes:,}", f"{values // n_classes:,}", *compared(speed), megabytes(peak["peak"])])
        _remove(path)
    return table(["classes", "rows", *COMPARED, "peak memory"], lines)


def by_files(home: Path, counts: Sequence[int], rows: int, repeats: int) -> str:
    """The same rows in more and more files."""
    lines = []
    for files in counts:
        path = generate(home / f"files{files}", rows, 10, files=files)
        speed = run(kind="speed", path=path, repeats=repeats)
        peak = run(kind="memory", path=path)
        lines.append([f"{files:,}", *compared(speed), megabytes(peak["peak"])])
        _remove(path)
    return table([f"files of {rows:,} rows in all", *COMPARED, "peak memory"], lines)


def by_workers(home: Path, rows: int, repeats: int, *, spark: bool) -> str:
    """One core and all of them; Spark with as many tasks at a time."""
    path = generate(home / "workers", rows, 10, files=8)
    cores = sorted({1, len(os.sched_getaffinity(0))})
    lines = []
    for engine in ("Arrow", "Spark")[: 2 if spark else 1]:
        for count in cores:
            job = {"path": path, "repeats": repeats}
            kind = {"kind": "spark", "workers": count} if engine == "Spark" else {"kind": "speed", "cores": count}
            lines.append([engine, count, f"{run(**job, **kind)['tally']:.2f} s"])
    _remove(path)
    return table(["engine", "cores", f"count of {rows:,} rows × 10"], lines)


def cost(home: Path, rows: int, repeats: int) -> str:
    """What ten billion rows would take, from the time a score takes here."""
    lines = []
    nanoseconds, cores = {}, len(os.sched_getaffinity(0))
    for n_classes, scores in ((10, "p_*"), (1000, "scores")):
        path = generate(home / f"cost{n_classes}", rows * 10 // n_classes, n_classes)
        seconds = run(kind="speed", path=path, repeats=repeats, scores=scores)["tally_cpu"]
        nanoseconds[n_classes] = seconds / (rows * 10) * 1e9
        size = run(kind="size", path=path, scores=scores)
        lines.append(
            f"{n_classes:,} classes: {nanoseconds[n_classes]:.1f} ns of one core a score; "
            f"the tally holds {size['values'] / n_classes:,.0f} distinct true-label scores a class."
        )
        _remove(path)
    body = []
    for n_classes in (10, 1000, 10_000):
        values = 1e10 * n_classes
        seconds = values * nanoseconds[min(n_classes, 1000)] / 1e9
        disk, tally = f"{values * 8 / 1e12:,.1f} TB", megabytes(2 * n_classes**2 * 8)
        body.append([f"{n_classes:,}", disk, *(duration(seconds / count) for count in (1, cores, 256)), tally])
    head = [
        "classes",
        "scores as float64",
        "one core",
        f"on {cores} cores",
        "on 256 cores",
        "confusion and soft sums",
    ]
    return "\n\n".join(["\n".join(f"- {line}" for line in lines), table(head, body)])


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def _remove(path: Path) -> None:
    for file in path.iterdir():
        file.unlink()
    path.rmdir()


def conditions(part: str) -> str:
    return (
        f"Measured {date.today().isoformat()} by `python -m benchmarks.scale {part}` on {processor()}, "
        f"Python {platform.python_version()}, NumPy {version('numpy')}, pyarrow {version('pyarrow')}."
    )


def main(arguments: list[str] | None = None) -> None:
    """Measure the parts asked for, print them, and put them between their markers on the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="rows, classes, files, workers, cost; default: all"
    )
    parser.add_argument("--small", action="store_true", help="small sizes, no Spark, the page stays as it is")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    shrink, repeats = (200, 1) if options.small else (1, REPEATS)
    with tempfile.TemporaryDirectory(prefix="pacshift-scale-") as folder:
        home = Path(folder)
        parts: dict[str, Callable[[], str]] = {
            "rows": lambda: by_rows(home, [rows // shrink for rows in ROWS], repeats),
            "classes": lambda: by_classes(
                home, CLASSES[: 2 if options.small else None], CLASSES_VALUES // shrink, repeats
            ),
            "files": lambda: by_files(home, FILES[: 2 if options.small else None], FILES_ROWS // shrink, repeats),
            "workers": lambda: by_workers(home, FILES_ROWS // shrink, repeats, spark=not options.small),
            "cost": lambda: cost(home, FILES_ROWS // shrink, repeats),
        }
        if not set(options.parts) <= set(parts):
            parser.error(f"parts must be among {', '.join(parts)}, got {' '.join(options.parts)}")
        for part in options.parts or parts:
            text = f"{parts[part]()}\n\n{conditions(part)}"
            print(f"\n{text}\n", flush=True)
            if not options.small:
                fill(options.page, part, text)


if __name__ == "__main__":
    main()
