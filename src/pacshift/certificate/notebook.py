"""A certificate at a prompt and in a notebook: short, without arrays, however many classes there are."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.certificate.explain import (
    clean_part,
    guarantee_in_words,
    implied_change,
    notes_shown,
    sets_in_words,
)
from pacshift.display import MAX_ROWS, html_paragraphs, html_table, one_line
from pacshift.wording import all_but, between, given, mean_size, percent

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

MAX_NOTES_IN_NOTEBOOK = 5


def to_text(certificate: "Certificate") -> str:
    """Five lines: method, promise, data, sets, notes."""
    n_notes = len(certificate.reasons) + len(certificate.notes)
    return "\n".join(
        [
            f"Certificate of {certificate.method}, {len(certificate.classes)} classes",
            f"  promise: {_promise(certificate)}",
            f"  data:    {certificate.n_source:,} source rows, {certificate.n_target:,} target rows",
            f"  sets:    {_sets_in_short(certificate)}",
            f"  notes:   {n_notes}; explain() says everything in words",
        ]
    )


def _promise(certificate: "Certificate") -> str:
    """The promise on one line; ``explain`` says under which assumptions.

    >>> from pacshift import calibrate
    >>> _promise(calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, method="PS"))
    'misses at most 10 % of the source, with confidence 95 %; nothing about the target'
    """
    missed, sure = f"misses at most {given(certificate.epsilon)}", all_but(certificate.delta)
    cap = "" if certificate.class_epsilon is None else f" and {given(certificate.class_epsilon)} of every class"
    cap += clean_part(certificate) if cap else ""
    return {
        "pac-target": f"{missed} of the target{cap}, with confidence {sure}, if label shift holds",
        "pac-source": f"{missed} of the source, with confidence {sure}; nothing about the target",
        "marginal": f"{missed} of the target on average over many calibrations, if label shift holds",
        "none": "none",
    }[certificate.guarantee]


def _sets_in_short(certificate: "Certificate") -> str:
    sizes = certificate.set_sizes
    if certificate.trivial:
        return "every set contains all labels"
    if sizes is not None and sizes.sum():
        mean = float(sizes @ np.arange(len(sizes)) / sizes.sum())
        empty = percent(sizes[0] / sizes.sum())
        return f"{mean_size(mean)} labels on average, {empty} of the target's sets are empty"
    low, high = certificate.thresholds.min(), certificate.thresholds.max()
    return f"labels with a score of at least {low:.4g}" + ("" if low == high else f" to {high:.4g}, by class")


def to_html(certificate: "Certificate") -> str:
    """The guarantee in words, one table of classes, the notes. Everything is escaped."""
    change = implied_change(certificate)
    before = [
        guarantee_in_words(certificate),
        *([f"Implied change: {change}"] if change else []),
        f"Data: {certificate.n_source:,} source rows, {certificate.n_target:,} target rows.",
        sets_in_words(certificate),
    ]
    after = notes_shown(certificate, MAX_NOTES_IN_NOTEBOOK)
    return f"<div>{html_paragraphs(before)}{_class_table(certificate)}{html_paragraphs(after)}</div>"


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
