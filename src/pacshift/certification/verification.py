"""What is said of a certificate that was made again: the verdict, where it differs, what could not be compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pacshift.certificate import Certificate
from pacshift.certification.differences import Differences
from pacshift.words.display import short_repr

VerifyVerdict: TypeAlias = Literal["equal", "equal up to provenance", "different"]

MAX_SHOWN = 12
"""Differences in the text; ``differences`` holds all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Verification:
    """Whether a certificate follows from the data.

    Parameters
    ----------
    verdict : {"equal", "equal up to provenance", "different"}
        ``"equal"``: made again, all numbers and words are the same, and so are code and data as far as they are on
        record. ``"equal up to provenance"``: all numbers are the same, but the code or the files are others.
        ``"different"``: a number is another one, or nothing can be certified from these data.
    differences : tuple of str
        Which numbers or words differ, and how.
    provenance_differences : tuple of str
        What is on record about code and data, and is another one now.
    unverified : tuple of str
        What could not be compared: some fields are the maker's word.
    text : str
        All this in words.
    recomputed : Certificate or None
        The certificate that these data give; None if they refute label shift.

    Examples
    --------
    >>> from pacshift import calibrate, verify
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    >>> made = calibrate(scores, labels, None, method="PS-LW")
    >>> verify(made, scores, labels, None).verdict
    'equal'
    """

    verdict: VerifyVerdict
    differences: tuple[str, ...]
    provenance_differences: tuple[str, ...]
    unverified: tuple[str, ...]
    text: str
    recomputed: Certificate | None = field(repr=False)

    __repr__ = short_repr


_SAYS: dict[VerifyVerdict, Callable[[int], str]] = {
    "equal": lambda _n: "Made again from these data, the certificate is the same.",
    "equal up to provenance": lambda _n: (
        "Made again from these data, all numbers of the certificate are the same."
    ),
    "different": lambda n: (
        f"These data do not give this certificate: {n} {'difference' if n == 1 else 'differences'}."
    ),
}


def with_words(
    verdict: VerifyVerdict,
    differ: Differences,
    origin: Sequence[str],
    unverified: Sequence[str],
    found: Certificate | None,
) -> Verification:
    """The verdict and what it rests on, with all of it in words."""
    lines = [
        _SAYS[verdict](len(differ.numbers)),
        *(f"Differs: {each}." for each in differ.numbers[:MAX_SHOWN]),
        *([f"... and {len(differ.numbers) - MAX_SHOWN} more."] if len(differ.numbers) > MAX_SHOWN else []),
        *(f"Origin: {each}." for each in origin),
        *(f"Not verified: {each}." for each in unverified),
    ]
    return Verification(verdict, differ.numbers, tuple(origin), tuple(unverified), "\n".join(lines), found)
