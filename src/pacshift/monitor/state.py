"""The state of a monitor on disk: small files of counts and one manifest, which alone says what counts.

New files get new names; then the manifest is replaced in one step; then files that it no longer names are removed.
So a process that is killed at any moment leaves the state before or after a step, never half of one.
"""

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.certificate import Certificate
from pacshift.certification.request import Request
from pacshift.errors import InputError
from pacshift.files.writing import atomic_write
from pacshift.monitor.periods import Period
from pacshift.monitor.report import PeriodReport
from pacshift.scores.check import shorten
from pacshift.tally import Tally

FORMAT, VERSION = "pacshift-monitor", 1
MANIFEST = "manifest.json"
OWN_NAME = re.compile(r"[\w-]*\.\d+\.(tally|json)|\..*\.part(\.\w+)?")
"""Names that this module gives, and drafts that a killed process leaves."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that was counted: its name, the SHA-256 of its bytes, and its rows with the unusable ones."""

    name: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """All that a monitor remembers. ``in_use_number`` counts how often a certificate was adopted."""

    in_use: Certificate | None = None
    in_use_number: int = 0
    n_reports: int = 0
    periods: dict[str, Period] = field(default_factory=dict)
    deliveries: tuple[Delivery, ...] = ()


def request_settings(request: Request) -> dict[str, Any]:
    """What is asked for, as a folder remembers it. What is not asked for is left out: older folders lack it."""
    known = request.known
    said: dict[str, Any] = {
        "epsilon": request.epsilon,
        "delta": request.delta,
        "known_mix": None if known is None else [known.lower.tolist(), known.upper.tolist()],
    }
    if request.class_epsilon is not None:
        said["class_epsilon"] = request.class_epsilon
    return said | ({"contamination": request.contamination} if request.contamination else {})


