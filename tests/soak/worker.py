"""``python -m soak.worker FOLDER FORMAT FIRST LAST``: damaged files through the commands, in a process of its own.

The number of a case is written down before it begins, so that a crash of the process names its case.
"""

import hashlib
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from pacshift import Certificate, Tally
from pacshift.certificate.file import to_document
from pacshift.cli import app
from pacshift.errors import InputError
from pacshift.rows.arrow.files import FileSource
from soak.mutants import mutate
from soak.samples import make_table

MEMORY = 8 << 30
SECONDS = 60


def commands(kind: str, bad: Path, folder: Path) -> list[list[object]]:
    """What reads a file of this format."""
    good, good_json, out = folder / "good.parquet", folder / "good.json", folder / "out"
    if kind == "json":
        return [
            ["check", bad, good, "--json"],
            ["predict", bad, good, "-o", f"{out}.parquet", "--json"],
        ]
    if kind == "tally":
        return [["calibrate", bad, "-m", "PS", "-e", "0.2", "-o", f"{out}.json", "--json"]]
    scores = ["--scores", "scores"] if "lists" in bad.name else []
    label = ["--label", "labels" if kind == "npz" else "label"]
    return [
        ["tally", bad, *label, *scores, "--classes", "ant,bee,cow", "-o", f"{out}.tally", "--json"],
        ["predict", good_json, bad, *scores, "-o", f"{out}.csv", "--json"]
        + (["--keep", "label", "--keep", "kind"] if kind in ("parquet", "feather", "csv") and not scores else []),
    ]


def run_case(kind: str, samples: dict[str, bytes], number: int, folder: Path) -> str:
    """One word: refused, same, other or untouched; anything else is a finding."""
    rng = np.random.default_rng([14, *kind.encode(), number])
    flavour = sorted(samples)[number % len(samples)]
    content = mutate(samples[flavour], rng)
    if content == samples[flavour]:
        return "untouched"
    bad = folder / f"bad-{flavour}.{kind}"
    bad.write_bytes(content)
    choices = commands(kind, bad, folder)
    words = [str(word) for word in choices[number // len(samples) % len(choices)]]
    result = CliRunner().invoke(app, words)
    found = judge(result, folder)
    if kind in ("parquet", "feather", "csv"):
        with suppress(InputError):
            FileSource([bad]).count_rows()  # what a progress bar asks
    if found == "answered":
        expected = folder / f"expected-{flavour}-{words[0]}.{kind}.json"
        found = "same" if expected.read_text() == answer(bad, folder) else "other"
    for left in folder.glob("out.*"):
        left.unlink()
    return found


def judge(result: Any, folder: Path) -> str:
    """Exit 0 or 3 with an answer, or exit 2 with one sentence and no output; else what happened."""
    if result.exit_code in (0, 3):
        return "answered"
    said = result.stderr.strip()
    if result.exit_code != 2:
        return f"exit {result.exit_code}: {said[-200:]} {result.exception!r}"
    if not said.startswith("error: ") or "\n" in said or result.stdout:
        return f"not one sentence: {said[-200:]}"
    left = [path.name for path in folder.iterdir() if path.name.startswith(("out.", ".pacshift"))]
    return f"left {left}" if left else "refused"


def answer(bad: Path, folder: Path) -> str:
    """What was read, to the last bit: the file itself where it is ours, else what the command wrote."""
    if bad.suffix == ".json":
        return json.dumps(to_document(Certificate.load(bad)))
    if bad.suffix == ".tally":
        Tally.load(bad).save(folder / "out.again")
    written = [path for path in sorted(folder.glob("out.*")) if path.suffix != ".json"]
    return json.dumps({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in written})


def main(folder: Path, kind: str, first: int, last: int) -> None:
    """Run the cases and print one JSON object per case."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    samples = {path.name: path.read_bytes() for path in (folder / "samples" / kind).iterdir()}
    own = folder / f"{kind}-{first}"
    own.mkdir(exist_ok=True)
    prepare(own, folder, kind, samples)
    for number in range(first, last):
        say({"begin": number})
        if os.environ.get("SOAK_CRASH") == str(number):
            os.kill(os.getpid(), signal.SIGSEGV)  # a test of the soak itself
        signal.alarm(SECONDS)  # a case that hangs ends the process, which is a finding
        say({"case": number, "found": run_case(kind, samples, number, own)})
    signal.alarm(0)


def say(document: dict[str, object]) -> None:
    """One line to the process that started this one, at once."""
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def prepare(own: Path, folder: Path, kind: str, samples: dict[str, bytes]) -> None:
    """A good table and certificate, and the answers to the whole files."""
    import pyarrow.parquet as pq

    pq.write_table(make_table(2), own / "good.parquet")
    (own / "good.json").write_bytes((folder / "samples" / "json" / "PS-W").read_bytes())
    for flavour, content in samples.items():
        whole = own / f"bad-{flavour}.{kind}"
        whole.write_bytes(content)
        for words in commands(kind, whole, own):
            result = CliRunner().invoke(app, [str(word) for word in words])
            if judge(result, own) != "answered":
                raise SystemExit(f"{words} of a whole file: {result.output}")
            (own / f"expected-{flavour}-{words[0]}.{kind}.json").write_text(answer(whole, own))
            for left in own.glob("out.*"):
                left.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
