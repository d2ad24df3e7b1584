"""Labelled rows of a period, which are or were the source of later reports."""

from dataclasses import dataclass

from pacshift.tally import Tally


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