def fingerprint(source: Tally) -> str:
    """SHA-256 of the counts of a source, by which a state folder knows its own."""
    digest = hashlib.sha256(json.dumps([source.classes, source.score, source.grid]).encode())
    cells = source.source_cells
    # Top scores that are not probabilities were not counted when the first folders were made.
    cells = cells.without_bins() if cells.bins == "top scores" else cells
    for array in (cells.codes, cells.counts, source.values, source.counts, source.starts):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class StateFolder:
    """Reads and writes ``Saved``. Files that are on disk already are not written again."""

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self._path, self._settings = Path(path), settings
        self._written: dict[int, tuple[Any, str]] = {}  # by identity: what a file holds never changes
        self._serial = 0
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use {self._path} as state folder: {error.strerror or error}.") from None

    def read(self) -> Saved:
        """What was saved last; nothing if the folder is new."""
        manifest = self._path / MANIFEST
        if not manifest.exists():
            self._require_empty()
            return Saved()
        try:
            document = json.loads(manifest.read_text(encoding="utf-8"))
            if document["format"] != FORMAT or document["version"] != VERSION:
                raise ValueError(f"format {document['format']!r}, version {document['version']!r}")
            self._require_settings(document["settings"])
            return self._saved(document)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{manifest} is not the state of a monitor ({error!r}). Choose another folder with state=."
            ) from None

    def write(self, saved: Saved) -> None:
        """Save everything in one step."""
        self._require_latest()
        self._serial += 1
        document = {
            "format": FORMAT,
            "version": VERSION,
            "settings": self._settings,
            "serial": self._serial,
            "in_use": self._file(saved.in_use, "in-use"),
            "in_use_number": saved.in_use_number,
            "n_reports": saved.n_reports,
            "deliveries": [asdict(delivery) for delivery in saved.deliveries],
            "periods": [self._period_document(period) for period in saved.periods.values()],
        }
        with atomic_write(self._path / MANIFEST) as draft:
            draft.write_text(json.dumps(document, indent=1), encoding="utf-8")
        self._remove_unnamed()

    def _require_latest(self) -> None:
        """Two processes that write in turn would each forget what the other counted."""
        manifest = self._path / MANIFEST
        if manifest.exists() and json.loads(manifest.read_text(encoding="utf-8"))["serial"] != self._serial:
            raise InputError(
                f"{self._path} was changed by another process since it was read. Let one monitor at a time use a "
                "state folder, and run this one again."
            )

    def _require_empty(self) -> None:
        """Files that the manifest does not name are removed, so they must not be someone else's."""
        foreign = [file.name for file in self._path.iterdir() if not _is_own(file.name)]
        if foreign:
            raise InputError(
                f"{self._path} holds {shorten(sorted(foreign))} but no {MANIFEST}. "
                "Choose a new or empty folder for state=."
            )

    def _require_settings(self, found: dict[str, Any]) -> None:
        names = dict.fromkeys([*self._settings, *found])
        changed = [name for name in names if found.get(name) != self._settings.get(name)]
        if changed:
            was, now = ({name: each.get(name) for name in changed} for each in (found, self._settings))
            raise InputError(
                f"{self._path} belongs to a monitor with other settings: {was} there, {now} now. "
                "The shares of delta that were spent belong to them. Use the same settings, or another folder."
            )

    def _file(self, content: Tally | Certificate | None, kind: str) -> str | None:
        """The name of the file that holds ``content``, written now if it is new."""
        if content is None:
            return None
        if id(content) in self._written:
            return self._written[id(content)][1]
        suffix = ".tally" if isinstance(content, Tally) else ".json"
        name = f"{_slug(kind)}.{self._serial}{suffix}"
        content.save(self._path / name)
        self._remember(content, name)
        return name

    def _remember(self, content: Any, name: str) -> None:
        self._written[id(content)] = (content, name)  # kept alive, so that its id stays its own

    def _remove_unnamed(self) -> None:
        text = (self._path / MANIFEST).read_text(encoding="utf-8")
        self._written = {key: kept for key, kept in self._written.items() if f'"{kept[1]}"' in text}
        named = {name for _, name in self._written.values()} | {MANIFEST}
        for file in self._path.iterdir():
            if _is_own(file.name) and file.name not in named:
                file.unlink(missing_ok=True)

    def _period_document(self, period: Period) -> dict[str, Any]:
        return {
            "name": period.name,
            "start": period.start,
            "end": period.end,
            "tally": self._file(period.target, period.name),
            "set_sizes": None if period.set_sizes is None else period.set_sizes.tolist(),
            "sized_by": period.sized_by,
            "report": None if period.report is None else self._report_document(period.report),
        }

    def _report_document(self, report: PeriodReport) -> dict[str, Any]:
        plain = {name.name: getattr(report, name.name) for name in fields(report)}
        return plain | {"fresh": self._file(report.fresh, f"{report.period}-fresh")}

    def _saved(self, document: dict[str, Any]) -> Saved:
        self._serial = int(document["serial"])
        periods = [self._period(each) for each in document["periods"]]
        return Saved(
            in_use=self._certificate(document["in_use"]),
            in_use_number=int(document["in_use_number"]),
            n_reports=int(document["n_reports"]),
            periods={period.name: period for period in periods},
            deliveries=tuple(Delivery(**each) for each in document["deliveries"]),
        )

    def _period(self, document: dict[str, Any]) -> Period:
        sizes, report = document["set_sizes"], document["report"]
        target = Tally.load(self._path / document["tally"])
        self._remember(target, document["tally"])
        return Period(
            name=str(document["name"]),
            start=document["start"],
            end=document["end"],
            target=target,
            set_sizes=None if sizes is None else np.array(sizes, np.int64),
            sized_by=int(document["sized_by"]),
            report=None if report is None else self._report(report),
        )

    def _report(self, document: dict[str, Any]) -> PeriodReport:
        error = document["error"]
        made = document | {"fresh": self._certificate(document["fresh"])}
        return PeriodReport(**(made | {"error": None if error is None else (error[0], error[1])}))

    def _certificate(self, name: str | None) -> Certificate | None:
        if name is None:
            return None
        certificate = Certificate.load(self._path / name)
        self._remember(certificate, name)
        return certificate


def _is_own(name: str) -> bool:
    return OWN_NAME.fullmatch(name) is not None


def _slug(name: str) -> str:
    """A file name that any system allows; the manifest has the real name.

    >>> _slug("Mai 2026/Süd")
    'Mai_2026_S_d'
    """
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in name)[:80]
