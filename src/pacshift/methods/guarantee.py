"""What each guarantee is called, in tables, legends and badges."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from pacshift.errors import param

Guarantee: TypeAlias = Literal["pac-target", "pac-source", "marginal", "none"]
"""What a method promises of its rule's errors: PAC on the target, PAC on the source only, on average over
calibrations, nothing."""


class HasGuarantee(Protocol):
    """A method or a certificate."""

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""
        ...


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a guarantee is called, and what it says of every method that has it."""

    in_short: str
    """For the cell of a table."""
    title: str
    tone: Literal["good", "limited", "bad"]
    promises_target: bool
    legend: str


MEANINGS: dict[Guarantee, Meaning] = {
    "pac-target": Meaning(
        in_short="target",
        title="promise about the target",
        tone="good",
        promises_target=True,
        legend="at most epsilon of the target missed, with confidence 1 - delta, if label shift holds (PS-T: if "
        "the labels are a random sample)",
    ),
    "marginal": Meaning(
        in_short="target, on average",
        title="promise on average only",
        tone="limited",
        promises_target=True,
        legend="the same, on average over many calibrations",
    ),
    "pac-source": Meaning(
        in_short="source",
        title="promise about the source only",
        tone="limited",
        promises_target=False,
        legend="at most epsilon of the source missed, with confidence 1 - delta",
    ),
    "none": Meaning(in_short="none", title="no promise", tone="bad", promises_target=False, legend="no promise"),
}
"""In the order in which legends list them."""

RANDOM_SAMPLE = (
    "The labelled rows are a random sample of the target: which rows were labelled had nothing to do with what "
    "they are. Their labels are right. Nothing is assumed about what has changed; the source may be anything that "
    "does "
    "not hold these rows."
)
"""What PS-T assumes instead of label shift."""


def promises_target(promise: Guarantee | HasGuarantee) -> bool:
    """Whether anything is promised about the target, by a guarantee, a method or a certificate.

    >>> promises_target("marginal"), promises_target("pac-source")
    (True, False)
    """
    return MEANINGS[promise if isinstance(promise, str) else promise.guarantee].promises_target


def needs_labels() -> str:
    """The end of a message about a method that was given no labelled target rows."""
    return f"needs labelled target rows: {param('target_labels=')} or {param('labelled=')}."
