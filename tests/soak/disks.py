"""A disk that fills up while a command writes: the old file stays, exit 2, one sentence."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from soak.damage import environment
from soak.outcome import Outcome, drafts
from soak.writing import WRITINGS, Writing, prepare, put_old_file

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
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=limit,
    )
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
