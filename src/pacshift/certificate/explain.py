"""A certificate in plain words: guarantee, assumption, data, sets, notes."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.certificate.accuracy import accuracy_in_words
from pacshift.certificate.groups import groups_in_words, which_cases
from pacshift.certificate.label_shift import assumptions, implied_change, what_the_test_saw
from pacshift.certificate.one_label import one_label_in_words
from pacshift.certificate.provenance import left_out_in_words
from pacshift.methods.guarantee import MEANINGS, condition
from pacshift.scores.check import shorten
from pacshift.words.numbers import MAX_LISTED, all_but, between, given, percent

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

MAX_NOTE_SHOWN = 300
MAX_NOTES = 20
"""Characters of a note, and notes: what fits a screen. ``notes`` holds all of it."""


def explain(certificate: "Certificate") -> str:
    """What holds, for whom, with what confidence, under which assumption, from how much data."""
    change = implied_change(certificate)
    lines = [
        guarantee_in_words(certificate),
        change and f"Implied change: {change}",
        "" if certificate.guarantee == "none" else f"Assumption: {' '.join(assumptions(certificate))}",
        what_the_test_saw(certificate),
        _data(certificate),
        groups_in_words(certificate),
        left_out_in_words(certificate.provenance),
        sets_in_words(certificate),
        one_label_in_words(certificate),
        _class_misses(certificate),
        *notes_shown(certificate),
        accuracy_in_words(certificate),
        _origin(certificate),
    ]
    return "\n".join(filter(None, lines))


def notes_shown(certificate: "Certificate", most: int = MAX_NOTES) -> list[str]:
    """Reasons and notes, one line each. With many classes there may be a reason per class: the first are shown."""
    notes = (*certificate.notes, *certificate.reasons)  # notes are few, so they are never cut
    lines = [f"Note: {note}" for note in notes[:most]]
    left_out = len(notes) - len(lines)
    where = "certificate.reasons and certificate.notes hold them all"
    return [*lines, f"... and {left_out:,} more notes: {where}."] if left_out else lines


def _origin(certificate: "Certificate") -> str:
    """What the maker said about model, use and term, on one line. The file holds the rest."""
    made = certificate.provenance
    if (made.model_id, made.note, made.valid_until) == (None, None, None):
        return ""
    model = "" if made.model_id is None else f" for model {shorten([made.model_id])}"
    term = "" if made.valid_until is None else f" Valid until {made.valid_until}."
    # Quoted, as the model is: the command line makes flags of parameters outside of quotes.
    note = "" if made.note is None else f" Note of the maker: {' '.join(made.note.split())[:MAX_NOTE_SHOWN]!r}"
    return f"Made: {made.created} with pacshift {made.pacshift_version}{model}.{term}{note}"


def guarantee_in_words(certificate: "Certificate") -> str:
    """What is promised, about whom and with what confidence."""
    extra = certificate.facts.extra_assumption if certificate.guarantee == "none" else ""
    said = filled(MEANINGS[certificate.guarantee].sentence, certificate)
    return f"Guarantee ({certificate.method}): {said}{extra and f' {extra}'}"


def filled(text: str, certificate: "Certificate", **more: str) -> str:
    """A text of ``pacshift.methods.guarantee`` with the numbers of the certificate, and what ``more`` says.

    >>> from pacshift import calibrate
    >>> made = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, method="PS")
    >>> filled(MEANINGS[made.guarantee].one_line, made)
    'misses at most 10 % of the source, with confidence 95 %; nothing about the target'
    """
    sure, others = all_but(certificate.delta), may_all_be_missed(certificate)
    limits = dict.fromkeys(("and_limit", "limit", "limit_sentence", "others"), "")
    if certificate.class_epsilon is not None:
        most, part = given(certificate.class_epsilon), clean_part(certificate)
        limits = {
            "and_limit": f" and {most} of every class{part}",
            "limit": f", and misses at most {most} of every class{part}",
            "limit_sentence": f" No class{part} is missed more than {most}, with confidence {sure} over the "
            f"calibration data.{others}",
            "others": others,
        }
    other = "is not label-shifted at all" if certificate.facts.assumes_label_shift else "has no class"
    spared = f", even if up to {given(certificate.contamination)} of it {other}"
    return text.format(
        epsilon=given(certificate.epsilon),
        covered=all_but(certificate.epsilon),
        sure=sure,
        unsure=given(certificate.delta),
        condition=condition(certificate.facts.assumes_label_shift),
        despite=spared if certificate.contamination else "",
        cases=which_cases(certificate),
        **limits,
        **more,
    )


def clean_part(certificate: "Certificate") -> str:
    """What statements about classes are about where part of the target may be anything, with a blank in front."""
    if not certificate.contamination:
        return ""
    return " of the label-shifted part" if certificate.facts.assumes_label_shift else " among cases that have one"


def may_all_be_missed(certificate: "Certificate") -> str:
    """What is not promised of a class where part of the target may be anything: a sentence, with a blank in front.

    Section "A limit per class" of docs/methods/trust-proofs.md.
    """
    if not certificate.contamination:
        return ""
    if not certificate.facts.assumes_label_shift:
        return " Cases without a class are always missed."
    return f" A class's cases among the other {given(certificate.contamination)} may all be missed."


def _class_misses(certificate: "Certificate") -> str:
    """How often classes are missed: the ones that are missed most, with their bounds."""
    bounds = certificate.class_miss
    if bounds is None or certificate.trivial:
        return ""
    # Who changes the class balance wants to see what it does to every class.
    most = MAX_LISTED if certificate.options.get("class_balance", 3) == 3 else len(certificate.classes)
    order = np.lexsort((-bounds.upper, -bounds.lower))[:most].tolist()
    listed = ", ".join(
        f"class {certificate.classes[label]!r} {between(bounds.lower[label], bounds.upper[label])}"
        for label in order
    )
    first = "all classes" if len(certificate.classes) <= most else "the classes missed most"
    return (
        f"Missed, class by class ({first}): {listed}. These bounds hold together, with confidence "
        f"{all_but(certificate.delta)}, beside the guarantee.{about_the_clean_part(certificate)}"
    )


def about_the_clean_part(certificate: "Certificate") -> str:
    """Which cases bounds of the classes' misses are about, if not all of the target, with a blank in front."""
    if not certificate.contamination:
        return ""
    which = "label-shifted part" if certificate.facts.assumes_label_shift else "cases that have a class"
    return f" They are about the {which}.{may_all_be_missed(certificate)}"


