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
    """

    scores: tuple[str, ...]
    label: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As it stands in a certificate file."""
        return {"scores": list(self.scores), "label": self.label}

    @classmethod
    def from_json(cls, document: Any, n_classes: int) -> "Columns":
        """What a certificate file says, or a ValueError."""
        scores, label = document["scores"], document["label"]
        texts = isinstance(scores, list) and all(isinstance(name, str) for name in scores)
        if not texts or len(set(scores)) != len(scores) or len(scores) not in (1, n_classes):
            raise ValueError(f"the score columns must be one list column or {n_classes} different columns")
        if not (label is None or isinstance(label, str)):
            raise ValueError(f"{label!r} where the name of the label column belongs")
        return cls(tuple(scores), label)
