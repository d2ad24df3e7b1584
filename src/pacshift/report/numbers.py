"""The numbers of the page: key figures, thresholds, where the certificate comes from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pacshift.certificate import Certificate
from pacshift.certificate.accuracy import accuracy_in_words
from pacshift.certificate.one_label import one_label_confidence
from pacshift.comparison.table import ComparisonRow
from pacshift.rows.sets import mean_and_empty
from pacshift.tally.inputs import Input
from pacshift.words.numbers import all_but, down, given, mean_size, percent, up

MAX_INPUTS_SHOWN = 10
"""Files named on the page; the certificate itself, also on the page, names more."""


MODEL_NOT_STATED = "Not stated: the certificate does not say which classifier the scores come from."


@dataclass(frozen=True)
class KeyFigure:
    """A number worth a card: ``value`` exact, ``shown`` rounded."""

    name: str
    shown: str
    value: float
    note: str = ""


def key_figures(certificate: Certificate) -> list[KeyFigure]:
    """The numbers a reader looks for first."""
    covered = all_but(certificate.epsilon)
    figures = [
        KeyFigure("allowed to miss (ε)", given(certificate.epsilon), certificate.epsilon, f"so {covered} hit"),
        KeyFigure(
            "chance to be misled (δ)", given(certificate.delta), certificate.delta, "by the calibration data"
        ),
    ]
    counts = certificate.set_sizes
    if counts is not None and counts.sum():
        (mean, empty), single = mean_and_empty(counts), float(counts[1] / counts.sum())
        figures += [
            KeyFigure("labels in a set", mean_size(mean), mean, f"on average, of {len(certificate.classes)}"),
            KeyFigure("sets with one label", percent(single), single, "of target cases"),
            KeyFigure("empty sets", percent(empty), empty, "of target cases"),
        ]
    if certificate.one_label_error is not None:
        most, sure = certificate.one_label_error, one_label_confidence(certificate)
        figures.append(
            KeyFigure("wrong if one label", f"≤ {up(most)}", most, f"of sets with one label; confidence {sure}")
        )
    if certificate.accuracy is not None and accuracy_in_words(certificate):
        shown = f"≥ {down(certificate.accuracy)}"
        figures.append(
            KeyFigure("classifier’s accuracy", shown, certificate.accuracy, "its top label, on the target")
        )
    return figures


def size_note(certificate: Certificate, comparison: Sequence[ComparisonRow]) -> str:
    """Why the comparison shows another mean size for this method than the card at the top, where it does."""
    counts = certificate.set_sizes
    if counts is None or not counts.sum():
        return ""
    card = mean_size(mean_and_empty(counts)[0])
    sizes = {
        mean_size(row.size) for row in comparison if row.method == certificate.method and row.size is not None
    }
    if sizes <= {card}:
        return ""
    return (
        f"The {card} labels in a set at the top are the mean over the {counts.sum():,} target cases that were "
        "calibrated on. This table was measured on other cases, or on a whole population."
    )


def origin(certificate: Certificate) -> list[tuple[str, str]]:
    """When and by what the certificate was made, for which model and from which data: terms and what they say."""
    made = certificate.provenance
    if made is None:
        return [("Model", f"{MODEL_NOT_STATED} It was made by an older version, which did not record it.")]
    version = f", version {certificate.facts.version} of the method" if certificate.facts.version else ""
    said = {
        "Certificate made": f"{made.created} with pacshift {made.pacshift_version}{version}",
        "By which code": made.code or "not known",
        "Model": made.model_id or MODEL_NOT_STATED,
        "Valid until": made.valid_until,
        "Note of the maker": made.note,
        "Seed": None if made.seed is None else str(made.seed),
    }
    files = [one for one in made.inputs if one.name is not None][:MAX_INPUTS_SHOWN]
    read = [(f"Read as {one.role}", _input(one)) for one in files]
    return [(term, value) for term, value in said.items() if value is not None] + read


def _input(one: Input) -> str:
    rows = "" if one.rows is None else f", {one.rows:,} rows counted"
    left_out = f", left out: {one.left_out_in_words}" if one.left_out else ""
    return f"{one.name}{rows}{left_out}, SHA-256 {one.sha256 or 'unknown'}"


def threshold_shown(cut: float) -> str:
    """A threshold in the table of classes.

    >>> threshold_shown(0.123456), threshold_shown(-math.inf), threshold_shown(math.inf)
    ('0.1235', 'in every set', 'in no set')
    """
    return f"{cut:.4g}" if math.isfinite(cut) else "in every set" if cut < 0 else "in no set"
