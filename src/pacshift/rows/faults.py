"""Rows that cannot be used: how many, why, and where the first is."""

import re
from collections import Counter
from dataclasses import dataclass, field

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.scores.names import shorten
from pacshift.tally.once import why_in_words

BAD_SCORES = "scores that are null, NaN or infinite, or a list of another length"
NO_LABEL = "no label"
UNKNOWN = "unknown label"
NO_GROUP = "no group id"


@dataclass(slots=True)
class Faults:
    """Rows that cannot be used: how many, why, and where the first is. Adds up over batches in order."""

    n_rows: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first: str = ""
    n_unknown: int = 0
    first_unknown: str = ""

    def add(self, other: "Faults") -> None:
        """Count another batch's faults; it must come later in the table."""
        self.n_rows += other.n_rows
        self.reasons += other.reasons
        self.first = self.first or other.first
        self.n_unknown += other.n_unknown
        self.first_unknown = self.first_unknown or other.first_unknown

    def raise_if_any(self, classes: tuple[Label, ...], *, drop_invalid: bool, n_usable: int = 1) -> None:
        """Unknown labels are never dropped: to leave a class out changes what is estimated."""
        if self.n_unknown:
            is_number = re.match(r"'[-+]?[.0-9]", self.first_unknown)
            hint = " Names are compared as text: '01' and '1.0' are not 1." if is_number else ""
            raise InputError(
                f"{self.n_unknown} label(s) have no score column, the first is {self.first_unknown}. The classes "
                f"are {shorten(classes)}.{hint} Pass classes= with the label names, or fix the labels."
            )
        if self.n_rows and not n_usable:
            raise InputError(f"the table has no usable row: {self.in_words}. At least one example is needed.")
        if self.n_rows and not drop_invalid:
            raise InputError(f"{self.in_words}. Fix them, or leave them out with drop_invalid=True.")

    @property
    def in_words(self) -> str:
        """How many rows, why, and where the first is."""
        return (
            f"{self.n_rows} row(s) cannot be used{why_in_words(list(self.reasons.items()))}, the first is "
            f"{self.first}"
        )

    @property
    def why(self) -> tuple[tuple[str, int], ...]:
        """Reasons, each with its number of rows."""
        return tuple(sorted(self.reasons.items()))
