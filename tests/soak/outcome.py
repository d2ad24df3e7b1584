"""What a part of the soak found, and when a file counts as whole."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import pacshift
from pacshift import Certificate, Tally
from pacshift.files.codec import parse_json, require_seal


@dataclass
class Outcome:
    """One line of the table: what was done, how often, what came of it. Findings are what must not happen."""

    what: str
    cases: int
    result: str
    findings: list[str] = field(default_factory=list)


def require_whole(path: Path) -> None:
    """Raise if the file is not complete."""
    checks: dict[str, Callable[[Path], object]] = {
        ".json": _whole_certificate,
        ".tally": Tally.load,
        ".parquet": lambda path: pyarrow.parquet.read_table(path).validate(full=True),
        ".feather": lambda path: pyarrow.feather.read_table(path).validate(full=True),
        ".csv": _whole_csv,
        ".html": lambda path: _ends_with(path, b"</html>"),
        ".png": lambda path: _ends_with(path, b"IEND\xaeB`\x82"),
        ".svg": lambda path: _ends_with(path, b"</svg>"),
        ".pdf": lambda path: _ends_with(path, b"%%EOF"),
        ".md": lambda path: _ends_with(path, b"|"),
        ".npz": lambda path: {name: array.shape for name, array in np.load(path).items()},
    }
    checks[path.suffix](path)


def _whole_certificate(path: Path) -> None:
    require_seal(parse_json(path.read_bytes()))
    Certificate.load(path)


def _whole_csv(path: Path) -> None:
    table = pyarrow.csv.read_csv(path)  # a short last line is an error
    if not path.read_bytes().endswith(b"\n") or not table.num_rows:
        raise ValueError("the last line is cut off")


def _ends_with(path: Path, end: bytes) -> None:
    if not path.read_bytes().rstrip().endswith(end):
        raise ValueError(f"it does not end with {end!r}")


def drafts(folder: Path) -> list[str]:
    """Files under temporary names, in the folder and below it."""
    return sorted(path.name for path in folder.rglob(".pacshift-*"))


def as_text(outcomes: list[Outcome]) -> str:
    """A Markdown table."""
    lines = ["| what | cases | what happened | findings |", "|---|---:|---|---:|"]
    lines += [f"| {line.what} | {line.cases:,} | {line.result} | {len(line.findings)} |" for line in outcomes]
    return "\n".join(lines)


def findings_as_json(outcomes: list[Outcome]) -> str:
    """All findings, for whoever has to fix them."""
    return json.dumps({line.what: line.findings for line in outcomes if line.findings}, indent=1)


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
