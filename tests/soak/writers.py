"""Four processes write the same files at once, while this one reads them: every look finds a whole file.

As a program: ``python -m soak.writers FOLDER ROUNDS NUMBER`` is one of the four.
"""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from pacshift import Certificate, InputError, Tally
from soak.damage import environment, write_samples
from soak.outcome import Outcome, drafts

WRITERS = 4


def write_together(rounds: int, folder: Path) -> Outcome:
    """Each writer replaces a certificate and a tally ``rounds`` times."""
    write_samples(folder)
    shared = folder / "shared"
    shared.mkdir(exist_ok=True)
    shutil.copy(folder / "samples" / "json" / "PS", shared / "c.json")
    shutil.copy(folder / "samples" / "tally" / "both", shared / "a.tally")
    words = [sys.executable, "-m", "soak.writers", str(shared), str(rounds)]
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
