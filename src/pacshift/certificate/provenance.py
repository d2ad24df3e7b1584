"""Where a certificate comes from: when and by what it was made, for which model, from which data, until when."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pacshift.errors import InputError, param
from pacshift.files.codec import ListOf, number, pattern, record
from pacshift.files.origin import TIME_FORMAT, current_time
from pacshift.tally.inputs import MAX_INPUTS, Input, printable


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        return datetime.strptime(text, TIME_FORMAT).strftime(TIME_FORMAT) == text
    return False


def _is_day(text: str) -> bool:
    with suppress(ValueError):
        return date.fromisoformat(text).isoformat() == text
    return False


_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = pattern("a time in UTC", f"{_DATE}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}Z", _is_time)
DAY = pattern("a day", _DATE, _is_day)
WEIGHT = number("a weight", lambda value: value >= 0, minimum=0)


MAX_TEXT = 10_000
"""Characters of a note or a model's name: a few pages, so that a certificate stays readable."""


@dataclass(frozen=True, slots=True)
class Counting:
    """How rows became counts, which is needed to make the same thresholds again.

    Parameters
    ----------
    grid : bool
        Whether true-label scores were rounded down to 12 bits of mantissa.
    bins : bool
        Whether the target's scores were counted in coarse bins.
    rows : bool
        Whether sizes of sets were counted on the target's rows themselves, to choose the smallest.
    sample : bool
        Whether score rows of source and target were at hand to tune thresholds with.
    """

    grid: bool
    bins: bool
    rows: bool
    sample: bool


@dataclass(frozen=True, slots=True)
class AskedMethod:
    """The method that was asked for, where another one answered.

    Parameters
    ----------
    name : str
        Its name.
    options : dict
        Its options.
    """

    name: str
    options: dict[str, Any]


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
    seed : int
        Seed of the coins that the method threw.
    command : str or None
        The command line, if it was made by one.
    code : str or None
        The code that made it: ``"source sha256:..."`` of its modules. None where they cannot be read.
    counting : Counting
        How rows became counts.
    asked_method : AskedMethod or None
        The method that was asked for, if it is not the one of the certificate.
    solver : str
        What solved the linear programs, such as ``"highspy 1.15.1"``; without highspy it is SciPy.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    >>> made = calibrate(scores, labels, epsilon=0.1, delta=0.1, method="PS")
    >>> made = made.annotate(model_id="net 3", valid_until="2027-01-31").provenance
    >>> made.warnings(model_id="net 3", today=date(2027, 1, 31))
    []
    >>> print(made.warnings(today=date(2027, 2, 1))[0])
    this certificate was valid until 2027-01-31; today is 2027-02-01. Calibrate again with recent data.
    """

    created: Annotated[str, TIME]
    pacshift_version: str
    model_id: str | None
    note: str | None
    valid_until: Annotated[str | None, DAY.or_null]
    inputs: Annotated[tuple[Input, ...], ListOf(record(Input), most=MAX_INPUTS)]
    seed: int
    command: str | None
    code: str | None
    counting: Counting
    asked_method: AskedMethod | None
    solver: str

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
        day, reasons = today or datetime.now(UTC).date(), []
        if self.valid_until is not None and day > date.fromisoformat(self.valid_until):
            reasons.append(
                f"this certificate was valid until {self.valid_until}; today is {day.isoformat()}. "
                "Calibrate again with recent data."
            )
        if model_id is not None and self.model_id is None:
            reasons.append(
                f"this certificate names no model. If it was not made with scores of {model_id!r}, calibrate for "
                f"{model_id!r}."
            )
        other = self.other_model(model_id)
        return reasons if other is None else [*reasons, other]

    def other_model(self, model_id: str | None) -> str | None:
        """What is wrong if the certificate names another model; None if nothing is known to be.

        Parameters
        ----------
        model_id : str or None
            The classifier that the new scores come from; None if nobody said.

        Returns
        -------
        str or None
            One sentence or two.
        """
        if model_id is None or self.model_id in (None, model_id):
            return None
        return (
            f"this certificate is for model {self.model_id!r}, but these scores are from {model_id!r}. Calibrate "
            f"for {model_id!r}."
        )


def check_text(value: Any, name: str) -> str | None:
    """A text that a file can hold, or None."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT or value != printable(value):
        raise InputError(f"{param(name)} must be a text of 1 to {MAX_TEXT:,} characters, got {str(value)[:80]!r}.")
    return value


def check_valid_until(value: Any) -> str | None:
    """A day that is not over, in ISO format, or None."""
    if value is None:
        return None
    today = current_time().date()
    try:
        day = value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(
            f"{param('valid_until')} must be a day such as 2027-01-31, got {str(value)[:80]!r}."
        ) from None
    day = day.date() if isinstance(day, datetime) else day
    if day < today:
        raise InputError(
            f"{param('valid_until')} is {day.isoformat()}, but the certificate is made on {today.isoformat()}. "
            "Name a day that is not over."
        )
    return day.isoformat()


def check_stamp(
    *, note: str | None = None, model_id: str | None = None, valid_until: Any = None
) -> dict[str, Any]:
    """What is said of these, each checked."""
    remarks = {
        "note": check_text(note, "note"),
        "model_id": check_text(model_id, "model_id"),
        "valid_until": check_valid_until(valid_until),
    }
    return {name: value for name, value in remarks.items() if value is not None}
