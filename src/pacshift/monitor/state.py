"""What a monitor remembers, changed in steps, and kept in a folder: small files of counts and one manifest.

The manifest alone says what counts. A step locks the folder and reads what others have done. New files get new
names; then the manifest is replaced in one step; then files that it no longer names are removed. So a process that
is killed at any moment leaves the state before or after a step, never half of one, and no two processes forget
each other's rows.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from pacshift.arrays import KeyArray
from pacshift.certificate import Certificate
from pacshift.certification.request import Request
from pacshift.errors import InputError
from pacshift.files.codec import is_count, parse_json, require_seal, seal
from pacshift.files.lock import LOCK_NAME, FolderLock
from pacshift.files.reading import read_document
from pacshift.files.writing import atomic_write
from pacshift.methods import Method
from pacshift.methods.base import options_of
from pacshift.monitor.periods import Delivery, Period
from pacshift.monitor.report import PeriodReport
from pacshift.monitor.verdict import report_delta
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.words.numbers import given

FORMAT, VERSION = "pacshift-monitor", 1
MANIFEST = "manifest.json"
CURRENT = "current.json"
"""A copy of the certificate in use, under a name that never changes."""
NUMBERED = re.compile(r"[\w-]*\.\d+\.(tally|json|keys)")
OWN_NAME = re.compile(rf"{NUMBERED.pattern}|{re.escape(LOCK_NAME)}|\..*\.part(\.\w+)?")
"""What a process may leave that is killed in the first step, before there is a manifest."""
SHA256_BYTES = 32

Choice: TypeAlias = Literal["first", "given", "adopted", "labelled"]
"""The fresh certificate of the first period, the one that the monitor was started with, an adopted one, or the one
that came with a new source."""
T = TypeVar("T")
F = TypeVar("F", Tally, Certificate)


@dataclass(frozen=True, slots=True, eq=False)
class InUse:
    """The certificate in use.

    Parameters
    ----------
    certificate : Certificate
        The certificate itself.
    number : int
        How many certificates have been in use, this one included.
    choice : {"first", "given", "adopted", "labelled"}
        Why it is in use: as the fresh certificate of the first period, as the one the monitor was started with,
        because it was adopted, or because it came with a new source.
    period : str or None
        The period whose fresh certificate it is, or whose labels made it; None for one made elsewhere.

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
        made = self.certificate
        which = "the certificate that was given" if self.choice == "given" else "a certificate made elsewhere"
        if self.period is not None:
            kind = "certificate by labelled rows" if self.choice == "labelled" else "fresh certificate"
            which = f"the {kind} of {self.period}"
        how = {"first": ", the first period", "adopted": ", adopted"}.get(self.choice, "")
        return f"{which}{how} ({made.method}, epsilon {given(made.epsilon)}, made {made.provenance.created})"


