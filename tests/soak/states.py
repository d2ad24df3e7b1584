"""The state of a monitor: damaged manifests, killed runs, several runs at once. No row is lost or doubled."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from pacshift import Certificate, InputError, Monitor, Tally
from soak.damage import NAMES, make_scores, make_table, mutate
from soak.disturb import START
from soak.outcome import Outcome, drafts, environment, require_whole

GOOD: dict[str, Any] = {"epsilon": 0.2, "delta": 0.2, "method": "PS-LW", "forever": True}
RUNS = 3
"""Runs that start at once."""
ROWS = 400


def _source() -> Tally:
    scores, labels = make_scores(0, 2000)
    return Tally.from_scores(scores, np.array(NAMES)[labels], classes=NAMES)


def _facts(monitor: Monitor) -> str:
    reports = [[report.period, report.number, report.rows, report.verdict] for report in monitor.history]
    in_use = None if monitor.in_use is None else [monitor.in_use.number, monitor.in_use.choice]
    return json.dumps([reports, in_use, [one.sha256 for one in monitor.deliveries]])


def damage_manifests(n_cases: int, folder: Path, first: int = 0) -> Outcome:
    """A damaged manifest is refused, or read as if it were whole."""
    source, state = _source(), folder / "manifests"
    shutil.rmtree(state, ignore_errors=True)
    monitor = Monitor(source, **GOOD, state=state)
    for seed in range(3):
        monitor.update(make_scores(seed + 1, ROWS)[0], f"month {seed}")
    manifest, expected = state / "manifest.json", _facts(monitor)
    whole = manifest.read_bytes()
    counts: Counter[str] = Counter()
    findings = []
    for case in range(first, first + n_cases):
        content = mutate(whole, np.random.default_rng([18, case]))
        if content == whole:
            continue
        manifest.write_bytes(content)
        try:
            found = _facts(Monitor(source, **GOOD, state=state))
            counts["same" if found == expected else "other"] += 1
        except InputError:
            counts["refused"] += 1
        except Exception as error:  # anything else is a finding
            findings.append(f"case {case}: {error!r}")
    findings += [f"{counts['other']} manifests were read with other values"] if counts["other"] else []
    result = f"{counts['refused']:,} refused, {counts['same']:,} read as if whole"
    return Outcome("damaged manifest of a monitor", sum(counts.values()), result, findings)


def _prepare(folder: Path) -> Path:
    """A source, and one file of visits for each run."""
    place = folder / "monitor"
    shutil.rmtree(place, ignore_errors=True)
    (place / "visits").mkdir(parents=True)
    pq.write_table(make_table(0, 2000), place / "source.parquet")
    for number in range(RUNS):
        pq.write_table(make_table(number + 1, ROWS), place / "visits" / f"{number}.parquet")
    return place


def _start(place: Path, *targets: str, page: str = "m.html") -> "subprocess.Popen[str]":
    options = f"-m PS-LW --forever --state watch -o {page} -f".split()
    words = [sys.executable, "-c", START, "monitor", "source.parquet", *targets, *options]
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, cwd=place, env=environment(), **pipes)


def _check(place: Path, expected: Sequence[int]) -> list[str]:
    """What is wrong with the state: each file counts once, reports are numbered, the certificate can be used."""
    document = json.loads((place / "watch" / "manifest.json").read_text())
    rows = {period["name"]: period["report"]["rows"] for period in document["periods"]}
    findings = [] if rows == {str(number): ROWS for number in expected} else [f"rows {rows}"]
    numbers = sorted(period["report"]["number"] for period in document["periods"])
    findings += [] if numbers == list(range(1, len(numbers) + 1)) else [f"reports {numbers}"]
    findings += [f"left {name}" for name in drafts(place / "watch")]
    try:
        require_whole(place / "watch" / "current.json")
        Certificate.load(place / "watch" / "current.json")
    except (InputError, ValueError) as error:
        findings.append(str(error))
    return findings


def run_together(rounds: int, folder: Path) -> Outcome:
    """Several runs start at once, each with a file of its own and one that all of them have."""
    findings: list[str] = []
    for _ in range(rounds):
        place = _prepare(folder)
        runs = [
            _start(place, "visits/0.parquet", f"visits/{number}.parquet", page=f"{number}.html")
            if number
            else _start(place, "visits/0.parquet", page="0.html")
            for number in range(RUNS)
        ]
        said = [run.communicate(timeout=300)[1] for run in runs]
        findings += [text[-300:] for run, text in zip(runs, said, strict=True) if run.returncode not in (0, 4)]
        findings += _check(place, range(RUNS))
    result = "every file counted once" if not findings else "see findings"
    return Outcome(f"{RUNS} runs of `monitor` at once, one state", rounds * RUNS, result, findings)


def kill_runs(n_kills: int, folder: Path) -> Outcome:
    """A run is killed at any moment; the next one gives the state that an undisturbed one gives."""
    rng = np.random.default_rng(19)
    findings: list[str] = []
    begin = time.monotonic()
    _start(_prepare(folder), "visits").communicate(timeout=300)
    seconds = time.monotonic() - begin
    n_before = 0
    for _ in range(n_kills):
        place = _prepare(folder)
        with _start(place, "visits") as run:
            time.sleep(float(rng.uniform(0.3, 1.05) * seconds))
            run.send_signal(signal.SIGKILL if rng.random() < 0.5 else signal.SIGTERM)
            run.communicate(timeout=120)
        n_before += (place / "watch" / "manifest.json").exists()
        again = _start(place, "visits")
        said = again.communicate(timeout=300)[1]
        findings += [said[-300:]] if again.returncode not in (0, 4) else []
        findings += _check(place, range(RUNS))
    result = (
        f"{n_before} had saved their rows before, {n_kills - n_before} had not; the next run counted each once"
    )
    return Outcome("`monitor --state` killed and run again", n_kills, result, findings)
