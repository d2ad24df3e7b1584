"""What a monitor remembers, changed in steps, and kept in a folder: small files of counts and one manifest.

The manifest alone says what counts. A step locks the folder and reads what others have done. New files get new
names; then the manifest is replaced in one step; then files that it no longer names are removed. So a process that
is killed at any moment leaves the state before or after a step, never half of one, and no two processes forget
each other's rows.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import get_ident
from typing import Any, Literal, TypeAlias

from pacshift.certificate import Certificate
from pacshift.certificate.file import COMPUTED
from pacshift.errors import InputError, param
from pacshift.files.codec import (
    COUNT,
    OBJECT,
    RATE,
    TEXT,
    Entries,
    Kind,
    ListOf,
    Record,
    Value,
    number,
    parse_json,
    record,
    require_seal,
    seal,
)
from pacshift.files.reading import read_document
from pacshift.files.writing import LOCK_NAME, FolderLock, atomic_write
from pacshift.monitor.periods import Delivery, Period
from pacshift.monitor.report import PeriodReport
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.tally.same_rows import counts_sha256
from pacshift.words.numbers import given

FORMAT, VERSION = "pacshift-monitor", 1
HEAD = Entries({"settings": OBJECT, "source": TEXT, "serial": COUNT, "n_files": COUNT})
MANIFEST = "manifest.json"
CURRENT = "current.json"
"""A copy of the certificate in use, under a name that never changes."""
NUMBERED = re.compile(r"[\w-]*\.\d+\.(tally|json)")
OWN_NAME = re.compile(rf"{NUMBERED.pattern}|{re.escape(LOCK_NAME)}|\..*\.part(\.\w+)?")
"""What a process may leave that is killed in the first step, before there is a manifest."""
LARGEST_SIZE = 10**9
"""More labels than any set holds."""

Choice: TypeAlias = Literal["first", "given", "adopted"]
"""The fresh certificate of the first period, the one that the monitor was started with, or an adopted one."""


@dataclass(frozen=True, slots=True, eq=False)
class InUse:
    """The certificate in use.

    Parameters
    ----------
    certificate : Certificate
        The certificate itself.
    number : int
        How many certificates have been in use, this one included.
    choice : {"first", "given", "adopted"}
        Why it is in use: as the fresh certificate of the first period, as the one the monitor was started with, or
        because it was adopted.
    period : str or None
        The period whose fresh certificate it is; None for one made elsewhere.

    Examples
    --------
    >>> from pacshift import Monitor, Population, Tally
    >>> population = Population.synthetic(["healthy", "sick"], strength=5, rng=0)
    >>> source = Tally.from_scores(*population.draw([0.9, 0.1], 4000, rng=1), classes=["healthy", "sick"])
    >>> monitor = Monitor(source, epsilon=0.1, delta=0.05)
    >>> report = monitor.update(population.draw([0.8, 0.2], 4000, rng=2)[0], period="January")
    >>> monitor.in_use.number, monitor.in_use.choice, monitor.in_use.period
    (1, 'first', 'January')
    """

    certificate: Certificate
    number: int
    choice: Choice
    period: str | None = None

    @property
    def in_words(self) -> str:
        """Which certificate it is, and how it was made."""
        which = "the certificate that was given" if self.choice == "given" else "a certificate made elsewhere"
        if self.period is not None:
            which = f"the new certificate of {self.period}"
        how = {"first": ", the first period", "adopted": ", adopted"}.get(self.choice, "")
        method, created = self.certificate.method, self.certificate.provenance.created
        return f"{which}{how} ({method}, epsilon {given(self.certificate.epsilon)}, made {created})"


def use_digest(certificate: Certificate) -> str:
    """SHA-256 of what a certificate does and for whom. When it was made and by which version does not matter."""
    origin = certificate.provenance.model_id, certificate.provenance.valid_until
    facts = [[float(cut).hex() for cut in certificate.thresholds], certificate.rule.never_empty, certificate.score]
    return hashlib.sha256(json.dumps([*facts, *origin]).encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """All that a monitor remembers.

    ``started_with`` is the digest of the certificate that the monitor was started with last. Reports up to number
    ``n_delivered`` have reached somebody, and so have the gaps in ``told_gaps`` (first and last day). ``reading``
    says how files are read and cut into periods, by the names of the options; None before it was said.
    """

    in_use: InUse | None = None
    started_with: str | None = None
    n_reports: int = 0
    n_delivered: int = 0
    told_gaps: tuple[tuple[str, str], ...] = ()
    periods: dict[str, Period] = field(default_factory=dict)
    deliveries: tuple[Delivery, ...] = ()
    reading: Mapping[str, str | None] | None = None

    @property
    def in_use_number(self) -> int:
        """How many certificates have been in use."""
        return 0 if self.in_use is None else self.in_use.number


def fingerprint(source: Tally) -> str:
    """SHA-256 of the counts of a source, by which a state folder knows its own."""
    facts = [counts_sha256(source, "source"), source.score, source.grid]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _this_thread() -> tuple[int, int]:
    return os.getpid(), get_ident()


class State:
    """What a monitor remembers, changed in steps: each is saved whole or not at all, and knows those of others.

    Threads may share it: one step waits for the other, and nobody sees half of one. With a ``path`` it is kept in
    that folder, which processes may share. Files that are on disk already are not written again.
    """

    def __init__(self, path: str | os.PathLike[str] | None, settings: dict[str, Any], source: Tally) -> None:
        self.saved, self.path = Saved(), None if path is None else Path(path)
        self._settings, self._source = settings, fingerprint(source)
        self.written: dict[int, tuple[Any, str]] = {}  # by identity: what a file holds never changes
        self._serial, self.n_files = 0, 0
        self._drafts: dict[tuple[int, int], Saved] = {}  # of the step that is open, by process and thread
        self._lock = FolderLock(self.path)
        if self.path is None:
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use {self.path} as state folder: {error.strerror or error}.") from None
        with self.exclusive():
            pass  # which reads it

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_drafts": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.written = {id(value): (value, name) for value, name in self.written.values()}

    @property
    def now(self) -> Saved:
        """What is remembered, and inside a step what its thread has changed so far."""
        return self._drafts.get(_this_thread(), self.saved)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let no other thread or process in meanwhile, and begin with what the last one has saved."""
        with self._lock.held() as is_first:
            if is_first and self.path is not None:
                self._read(self.path)
            yield

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Save all changes made inside at once, or none of them if an error is raised."""
        thread = _this_thread()
        if thread in self._drafts:
            yield
            return
        with self.exclusive():
            self._drafts[thread] = self.saved
            try:
                yield
                draft = self._drafts[thread]
                if self.path is not None and draft is not self.saved:
                    self.write(self.path)
                self.saved = draft
            finally:
                del self._drafts[thread]

    def change(self, **changes: Any) -> None:
        """Change what is remembered, within a step."""
        thread = _this_thread()
        self._drafts[thread] = replace(self._drafts[thread], **changes)

    def _read(self, folder: Path) -> None:
        """Read what was saved last, if it is not what is remembered. The folder must be locked."""
        manifest = folder / MANIFEST
        if not self._serial and not manifest.exists():
            # Files that a manifest does not name are removed, so they must not be someone else's.
            foreign = [file.name for file in folder.iterdir() if not OWN_NAME.fullmatch(file.name)]
            if foreign:
                raise InputError(
                    f"{folder} holds {shorten(sorted(foreign))} but no {MANIFEST}. Choose a new or empty folder "
                    f"for {param('state=')}."
                )
            return
        try:
            document = parse_json(read_document(manifest))
            _require(isinstance(document, dict) and document["format"] == FORMAT, "it does not say what it is")
            version = document["version"]
            _require(type(version) is int and version == VERSION, f"version {version!r}")  # True == 1
            require_seal(document)
            head = HEAD.read(document, "")
            if head["serial"] == self._serial:
                return
            if head["source"] != self._source:
                raise InputError(
                    f"{folder} was begun with another source, with which its reports are compared. Use that one, "
                    "or begin another folder for a new source or model."
                )
            before, now = head["settings"], self._settings
            changes = ", ".join(
                f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
                for name in dict.fromkeys([*now, *before])
                if before.get(name) != now.get(name)
            )
            if changes:
                raise InputError(
                    f"{folder} was begun with other settings: {changes} now. Delta was spent with those: use them "
                    "again, or begin another folder."
                )
            self.written = {}
            saved = _form(self).read(document, "")
            _require(all(map(_has_all_sizes, saved.periods.values())), "sizes of sets are not those of its rows")
            self.saved = saved
            self._serial, self.n_files = head["serial"], head["n_files"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{manifest} is not the state of a monitor ({error!r}). Restore the folder from a copy, or choose "
                f"another one with {param('state=')}."
            ) from None
        self._copy_current(folder)

    def write(self, folder: Path) -> None:
        """Save everything in one step. The folder must be locked."""
        head = {"format": FORMAT, "version": VERSION, "settings": self._settings, "source": self._source}
        content = _form(self).write(self.now)  # writes new files, and counts them
        text = json.dumps(seal(head | {"serial": self._serial + 1, "n_files": self.n_files} | content), indent=1)
        with atomic_write(folder / MANIFEST) as draft:
            draft.write_text(text, encoding="utf-8")
        self._copy_current(folder)
        self.written = {key: kept for key, kept in self.written.items() if f'"{kept[1]}"' in text}
        named = {name for _, name in self.written.values()} | {MANIFEST, CURRENT, LOCK_NAME}
        for file in folder.iterdir():  # what it no longer names
            if OWN_NAME.fullmatch(file.name) and file.name not in named:
                file.unlink(missing_ok=True)
        self._serial += 1  # last: after a failure the folder is newer than what is known here, and is read again

    def _copy_current(self, folder: Path) -> None:
        """Make ``current.json`` the certificate in use; a process may have been killed before it could."""
        current, in_use = folder / CURRENT, self.now.in_use
        if in_use is None:
            current.unlink(missing_ok=True)
            return
        content = (folder / self.written[id(in_use.certificate)][1]).read_bytes()
        if not current.exists() or current.read_bytes() != content:
            with atomic_write(current) as draft:
                draft.write_bytes(content)


@dataclass(frozen=True)
class _Held(Kind):
    """What has a file of its own in a state folder; the manifest has its name."""

    state: State
    cls: type[Tally] | type[Certificate]
    role: str
    schema: Any = None  # nobody else reads a manifest

    def read(self, value: Any, path: str) -> Any:
        if not isinstance(value, str) or not NUMBERED.fullmatch(value):
            raise ValueError(f"{value!r} is not a file of this folder")
        _require(value.endswith(self._ending), f"{path}: {value} where a {self.cls.__name__} belongs")
        assert self.state.path is not None
        loaded = self.cls.load(self.state.path / value)
        self.state.written[id(loaded)] = (loaded, value)
        return loaded

    def write(self, value: Any) -> Any:
        """The name of the file, written now if it is new."""
        state = self.state
        if id(value) not in state.written:
            assert state.path is not None
            state.n_files += 1
            name = f"{self.role}.{state.n_files}{self._ending}"
            value.save(state.path / name)
            state.written[id(value)] = (value, name)  # kept alive, so that its id stays its own
        return state.written[id(value)][1]

    @property
    def _ending(self) -> str:
        return ".tally" if self.cls is Tally else ".json"


class _ByName(ListOf):
    """Periods by their names, as a list."""

    def read(self, value: Any, path: str) -> dict[str, Period]:
        periods = super().read(value, path)
        by_name = {period.name: period for period in periods}
        _require(len(by_name) == len(periods), "two periods have one name")
        return by_name

    def write(self, value: Any) -> Any:
        return super().write(value.values())


def _form(state: State) -> Record:
    """What a monitor remembers, as a manifest says it: what is large has a file of its own."""

    def is_texts(value: Any) -> bool:
        return isinstance(value, dict) and all(text is None or isinstance(text, str) for text in value.values())

    texts = Value("an object of texts", is_texts, {"type": "object"}, plain=dict)
    size = number("a mean size of sets", lambda value: 0 <= value <= LARGEST_SIZE).or_null
    report = record(
        PeriodReport,
        epsilon=RATE,
        delta=RATE,
        error=ListOf(COMPUTED, least=2, most=2).or_null,
        fresh=_Held(state, Certificate, "fresh").or_null,
        fresh_size=size,
        size=size,
        empty=COMPUTED.or_null,
        in_use_epsilon=RATE.or_null,
    )
    return record(
        Saved,
        in_use=record(InUse, certificate=_Held(state, Certificate, "in-use")).or_null,
        periods=_ByName(record(Period, target=_Held(state, Tally, "period"), report=report.or_null)),
        deliveries=ListOf(record(Delivery, parts=texts)),
        reading=texts.or_null,
    )


def _has_all_sizes(period: Period) -> bool:
    """Whether the sizes of the sets, 0 to the number of classes, are those of as many rows as were counted."""
    sizes, target = period.set_sizes, period.target
    return sizes is None or (len(sizes) == target.n_classes + 1 and sum(sizes.tolist()) == target.n_target)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
