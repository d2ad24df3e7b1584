"""Which columns of a table a certificate was made from."""

from dataclasses import dataclass
from typing import Any


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

    def to_json(self) -> dict[str, Any]:
        """As it stands in a certificate file."""
        return {"scores": list(self.scores), "label": self.label, "group": self.group}

    @classmethod
    def from_json(cls, document: Any, n_classes: int) -> "Columns":
        """What a certificate file says, or a ValueError."""
        scores, label, group = document["scores"], document["label"], document["group"]
        texts = isinstance(scores, list) and all(isinstance(name, str) for name in scores)
        if not texts or len(set(scores)) != len(scores) or len(scores) not in (1, n_classes):
            raise ValueError(f"the score columns must be one list column or {n_classes} different columns")
        for what, name in (("label", label), ("group", group)):
            if not (name is None or isinstance(name, str)):
                raise ValueError(f"{name!r} where the name of the {what} column belongs")
        return cls(tuple(scores), label, group)
