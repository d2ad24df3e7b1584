"""What a tally says if one row of each group was counted."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, get_args

from pacshift.files.codec import OrNull, choice

LabelsPer: TypeAlias = Literal["row", "group"]
"""How target rows in groups were chosen to be labelled (docs/methods/groups.md)."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """What is known of rows of which one per group was counted.

    Parameters
    ----------
    rows : int
        Rows in all, of which one per group was counted.
    parts : int
        Parts whose rows were chosen apart from each other and then added. A group must not be in two of them;
        nothing can check it, because a tally holds no names of groups.
    shared : int
        Groups of the target whose name is also one of the source, where both were at hand.
    labels_per : {"row", "group"} or None
        How target rows were chosen to be labelled, if ``calibrate`` had to be told.
    """

    rows: int
    parts: int = 1
    shared: int = 0
    labels_per: Annotated[LabelsPer | None, OrNull(choice(*get_args(LabelsPer)), absent=True)] = None

    def __add__(self, other: "Grouped") -> "Grouped":
        return Grouped(self.rows + other.rows, self.parts + other.parts, self.shared + other.shared)

    def _require_consistent(self) -> None:
        if not self.parts:
            raise ValueError("no part where groups were counted")
