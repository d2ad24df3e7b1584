"""Damaged files in processes of their own: a crash of the process is a finding like any other."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pacshift
from soak.outcome import Outcome
from soak.samples import all_samples

BATCH = 250
CHECKED = ("json", "tally", "npz")
"""Formats with checksums, in which no value may change unnoticed."""


@dataclass
class Damage:
    """What became of the damaged files of one format."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[int, str] = field(default_factory=dict)

    @property
    def n_files(self) -> int:
        """Files that were damaged and read."""
        return sum(self.counts.values()) - self.counts["untouched"]


def damage_files(kind: str, n_cases: int, folder: Path, first: int = 0) -> Damage:
    """Run ``n_cases`` damaged files of one format, a process per batch."""
    write_samples(folder)
    total = Damage(kind)
    place, end = first, first + n_cases
    while place < end:
        place = _run_batch(kind, place, min(end, place + BATCH), folder, total)
    return total


def outcome(found: Damage) -> Outcome:
    """The damaged files of one format as a line of the table."""
    names = {"parquet": "Parquet", "feather": "Feather", "csv": "CSV", "npz": "NPZ", "json": "certificate"}
    counts = found.counts
    result = f"{counts['refused']:,} refused, {counts['same']:,} read as if whole"
    if counts["other"]:
        result += f", {counts['other']:,} read with other values"
    findings = [f"{kind}: {text}" for kind, text in found.findings.items()]
    if found.kind in CHECKED and counts["other"]:
        findings.append(f"{counts['other']} files were read with other values in spite of a checksum")
    return Outcome(f"damaged {names.get(found.kind, found.kind)} file", found.n_files, result, findings)


def write_samples(folder: Path) -> None:
    """The whole files, once."""
    if (folder / "samples").is_dir():
        return
    for kind, flavours in all_samples(folder).items():
        (folder / "samples" / kind).mkdir(parents=True)
        for flavour, content in flavours.items():
            (folder / "samples" / kind / flavour).write_bytes(content)


def _run_batch(kind: str, first: int, last: int, folder: Path, total: Damage) -> int:
    """Cases from ``first`` on; returns the case to go on with."""
    words = [sys.executable, "-m", "soak.worker", str(folder), kind, str(first), str(last)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=3600, check=False)
    begun = first - 1
    for line in done.stdout.splitlines():
        said = json.loads(line)
        begun = said.get("begin", begun)
        if "case" in said:
            known = said["found"] in ("refused", "same", "other", "untouched")
            total.counts[said["found"] if known else "finding"] += 1
            if not known:
                total.findings[said["case"]] = said["found"]
    if done.returncode == 0:
        return last
    if begun < first:
        raise RuntimeError(f"the worker did not start: {done.stderr[-2000:]}")
    total.counts["finding"] += 1
    total.findings[begun] = f"process ended with {done.returncode}: {done.stderr[-300:]}"
    return begun + 1


def environment() -> dict[str, str]:
    """The environment of this process, with pacshift and the soak importable."""
    paths = [str(Path(pacshift.__file__).parents[1]), str(Path(__file__).parents[1])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "SOURCE_DATE_EPOCH": "0",
    }
