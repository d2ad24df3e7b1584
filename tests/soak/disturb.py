"""Every command that writes, disturbed: by signals, full disks, Ctrl-C at the start, several writers.

As a program: ``python -m soak.disturb FOLDER ROUNDS NUMBER`` is one of four writers of the same files.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from pacshift import Certificate, InputError, Tally
from soak.damage import NAMES, make_table, write_samples
from soak.outcome import Outcome, drafts, environment, require_whole

START = "from pacshift_command import main; main()"
PAPER = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from paper.__main__ import main; main()"
)
ROWS = 1_000_000  # three batches of `predict`
PLANNED = ("--target-mix", f"{NAMES[0]}=1", "--n-source", "500", "--n-target", "500", "-m", "PS-LW")
SAME_BYTES = (".parquet", ".feather", ".csv", ".tally")


@dataclass(frozen=True)
class Writing:
    """A command and the file or folder it writes."""

    name: str
    words: tuple[str, ...]
    out: str
    program: str = START

    def start(self, folder: Path, **options: int) -> "subprocess.Popen[str]":
        """The command as a process of its own."""
        words = [sys.executable, "-c", self.program, *self.words]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(words, cwd=folder, env=environment(), text=True, **pipes, **options)  # type: ignore[call-overload,no-any-return]

    def files(self, folder: Path) -> dict[Path, bytes]:
        """What is there now."""
        out = folder / self.out
        found = [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out]
        return {path: path.read_bytes() for path in found if path.exists()}

    def broken(self, folder: Path, *whole: dict[Path, bytes]) -> list[str]:
        """Files that are not whole. Where every run gives the same bytes, they must be those of a ``whole`` file.

        The log of trials may end in a part of a line: that trial is run again.
        """
        found = []
        for path, content in self.files(folder).items():
            if path.name.startswith(".pacshift-") or path.name == "trials.jsonl":
                continue
            if whole and path.suffix in SAME_BYTES and content not in [files.get(path) for files in whole]:
                found.append(f"{path.name}: neither the old file nor the new one")
            try:
                require_whole(path)
            except Exception as error:  # whatever a reader says about a broken file
                found.append(f"{path.name}: {error}")
        return found


WRITINGS = (
    Writing("calibrate", ("calibrate", "source.parquet", "-m", "PS", "-o", "out.json", "--force"), "out.json"),
    Writing("accept", ("accept", "source.parquet", "big.parquet", "-o", "a.json", "--force"), "a.json"),
    Writing("tally", ("tally", "source.parquet", "-l", "label", "-o", "out.tally", "--force"), "out.tally"),
    Writing("predict to Parquet", ("predict", "c.json", "big.parquet", "-o", "s.parquet", "--force"), "s.parquet"),
    Writing("predict to Feather", ("predict", "c.json", "big.parquet", "-o", "s.feather", "--force"), "s.feather"),
    Writing("predict to CSV", ("predict", "c.json", "big.parquet", "-o", "s.csv", "--force"), "s.csv"),
    Writing("label", ("label", "big.parquet", "-b", "400", "--seed", "1", "-o", "l.csv", "--force"), "l.csv"),
    Writing("report", ("report", "c.json", "-o", "out.html", "--force"), "out.html"),
    Writing("monitor", ("monitor", "source.parquet", "big.parquet", "-o", "m.html", "--force"), "m.html"),
    Writing("plan", ("plan", "source.parquet", *PLANNED, "-o", "plan.png", "--force"), "plan.png"),
    Writing("demo", ("demo", "-o", "demo"), "demo"),
    Writing(
        "reproduce",
        ("reproduce", "agnews-0.05", "--trials", "2", "--methods", "PS", "--workers", "1", "-o", "panels"),
        "panels",
        PAPER,
    ),
)
"""A test compares this list with the commands that there are, and ``python -m paper reproduce``."""


def put_old_file(folder: Path, out: Path) -> None:
    """A small whole file where the command will write, to be kept or replaced; a folder is left as it is."""
    samples = {".json": "json/PS", ".tally": "tally/grid", ".parquet": "parquet/snappy", ".feather": "feather/lz4"}
    texts = {".csv": "a,b\n1,2\n", ".html": "<html></html>\n"}
    if out.suffix in samples:
        shutil.copy(folder / "samples" / samples[out.suffix], out)
    elif out.suffix in texts:
        out.write_text(texts[out.suffix])


def prepare(folder: Path) -> None:
    """The inputs of all commands."""
    write_samples(folder)
    (folder / "c.json").write_bytes((folder / "samples" / "json" / "PS-W").read_bytes())
    pq.write_table(make_table(3, 20_000), folder / "source.parquet")
    pq.write_table(make_table(4, ROWS), folder / "big.parquet")


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


DISK_KILOBYTES = 600


def fill_disks(n_cases: int, folder: Path) -> Iterator[Outcome]:
    """Small disks of random free space, and files that may not grow beyond a random size."""
    prepare(folder)
    yield _limit_size(n_cases, folder)
    with _small_disk(folder / "disk") as reason:
        if reason:
            yield Outcome(f"small disk: skipped, {reason}", 0, "not run")
        else:
            yield _fill(n_cases, folder)


def _fill(n_cases: int, folder: Path) -> Outcome:
    rng = np.random.default_rng(15)
    findings: list[str] = []
    full = 0
    disk = folder / "disk"
    for case in range(n_cases):
        writing = _on_disk(WRITINGS[case % len(WRITINGS)], disk)
        for path in disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        put_old_file(folder, Path(writing.out))
        (disk / "filler").write_bytes(bytes(1024 * int(rng.integers(0, DISK_KILOBYTES - 100))))
        full += _run_full(writing, folder, disk, findings)
    return Outcome(
        f"disk of {DISK_KILOBYTES} kB that fills up", n_cases, f"{full} refused, the others fitted", findings
    )


def _on_disk(writing: Writing, disk: Path) -> Writing:
    out = str(disk / Path(writing.out).name)
    return replace(writing, words=tuple(out if word == writing.out else word for word in writing.words), out=out)


def _run_full(
    writing: Writing, folder: Path, place: Path, findings: list[str], limit: Callable[[], None] | None = None
) -> bool:
    """Run the command where there is little room; whether it was refused."""
    before = writing.files(folder)
    words = [sys.executable, "-c", writing.program, *writing.words]
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 300, "check": False}
    done = subprocess.run(words, cwd=folder, env=environment(), preexec_fn=limit, **options)
    said = done.stderr.strip()
    if done.returncode not in (0, 2, 3) or "Traceback" in said:
        findings.append(f"{writing.name}: exit {done.returncode}: {said[-300:]}")
    if done.returncode == 2 and (not said.startswith("error: ") or "\n" in said):
        findings.append(f"{writing.name}: not one sentence: {said[-300:]}")
    findings += [f"{writing.name}: {text}" for text in writing.broken(folder)]
    if done.returncode == 2 and Path(writing.out).suffix and writing.files(folder) != before:
        findings.append(f"{writing.name}: the old file was changed")
    findings += [f"{writing.name} left {name}" for name in drafts(place)]
    return done.returncode == 2


def _limit_size(n_cases: int, folder: Path) -> Outcome:
    rng = np.random.default_rng(16)
    findings: list[str] = []
    refused = 0
    single = [writing for writing in WRITINGS if Path(writing.out).suffix]
    for case in range(n_cases):
        writing = single[case % len(single)]
        put_old_file(folder, folder / writing.out)
        size = int(rng.integers(1, 40_000))

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        refused += _run_full(writing, folder, folder, findings, limit)
    return Outcome(
        "file size limited to less than 40 kB", n_cases, f"{refused} refused, the others fitted", findings
    )


@contextmanager
def _small_disk(place: Path) -> Iterator[str]:
    """A file system in memory at ``place``; yields why not, where the machine does not allow it."""
    place.mkdir(exist_ok=True)
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        yield "mounting needs root"
        return
    words = [mount, "-t", "tmpfs", "-o", f"size={DISK_KILOBYTES}k", "tmpfs", str(place)]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    if made.returncode:
        yield made.stderr.strip()
        return
    try:
        yield ""
    finally:
        subprocess.run(["umount", str(place)], check=True)


def interrupt_starts(n_cases: int) -> Outcome:
    """Ctrl-C at random moments of the first second, counted from the first line of our own code."""
    rng = np.random.default_rng(17)
    begin = (
        "import signal, sys, pacshift_command; signal.signal(signal.SIGINT, pacshift_command._stop_loading); "
        "sys.stdout.write('x'); sys.stdout.flush(); "
    )
    findings: list[str] = []
    stopped = 0
    for _ in range(n_cases):
        words = [sys.executable, "-c", begin + START, "methods"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, env=environment(), text=True, **pipes) as process:  # type: ignore[call-overload]
            process.stdout.read(1)
            time.sleep(float(rng.uniform(0, 1)))
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=120)
        stopped += process.returncode != 0
        if "Traceback" in said or process.returncode not in (0, 130, -signal.SIGINT):
            findings.append(f"exit {process.returncode}: {said[-300:]}")
    result = f"{stopped} stopped, {n_cases - stopped} had finished before"
    return Outcome("Ctrl-C while the command starts", n_cases, result, findings)


WRITERS = 4


def write_together(rounds: int, folder: Path) -> Outcome:
    """Each writer replaces a certificate and a tally ``rounds`` times."""
    write_samples(folder)
    shared = folder / "shared"
    shared.mkdir(exist_ok=True)
    shutil.copy(folder / "samples" / "json" / "PS", shared / "c.json")
    shutil.copy(folder / "samples" / "tally" / "both", shared / "a.tally")
    words = [sys.executable, "-m", "soak.disturb", str(shared), str(rounds)]
    processes = [
        subprocess.Popen([*words, str(number)], env=environment(), stderr=subprocess.PIPE, text=True)
        for number in range(WRITERS)
    ]
    findings: list[str] = []
    looks = 0
    while any(process.poll() is None for process in processes):
        looks += 1
        try:
            Certificate.load(shared / "c.json")
            Tally.load(shared / "a.tally")
        except InputError as error:
            findings.append(str(error))
    for process in processes:
        _, said = process.communicate()
        findings += [said[-300:]] if process.returncode else []
    findings += [f"left {name}" for name in drafts(shared)]
    result = f"{looks:,} looks meanwhile, each at a whole file" if not findings else f"{looks:,} looks"
    return Outcome(f"{WRITERS} processes write the same two files", WRITERS * rounds * 2, result, findings)


def main(folder: Path, rounds: int, number: int) -> None:
    """One of the writers."""
    certificate, tally = Certificate.load(folder / "c.json"), Tally.load(folder / "a.tally")
    mine = replace(certificate, delta=0.01 * (number + 1))
    for _ in range(rounds):
        mine.save(folder / "c.json")
        tally.save(folder / "a.tally")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