def use_digest(certificate: Certificate) -> str:
    """SHA-256 of what a certificate does and for whom. When it was made and by which version does not matter."""
    made = certificate.provenance
    origin = made.model_id, made.valid_until
    facts = [[float(cut).hex() for cut in certificate.thresholds], certificate.never_empty, certificate.score]
    return hashlib.sha256(json.dumps([*facts, *origin]).encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Labelled rows of a period, a random sample of it.

    ``since`` is the number of the first source that they were part of; ``in_source`` says whether they still are.
    ``sheet`` tells one label sheet from another, and ``looks`` is after how many numbers of labels it could have
    ended.
    """

    period: str
    rows: Tally
    since: int
    sheet: str | None = None
    in_source: bool = True
    looks: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """All that a monitor remembers.

    ``given`` is the digest of the certificate that the monitor was started with last. Reports up to number
    ``n_delivered`` have reached somebody, and so have the gaps in ``told_gaps`` (first and last day). ``labelled``
    are the rows that are or were the source after the first one, of which there were ``source_number``.
    ``reading`` says how files are read and cut into periods, by the names of the options; None before it was said.
    """

    in_use: InUse | None = None
    given: str | None = None
    n_reports: int = 0
    n_delivered: int = 0
    told_gaps: tuple[tuple[str, str], ...] = ()
    periods: dict[str, Period] = field(default_factory=dict)
    deliveries: tuple[Delivery, ...] = ()
    labelled: tuple[Labelled, ...] = ()
    source_number: int = 0
    reading: Mapping[str, str | None] | None = None

    @property
    def in_use_number(self) -> int:
        """How many certificates have been in use."""
        return 0 if self.in_use is None else self.in_use.number


def settings_of(request: Request, method: Method, *, forever: bool) -> dict[str, Any]:
    """What is asked for, as a folder remembers it: the shares of delta that were spent belong to it."""
    known = request.known
    return {
        **{name: getattr(request, name) for name in ("epsilon", "delta", "class_epsilon", "contamination")},
        "known_mix": None if known is None else [known.lower.tolist(), known.upper.tolist()],
        "forever": forever,
        "method": method.name,
        "options": options_of(method),
    }


def fingerprint(source: Tally) -> str:
    """SHA-256 of the counts of a source, by which a state folder knows its own."""
    digest = hashlib.sha256(json.dumps([source.classes, source.score, source.grid]).encode())
    cells = source.source_cells
    for array in (cells.codes, cells.counts, source.values, source.counts, source.starts):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class State:
    """What a monitor remembers, changed in steps: each is saved whole or not at all, and knows those of others."""

    def __init__(self, folder: "StateFolder | None") -> None:
        self.folder, self.saved, self._is_step_open = folder, Saved(), False
        if folder is not None:
            with folder.lock.held():
                self.saved = folder.read()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let no other process use the folder meanwhile, and begin with what the last one has saved."""
        if self.folder is None:
            yield
            return
        with self.folder.lock.held() as is_first:
            if is_first:
                self.saved = self.folder.read_again(self.saved)
            yield

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Save all changes made inside at once, or none of them if an error is raised."""
        if self._is_step_open:
            yield
            return
        with self.exclusive():
            before, self._is_step_open = self.saved, True
            try:
                yield
                if self.folder is not None and self.saved is not before:
                    self.folder.write(self.saved)
            except BaseException:
                self.saved = before
                raise
            finally:
                self._is_step_open = False

    def change(self, **changes: Any) -> None:
        """Change what is remembered, within a step."""
        assert self._is_step_open
        self.saved = replace(self.saved, **changes)


class StateFolder:
    """Reads and writes ``Saved``. Files that are on disk already are not written again."""

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any], source: str) -> None:
        self.path, self._settings, self._source = Path(path), settings, source
        self._written: dict[int, tuple[Any, str]] = {}  # by identity: what a file holds never changes
        self._serial, self._n_files = 0, 0
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot use {self.path} as state folder: {error.strerror or error}.") from None
        self.lock = FolderLock(self.path)

    def read(self) -> Saved:
        """What was saved last; nothing if the folder is new. The folder must be locked."""
        if not (self.path / MANIFEST).exists():
            # Files that a manifest does not name are removed, so they must not be someone else's.
            foreign = [file.name for file in self.path.iterdir() if not OWN_NAME.fullmatch(file.name)]
            if foreign:
                raise InputError(
                    f"{self.path} holds {shorten(sorted(foreign))} but no {MANIFEST}. "
                    "Choose a new or empty folder for state=."
                )
            return Saved()
        document = self._document()
        self._require_settings(document)
        try:
            self._written, self._serial = {}, int(document["serial"])
            self._n_files = int(document["n_files"])
            saved = self._saved(document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise self._damaged(error) from None
        self._copy_current(saved)
        return saved

    def read_again(self, saved: Saved) -> Saved:
        """What was saved last: ``saved`` itself unless another process has written since. Needs the lock."""
        is_new = not self._serial and not (self.path / MANIFEST).exists()
        return saved if is_new or self._document()["serial"] == self._serial else self.read()

    def write(self, saved: Saved) -> None:
        """Save everything in one step. The folder must be locked."""
        head = {"format": FORMAT, "version": VERSION, "settings": self._settings, "source": self._source}
        content = self._content(saved)  # writes new files, and counts them
        document = head | {"serial": self._serial + 1, "n_files": self._n_files} | content
        with atomic_write(self.path / MANIFEST) as draft:
            draft.write_text(json.dumps(seal(document), indent=1), encoding="utf-8")
        self._serial += 1
        self._copy_current(saved)
        self._remove_unnamed()

    def _document(self) -> dict[str, Any]:
        """The manifest, whole and unchanged."""
        try:
            document = parse_json(read_document(self.path / MANIFEST))
            if not isinstance(document, dict) or document["format"] != FORMAT:
                raise ValueError("it does not say what it is")
            if type(document["version"]) is not int or document["version"] != VERSION:  # True == 1
                raise ValueError(f"version {document['version']!r}")
            require_seal(document)
            return document
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> InputError:
        return InputError(
            f"{self.path / MANIFEST} is not the state of a monitor ({error!r}). Restore the folder from a "
            "copy, or choose another one with state=."
        )

    def _require_settings(self, document: dict[str, Any]) -> None:
        try:
            found = document["settings"] | {"source": document["source"]}
        except (KeyError, TypeError) as error:
            raise self._damaged(error) from None
        asked = self._settings | {"source": self._source}
        if found["source"] != self._source:
            raise InputError(
                f"{self.path} was begun with another source, with which its reports are compared. Use that one, "
                "or begin another folder for a new source or model."
            )
        changed = [name for name in dict.fromkeys([*asked, *found]) if found.get(name) != asked.get(name)]
        if changed:
            was, now = ({name: each.get(name) for name in changed} for each in (found, asked))
            raise InputError(
                f"{self.path} belongs to a monitor with other settings: {was} there, {now} now. "
                "The shares of delta that were spent belong to them. Use the same settings, or another folder."
            )

    def _content(self, saved: Saved) -> dict[str, Any]:
        """Everything as plain JSON values; what is large gets a file of its own."""

        def period(one: Period) -> dict[str, Any]:
            report = one.report
            return _plain(
                one,
                target=self._name_of(one.target, one.name),
                keys=self._name_of(one.keys, f"{one.name}-keys"),
                set_sizes=None if one.set_sizes is None else one.set_sizes.tolist(),
                report=report and _plain(report, fresh=self._name_of(report.fresh, f"{one.name}-fresh")),
            )

        in_use = saved.in_use
        return _plain(
            saved,
            in_use=in_use and _plain(in_use, certificate=self._name_of(in_use.certificate, "in-use")),
            labelled=[
                _plain(one, rows=self._name_of(one.rows, f"{one.period}-labelled")) for one in saved.labelled
            ],
            deliveries=[asdict(delivery) for delivery in saved.deliveries],
            periods=[period(one) for one in saved.periods.values()],
        )

    def _saved(self, document: Mapping[str, Any]) -> Saved:
        """What a manifest says, or a ValueError, KeyError or TypeError: delta that was spent stays spent."""
        in_use, reading = document["in_use"], document["reading"]
        periods = [self._period(each) for each in document["periods"]]
        gaps = [(_value(start, str), _value(end, str)) for start, end in document["told_gaps"]]
        saved = _read(
            Saved,
            document,
            in_use=in_use and _read(InUse, in_use, certificate=self._load(Certificate, in_use["certificate"])),
            told_gaps=tuple(gaps),
            periods={period.name: period for period in periods},
            deliveries=tuple(
                _read(Delivery, each, parts=_texts(each["parts"])) for each in document["deliveries"]
            ),
            labelled=tuple(
                _read(Labelled, each, rows=self._load(Tally, each["rows"])) for each in document["labelled"]
            ),
            reading=None if reading is None else _texts(reading),
        )
        _require(len(saved.periods) == len(periods), "two periods have one name")
        _require_sound(saved, self._settings)
        return saved

    def _period(self, document: Mapping[str, Any]) -> Period:
        target, keys = self._load(Tally, document["target"]), self._keys(document["keys"])
        sizes, report = document["set_sizes"], document["report"]
        if report is not None:
            fresh = None if report["fresh"] is None else self._load(Certificate, report["fresh"])
            report = _read(PeriodReport, report, fresh=fresh)
            error, verdict = report.error, report.verdict
            _require((verdict == "refuted") == (fresh is None) == (error is None), f"{verdict}, error {error}")
            _require(error is None or error[0] <= error[1] <= 1, f"an error between {error}")
            _require(report.period == document["name"], f"a report on {report.period!r} in {document['name']!r}")
            _require(report.rows <= target.n_target, f"{report.rows} of {target.n_target} rows reported on")
        if sizes is not None:
            _require(
                all(map(is_count, sizes)) and sum(sizes) == target.n_target,
                f"{sizes}: sets of {target.n_target} rows",
            )
            sizes = np.array(sizes, np.int64)
        _require(keys is None or len(keys) == target.n_target, f"keys of other than {target.n_target} rows")
        return _read(Period, document, target=target, keys=keys, set_sizes=sizes, report=report)

    def _name_of(self, content: Tally | Certificate | KeyArray | None, kind: str) -> str | None:
        """The name of the file that holds ``content``, written now if it is new.

        Names of periods that look alike share no file: each has a number. The manifest has the real name.
        """
        if content is None:
            return None
        if id(content) not in self._written:
            self._n_files += 1
            slug = re.sub(r"[^A-Za-z0-9_-]", "_", kind)[:80]  # what any system allows
            ending = {Tally: "tally", Certificate: "json"}.get(type(content), "keys")
            name = f"{slug}.{self._n_files}.{ending}"
            if isinstance(content, np.ndarray):
                data = np.ascontiguousarray(content, "<u8").tobytes()
                with atomic_write(self.path / name, private=True) as draft:
                    draft.write_bytes(hashlib.sha256(data).digest() + data)
            else:
                content.save(self.path / name)
            self._written[id(content)] = (content, name)  # kept alive, so that its id stays its own
        return self._written[id(content)][1]

    def _load(self, kind: type[F], name: Any) -> F:
        """The tally or certificate in a file."""
        loaded = kind.load(self._own(name))
        self._written[id(loaded)] = (loaded, name)
        return loaded

    def _keys(self, name: Any) -> KeyArray | None:
        """The keys in a file; None for None."""
        if name is None:
            return None
        content = self._own(name).read_bytes()
        sha256, data = content[:SHA256_BYTES], content[SHA256_BYTES:]
        _require(hashlib.sha256(data).digest() == sha256, f"{name} was changed after it was written")
        loaded = np.frombuffer(data, "<u8").astype(np.uint64)
        self._written[id(loaded)] = (loaded, name)
        return loaded

    def _own(self, name: Any) -> Path:
        _require(
            isinstance(name, str) and bool(NUMBERED.fullmatch(name)), f"{name!r} is not a file of this folder"
        )
        return self.path / str(name)

    def _copy_current(self, saved: Saved) -> None:
        """Make ``current.json`` the certificate in use; a process may have been killed before it could."""
        current = self.path / CURRENT
        if saved.in_use is None:
            current.unlink(missing_ok=True)
            return
        content = (self.path / self._written[id(saved.in_use.certificate)][1]).read_bytes()
        if not current.exists() or current.read_bytes() != content:
            with atomic_write(current) as draft:
                draft.write_bytes(content)

    def _remove_unnamed(self) -> None:
        text = (self.path / MANIFEST).read_text(encoding="utf-8")
        self._written = {key: kept for key, kept in self._written.items() if f'"{kept[1]}"' in text}
        named = {name for _, name in self._written.values()} | {MANIFEST, CURRENT, LOCK_NAME}
        for file in self.path.iterdir():
            if OWN_NAME.fullmatch(file.name) and file.name not in named:
                file.unlink(missing_ok=True)


def _require_sound(saved: Saved, settings: Mapping[str, Any]) -> None:
    """ValueError if what is remembered contradicts itself or the settings."""
    _require(saved.n_delivered <= saved.n_reports, f"{saved.n_delivered} of {saved.n_reports} reports delivered")
    _require(saved.in_use is None or saved.in_use.number > 0, "no certificate has been in use, but one is")
    reports = [period.report for period in saved.periods.values() if period.report is not None]
    numbers = {report.number for report in reports}
    _require(len(numbers) == len(reports), "two reports have one number")
    _require(numbers <= set(range(1, saved.n_reports + 1)), f"reports {sorted(numbers)} of {saved.n_reports}")
    for report in reports:
        _require(report.source_looks > 0, "a source of no size")
        share = report_delta(
            settings["delta"], report.number, forever=settings["forever"], looks=report.source_looks
        )
        _require(math.isclose(report.delta, share), f"report {report.number} with delta {report.delta}")
        _require(report.epsilon == settings["epsilon"], f"report {report.number} with epsilon {report.epsilon}")
        _require(report.source_number <= saved.source_number, f"source {report.source_number}")
        _require(report.in_use_number <= saved.in_use_number, f"certificate {report.in_use_number} in use")
    periods = [one.period for one in saved.labelled]
    _require(len(set(periods)) == len(periods), "a period was labelled twice")
    _require(set(periods) <= set(saved.periods), f"labels of {periods}")
    _require(bool(saved.source_number) == bool(periods), "a source without rows")
    for one in saved.labelled:
        _require(0 < one.since <= saved.source_number, "labels of a later source")
        _require(one.looks > 0 and one.rows.n_source > 0, f"{one.looks} looks at {one.rows.n_source} labels")


def _plain(value: Any, **changes: Any) -> dict[str, Any]:
    """The fields of a dataclass by their names, some of them in another form."""
    return {each.name: getattr(value, each.name) for each in fields(value)} | changes


def _read(kind: type[T], document: Mapping[str, Any], **ready: Any) -> T:
    """A dataclass from a document with values of the types that it declares; ``ready`` fields are made already."""
    types = get_type_hints(kind)
    return kind(**{name: ready[name] if name in ready else _value(document[name], types[name]) for name in types})


def _value(value: Any, kind: Any) -> Any:
    """The value itself if it is of the kind, with lists as tuples; all numbers of a state are 0 or more."""
    if get_origin(kind) is UnionType:
        return (
            None if value is None else _value(value, next(one for one in get_args(kind) if one is not type(None)))
        )
    if get_origin(kind) is tuple:
        return tuple(_value(one, each) for one, each in zip(value, get_args(kind), strict=True))
    if get_origin(kind) is Literal:
        fits = value in get_args(kind)
    elif kind is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
    else:
        fits = is_count(value) if kind is int else isinstance(value, kind)
    _require(fits, f"{value!r} where {kind} belongs")
    return value


def _texts(document: Mapping[str, Any]) -> dict[str, str | None]:
    return {_value(name, str): _value(value, str | None) for name, value in document.items()}


def _require(holds: bool, found: str) -> None:
    if not holds:
        raise ValueError(found)
