"""Signals at random moments: afterwards there is the old file or the new file, never less."""

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from soak.outcome import Outcome, drafts
from soak.writing import WRITINGS, Writing, prepare, put_old_file

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGTERM: (143, -signal.SIGTERM, 0), signal.SIGINT: (130, -signal.SIGINT, 0)}


def kill_writers(n_kills: int, folder: Path, writings: Sequence[Writing] = WRITINGS) -> Iterator[Outcome]:
    """``n_kills`` signals to each of the commands that write."""
    prepare(folder)
    for place, writing in enumerate(writings):
        yield _kill_one(writing, n_kills, folder, np.random.default_rng([14, place]))


def _kill_one(writing: Writing, n_kills: int, folder: Path, rng: np.random.Generator) -> Outcome:
    seconds, writing_seconds = _run(writing, folder)
    new = writing.files(folder)
    seen: Counter[str] = Counter()
    findings: list[str] = []
    for _ in range(n_kills):
        put_old_file(folder, folder / writing.out)
        before = writing.files(folder)
        number = SIGNALS[int(rng.integers(len(SIGNALS)))]
        # Every second time at any moment, else while the output is being written.
        on_draft = bool(rng.random() < 0.5)
        delay = float(rng.uniform(0, 1.05 * (writing_seconds if on_draft else seconds)))
        code, said = _disturb(writing, folder, number, delay, on_draft=on_draft)
        findings += [f"{number.name}: {text}" for text in writing.broken(folder, before, new)]
        lost = [path.name for path in before if not path.exists() and not path.name.startswith(".pacshift-")]
        findings += [f"{number.name}: lost {name}" for name in lost]
        findings += _manners(number, code, said, folder)
        seen["done before the signal" if code == 0 else number.name] += 1
    _run(writing, folder)
    findings += [f"the next run left {name}" for name in drafts(folder)]
    return Outcome(f"`{writing.name}` stopped by a signal", n_kills, _in_words(seen), findings)


def _run(writing: Writing, folder: Path) -> tuple[float, float]:
    """Run the command undisturbed; the seconds it took, and those from its first draft to its end."""
    start = time.monotonic()
    with writing.start(folder) as process:
        _wait_for_draft(process, folder, set(drafts(folder)))
        drafted = time.monotonic()
        _, said = process.communicate(timeout=300)
    if process.returncode != 0:
        raise RuntimeError(f"{writing.name} undisturbed: {said}")
    return time.monotonic() - start, time.monotonic() - drafted


def _wait_for_draft(process: "subprocess.Popen[str]", folder: Path, known: set[str]) -> None:
    while process.poll() is None and not set(drafts(folder)) - known:
        time.sleep(0.001)


def _disturb(
    writing: Writing, folder: Path, number: signal.Signals, delay: float, *, on_draft: bool
) -> tuple[int, str]:
    known = set(drafts(folder))
    with writing.start(folder) as process:
        if on_draft:
            _wait_for_draft(process, folder, known)
        time.sleep(delay)
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            return -999, "it did not end"
    return process.returncode, said


def _manners(number: signal.Signals, code: int, said: str, folder: Path) -> list[str]:
    """After a signal that can be answered: one line, the right exit code, no draft of this process."""
    if number == signal.SIGKILL:
        return []
    found = [] if code in CODES[number] else [f"{number.name}: exit code {code}: {said[-200:]}"]
    early = "<frozen" in said or "site.py" in said  # before Python had loaded the command
    if "Traceback" in said and not (early and "pacshift" not in said):
        found.append(f"{number.name}: {said[-300:]}")
    return found


def _in_words(seen: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(seen.items()))
