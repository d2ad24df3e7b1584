"""Verdicts: a token for programs, a word for people, and what it means. Kept and broken are said of promises."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verdict is called, how good it is, and what it means."""

    word: str
    tone: Literal["good", "limited", "bad"]
    meaning: str


VERDICTS = {
    # of `check` and `monitor`
    "kept": Verdict("kept", "good", "the promise is shown to be kept"),
    "not-proven": Verdict("not proven", "limited", "these rows cannot tell"),
    "broken": Verdict("broken", "bad", "more is missed than promised"),
    # of `check`
    "not-proven-within": Verdict(
        "within the promise, not proven yet", "limited", "no more is missed than promised"
    ),
    "not-proven-asked": Verdict("within epsilon, not proven yet", "limited", "no more is missed than asked"),
    "within-epsilon": Verdict("within epsilon", "good", "no more is missed than asked; no promise was made"),
    "above-epsilon": Verdict("above epsilon", "bad", "more is missed than asked; no promise was made"),
    "no-evidence": Verdict("no evidence", "bad", "these rows are not the target's"),
    # of `monitor`
    "shift-rejected": Verdict("label shift rejected", "bad", "nothing is promised for this period"),
    "no-rows": Verdict("no rows", "bad", "nothing arrived"),
    # of `verify`
    "match": Verdict("matches", "good", "same numbers, same files"),
    "match-other-files": Verdict("matches, other files", "limited", "same numbers"),
    "mismatch": Verdict("does not match", "bad", "other numbers"),
}
COLOURS = {"good": "green", "limited": "yellow", "bad": "red"}
"""Of tones, on a terminal."""


def word_of(verdict: str) -> str:
    """A verdict for people.

    >>> word_of("not-proven"), word_of("mismatch")
    ('not proven', 'does not match')
    """
    return VERDICTS[verdict].word
