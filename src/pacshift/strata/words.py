"""A stratified certificate in plain words."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.methods.guarantee import MEANINGS
from pacshift.scores.check import shorten
from pacshift.strata.expansion import SHARES_OF_STRATA
from pacshift.words.numbers import MAX_LISTED, all_but, between, given, up
from pacshift.words.statements import MAX_NOTES

if TYPE_CHECKING:
    from pacshift.strata.certificate import StratifiedCertificate


def explain(certificate: "StratifiedCertificate") -> str:
    """What holds, for whom, with what confidence, under which assumption, from how much data."""
    first = certificate.certificates[0]
    n_source, n_target = (
        sum(getattr(one, name) for one in certificate.certificates) for name in ("n_source", "n_target")
    )
    lines = [
        f"Guarantee ({first.method}, by strata): {_guarantee(certificate)}",
        "Assumption: label shift within strata. Within each class of each stratum, target examples look like "
        "source examples; how frequent strata are, and classes within them, may have changed. Both samples are "
        f"independent draws. {first.facts.extra_assumption}".rstrip(),
        f"Known about the target, and relied on: {_known_in_words(certificate)}.",
        _test(certificate),
        f"Data: {n_source:,} labelled source examples, {n_target:,} unlabelled target examples, "
        f"{len(certificate.strata)} strata, {len(certificate.classes)} classes.",
        "Sets: all labels whose score is at least the label's own threshold in the row's stratum.",
        *_notes(certificate)[:MAX_NOTES],
    ]
    return "\n".join(lines)


def _guarantee(certificate: "StratifiedCertificate") -> str:
    limit = certificate.certificates[0].class_epsilon
    each = "every class of every stratum"
    said = MEANINGS[certificate.guarantee].sentence.format(
        covered=all_but(certificate.epsilon),
        cases=" of every stratum" if certificate.per_stratum else "",
        despite="",
        limit="" if limit is None else f", and misses at most {given(limit)} of {each}",
        sure=all_but(certificate.delta),
        others="",
    )
    more = (
        " All strata hold at once with this confidence."
        if certificate.per_stratum
        else " Strata are taken together: one of them may be missed more often (per_stratum=True limits each)."
    )
    return f"{said}{more} The strata are {shorten(certificate.strata)}; nothing is promised about others."


def _known_in_words(certificate: "StratifiedCertificate") -> str:
    """The bounds of the label mix that the user gave, stratum by stratum; of many strata the first."""
    known, parts = certificate.known_mix, []
    for stratum, name in enumerate(certificate.strata[:MAX_LISTED]):
        low, high = known.lower[stratum], known.upper[stratum]
        named = np.flatnonzero((low > 0) | (high < 1)).tolist()
        shares = [
            f"class {certificate.classes[label]!r} makes up {between(low[label], high[label])}" for label in named
        ]
        more = f" and {len(shares) - MAX_LISTED} more" if len(shares) > MAX_LISTED else ""
        parts.append(f"{', '.join(shares[:MAX_LISTED])}{more} of stratum {name!r}")
    left = len(certificate.strata) - len(parts)
    return "; ".join(parts) + (f"; and {left} more strata" if left else "")


def _test(certificate: "StratifiedCertificate") -> str:
    """What the test of label shift says, and how often it refuses without reason (docs/methods/strata.md)."""
    level = sum(one.assumption.level for one in certificate.certificates if one.assumption is not None)
    shares = 0.0 if certificate.per_stratum else SHARES_OF_STRATA * certificate.delta
    return (
        "Test of label shift within strata: not refuted. If it holds and the bounds above are right, the test "
        f"refuses with probability at most {up(level + shares)}. With strata the test notices less, so the "
        "promise rests on these bounds more than without."
    )


def _notes(certificate: "StratifiedCertificate") -> list[str]:
    strata = certificate.strata if certificate.per_stratum else ("",)
    return [
        f"Note: {f'stratum {stratum!r}: ' if certificate.per_stratum else ''}{note}"
        for stratum, one in zip(strata, certificate.certificates, strict=True)
        for note in (*one.notes, *one.reasons)
    ]
