"""No row counts twice: what was counted, which files are the same, and which tallies hold the same rows.

Every proof is about independent rows. Tallies know what they were counted from (``Tally.inputs``): files with
their names, rows, columns and SHA-256. Those of arrays in memory do not until they are saved, and add up whatever
they hold.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.files.codec import COUNT, Rules, Value, is_count, pattern
from pacshift.files.writing import PathLike
from pacshift.tally.cells import Cells
from pacshift.tally.grid import BINS, bin_of
from pacshift.tally.stores import sum_by_key

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally


Role: TypeAlias = Literal["source", "target"]

MAX_INPUTS = 200
"""Inputs listed per tally or certificate; of others only the number is known. A round number: about 40 kB of
JSON."""

SHA256 = pattern("a SHA-256", "[0-9a-f]{64}")
REASONS = Value(
    "numbers of rows by reason",
    lambda why: isinstance(why, dict) and all(map(is_count, why.values())),
    {"type": "object", "additionalProperties": COUNT.schema},
    lambda why: tuple(why.items()),
    dict,
)


@dataclass(frozen=True, slots=True)
class Input:
    """One file that a certificate or a tally was made from, or rows in memory.

    Parameters
    ----------
    role : {"source", "target"}
        What the rows were used as.
    name : str or None
        Name of the file; None for arrays and frames.
    rows : int or None
        Rows counted, with groups one of each; None for what stands for several files.
    columns : tuple of str
        Columns that were read; empty for arrays and tallies.
    sha256 : str or None
        SHA-256 of the file's bytes, or of the counts of rows in memory. None where it was not computed.
    left_out : int or None
        Rows of the file that were not counted, because they cannot be used (``drop_invalid``). None where it is
        not known.
    left_out_why : tuple of (str, int)
        Reasons, each with its number of rows. A row may be left out for two of them.
    rows_read : int or None
        Rows of the file in all: counted, left out, and not chosen of their group. None where it is not known.
    """

    role: Role
    name: str | None
    rows: int | None
    columns: tuple[str, ...]
    sha256: Annotated[str | None, SHA256.or_null]
    left_out: int | None = 0
    left_out_why: Annotated[tuple[tuple[str, int], ...], REASONS] = ()
    rows_read: int | None = None

    @property
    def left_out_in_words(self) -> str:
        """How many rows were left out and why; "" if there were none or nobody knows."""
        if not self.left_out:
            return ""
        of_all = "" if self.rows_read is None else f" of {self.rows_read:,}"
        return f"{self.left_out:,}{of_all} rows{why_in_words(self.left_out_why)}"

    _RULES: ClassVar[Rules] = {
        "no reason leaves out more rows than are left out": lambda self: all(
            count <= (self.left_out or 0) for _, count in self.left_out_why
        ),
        "no more rows are counted and left out than are read": lambda self: (
            self.rows_read is None or (self.rows or 0) + (self.left_out or 0) <= self.rows_read
        ),
    }


def why_in_words(why: Sequence[tuple[str, int]]) -> str:
    """Reasons with their numbers of rows, in brackets and with a blank in front.

    >>> why_in_words([("no label", 1200)]), why_in_words([])
    (' (1,200 with no label)', '')
    """
    listed = ", ".join(f"{count:,} with {reason}" for reason, count in sorted(why))
    return f" ({listed})" if listed else ""


def together(inputs: Sequence[Input]) -> tuple[int | None, tuple[tuple[str, int], ...], int | None]:
    """What all of ``inputs`` leave out, why, and of how many rows; None where one of them does not say."""
    why = sum((Counter(dict(one.left_out_why)) for one in inputs), Counter[str]())
    return (
        _total([one.left_out for one in inputs]),
        tuple(sorted(why.items())),
        _total([one.rows_read for one in inputs]),
    )


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def merged(parts: Sequence["Tally"]) -> tuple[tuple[Input, ...], int]:
    """The inputs of a sum, and how many more there are. How the parts are ordered or grouped does not matter."""
    found = sorted(
        (one for part in parts for one in part.inputs),
        key=lambda one: (one.role, one.name or "", one.sha256 or "", one.rows or 0, one.columns),
    )
    n_more = sum(part.n_more_inputs for part in parts)
    return tuple(found[:MAX_INPUTS]), n_more + max(0, len(found) - MAX_INPUTS)


def all_inputs(tally: "Tally") -> list[Input]:
    """The inputs of a tally, and an entry for rows in memory that none of them stands for."""
    found = list(tally.inputs)
    sides: tuple[tuple[Role, int], ...] = (("source", tally.n_source), ("target", tally.n_target))
    for role, n_rows in sides:
        own = [one for one in found if one.role == role]
        known = [one.rows for one in own if one.rows is not None]
        rest = n_rows - sum(known)
        if rest and len(known) == len(own) and not tally.n_more_inputs:
            found.append(Input(role, None, rest, (), None if own else counts_sha256(tally, role)))
        elif len(own) == 1 and not rest and own[0].name is None and own[0].sha256 is None:  # one frame
            found[found.index(own[0])] = replace(own[0], sha256=counts_sha256(tally, role))
    return found


def counts_sha256(tally: "Tally", role: Role) -> str | None:
    """SHA-256 of the counts of one side. How the rows were ordered or split does not change it.

    Of scores that nobody sorted two sums stand for all. None of a target of which only the number is known.

    >>> from pacshift import Tally
    >>> north, south = (Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], labels) for labels in ([0, 1], [1, 1]))
    >>> counts_sha256(north + south, "source") == counts_sha256(south + north, "source")
    True
    """
    cells = tally.source_cells if role == "source" else tally.target_cells
    digest = hashlib.sha256(json.dumps([role, list(tally.classes)]).encode())
    arrays: list[NDArray[Any]] = [cells.codes, cells.counts]
    if role == "target" and cells.bins == "not counted":
        return None
    if role == "source" and tally.raw is not None:
        digest.update(tally.raw.digest().astype("<u8").data)
    elif role == "source":
        all_differ = len(tally.values) == tally.n_source  # then all counts are 1: half of the bytes
        arrays += [tally.values, *([] if all_differ else [tally.counts]), tally.starts]
    for array in arrays:
        digest.update(np.ascontiguousarray(array, "<f8" if array.dtype.kind == "f" else "<i8").data)
    return digest.hexdigest()


def limited(inputs: Sequence[Input], n_more: int = 0) -> tuple[Input, ...]:
    """At most ``MAX_INPUTS`` entries; the last one stands for the rest, by the SHA-256 of their SHA-256."""
    if len(inputs) + n_more <= MAX_INPUTS:
        return tuple(inputs)
    shown, rest = inputs[: MAX_INPUTS - 1], inputs[MAX_INPUTS - 1 :]
    sha256 = hashlib.sha256("\n".join(str(one.sha256) for one in rest).encode()).hexdigest()
    name, left_out = f"{len(rest) + n_more:,} more files", (None, (), None) if n_more else together(rest)
    return (*shown, Input(inputs[-1].role, name, None, (), None if n_more else sha256, *left_out))


def printable(text: str) -> str:
    """Text that UTF-8 can hold: bytes of a file name that are not text are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


