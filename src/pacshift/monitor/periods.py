"""Periods and deliveries: which rows were counted in which period, and where they came from. Each counts once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pacshift.arrays import IntArray
from pacshift.errors import InputError, param
from pacshift.monitor.report import PeriodReport
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.tally.same_rows import rows_sha256


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """Rows of a period: those of one delivery, or all so far.

    ``set_sizes[s]`` counts the sets in use with s labels, and ``sized_by`` numbers their certificate; None where
    they were not counted.
    """

    name: str
    start: str | None
    end: str | None
    target: Tally
    set_sizes: IntArray | None = None
    sized_by: int = 0
    report: PeriodReport | None = None

    def plus(self, more: "Period") -> "Period":
        """The rows of both. Sizes that not all rows have under one certificate are dropped."""
        sized = self.set_sizes is not None and more.set_sizes is not None and self.sized_by == more.sized_by
        return replace(
            self,
            target=self.target + more.target,
            end=max(filter(None, (self.end, more.end)), default=None),
            set_sizes=self.set_sizes + more.set_sizes if sized else None,  # type: ignore[operator]
            sized_by=more.sized_by,
        )

    @property
    def is_reported(self) -> bool:
        """Whether the last report saw all rows."""
        return self.report is not None and self.report.rows == self.target.n_target


def in_order(periods: Iterable[Period]) -> list[Period]:
    """By their start, and those without one by their arrival."""
    return sorted(periods, key=lambda period: period.start or "")  # equal ones keep the order of arrival


@dataclass(frozen=True, slots=True)
class Delivery:
    """Rows that were counted together.

    ``name`` is the resolved path of their file and ``sha256`` that of its bytes; both are None for rows in memory.
    ``rows`` counts the unusable ones too. ``parts`` holds a digest of the rows of each period, and ``whole`` one
    of all rows, which may come again cut into other periods; None where there are too few to tell.
    """

    name: str | None
    sha256: str | None
    rows: int
    parts: Mapping[str, str | None] = field(default_factory=dict)
    whole: str | None = None

    @property
    def called(self) -> str:
        """What people call it."""
        return "an earlier update" if self.name is None else self.name

    def without(self, period: str) -> "Delivery":
        """The same without the rows of a period, which is counted anew."""
        left = {name: digest for name, digest in self.parts.items() if name != period}
        return replace(self, parts=left, whole=self.whole if len(left) == len(self.parts) else None)

    def repeats(self, known: Sequence["Delivery"]) -> dict[str, tuple[str, str]]:
        """The periods whose rows were counted before: in which delivery, and as which period."""
        seen = {digest: (one.called, name) for one in known for name, digest in one.parts.items() if digest}
        return {name: seen[digest] for name, digest in self.parts.items() if digest in seen}

    def require_only(self, period: str, known: Sequence["Delivery"]) -> None:
        """Refuse other new rows than those of a period that is counted anew, and the same rows twice."""
        repeats = self.repeats(known)
        new = [name for name in self.parts if name != period and name not in repeats]
        if new:  # they would be lost, or counted twice
            raise InputError(
                f"{param(f'replace={period!r}')}: {self.name} also holds rows of {shorten(new)} that were not "
                f"counted before, or in another form. Give the rows of {period} in files of their own."
            )
        if period in repeats:
            where, counted_as = repeats[period]
            raise InputError(
                f"{self.called}: the rows of {period} were counted before (as {counted_as}, from {where}). Name "
                "every file once."
            )

    def is_new(self, known: Sequence["Delivery"]) -> bool:
        """Whether rows are new; False if all of them were counted before. What might count twice is refused."""
        repeats, whole = self.repeats(known), self.whole
        if whole is not None and any(whole == one.whole or whole in one.parts.values() for one in known):
            return False  # in one delivery, or in one period of it
        if repeats and len(repeats) == len(self.parts):
            return False
        if repeats:
            name, (where, period) = next(iter(repeats.items()))
            what = "these rows" if self.name is None else self.name
            raise InputError(
                f"{what}: the rows of {name} were counted before (as {period}, from {where}), others were not. "
                "Give the new rows alone."
            )
        if self.name is not None and any(self.name == one.name and one.rows for one in known):
            raise InputError(
                f"{self.name} was counted before with other content, so some of its rows might be counted twice. "
                "Give new rows as a new file. Count a corrected period anew, from all of its rows, with "
                f"{param('replace=True')}."
            )
        return True


PeriodName: TypeAlias = Callable[[], str]
"""Says what a file is called as a period, where all of its rows are of one; an error if it cannot have a name."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedRows:
    """The rows of a delivery by period, how many rows there were, and how many of them were left out."""

    periods: Mapping[str, Period]
    n_rows: int
    n_dropped: int = 0
    digest: str | None = None
    """Of all rows, where one of each group and period was counted: other periods choose other rows."""

    def as_delivery(self, name: str | None, sha256: str | None) -> Delivery:
        """What to remember of the rows of a file. Neither their order nor the format of the file matters."""
        parts, whole = {name: rows_sha256(one.target, "target") for name, one in self.periods.items()}, self.digest
        if whole is None and parts:
            whole = rows_sha256(Tally.sum(one.target for one in self.periods.values()), "target")
        return Delivery(name, sha256, self.n_rows, parts, whole)


def period_name(file: Path, others: Iterable[Path], taken: Iterable[str]) -> str:
    """What a period is called that is a file: by its name, or by the folders that tell it from others of its name.

    All paths are resolved; ``taken`` are names of periods from elsewhere.

    >>> folders = [Path("/visits", month, "data.parquet") for month in ("month=2026-01", "month=2026-02")]
    >>> period_name(folders[0], folders, ()), period_name(Path("/visits/05.parquet"), folders, ())
    ('month=2026-01', '05')
    """
    name, alike = file.stem, [other for other in others if other.stem == file.stem and other != file]
    if alike:  # the last folders that no file of the same name shares
        folders = [file.parts[-1 - depth : -1] for depth in range(1, len(file.parts) - 1)]
        apart = [last for last in folders if all(other.parts[-1 - len(last) : -1] != last for other in alike)]
        if not apart:
            raise InputError(
                f"{file} and {alike[0]} would both be the period {name!r}, so their rows would be mixed. Rename "
                f"one of them, or name the time of each row: {param('timestamp=COLUMN')}."
            )
        name = "/".join(apart[0])
    if name in taken:
        raise InputError(
            f"{file}: there is a period {name!r} from another file already, so their rows would be mixed. Rename "
            f"the file, or name the time of each row: {param('timestamp=COLUMN')}."
        )
    return name
