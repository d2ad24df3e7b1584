"""What was counted: files and arrays, each with a digest of its rows, so that no row counts twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pacshift.errors import InputError
from pacshift.monitor.periods import Counted
from pacshift.tally import Tally
from pacshift.tally.once import rows_sha256


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

    def without(self, *periods: str) -> "Delivery":
        """The same without the rows of some periods, which are counted anew."""
        left = {name: digest for name, digest in self.parts.items() if name not in periods}
        return replace(self, parts=left, whole=self.whole if len(left) == len(self.parts) else None)


def digests(counted: Mapping[str, Counted]) -> dict[str, str | None]:
    """A digest of the rows of each period; the order of rows and the format of the file do not matter."""
    return {name: rows_sha256(part.target, "target") for name, part in counted.items()}


def whole_digest(counted: Mapping[str, Counted]) -> str | None:
    """A digest of all rows, whichever periods they were cut into."""
    return rows_sha256(Tally.sum(part.target for part in counted.values()), "target") if counted else None


def is_repeated(whole: str | None, known: Sequence[Delivery]) -> bool:
    """Whether all of the rows were counted before, in one delivery or in one period of it."""
    return whole is not None and any(whole == one.whole or whole in one.parts.values() for one in known)


def find_repeats(parts: Mapping[str, str | None], known: Sequence[Delivery]) -> dict[str, tuple[str, str]]:
    """The periods whose rows were counted before: in which delivery, and as which period."""
    seen = {
        digest: (one.called, period) for one in known for period, digest in one.parts.items() if digest is not None
    }
    return {name: seen[digest] for name, digest in parts.items() if digest in seen}


def require_new(new: Delivery, known: Sequence[Delivery]) -> bool:
    """Whether rows are new; False if all of them were counted before. What might count rows twice is refused.

    Rows with keys are told apart one by one, and do not come here.
    """
    if is_repeated(new.whole, known):
        return False
    repeats = find_repeats(new.parts, known)
    what = "these rows" if new.name is None else new.name
    if repeats and len(repeats) == len(new.parts):
        return False
    if repeats:
        name, (where, period) = next(iter(repeats.items()))
        raise InputError(
            f"{what}: the rows of {name} were counted before (as {period}, from {where}), others were not. Give "
            "the new rows alone, or name the column that identifies a row from the first run on: key=COLUMN."
        )
    if new.name is not None and any(new.name == one.name for one in known):
        raise InputError(
            f"{new.name} was counted before with other content, so some of its rows might be counted twice. "
            "Count a corrected period anew, from all of its rows, with replace=True. To let a file grow, name "
            "the column that identifies a row from the first run on: key=COLUMN."
        )
    return True
