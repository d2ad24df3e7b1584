"""Days, weeks and months: what they are called, when they end, and which of them have no rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, TypeAlias, get_args

Unit: TypeAlias = Literal["day", "week", "month"]
Span: TypeAlias = tuple[str | None, str | None]
"""First and last day of a period, where they are known."""

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Gap:
    """Periods without rows, one after another.

    Parameters
    ----------
    first, last : str
        Names of the first and the last one.
    periods : int
        How many they are.
    start, end : str
        First and last day.

    Examples
    --------
    >>> Gap("2026-06", "2026-08", 3, "2026-06-01", "2026-08-31").in_words
    '2026-06 to 2026-08 (3 periods)'
    """

    first: str
    last: str
    periods: int
    start: str
    end: str

    @property
    def in_words(self) -> str:
        """The names, with how many there are."""
        return self.first if self.periods == 1 else f"{self.first} to {self.last} ({self.periods:,} periods)"


def lies_in(gap: Gap, spans: Iterable[tuple[str, str]]) -> bool:
    """Whether one of the spans covers a gap."""
    return any(start <= gap.start and gap.end <= end for start, end in spans)


def describe(first: date, unit: Unit) -> tuple[str, str, str]:
    """Name, first and last day of the period that begins on a day.

    >>> describe(date(1970, 2, 1), "month"), describe(date(1970, 1, 5), "week")
    (('1970-02', '1970-02-01', '1970-02-28'), ('1970-W02', '1970-01-05', '1970-01-11'))
    """
    names = {"day": first.isoformat(), "week": f"{first:%G-W%V}", "month": f"{first:%Y-%m}"}
    return names[unit], first.isoformat(), (_first(_number(first, unit) + 1, unit) - ONE_DAY).isoformat()


def find_gaps(spans: Iterable[Span], until: date | None = None) -> list[Gap]:
    """The periods that are missing between those that are there, in the order of time.

    With ``until`` also those after the last one that should have come by that day. One period of grace is left
    for rows that come late: it is missing when the period after it is over as well.
    """
    days = [(day_of(start), day_of(end)) for start, end in spans]
    gaps: list[Gap] = []
    last: tuple[date, date] | None = None
    for start, end in sorted((start, end) for start, end in days if start is not None and end is not None):
        if last is not None and start > last[1] + ONE_DAY:
            gaps.append(_gap(last[1] + ONE_DAY, start - ONE_DAY, _unit_of(last, (start, end))))
        last = (start, end) if last is None or end > last[1] else last
    unit = None if last is None or until is None else _unit_of(last)
    if last is None or until is None or unit is None:
        return gaps
    first = last[1] + ONE_DAY
    over = _first(_number(until, unit) - 1, unit)  # what lies between these days should have come
    return gaps if over <= first else [*gaps, _gap(first, over - ONE_DAY, unit)]


def _gap(first: date, last: date, unit: Unit | None) -> Gap:
    start, end = first.isoformat(), last.isoformat()
    if unit is None:  # periods of one's own, such as quarters
        name = f"{start} to {end}"
        return Gap(name, name, 1, start, end)
    numbers = [_number(day, unit) for day in (first, last)]
    names = [describe(_first(number, unit), unit)[0] for number in numbers]
    return Gap(names[0], names[1], numbers[1] - numbers[0] + 1, start, end)


def _unit_of(*spans: tuple[date, date]) -> Unit | None:
    """The unit that all spans have the length of; None if there is none."""
    units: tuple[Unit, ...] = get_args(Unit)
    for unit in units:
        numbers = [_number(start, unit) for start, _ in spans]
        if [(_first(number, unit), _first(number + 1, unit) - ONE_DAY) for number in numbers] == list(spans):
            return unit
    return None


def _number(day: date, unit: Unit) -> int:
    """The number of the period that a day lies in; the next period has the next number."""
    days = day.toordinal()  # the first day of year 1 is a Monday, and has the number 1
    return {"day": days, "week": (days - 1) // 7, "month": 12 * day.year + day.month - 1}[unit]


def _first(number: int, unit: Unit) -> date:
    """The first day of a period."""
    if unit == "month":
        return date(number // 12, number % 12 + 1, 1)
    return date.fromordinal(7 * number + 1 if unit == "week" else number)


def day_of(text: str | None) -> date | None:
    """A text as a day; None if it is none, or so late that no period could follow it."""
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        return None
    return day if day < date.max - timedelta(days=62) else None
