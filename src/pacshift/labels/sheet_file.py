"""The sheet as CSV: a first line that says how it was made, then one line per row, checked when it comes back.

Spreadsheets may change the delimiter, quotes, line ends and how numbers are written, and fill up lines with empty
cells. None of that matters here. What was drawn and planned must not change.
"""

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacshift.errors import InputError
from pacshift.files.reading import read_document
from pacshift.files.writing import PathLike, atomic_write, escape_cell, unescape_cell
from pacshift.scores.check import check_rate
from pacshift.scores.names import shorten

if TYPE_CHECKING:
    from pacshift.labels.sheet import LabelSheet

MAGIC = "# pacshift label sheet"
VERSION = 2
COLUMNS = ("order", "row", "part", "look", "label")
_REMEDY = "Take the sheet as it was made, and fill in the column label only."
_WHOLE = re.compile(r"(-?[0-9]{1,18})(?:[.,]0*)?")


def write_sheet(sheet: "LabelSheet", path: PathLike, *, overwrite: bool) -> None:
    """Write the file whole or not at all. It begins with a byte order mark, by which Excel knows UTF-8."""
    require_csv(path)
    rates = f"epsilon={sheet.epsilon!r} delta={sheet.delta!r}"
    planned = f"looks={'/'.join(map(str, sheet.looks))} pilot={sheet.n_pilot}"
    target = f"rows={sheet.n_target} target={sheet.target_sha256}"
    first_line = f"{MAGIC} version={VERSION} seed={sheet.seed} {rates} {planned} {target}"
    first_line += f" path={sheet.path}" if sheet.path else ""
    first_line += f" checksum={_checksum(first_line, sheet.rows.tolist())}"
    names = [*COLUMNS, *map(escape_cell, sheet.kept)]
    with (
        atomic_write(path, overwrite=overwrite) as draft,
        draft.open("w", newline="", encoding="utf-8-sig") as opened,
    ):
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow([first_line, *[""] * (len(names) - 1)])  # as many cells as below: pandas wants it
        writer.writerow(names)
        lines = zip(sheet.rows.tolist(), _parts(sheet.n_pilot, sheet.looks), sheet.labels, strict=True)
        for place, (row, (part, look), label) in enumerate(lines):
            kept = (escape_cell(column[place]) for column in sheet.kept.values())
            writer.writerow([place + 1, row, part, look, escape_cell(label or ""), *kept])


def fix_path(path: PathLike, digest: str) -> None:
    """Say in the first line of a sheet what its thresholds are planned with, if it does not; all else stays.

    From then on nothing else may be planned for it: Lemma 4 of docs/methods/ps-t.md needs one path.
    """
    if not Path(path).is_file():
        raise InputError(f"cannot write {path}: it is no regular file.")
    fields, (first_line, _), content = read_sheet(path), _columns(path), read_document(path)
    if fields["path"]:
        return
    fixed = f"{first_line.rpartition(' checksum=')[0]} path={digest}"
    fixed += f" checksum={_checksum(fixed, fields['rows'].tolist())}"
    with atomic_write(path) as draft:
        draft.write_bytes(content.replace(first_line.encode(), fixed.encode(), 1))


def require_csv(path: PathLike) -> None:
    """Refuse a name by which no program would know what the file is."""
    if Path(path).suffix.lower() != ".csv":
        raise InputError(f"cannot write {path}: a label sheet is a CSV file, so its name must end in .csv.")


