"""A certificate at a prompt and in a notebook: short, without arrays, however many classes there are."""

import numpy as np

from pacshift.certificate import Certificate
from pacshift.methods.guarantee import MEANINGS
from pacshift.rows.sets import mean_and_empty
from pacshift.words.display import MAX_ROWS, html_paragraphs, html_table, one_line
from pacshift.words.numbers import between, mean_size, percent
from pacshift.words.statements import filled, statements

MAX_NOTES_IN_NOTEBOOK = 5
"""What fits below the table; ``explain`` shows more."""

ABOVE = ("guarantee", "change", "test", "data", "sets", "sizes")
BELOW = ("note", "more notes")
"""Statements above and below the table of classes, which says the rest."""


def to_text(certificate: Certificate) -> str:
    """Five lines: method, promise, data, sets, notes."""
    sizes, cuts = certificate.set_sizes, certificate.thresholds
    if certificate.trivial:
        sets = "every set contains all labels"
    elif sizes is not None and sizes.sum():
        size, empty = mean_and_empty(sizes)
        sets = f"{mean_size(size)} labels on average, {percent(empty)} of the target's sets are empty"
    else:
        by_class = "" if cuts.min() == cuts.max() else f" to {cuts.max():.4g}, by class"
        sets = f"labels with a score of at least {cuts.min():.4g}{by_class}"
    n_notes = len(certificate.reasons) + len(certificate.notes)
    return "\n".join(
        [
            f"Certificate of {certificate.method}, {len(certificate.classes)} classes",
            f"  promise: {filled(MEANINGS[certificate.guarantee].one_line, certificate)}",
            f"  data:    {certificate.n_source:,} source rows, {certificate.n_target:,} target rows",
            f"  sets:    {sets}",
            f"  notes:   {n_notes}; explain() says everything in words",
        ]
    )


def to_html(certificate: Certificate) -> str:
    """The guarantee in words, one table of classes, the notes. Everything is escaped."""
    said = statements(certificate, most_notes=MAX_NOTES_IN_NOTEBOOK)
    above, below = (html_paragraphs(str(one) for one in said if one.name in names) for names in (ABOVE, BELOW))
    return f"<div>{above}{_class_table(certificate)}{below}</div>"


def _class_table(certificate: Certificate) -> str:
    """Mix, thresholds and misses of each class; with many classes of those that may be missed most."""
    mix, missed, shown = certificate.prevalence, certificate.class_miss, np.arange(len(certificate.classes))
    if len(shown) > MAX_ROWS:
        order = certificate.class_counts if missed is None else -missed.upper
        shown = np.argsort(order, kind="stable")[:MAX_ROWS]
    header = ["class", "share of the source", "share of the target", "threshold", "missed"]
    rows = [
        [
            one_line(str(certificate.classes[label])),
            percent(certificate.class_counts[label] / max(certificate.n_source, 1)),
            "not bounded" if mix is None else between(mix.lower[label], mix.upper[label]),
            "in every set" if np.isneginf(cut := certificate.thresholds[label]) else f"{cut:.6g}",
            "not bounded" if missed is None else between(missed.lower[label], missed.upper[label]),
        ]
        for label in shown.tolist()
    ]
    return html_table(header, rows, left_out=len(certificate.classes) - len(shown))
