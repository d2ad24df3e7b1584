"""What each guarantee means: facts about it, and its words. Every text about a guarantee is taken from here."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Guarantee: TypeAlias = Literal["pac-target", "pac-accepted", "pac-source", "marginal", "none"]
"""What a method promises: PAC on the target, PAC for what is accepted there, PAC on the source only, on average
over calibrations, nothing."""


class HasGuarantee(Protocol):
    """A method or a certificate."""

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""
        ...


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a guarantee says, at different lengths. ``words.statements.filled`` fills in the ``{...}``."""

    in_short: str
    """For the cell of a table."""
    title: str
    tone: Literal["good", "limited", "bad"]
    promises_target: bool
    one_line: str
    sentence: str
    how_sure: str
    assumption: str
    caveat: str
    """What a method does instead of guaranteeing that the error on the target is at most epsilon."""


_CONTAINS = "the set contains the true label for at least {covered} of the"
_CONFIDENCE = (
    "Confidence {sure} means: if the calibration were repeated with fresh data, at most {unsure} of the "
    "repetitions would give sets that fall short of this."
)
_LABEL_SHIFT = (
    "label shift. Within each class, target examples look like source examples; only how frequent the classes are "
    "has changed. Both samples are independent draws."
)
_RANDOM_SAMPLE = (
    "the labelled target examples are a random sample of the target: which ones were labelled had nothing to do "
    "with what they are. The source may be anything that does not hold these rows; nothing is assumed about how "
    "the target differs from it."
)
_NOTHING = "nothing is guaranteed, even if label shift holds."

MEANINGS: dict[Guarantee, Meaning] = {
    "pac-target": Meaning(
        in_short="target (PAC)",
        title="guaranteed on the target",
        tone="good",
        promises_target=True,
        one_line="misses at most {epsilon} of the target{cases}{and_limit}, with confidence {sure}, if "
        "{condition}",
        sentence=_CONTAINS
        + " target population{cases}{despite}{limit}, with confidence {sure} over the calibration "
        "data.{others}",
        how_sure=_CONFIDENCE,
        assumption=_LABEL_SHIFT,
        caveat="",
    ),
    "pac-accepted": Meaning(
        in_short="accepted (PAC)",
        title="guaranteed for what is accepted",
        tone="good",
        promises_target=True,
        one_line="at most {epsilon} of the accepted target cases{cases} are wrong, with confidence {sure}, if "
        "{condition}",
        sentence="of the cases of the target population{cases} whose top label is accepted, at most {epsilon} are "
        "wrong, with confidence {sure} over the calibration data. All other cases are left to a person.",
        how_sure="Confidence {sure} means: if the calibration were repeated with fresh data, at most {unsure} of "
        "the repetitions would accept more wrong labels than this.",
        assumption=_LABEL_SHIFT,
        caveat="",
    ),
    "marginal": Meaning(
        in_short="on average",
        title="guaranteed on average only",
        tone="limited",
        promises_target=True,
        one_line="misses at most {epsilon} of the target{cases} on average over many calibrations, if {condition}",
        sentence="on average over many calibrations, " + _CONTAINS + " target population{cases}{despite}. "
        "This one calibration may do worse.{limit_sentence}",
        how_sure="Nothing says by how much.",
        assumption=_LABEL_SHIFT,
        caveat="guarantees this only on average over many calibrations",
    ),
    "pac-source": Meaning(
        in_short="source only",
        title="guaranteed on the source only",
        tone="limited",
        promises_target=False,
        one_line="misses at most {epsilon} of the source{cases}, with confidence {sure}; nothing about the target",
        sentence=_CONTAINS + " source population{cases}, with confidence {sure} over the calibration data. "
        "Nothing is guaranteed on the target if the label mix differs.",
        how_sure=_CONFIDENCE,
        assumption="future cases come from the same population as the source.",
        caveat="guarantees this on the source only, not on a target with another label mix",
    ),
    "none": Meaning(
        in_short="nothing",
        title="no guarantee",
        tone="bad",
        promises_target=False,
        one_line="none, even if label shift holds",
        sentence=_NOTHING,
        how_sure="Check the sets with labelled target cases before you rely on them.",
        assumption=_NOTHING,
        caveat="does not guarantee this",
    ),
}
"""In the order in which legends list them."""


def condition(assumes_label_shift: bool) -> str:
    """What a promise about the target rests on, as the end of a sentence that goes on after "if"."""
    return "label shift holds" if assumes_label_shift else "the labelled target rows are a random sample of it"


def assumption(guarantee: Guarantee, *, assumes_label_shift: bool) -> str:
    """What a promise rests on, in full."""
    meaning = MEANINGS[guarantee]
    return meaning.assumption if assumes_label_shift or not meaning.promises_target else _RANDOM_SAMPLE


def promises_target(given: Guarantee | HasGuarantee) -> bool:
    """Whether anything is promised about the target, by a guarantee, a method or a certificate.

    >>> promises_target("marginal"), promises_target("pac-source")
    (True, False)
    """
    return MEANINGS[given if isinstance(given, str) else given.guarantee].promises_target
