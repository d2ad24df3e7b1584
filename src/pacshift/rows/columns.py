"""Which columns of a table a certificate was made from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the labelled table: new tables must have the score columns under the same names.

    Parameters
    ----------
    scores : tuple of str
        One column per class, in the order of the classes, or the one column that holds lists.
    label : str or None
        Column of the true labels.
    group : str or None
        Column that names the group of each row, if one row of each group was counted.
    """

    scores: tuple[str, ...]
    label: str | None = None
    group: str | None = None

    @property
    def used(self) -> tuple[str | None, ...]:
        """All of them."""
        return (*self.scores, self.label, self.group)

    def _require_consistent(self) -> None:
        if len(set(self.scores)) != len(self.scores):
            raise ValueError("the score columns must differ")
