"""What a tally says if one row of each group was counted."""

from dataclasses import asdict, dataclass
from typing import Any

from pacshift.files.documents import is_count


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
    """

    rows: int
    parts: int = 1
    shared: int = 0

    def __add__(self, other: "Grouped") -> "Grouped":
        return Grouped(self.rows + other.rows, self.parts + other.parts, self.shared + other.shared)

    def to_json(self) -> dict[str, int]:
        """As it stands in a file."""
        return asdict(self)

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
        if not all(is_count(value) for value in asdict(found).values()) or not found.parts:
            raise ValueError(f"{document!r} where numbers of rows and groups belong")
        return found