def _data(certificate: "Certificate") -> str:
    rarest = int(np.argmin(certificate.class_counts))
    fewest = f"fewest: {certificate.class_counts[rarest]:,} of class {certificate.classes[rarest]!r}"
    return (
        f"Data: {certificate.n_source:,} labelled source examples ({fewest}), "
        f"{_target_rows(certificate)}, {len(certificate.classes)} classes.{_one_sample(certificate)}"
    )


def _target_rows(certificate: "Certificate") -> str:
    if not certificate.n_target_labels:
        return f"{certificate.n_target:,} unlabelled target examples"
    return f"{certificate.n_target:,} target examples, {certificate.n_target_labels:,} of them labelled"


def _one_sample(certificate: "Certificate") -> str:
    """What labels of the target cost, with a blank in front (docs/methods/ps-t.md, "One sample of labels")."""
    if not certificate.n_target_labels:
        return ""
    once = "one sample of target labels, looked at as planned: another sample, or another look, would spend it"
    return f" The chance to fail of {given(certificate.delta)} pays for {once} again."


def sets_in_words(certificate: "Certificate") -> str:
    """Which labels are in a set."""
    kind = "" if certificate.score == "probability" else f" {certificate.score}"
    kind = f" softmax{kind}" if certificate.softmax else kind
    if certificate.trivial:
        why = " The notes say why." if certificate.reasons else ""
        return f"Sets: every set contains all labels. This is always correct but never informative.{why}"
    thresholds = np.unique(certificate.thresholds)
    if len(thresholds) == 1:
        text = f"Sets: all labels whose{kind} score is at least {thresholds[0]:.6g}."
    else:
        always = [
            name for name, cut in zip(certificate.classes, certificate.thresholds, strict=True) if cut == -np.inf
        ]
        text = f"Sets: all labels whose{kind} score is at least the label's own threshold."
        text += f" In every set: {shorten(always)}." if always else ""
    return text + _empty_sets(certificate)


def _empty_sets(certificate: "Certificate") -> str:
    """What an empty set means, if there are any on the target, with a blank in front."""
    sizes = certificate.set_sizes
    if sizes is None or not sizes[0]:
        return ""
    return (
        f" {percent(sizes[0] / sizes.sum())} of the target's sets are empty: no label fits well. "
        "They count as misses, which the guarantee allows for. To put the top label into them, use "
        "never_empty=True; the guarantee stays."
    )
