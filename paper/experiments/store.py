"""The append-only log of finished trials, from which an interrupted run resumes."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pacshift import __version__
from pacshift.errors import InputError
from paper.experiments.datasets import Dataset
from paper.experiments.trial import Experiment, TrialRow

LOG_NAME = "trials.jsonl"


def fingerprint(experiment: Experiment, base: Dataset) -> str:
    """Changes with anything that changes the numbers, so that a log never mixes two experiments."""
    data = (zlib.crc32(base.probs.tobytes()), zlib.crc32(base.labels.tobytes()))
    facts = (asdict(experiment.panel), experiment.seed, experiment.population, data, __version__)
    return f"{zlib.crc32(repr(facts).encode()):08x}"


class TrialLog:
    """One JSON line per trial. Only whole lines count: a trial whose line was cut off by a crash is run again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME

    def read(self) -> dict[tuple[str, int, str], TrialRow]:
        """Rows by (fingerprint, trial, method)."""
        if not self.path.exists():
            return {}
        with self.path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
        rows: dict[tuple[str, int, str], TrialRow] = {}
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                entry = json.loads(line)
                found = [TrialRow(**row) for row in entry["rows"]]
                rows |= {(entry["key"], row.trial, row.method): row for row in found}
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{self.path}, line {number}: not a finished trial ({error}). "
                    "Delete that line or the whole file to run those trials again."
                ) from error
        return rows

    def append(self, key: str, rows: Iterable[TrialRow]) -> None:
        """Add one trial; on disk before this returns."""
        entry: dict[str, Any] = {"key": key, "rows": [asdict(row) for row in rows]}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
