"""Damaged files of every format, in processes of their own: a crash of the process is a finding like any other.

As a program: ``python -m soak.damage FOLDER FORMAT FIRST LAST`` runs some cases. The number of a case is written
down before it begins, so that a crash names its case.
"""

import hashlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from typer.testing import CliRunner

from pacshift import Certificate, Tally, UninformativeWarning, calibrate
from pacshift.arrays import FloatArray, IntArray
from pacshift.certificate.file import to_document
from pacshift.cli import app
from pacshift.errors import InputError
from pacshift.rows.arrow.files import open_source
from soak.outcome import Outcome, environment

NAMES = ("ant", "bee", "cow")
ROWS = 300


def make_scores(seed: int = 0, rows: int = ROWS) -> tuple[FloatArray, IntArray]:
    """Scores of a fair classifier and the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(NAMES), rows)
    raw = np.exp(rng.normal(size=(rows, len(NAMES))) + 3 * np.eye(len(NAMES))[labels])
    return raw / raw.sum(axis=1, keepdims=True), labels


def make_table(seed: int = 0, rows: int = ROWS) -> Any:
    """Scores as columns and as lists, labels as text and as a dictionary, an id."""
    scores, labels = make_scores(seed, rows)
    columns: dict[str, Any] = {"id": np.arange(rows)}
    columns |= {f"p_{name}": scores[:, place] for place, name in enumerate(NAMES)}
    names = pa.array(np.array(NAMES)[labels])
    return pa.table(columns | {"label": names, "kind": names.dictionary_encode()})


def make_lists(seed: int = 0, rows: int = ROWS) -> Any:
    """The same scores as one list column."""
    scores, labels = make_scores(seed, rows)
    return pa.table({"scores": pa.array(scores.tolist()), "label": np.array(NAMES)[labels]})


def _written(write: Callable[..., object], *table: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    write(*table, buffer, **options)
    return buffer.getvalue()


def tables() -> dict[str, dict[str, bytes]]:
    """By suffix and flavour."""
    plain, lists = make_table(), make_lists()
    scores, labels = make_scores()
    arrays = {"probs": scores, "labels": labels, "class_names": np.array(NAMES)}
    parquet = partial(_written, pa.parquet.write_table)
    feather = partial(_written, pa.feather.write_feather, chunksize=128)
    return {
        "parquet": {
            "snappy": parquet(plain),
            "plain": parquet(plain, compression="none", use_dictionary=False),
            "zstd-groups": parquet(plain, compression="zstd", row_group_size=64),
            "lists": parquet(lists),
        },
        "feather": {
            "plain": feather(plain, compression="uncompressed"),
            "lz4": feather(plain, compression="lz4"),
            "zstd": feather(plain, compression="zstd"),
            "lists": feather(lists, compression="uncompressed"),
            "lists-lz4": feather(lists, compression="lz4"),
        },
        "csv": {"plain": _written(pa.csv.write_csv, plain)},
        "npz": {"stored": _written(np.savez, **arrays), "packed": _written(np.savez_compressed, **arrays)},
    }


def tally_files(folder: Path) -> dict[str, bytes]:
    """A source and a target, counted."""
    scores, labels = make_scores()
    names = np.array(NAMES)[labels]
    made = {
        "both": Tally.from_scores(scores, names, classes=NAMES) + Tally.from_target(scores, classes=NAMES),
        "grid": Tally.from_scores(scores, names, classes=NAMES, grid=True),
    }
    found = {}
    for flavour, tally in made.items():
        tally.save(folder / "sample.tally")
        found[flavour] = (folder / "sample.tally").read_bytes()
    return found


def certificate_files(folder: Path) -> dict[str, bytes]:
    """Certificates of three methods."""
    (scores, labels), (target, _) = make_scores(), make_scores(1)
    names = np.array(NAMES)[labels]
    found = {}
    for method in ("PS", "PS-W", "PS-LP"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            made = calibrate(
                scores, names, target, epsilon=0.2, delta=0.2, method=method, classes=NAMES, rng=0
            ).with_set_sizes(target)
        made.save(folder / "sample.json")
        found[method] = (folder / "sample.json").read_bytes()
    return found


def all_samples(folder: Path) -> dict[str, dict[str, bytes]]:
    """Every format with its flavours."""
    return tables() | {"tally": tally_files(folder), "json": certificate_files(folder)}


EXTREMES = [0, 1, -1, 2, 127, -128, 2**15, 2**31 - 1, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)]


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """One copy with one kind of damage."""
    ways = [flip_bits, set_bytes, plant_number, plant_number, cut, zero_block, swap_blocks, insert, repeat, digit]
    return ways[int(rng.integers(len(ways)))](content, rng)


def _place(content: bytes, rng: np.random.Generator) -> int:
    """Any byte; every second time one of the last 600, where formats keep their tables of contents."""
    size = max(1, len(content))
    return int(rng.integers(max(0, size - 600) if rng.random() < 0.5 else 0, size))


def flip_bits(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        changed[_place(content, rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def set_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        changed[_place(content, rng)] = int(rng.integers(256))
    return bytes(changed)


def plant_number(content: bytes, rng: np.random.Generator) -> bytes:
    """A length or an offset becomes an extreme number."""
    width = int(rng.choice([1, 2, 4, 8]))
    place = _place(content, rng) // width * width
    number: int = EXTREMES[int(rng.integers(len(EXTREMES)))] % (1 << 8 * width)
    return content[:place] + number.to_bytes(width, "little") + content[place + width :]


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: _place(content, rng)]


def zero_block(content: bytes, rng: np.random.Generator) -> bytes:
    place, size = _place(content, rng), int(rng.integers(1, 600))
    kept = content[place + size :]
    return content[:place] + bytes(len(content) - place - len(kept)) + kept


def swap_blocks(content: bytes, rng: np.random.Generator) -> bytes:
    first, second = sorted((_place(content, rng), _place(content, rng)))
    middle = (first + second) // 2
    return content[:first] + content[middle:second] + content[first:middle] + content[second:]


def insert(content: bytes, rng: np.random.Generator) -> bytes:
    place = _place(content, rng)
    return content[:place] + rng.bytes(int(rng.integers(1, 40))) + content[place:]


def repeat(content: bytes, rng: np.random.Generator) -> bytes:
    place, size = _place(content, rng), int(rng.integers(1, 600))
    return content[:place] + content[place : place + size] + content[place:]


def digit(content: bytes, rng: np.random.Generator) -> bytes:
    """One digit becomes another: the damage that a text file hides best."""
    digits = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return content[:-1]
    place = digits[int(rng.integers(len(digits)))]
    return content[:place] + bytes([48 + int(rng.integers(10))]) + content[place + 1 :]


MEMORY = 8 << 30
SECONDS = 60


def commands(kind: str, bad: Path, folder: Path) -> list[list[object]]:
    """What reads a file of this format."""
    good, good_json, out = folder / "good.parquet", folder / "good.json", folder / "out"
    if kind == "json":
        return [["check", bad, good, "--json"], ["predict", bad, good, "-o", f"{out}.parquet", "--json"]]
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
            open_source(bad, label=None).count_rows()  # what a progress bar asks
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
    prepare_cases(own, folder, kind, samples)
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


def prepare_cases(own: Path, folder: Path, kind: str, samples: dict[str, bytes]) -> None:
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
    words = [sys.executable, "-m", "soak.damage", str(folder), kind, str(first), str(last)]
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


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