MIN_NUMBERS = 50
"""Counts of so many rows, scores or bins do not agree by chance; those of fewer might. A round number."""


def require_distinct(parts: Sequence["Tally"], names: Sequence[str] = ()) -> None:
    """Refuse a sum that would count rows twice; ``names`` says how its parts are called.

    The same rows in another order or in another kind of file have another SHA-256, but the same counts.
    """
    files: dict[tuple[Role, str], str] = {}
    counts: dict[tuple[Role, str | None], str] = {}
    for name, part in zip(names or [f"tally {place + 1}" for place in range(len(parts))], parts, strict=True):
        for one in part.inputs:
            # Without a file it is the SHA-256 of counts, and those of few rows agree by chance.
            if one.sha256 is None or (one.name is None and (one.rows or 0) < MIN_NUMBERS):
                continue
            other = files.get((one.role, one.sha256))
            if other is not None:
                where = f"counted twice in {name}" if other == name else f"in both {other} and {name}"
                what = "the same rows are" if one.name is None else f"the file {one.name!r} is"
                raise InputError(
                    f"{what} {where} ({one.role}, SHA-256 {one.sha256[:12]}…). Rows must be counted once: leave "
                    "one tally out, or count it again without these rows."
                )
            files[one.role, one.sha256] = name
        for role in sorted({one.role for one in part.inputs}) if len(parts) > 1 else ():
            key = role, rows_sha256(part, role)
            if key in counts:
                raise InputError(
                    f"{counts[key]} and {name} hold the same {role} counts, so the same rows. Rows must be "
                    "counted once: leave one of the tallies out."
                )
            if key[1] is not None:
                counts[key] = name


def rows_sha256(part: "Tally", role: Role) -> str | None:
    """A digest of the rows of one side: equal for the same rows in any order. None where equal means nothing."""
    if role == "target" and part.bins is not None:
        if np.count_nonzero(part.bins) < MIN_NUMBERS:
            return None
        bins = np.ascontiguousarray(part.bins, dtype="<i8").tobytes()
        return hashlib.sha256(str(counts_sha256(part, role)).encode() + bins).hexdigest()
    numbers = part.values if role == "source" else part.target_cells.codes
    return None if len(numbers) < MIN_NUMBERS else counts_sha256(part, role)


