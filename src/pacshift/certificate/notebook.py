"""A certificate at a prompt and in a notebook: short, without arrays, however many classes there are."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.certificate.explain import filled, guarantee_in_words, notes_shown, sets_in_words
from pacshift.certificate.label_shift import implied_change, what_the_test_saw
from pacshift.methods.guarantee import MEANINGS
from pacshift.rows.sets import mean_and_empty
from pacshift.words.display import MAX_ROWS, html_paragraphs, html_table, one_line
from pacshift.words.numbers import between, mean_size, percent

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

MAX_NOTES_IN_NOTEBOOK = 5
"""What fits below the table; ``explain`` shows more."""
MAX_SIZES_SHOWN = 4
"""Sizes of sets that fit a line."""


def to_text(certificate: "Certificate") -> str:
    """Five lines: method, promise, data, sets, notes."""
    n_notes = len(certificate.reasons) + len(certificate.notes)
    return "\n".join(
        [
            f"Certificate of {certificate.method}, {len(certificate.classes)} classes",
            f"  promise: {filled(MEANINGS[certificate.guarantee].one_line, certificate)}",
            f"  data:    {certificate.n_source:,} source rows, {certificate.n_target:,} target rows",
            f"  sets:    {_sets_in_short(certificate)}",
            f"  notes:   {n_notes}; explain() says everything in words",
        ]
    )


def _sets_in_short(certificate: "Certificate") -> str:
    sizes = certificate.set_sizes
    if certificate.trivial:
        return "every set contains all labels"
    if sizes is not None and sizes.sum():
        size, empty = mean_and_empty(sizes)
        return f"{mean_size(size)} labels on average, {percent(empty)} of the target's sets are empty"
    low, high = certificate.thresholds.min(), certificate.thresholds.max()
    return f"labels with a score of at least {low:.4g}" + ("" if low == high else f" to {high:.4g}, by class")


def to_html(certificate: "Certificate") -> str:
    """The guarantee in words, one table of classes, the notes. Everything is escaped."""
    change = implied_change(certificate)
    before = [
        guarantee_in_words(certificate),
        change and f"Implied change: {change}",
        what_the_test_saw(certificate, briefly=True),
        f"Data: {certificate.n_source:,} source rows, {certificate.n_target:,} target rows.",
        sets_in_words(certificate),
        _sizes(certificate),
    ]
    after = notes_shown(certificate, MAX_NOTES_IN_NOTEBOOK)
    above = html_paragraphs(list(filter(None, before)))
    return f"<div>{above}{_class_table(certificate)}{html_paragraphs(after)}</div>"


def _sizes(certificate: "Certificate") -> str:
    """How many labels the sets of the target hold: the mean, and the sizes that are most frequent, in order."""
    sizes = certificate.set_sizes
    if sizes is None or not sizes.sum():
        return ""
    shown = sorted(np.argsort(-sizes, kind="stable")[:MAX_SIZES_SHOWN].tolist())
    parts = [f"{percent(sizes[size] / sizes.sum())} with {size or 'no'}" for size in shown if sizes[size]]
    others = "; other sizes are rarer" if np.count_nonzero(sizes) > MAX_SIZES_SHOWN else ""
    mean = mean_size(mean_and_empty(sizes)[0])
    return f"Sets of the target: {mean} labels on average, {', '.join(parts)}{others}."


def _class_table(certificate: "Certificate") -> str:
    """Mix, thresholds and misses of each class; with many classes of those that may be missed most."""
    shown = np.arange(len(certificate.classes))
    if len(shown) > MAX_ROWS:
        missed = certificate.class_miss
        order = certificate.class_counts if missed is None else -missed.upper
        shown = np.argsort(order, kind="stable")[:MAX_ROWS]
    header = ["class", "share of the source", "share of the target", "threshold", "missed"]
    rows = [_class_row(certificate, label) for label in shown.tolist()]
    return html_table(header, rows, left_out=len(certificate.classes) - len(shown))


def _class_row(certificate: "Certificate", label: int) -> list[str]:
    cut, mix, missed = certificate.thresholds[label], certificate.prevalence, certificate.class_miss
    return [
        one_line(str(certificate.classes[label])),
        percent(certificate.class_counts[label] / max(certificate.n_source, 1)),
        "not bounded" if mix is None else between(mix.lower[label], mix.upper[label]),
        "in every set" if np.isneginf(cut) else f"{cut:.6g}",
        "not bounded" if missed is None else between(missed.lower[label], missed.upper[label]),
    ]
