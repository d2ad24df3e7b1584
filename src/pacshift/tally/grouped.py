"""What a tally says if one row of each group was counted."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from pacshift.files.documents import is_count

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
    labels_per: LabelsPer | None = None

    def __add__(self, other: "Grouped") -> "Grouped":
        return Grouped(self.rows + other.rows, self.parts + other.parts, self.shared + other.shared)

    def to_json(self) -> dict[str, int | str]:
        """As it stands in a file."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, document: Any) -> "Grouped":
        """What a file says, or a ValueError.

        Parameters
        ----------
        document : dict
            As ``to_json`` gives it.

        Returns
        -------
        Grouped
        """
        found = cls(**document)
        numbers = found.rows, found.parts, found.shared
        if (
            not all(map(is_count, numbers))
            or not found.parts
            or found.labels_per not in (None, *get_args(LabelsPer))
        ):
            raise ValueError(f"{document!r} where numbers of rows and groups belong")
        return found