def may_hold(many: "Tally", few: "Tally") -> bool:
    """Whether the rows of ``few`` may be among those of ``many``: no count of theirs is larger.

    Labelled rows are looked for among the labelled ones of ``many`` with their labels, and among unlabelled ones
    without. Counts are coarse, so other rows may fit too; rows that do not fit are others.

    >>> from pacshift import Tally
    >>> period, one = Tally.from_target([[0.9, 0.1], [0.2, 0.8]]), Tally.from_scores([[0.9, 0.1]], [0])
    >>> may_hold(period, one), may_hold(period, one + one), may_hold(one, Tally.from_scores([[0.9, 0.1]], [1]))
    (True, False, False)
    """
    if few.n_source and many.n_source:
        exact = few.grid == many.grid
        return _cells_within(few.source_cells, many.source_cells) and all(
            not exact or _within(*_scores_of(few, label), *_scores_of(many, label))
            for label in range(few.n_classes)
        )
    cells = few.target_cells
    if few.n_source:
        own = few.source_cells
        cells = Cells(*sum_by_key(own.codes // own.n_labels, own.counts), 1, own.bins)
    if few.softmax:  # computed in another precision it may lie beyond an edge
        return _cells_within(cells.without_bins(), many.target_cells.without_bins())
    bins = few.bins
    if few.n_source and few.score == "probability" and many.bins is not None:
        scores = (_scores_of(few, label) for label in range(few.n_classes))
        bins = np.stack([np.bincount(bin_of(values), counts, BINS).astype(np.int64) for values, counts in scores])
    return _cells_within(cells, many.target_cells) and (
        bins is None or many.bins is None or bool((bins <= many.bins).all())
    )


def _scores_of(part: "Tally", label: int) -> tuple[FloatArray, IntArray]:
    own = slice(part.starts[label], part.starts[label + 1])
    return part.values[own], part.counts[own]


def _cells_within(few: Cells, many: Cells) -> bool:
    if few.bins != many.bins:
        few, many = few.without_bins(), many.without_bins()
    return _within(few.codes, few.counts, many.codes, many.counts)


def _within(keys: FloatArray | IntArray, counts: IntArray, others: FloatArray | IntArray, most: IntArray) -> bool:
    """Whether every key is among the others, which ascend, with at least its count."""
    place = np.searchsorted(others, keys)
    if len(keys) and (not len(others) or place.max() >= len(others)):
        return False
    return bool(((others[place] == keys) & (most[place] >= counts)).all())


_HEAD_BYTES = 1 << 16  # files of one size that differ mostly do so within these
_READ_BYTES = 1 << 18  # at a time: fits the cache


def file_sha256(path: PathLike, stop: Event | None = None, *, head: int | None = None) -> str:
    """SHA-256 of the bytes of a file, or of its ``head``.

    If ``stop`` is set meanwhile, of the bytes before: nobody asks for it any more.
    """
    digest, room = hashlib.sha256(), memoryview(bytearray(head or _READ_BYTES))
    try:
        with open(path, "rb", buffering=0) as file:
            while (n_read := file.readinto(room)) and not (stop and stop.is_set()):
                digest.update(room[:n_read])  # lets other threads run
                if head:
                    break
        return digest.hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


@contextmanager
def sha256_beside(paths: Iterable[Path]) -> Iterator[dict[str, "Future[str]"]]:
    """SHA-256 of each file, computed in a thread while the files are read for something else."""
    stop = Event()
    with ThreadPoolExecutor(1, thread_name_prefix="sha256") as pool:
        try:
            yield {str(path): pool.submit(file_sha256, path, stop) for path in paths}
        finally:
            stop.set()


def repeated_files(paths: Iterable[Path]) -> list[list[Path]]:
    """Groups of files that are one file under several names or, where there are none, that hold the same bytes.

    Nothing is read of a file whose size no other has, and little of one that begins like no other. What is not a
    regular file is not looked at: it may have no end.
    """

    def identity(path: Path) -> Hashable:
        """Equal for links to one file, and for every way to write its path."""
        found = path.stat()
        return (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(path)

    def alike(groups: list[list[Path]], key: Callable[[Path], Hashable]) -> list[list[Path]]:
        """The files of each group that share their key with another one."""
        found: dict[Hashable, list[Path]] = {}
        for place, path in ((place, path) for place, group in enumerate(groups) for path in group):
            found.setdefault((place, key(path)), []).append(path)
        return [group for group in found.values() if len(group) > 1]

    groups = [[path for path in paths if path.is_file()]]
    same = alike(groups, identity)
    if same:
        return same
    for key in (lambda path: path.stat().st_size, partial(file_sha256, head=_HEAD_BYTES), file_sha256):
        groups = alike(groups, key)
    return groups


def counted_twice(first: Path, second: Path) -> InputError:
    """The error for two of ``repeated_files``."""
    if first.samefile(second):
        one = f"{first} is given twice" if first == second else f"{first} and {second} are the same file"
        return InputError(f"{one}: its rows would be counted twice. Name every file once.")
    return InputError(
        f"{first} and {second} have the same content (equal SHA-256): their rows would be counted twice. Leave "
        "one of them out. If they hold different rows that happen to be equal, put these rows into one file."
    )
