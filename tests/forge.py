"""Forged files: values inside are changed and the seals made again, as anybody can who reads how they are made.

``forge`` changes a document (whatever JSON can hold). ``certificate_bytes``, ``sheet_bytes`` and
``manifest_bytes`` seal what came of it. ``trial`` is the test: refused, or read and used in time.
"""

import copy
import csv
import io
import json
import math
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np

from damage import NAMES, nodes, pick, require_message
from pacshift import LabelSheet, PacshiftError
from pacshift.files import codec
from pacshift.labels import sheet_file

NUMBERS: list[Any] = [0, 1, -1, 2, 1e-9, 0.5, 1 - 1e-9, -0.0, 5e-324, 1e308, 2**31, 2**53 + 1, 2**63 - 1, 2**63]
NUMBERS += [-(2**63), 10**400, math.nan, math.inf, -math.inf]
TEXTS = [*NAMES, "inf", "\x00", "\x1b]0;x\x07", "\u202eabc", "a\u2028b", "\ud800", "../../x", "x" * 100_000]
OTHERS: list[Any] = [None, True, False, [], {}, [[]], {"": None}]
SECONDS = 1.0
"""Of the processor, in which a file that was read must be used."""


def forge(document: Any, rng: np.random.Generator, changes: int = 2) -> Any:
    """A copy with one to ``changes`` changes."""
    forged = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, changes + 1))):
        places = list(nodes(forged))
        if not places:
            break
        *way, last = pick(rng, places)
        holder = forged
        for key in way:
            holder = holder[key]
        _change(holder, last, rng, forged)
    return forged


def _change(holder: Any, key: Any, rng: np.random.Generator, document: Any) -> None:
    """Change one entry of an object or a list."""
    value = holder[key]
    kind = pick(rng, ["alike"] * 5 + ["other", "gone", "swapped", "copied", "nested"])
    if kind == "alike":
        holder[key] = _alike(value, rng)
    elif kind == "other":
        holder[key] = pick(rng, [*OTHERS, *NUMBERS, *TEXTS])
    elif kind == "gone":
        del holder[key]
    elif kind == "swapped":  # types stay right, and sums of counts too
        other = pick(rng, holder if isinstance(holder, dict) else range(len(holder)))
        holder[key], holder[other] = holder[other], value
    elif kind == "copied":
        source = document
        for step in pick(rng, list(nodes(document))):
            source = source[step]
        holder[key] = copy.deepcopy(source)
    else:
        for _ in range(pick(rng, [1, 2, 50, 150])):
            value = pick(rng, [[value], {"a": value}])
        holder[key] = value


def _alike(value: Any, rng: np.random.Generator) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return pick(rng, [value + 1, value - 1, -value, value * 2, value // 2, float(value), *NUMBERS])
    if isinstance(value, float):
        return pick(rng, [-value, value * 2, value / 2, 1 - value, math.nextafter(value, 2), *NUMBERS])
    if isinstance(value, str):
        return pick(rng, [value[:-1], value.upper(), value + "\x1b[31m", value[::-1], *TEXTS])
    if isinstance(value, list):
        longer = value[:1] * pick(rng, [2, 100, 1000])
        return pick(rng, [value[1:], value + value[:1], value[::-1], sorted(value, key=str), [], longer])
    if isinstance(value, dict):
        return pick(rng, [dict(reversed(value.items())), value | {"more": 1}, value | {"": value.copy()}, {}])
    return pick(rng, [*NUMBERS, "x", [], {}])


def sealed_json(document: Any, rng: np.random.Generator | None = None) -> bytes:
    """A document with its checksum, if it can have one. With ``rng`` some have a key twice, or are very deep."""
    with suppress(ValueError, RecursionError, OverflowError):  # NaN has no checksum: the old seal stays
        document = codec.seal(document)
    text = json.dumps(document)
    if rng is not None and rng.random() < 0.02:
        text = text.replace(
            "{", pick(rng, ['{"version": 1, ', '{"deep": ' + "[" * 10_000 + "]" * 10_000 + ", "]), 1
        )
    return text.encode("utf-8", "surrogatepass")


certificate_bytes = manifest_bytes = sealed_json


def sheet_document(sheet: LabelSheet) -> dict[str, Any]:
    """A label sheet as values that ``forge`` changes."""
    head = {
        "version": sheet_file.VERSION,
        "seed": sheet.seed,
        "epsilon": sheet.epsilon,
        "delta": sheet.delta,
        "looks": list(sheet.looks),
        "pilot": sheet.n_pilot,
        "rows": sheet.n_target,
        "target": sheet.target_sha256,
        "path": sheet.path,
    }
    kept = {name: list(cells) for name, cells in sheet.kept.items()}
    return {"head": head, "rows": sheet.rows.tolist(), "labels": list(sheet.labels), "kept": kept}


def sheet_bytes(document: Mapping[str, Any]) -> bytes:
    """The file of a label sheet, with parts and looks that follow from its first line where they can."""
    head, rows, labels, kept = (
        document[name] if isinstance(document.get(name), kind) else kind()
        for name, kind in (("head", dict), ("rows", list), ("labels", list), ("kept", dict))
    )
    looks = head.get("looks")
    said = " ".join([sheet_file.MAGIC, *(f"{name}={_word(value)}" for name, value in head.items() if value != "")])
    said += f" checksum={sheet_file._checksum(said, rows)}"
    planned: list[tuple[str, int]] = []
    with suppress(TypeError, KeyError, IndexError):
        planned = list(islice(sheet_file._parts(head["pilot"], looks), len(rows)))
    planned += [("test", 1)] * (len(rows) - len(planned))
    columns = {name: cells for name, cells in kept.items() if isinstance(cells, list)}
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([said, *[""] * (4 + len(columns))])
    writer.writerow([*sheet_file.COLUMNS, *columns])
    for place, ((part, look), row) in enumerate(zip(planned, rows, strict=True)):
        cells = [column[place] if place < len(column) else None for column in (labels, *columns.values())]
        writer.writerow([place + 1, row, part, look, *("" if cell is None else cell for cell in cells)])
    return buffer.getvalue().encode("utf-8", "replace")


def _word(value: Any) -> str:
    """A value in the first line of a sheet."""
    text = "/".join(map(str, value)) if isinstance(value, list) else str(value)
    return text.encode("utf-8", "replace").decode()


class TooSlow(BaseException):
    """Nothing that is caught as an exception."""


@contextmanager
def in_time(seconds: float = SECONDS) -> Iterator[None]:
    """Raise ``TooSlow`` after so many seconds of this process's processor time; without a clock of Unix never."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def trial(load: Callable[[], Any], *uses: Callable[[Any], object], seconds: float = SECONDS) -> str:
    """``refused``, or ``used`` where everything was answered or refused in time. Whatever else fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # RuntimeWarnings of NumPy stay errors
        try:
            with in_time(seconds):
                loaded = load()
        except PacshiftError as error:
            require_message(error)
            return "refused"
        for use in uses:
            try:
                with in_time(seconds):
                    use(loaded)
            except PacshiftError as error:
                require_message(error)
    return "used"
