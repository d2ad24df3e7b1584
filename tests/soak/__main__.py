"""``python -m soak``: everything at full size. Prints a table; ``--write``: into benchmarks/results/survives.md.

``--share 0.1`` runs a tenth of the cases.
"""

import argparse
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.page import RESULTS, conditions, fill
from soak.damage import damage_files
from soak.damage import outcome as damage_outcome
from soak.disturb import fill_disks, interrupt_starts, kill_writers, write_together
from soak.outcome import Outcome, as_text, findings_as_json
from soak.states import damage_manifests, kill_runs, run_together

FILES = {"parquet": 4800, "feather": 5400, "csv": 2800, "npz": 2800, "tally": 2400, "json": 2900}
KILLS, DISKS, ROUNDS, STARTS, MANIFESTS, TOGETHER = 26, 32, 150, 60, 3000, 20
ROOT = Path(__file__).resolve().parents[2]


def damaged_files(folder: Path, share: float) -> Iterator[Outcome]:
    """One outcome per format."""
    for kind, n_cases in FILES.items():
        yield damage_outcome(damage_files(kind, math.ceil(share * n_cases), folder))
    yield damage_manifests(math.ceil(share * MANIFESTS), folder)


def disturbed_commands(folder: Path, share: float) -> Iterator[Outcome]:
    """Signals, full disks, several writers, a cluster that loses a worker."""
    yield from kill_writers(math.ceil(share * KILLS), folder)
    yield interrupt_starts(math.ceil(share * STARTS))
    yield from fill_disks(math.ceil(share * DISKS), folder)
    yield write_together(math.ceil(share * ROUNDS), folder)
    yield run_together(math.ceil(share * TOGETHER), folder)
    yield kill_runs(math.ceil(share * KILLS), folder)
    yield kill_executor()


def kill_executor() -> Outcome:
    """The test that kills a Spark executor in the middle of counting."""
    words = [sys.executable, "-m", "pytest", "-q", "-m", "spark", "tests/test_rows_spark.py", "-k", "killed"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-300:]
    what = "Spark executor killed while it counts"
    if "skipped" in last:
        return Outcome(f"{what}: skipped, no Java", 0, "not run")
    findings = [] if "1 passed" in last else [last]
    return Outcome(what, 1, "the same counts, bit for bit" if not findings else "see findings", findings)


def collect(part: Callable[[Path, float], Iterator[Outcome]], share: float, start: float) -> list[Outcome]:
    """The outcomes of a part, each told when it is known."""
    found = []
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        for line in part(Path(folder), share):
            seconds = time.monotonic() - start
            print(
                f"[{seconds:6.0f} s] {line.what}: {line.cases:,} cases, {line.result}", line.findings, flush=True
            )
            found.append(line)
    return found


def main() -> None:
    """Run, print, write, and fail if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/results/survives.md")
    parser.add_argument("--share", type=float, default=1.0, help="which share of the cases to run (default: all)")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it would be ignored
    start = time.monotonic()
    with ThreadPoolExecutor(2) as pool:  # the work is done in other processes
        parts = [pool.submit(collect, part, options.share, start) for part in (damaged_files, disturbed_commands)]
        outcomes = [line for part in parts for line in part.result()]
    minutes = (time.monotonic() - start) / 60
    said = conditions("", ("NumPy", "PyArrow")).replace("python -m benchmarks ", "make soak")
    part = "" if options.share == 1 else f" A share of {options.share:g} of the cases was run."
    text = f"{as_text(outcomes)}\n\n{said} It took {minutes:.0f} minutes.{part}"
    print(f"\n{text}")
    if options.write:
        fill(RESULTS / "survives.md", "survives", text)
    if any(found.findings for found in outcomes):
        sys.exit(findings_as_json(outcomes))


if __name__ == "__main__":
    main()
