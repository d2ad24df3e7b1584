"""Which periods are missing, and what they are called."""

from datetime import date, timedelta
from typing import Any

import pytest

from pacshift.monitor.calendar import Gap, describe, find_gaps, lies_in


def spans(unit: Any, *first: str) -> list[tuple[str, str]]:
    return [describe(date.fromisoformat(day), unit)[1:] for day in first]


def named(gaps: list[Gap]) -> list[tuple[str, str, int]]:
    return [(gap.first, gap.last, gap.periods) for gap in gaps]


def test_nothing_is_missing() -> None:
    assert find_gaps([]) == []
    assert find_gaps(spans("month", "2026-01-01", "2026-02-01", "2025-12-01")) == []
    assert find_gaps([(None, None), ("2026-01-01", None), ("2001", "3000"), ("3001", "4000")]) == []


def test_months_weeks_and_days() -> None:
    months = find_gaps(spans("month", "2026-07-01", "2025-11-01", "2026-01-01"))
    assert named(months) == [("2025-12", "2025-12", 1), ("2026-02", "2026-06", 5)]
    assert (months[1].start, months[1].end) == ("2026-02-01", "2026-06-30")
    assert named(find_gaps(spans("week", "2026-12-21", "2027-01-11"))) == [("2026-W53", "2027-W01", 2)]
    assert named(find_gaps(spans("day", "2028-02-28", "2028-03-01"))) == [("2028-02-29", "2028-02-29", 1)]


def test_periods_of_ones_own_have_gaps_too() -> None:
    quarters = [("2026-01-01", "2026-03-31"), ("2026-07-01", "2026-09-30")]
    assert named(find_gaps(quarters)) == [("2026-04-01 to 2026-06-30", "2026-04-01 to 2026-06-30", 1)]


def test_overlaps_are_no_gaps() -> None:
    assert find_gaps([("2026-01-01", "2026-12-31"), *spans("month", "2026-02-01", "2026-05-01")]) == []


@pytest.mark.parametrize(
    ("unit", "last", "until", "overdue"),
    [
        ("month", "2026-05-01", "2026-07-31", []),  # June may still come
        ("month", "2026-05-01", "2026-08-01", [("2026-06", "2026-06", 1)]),
        ("month", "2026-05-01", "2026-10-15", [("2026-06", "2026-08", 3)]),
        ("day", "2026-05-01", "2026-05-03", []),
        ("day", "2026-05-01", "2026-05-04", [("2026-05-02", "2026-05-02", 1)]),
        ("week", "2026-05-04", "2026-05-25", [("2026-W20", "2026-W20", 1)]),
        ("month", "2026-05-01", "2020-01-01", []),
    ],
)
def test_what_should_have_come(unit: Any, last: str, until: str, overdue: list[Any]) -> None:
    assert named(find_gaps(spans(unit, last), date.fromisoformat(until))) == overdue


def test_every_day_between_is_in_a_period_or_in_a_gap() -> None:
    known = spans("week", "2026-01-05", "2026-02-02", "2026-02-09", "2026-12-28")
    whole = known + [(gap.start, gap.end) for gap in find_gaps(known)]
    days = sum((date.fromisoformat(end) - date.fromisoformat(start)).days + 1 for start, end in whole)
    assert timedelta(days=days) == date(2027, 1, 4) - date(2026, 1, 5)


def test_a_gap_that_was_told_covers_its_parts() -> None:
    gap = Gap("2026-06", "2026-06", 1, "2026-06-01", "2026-06-30")
    assert lies_in(gap, [("2026-05-01", "2026-07-31")])
    assert not lies_in(gap, [("2026-06-02", "2026-07-31")])
    assert not lies_in(gap, [])