def _parts(n_pilot: int, looks: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Part of every row, and the number of the look that is the first to need it."""
    look = 0
    for place in range(looks[-1]):
        look += place >= looks[look]
        yield "pilot" if place < n_pilot else "test", look + 1


def _checksum(first_line: str, rows: Sequence[int]) -> str:
    """Of the first line and the rows. Order, part and look of a row follow from these."""
    return hashlib.sha256(f"{first_line}\n{rows}".encode()).hexdigest()[:16]


def read_sheet(path: PathLike) -> dict[str, Any]:
    """The fields of the sheet in a file, or an InputError that says what is wrong with it."""
    first_line, columns = _columns(path)
    checksum, fields = _read_first_line(first_line, path)
    looks, n_pilot = fields["looks"], fields["n_pilot"]
    numbers = dict[str, list[int]]()
    for name in ("order", "row", "look"):
        matches = [_WHOLE.fullmatch(cell.strip()) for cell in columns[name]]
        if None in matches:
            place = matches.index(None)
            raise InputError(
                f"{path}: column {name} must hold whole numbers, but entry {place + 1} is "
                f"{columns[name][place][:40]!r}. {_REMEDY}"
            )
        numbers[name] = [int(written[1]) for written in matches if written is not None]
    order, budget = numbers["order"], looks[-1]
    moved = next((place for place, number in enumerate(order, start=1) if number != place), None)
    if moved is not None or len(order) != budget:
        where = (
            f"order {order[moved - 1]} stands where {moved} belongs" if moved else f"it has {len(order):,} rows"
        )
        raise InputError(
            f"{path}: it must hold order 1 to {budget:,}, each once, but {where}: rows were added, repeated, left "
            f"out or sorted. Sort it by column order. {_REMEDY}"
        )
    parts = zip((cell.strip() for cell in columns["part"]), numbers["look"], strict=True)
    for place, (written, planned) in enumerate(zip(parts, _parts(n_pilot, looks), strict=True)):
        if written != planned:
            raise InputError(
                f"{path}: order {place + 1} is in part {written[0][:40]!r} and look {written[1]}, but the first "
                f"line says part {planned[0]!r} and look {planned[1]}. Looks cannot be added or moved once the "
                f"sheet is made, because all looks share delta. {_REMEDY}"
            )
    if _checksum(first_line.rpartition(" checksum=")[0], numbers["row"]) != checksum:
        raise InputError(
            f"{path}: the first line or the column row was changed; rows must stay as they were drawn. {_REMEDY}"
        )
    drawn = numbers["row"]
    if min(drawn) < 0 or len(set(drawn)) < len(drawn) or len(drawn) > fields["n_target"]:
        raise InputError(f"{path}: column row must hold different rows of {fields['n_target']:,}. {_REMEDY}")
    kept = {name: cells for name, cells in columns.items() if name and name not in COLUMNS}
    return fields | {
        "rows": np.array(numbers["row"], np.int64),
        "labels": tuple(unescape_cell(cell.strip()) or None for cell in columns["label"]),
        "kept": {unescape_cell(name): tuple(map(unescape_cell, cells)) for name, cells in kept.items()},
    }


def _columns(path: PathLike) -> tuple[str, dict[str, list[str]]]:
    """The first line, and the cells of every column by its name."""
    try:
        text = read_document(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            f"cannot read {path}: it is not in UTF-8. Save it again as CSV in UTF-8 (Excel: CSV UTF-8)."
        ) from None
    if MAGIC not in text[:1000]:
        raise InputError(
            f"{path} is not a label sheet: its first line does not begin with {MAGIC!r}. Make one with "
            "`pacshift label` or pacshift.label_sheet. If a program took the first line away, copy it back from "
            "the sheet as it was made."
        )
    for delimiter in ",;\t":
        try:
            # Windows and old Mac line ends are ends of lines too.
            lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(line)]
        except csv.Error as error:
            raise InputError(f"cannot read {path}: {error}. Save it as CSV in UTF-8.") from None
        names = [name.strip() for name in lines[1]] if len(lines) > 1 else []
        if all(names.count(name) == 1 for name in COLUMNS):
            first_line = next(cell for cell in lines[0] if cell).strip()
            padded = [[*line, *[""] * (len(names) - len(line))] for line in lines[2:]]
            return first_line, {name: [line[place] for line in padded] for place, name in enumerate(names)}
    raise InputError(
        f"{path}: its second line must name the columns {shorten(COLUMNS)}, each once, separated by commas, "
        f"semicolons or tabs. {_REMEDY}"
    )


def _read_first_line(first_line: str, path: PathLike) -> tuple[str, dict[str, Any]]:
    """The checksum, and the fields that the line says, or an InputError.

    It says ``name=value``, separated by blanks, without commas and quotes: one cell whatever the delimiter is.
    """
    header = dict(word.partition("=")[::2] for word in first_line.removeprefix(MAGIC).split())
    if header.get("version", "").isdigit() and header["version"] != str(VERSION):
        raise InputError(
            f"{path}: label sheet version {header['version'][:9]}, this pacshift reads version {VERSION}. Read it "
            "with the pacshift that made it."
        )
    try:
        _, n_pilot, *looks = map(int, (header["version"], header["pilot"], *header["looks"].split("/")))
        if n_pilot < 0 or any(before >= look for before, look in pairwise((n_pilot, *looks))):
            raise ValueError("looks must increase, above the pilot")
        return header["checksum"], {
            "looks": tuple(looks),
            "n_pilot": n_pilot,
            "epsilon": check_rate(float(header["epsilon"]), "epsilon"),
            "delta": check_rate(float(header["delta"]), "delta"),
            "seed": int(header["seed"]),
            "n_target": int(header["rows"]),
            "target_sha256": header["target"],
            "path": header.get("path", ""),  # left out as long as it is not fixed
        }
    except (KeyError, ValueError) as error:
        why = str(error).rstrip(".")
        raise InputError(
            f"{path}: its first line was changed ({why}). Copy it back from the sheet as it was made."
        ) from None
