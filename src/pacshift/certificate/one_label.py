"""What a certificate says about sets with exactly one label, which readers take for certain."""

from typing import TYPE_CHECKING

from pacshift.words.numbers import all_but, given, up

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

ONE_LABEL_SHARE = 0.1
"""Chance that the shares of set sizes mislead us, as a share of δ and beside it. A round number; not measured."""


def one_label_in_words(certificate: "Certificate") -> str:
    """How often a set with one label is wrong, with its own confidence; "" where it is not known."""
    if certificate.one_label_error is None:
        return ""
    return (
        f"Sets with one label: at most {up(certificate.one_label_error)} of them are wrong, with confidence "
        f"{one_label_confidence(certificate)}. The {given(certificate.epsilon)} above are about all sets together."
    )


def one_label_confidence(certificate: "Certificate") -> str:
    """How sure the guarantee and the shares of set sizes are together (Lemma 7 of trust-proofs.md)."""
    return all_but((1 + ONE_LABEL_SHARE) * certificate.delta)
