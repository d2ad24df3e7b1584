"""Where a certificate comes from: when and by what it was made, for which model, from which data, until when."""

import hashlib
import json
import numbers
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from pacshift.documents import TIME_FORMAT, current_time, pacshift_version
from pacshift.errors import InputError
from pacshift.tally import Tally

Role: TypeAlias = Literal["source", "target"]

MAX_TEXT = 10_000
MAX_INPUTS = 200
"""Inputs listed per certificate. Of more files the last entry stands for all the others."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Input:
    """One file that a certificate was made from, or the rows of an array.

    Parameters
    ----------
    role : {"source", "target"}
        What the rows were used as.
    name : str or None
        Name of the file; None for arrays and frames.
    rows : int or None
        Rows counted; None where a table has several files, which are not counted one by one.
    columns : tuple of str
        Columns that were read; empty for arrays and tallies.
    sha256 : str or None
        SHA-256 of the file's bytes, or of the counts of an array. None for files that only a cluster has read.
    """

    role: Role
    name: str | None
    rows: int | None
    columns: tuple[str, ...]
    sha256: str | None

    @classmethod
    def from_json(cls, document: Any) -> "Input":
        """What a certificate file says, or a ValueError.

        Parameters
        ----------
        document : dict
            An entry of the file's list of inputs.

        Returns
        -------
        Input
        """
        role, rows, columns, sha256 = (document[name] for name in ("role", "rows", "columns", "sha256"))
        if role not in get_args(Role):
            raise ValueError(f"{role!r} where source or target belongs")
        if not (rows is None or _is_count(rows)):
            raise ValueError(f"{rows!r} where a number of rows belongs")
        if not isinstance(columns, list):
            raise ValueError(f"{columns!r} where names of columns belong")
        if sha256 is not None and not _SHA256.fullmatch(_text(sha256)):
            raise ValueError(f"{sha256!r} where a SHA-256 belongs")
        return cls(role, _text_or_none(document["name"]), rows, tuple(_text(name) for name in columns), sha256)


@dataclass(frozen=True, slots=True)
class Provenance:
    """When, by what, for which model and from which data a certificate was made, and until when it may be used.

    Parameters
    ----------
    created : str
        UTC, such as ``"2026-11-16T08:49:03Z"``.
    pacshift_version : str
        The pacshift that made it. The version of the method is in the certificate's ``facts``.
    model_id, note : str or None
        What the maker said about the classifier, and in general.
    valid_until : str or None
        Last day of use, such as ``"2027-01-31"``. Commands warn from the day after, in UTC.
    inputs : tuple of Input
        The data.
    seed : int or None
        Seed of the random numbers, where it is known.
    command : str or None
        The command line, if it was made by one.

    Examples
    --------
    >>> made = Provenance("2026-11-16T08:49:03Z", "0.1.0", model_id="net 3", valid_until="2027-01-31")
    >>> made.warnings(model_id="net 3", today=date(2027, 1, 31))
    []
    >>> print(made.warnings(today=date(2027, 2, 1))[0])
    this certificate was valid until 2027-01-31; today is 2027-02-01. Calibrate again with recent data.
    """

    created: str
    pacshift_version: str
    model_id: str | None = None
    note: str | None = None
    valid_until: str | None = None
    inputs: tuple[Input, ...] = ()
    seed: int | None = None
    command: str | None = None

    def warnings(self, *, model_id: str | None = None, today: date | None = None) -> list[str]:
        """Why the certificate should not be used: it has expired, or is for another model.

        Parameters
        ----------
        model_id : str, optional
            The classifier that the new scores come from.
        today : datetime.date, optional
            The day of use. Default: today, in UTC.

        Returns
        -------
        list of str
            One sentence or two per reason; empty if there is none.
        """
        day, found = today or datetime.now(UTC).date(), []
        if self.valid_until is not None and day > date.fromisoformat(self.valid_until):
            found.append(
                f"this certificate was valid until {self.valid_until}; today is {day.isoformat()}. "
                "Calibrate again with recent data."
            )
        if model_id is not None and model_id != self.model_id:
            made_for = "names no model" if self.model_id is None else f"is for model {self.model_id!r}"
            found.append(
                f"this certificate {made_for}; the scores are said to come from model {model_id!r}. "
                "Its guarantee is about its own model: calibrate again for this one."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """As it stands in a certificate file."""
        return {**asdict(self), "inputs": [{**asdict(one), "columns": list(one.columns)} for one in self.inputs]}

    @classmethod
    def from_json(cls, document: Any) -> "Provenance":
        """What a certificate file says.

        Parameters
        ----------
        document : dict
            As ``to_json`` gives it.

        Returns
        -------
        Provenance

        Raises
        ------
        ValueError
            If something has the wrong type or is missing.
        """
        inputs, seed, until = document["inputs"], document["seed"], _text_or_none(document["valid_until"])
        if not isinstance(inputs, list) or len(inputs) > MAX_INPUTS:
            raise ValueError(f"the inputs must be a list of at most {MAX_INPUTS}")
        if not (seed is None or _is_count(seed)):
            raise ValueError(f"{seed!r} where a seed belongs")
        if until is not None and date.fromisoformat(until).isoformat() != until:
            raise ValueError(f"{until!r} where a day belongs")
        return cls(
            created=datetime.strptime(_text(document["created"]), TIME_FORMAT).strftime(TIME_FORMAT),
            pacshift_version=_text(document["pacshift_version"]),
            model_id=_text_or_none(document["model_id"]),
            note=_text_or_none(document["note"]),
            valid_until=until,
            inputs=tuple(Input.from_json(one) for one in inputs),
            seed=seed,
            command=_text_or_none(document["command"]),
        )


def reasons_against_use(
    provenance: Provenance | None, *, model_id: str | None, today: date | None = None
) -> list[str]:
    """Why a certificate should not be used, also one of an older version, which says nothing about its origin."""
    if provenance is not None:
        return provenance.warnings(model_id=model_id, today=today)
    older = "this certificate was made by an older pacshift, which did not record the model."
    return [] if model_id is None else [older]


def record(tally: Tally, *, model_id: Any, note: Any, valid_until: Any, rng: Any) -> Provenance:
    """The provenance of a certificate that is about to be made from counts; InputError for bad texts or dates."""
    now = current_time()
    return Provenance(
        created=now.strftime(TIME_FORMAT),
        pacshift_version=pacshift_version(),
        model_id=check_text(model_id, "model_id"),
        note=check_text(note, "note"),
        valid_until=check_valid_until(valid_until, now.date()),
        inputs=inputs_of_tally(tally),
        seed=int(rng) if isinstance(rng, numbers.Integral) and not isinstance(rng, bool) else None,
    )


def check_text(value: Any, name: str) -> str | None:
    """A text that a file can hold, or None."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT or value != printable(value):
        raise InputError(f"{name} must be a text of 1 to {MAX_TEXT:,} characters, got {str(value)[:80]!r}.")
    return value


def check_valid_until(value: Any, today: date) -> str | None:
    """A day that is not over, in ISO format, or None."""
    if value is None:
        return None
    try:
        day = value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(f"valid_until must be a day such as 2027-01-31, got {str(value)[:80]!r}.") from None
    day = day.date() if isinstance(day, datetime) else day
    if day < today:
        raise InputError(
            f"valid_until is {day.isoformat()}, but the certificate is made on {today.isoformat()}. "
            "Name a day that is not over."
        )
    return day.isoformat()


def printable(text: str) -> str:
    """Text that UTF-8 can hold: bytes of a file name that are no text are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def inputs_of_tally(tally: Tally, name: str | None = None, sha256: str | None = None) -> tuple[Input, ...]:
    """The rows behind some counts, by role; with the file that held the counts, if there is one."""
    rows: tuple[tuple[Role, int], ...] = (("source", tally.n_source), ("target", tally.n_target))
    return tuple(
        Input(role, name, n_rows, (), sha256 or counts_sha256(tally, role)) for role, n_rows in rows if n_rows
    )


def counts_sha256(tally: Tally, role: Role) -> str:
    """SHA-256 of the counts of one side. How the rows were ordered or split does not change it.

    >>> north, south = (Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], labels) for labels in ([0, 1], [1, 1]))
    >>> counts_sha256(north + south, "source") == counts_sha256(south + north, "source")
    True
    """
    cells = tally.source_cells if role == "source" else tally.target_cells
    digest = hashlib.sha256(json.dumps([role, list(tally.classes)]).encode())
    for array in (cells.codes, cells.counts):
        digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    if role == "source":
        digest.update(np.ascontiguousarray(tally.values, dtype="<f8").tobytes())
        for array in (tally.counts, tally.starts):
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()


def limited(inputs: Sequence[Input]) -> tuple[Input, ...]:
    """At most ``MAX_INPUTS`` entries; the last one stands for the rest, by the SHA-256 of their SHA-256."""
    if len(inputs) <= MAX_INPUTS:
        return tuple(inputs)
    shown, rest = inputs[: MAX_INPUTS - 1], inputs[MAX_INPUTS - 1 :]
    together = hashlib.sha256("\n".join(str(one.sha256) for one in rest).encode()).hexdigest()
    return (*shown, Input(rest[-1].role, f"{len(rest):,} more files", None, (), together))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} where text belongs")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)
