"""Certificates and refusals to HTML: one file, nothing loaded from anywhere, no scripts."""

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes

from pacshift import plots
from pacshift.certificate import Certificate
from pacshift.certificate.file import to_document
from pacshift.comparison import ComparisonRow
from pacshift.errors import AssumptionError
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.plots.axes import MAX_CLASSES_SHOWN, class_height, readable
from pacshift.report.page import Picture, drawn, groups_picture, render, write_page
from pacshift.rows.sets import mean_and_empty
from pacshift.words.accepting import accepted_share
from pacshift.words.findings import LABELS_CERTIFY, OTHER_WAYS, too_small
from pacshift.words.numbers import all_but, capital, down, given, mean_size, one_of, percent, up
from pacshift.words.statements import (
    clean_part,
    filled,
    one_label_confidence,
    statements,
    tells_accuracy,
)

IN_SHORT = ("guarantee", "sizes", "assumption", "origin")
ACCEPTING_IN_SHORT = ("guarantee", "sets", "assumption", "origin")
"""Statements for readers who decide but do not calibrate."""

MAX_INPUTS_SHOWN = 10
"""Files named on the page; the certificate itself, also on the page, names more."""

MODEL_NOT_STATED = "Not stated: the certificate does not say which classifier the scores come from."

IN_TABLE = "The numbers are in the table of classes."
CURVE_ALT = (
    "How the bound of the target error rises with the share of labels missed on the source: a picture, not a "
    "second guarantee."
)
SENSITIVITY_ALT = "How the bound of the target error grows with the share of the target that is not label-shifted."


def write_report(
    certificate: Certificate,
    path: str | os.PathLike[str],
    *,
    comparison: Sequence[ComparisonRow] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a certificate as one HTML page that loads nothing and runs no scripts.

    Parameters
    ----------
    certificate : Certificate
        What the page is about, made by any method.
    path : path
        The file. It is written whole or not at all.
    comparison : sequence of ComparisonRow, optional
        Adds a table of methods run on the same data; ``compare_methods`` makes the rows.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the file exists and may not be replaced, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pacshift import Tally, calibrate
    >>> tally = Tally.from_scores([[0.8, 0.2], [0.3, 0.7]] * 100, [0, 1] * 100)
    >>> certificate = calibrate(tally, epsilon=0.1, delta=0.05, method="PS-LW")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(certificate, Path(folder) / "report.html")
    """
    write_page(render_report(certificate, comparison=comparison), path, overwrite=overwrite)


def render_report(certificate: Certificate, *, comparison: Sequence[ComparisonRow] | None = None) -> str:
    """Return the HTML page of ``write_report`` as text.

    Parameters
    ----------
    certificate : Certificate
        What the page is about, made by any method.
    comparison : sequence of ComparisonRow, optional
        Adds a table of methods run on the same data.

    Returns
    -------
    str

    Examples
    --------
    >>> from pacshift import Tally, calibrate
    >>> tally = Tally.from_scores([[0.8, 0.2], [0.3, 0.7]] * 100, [0, 1] * 100)
    >>> page = render_report(calibrate(tally, epsilon=0.1, delta=0.05, method="PS-LW"))
    >>> page[:15], "Guaranteed on the target" in page
    ('<!doctype html>', True)
    """
    certificate = certificate.with_curves()
    everything = statements(certificate, most_notes=None)
    said = [replace(one, text=readable(one.text, longest=4000)) for one in everything]
    by_name, meant = {one.name: one for one in said}, MEANINGS[certificate.guarantee]
    # What is promised, about whom, on which assumption, and until when; where there is nothing to tell, that.
    in_short = ACCEPTING_IN_SHORT if certificate.accepts else IN_SHORT
    short = ("sets", "origin") if certificate.trivial else in_short
    each = "The top label of a case is accepted, or a person is asked." if certificate.accepts else (
        "Each case gets a set of possible labels."
    )  # fmt: skip
    first, *rest = (by_name[name] for name in short if name in by_name)
    return render(
        "page.html",
        certificate=certificate,
        said=by_name,
        in_short=" ".join([each, capital(first.text), *map(str, rest)]),
        notes=[one.text for one in said if one.name == "note"],
        tone="limited" if certificate.trivial else meant.tone,
        badge="Correct but uninformative" if certificate.trivial else capital(meant.title),
        how_sure=filled(meant.how_sure, certificate),
        method=readable(certificate.method),
        key_figures=key_figures(certificate),
        clean_part=clean_part(certificate),
        promises_target=promises_target(certificate),
        threshold_shown=threshold_shown,
        pictures=drawn(_pictures(certificate)),
        most=MAX_CLASSES_SHOWN,
        comparison=list(comparison or ()),
        size_note=_size_note(certificate, comparison or ()),
        meanings=MEANINGS,
        origin=_origin(certificate),
        # Escaped once here as JSON (never a lone surrogate) and once more by the template as HTML.
        document=json.dumps(to_document(certificate), indent=1),
    )


@dataclass(frozen=True)
class KeyFigure:
    """A number worth a card: ``value`` exact, ``shown`` rounded."""

    name: str
    shown: str
    value: float
    note: str = ""


def key_figures(certificate: Certificate) -> list[KeyFigure]:
    """The numbers a reader looks for first."""
    epsilon, delta, n_classes = certificate.epsilon, certificate.delta, len(certificate.classes)
    figures = [
        KeyFigure("allowed to miss (ε)", given(epsilon), epsilon, f"so {all_but(epsilon)} hit"),
        KeyFigure("chance to be misled (δ)", given(delta), delta, "by the calibration data"),
    ]
    counts = certificate.set_sizes
    if certificate.accepts:
        share = accepted_share(certificate) or 0.0
        return [
            KeyFigure("allowed to be wrong", given(epsilon), epsilon, "of what is accepted"),
            figures[1],
            KeyFigure("accepted", percent(share), share, "of target cases"),
        ]
    if counts is not None and counts.sum():
        (mean, empty), single = mean_and_empty(counts), float(counts[1] / counts.sum())
        figures += [
            KeyFigure("labels in a set", mean_size(mean), mean, f"on average, of {n_classes}"),
            KeyFigure("sets with one label", percent(single), single, "of target cases"),
            KeyFigure("empty sets", percent(empty), empty, "of target cases"),
        ]
    most, least = certificate.one_label_error, certificate.accuracy
    if most is not None:
        sure = f"of sets with one label; confidence {one_label_confidence(certificate)}"
        figures.append(KeyFigure("wrong if one label", f"≤ {up(most)}", most, sure))
    if least is not None and tells_accuracy(least, certificate.prevalence, n_classes):
        whose = "its top label, on the target"
        figures.append(KeyFigure("classifier’s accuracy", f"≥ {down(least)}", least, whose))
    return figures


def _size_note(certificate: Certificate, comparison: Sequence[ComparisonRow]) -> str:
    """Why the comparison shows another mean size for this method than the card at the top, where it does."""
    counts = certificate.set_sizes
    if counts is None or not counts.sum():
        return ""
    card, own = (
        mean_size(mean_and_empty(counts)[0]),
        [one for one in comparison if one.method == certificate.method],
    )
    if {mean_size(row.size) for row in own if row.size is not None} <= {card}:
        return ""
    return (
        f"The {card} labels in a set at the top are the mean over the {counts.sum():,} target cases that were "
        "calibrated on. This table was measured on other cases, or on a whole population."
    )


def _origin(certificate: Certificate) -> list[tuple[str, str]]:
    """When and by what the certificate was made, for which model and from which data: terms and what they say."""
    made = certificate.provenance
    version = f", version {certificate.facts.version} of the method" if certificate.facts.version else ""
    said = {
        "Certificate made": f"{made.created} with pacshift {made.pacshift_version}{version}",
        "By which code": made.code or "not known",
        "Model": made.model_id or MODEL_NOT_STATED,
        "Valid until": made.valid_until,
        "Note of the maker": made.note,
        "Seed": str(made.seed),
    }
    found = [(term, value) for term, value in said.items() if value is not None]
    for one in [one for one in made.inputs if one.name is not None][:MAX_INPUTS_SHOWN]:
        rows = "" if one.rows is None else f", {one.rows:,} rows counted"
        left_out = f", left out: {one.left_out_in_words}" if one.left_out else ""
        found.append((f"Read as {one.role}", f"{one.name}{rows}{left_out}, SHA-256 {one.sha256 or 'unknown'}"))
    return found


def threshold_shown(cut: float, accepts: bool = False) -> str:
    """A threshold in the table of classes.

    >>> threshold_shown(0.123456), threshold_shown(-math.inf), threshold_shown(math.inf, True)
    ('0.1235', 'in every set', 'never accepted')
    """
    always, never = ("always accepted", "never accepted") if accepts else ("in every set", "in no set")
    return f"{cut:.4g}" if math.isfinite(cut) else always if cut < 0 else never


def _pictures(certificate: Certificate) -> dict[str, Picture]:
    """The pictures for which the certificate has numbers."""
    tall, sizes = class_height(min(len(certificate.classes), MAX_CLASSES_SHOWN)), certificate.set_sizes
    what = "the interval of its share" if certificate.prevalence is not None else "the share of predictions"
    mix = f"Share of each class on the source and {what} on the target. {IN_TABLE}"
    weights = f"Interval of the importance weight of each class. {IN_TABLE}"
    misses = f"Bounds of the share of each class that is missed. {IN_TABLE}"
    allowed, counted = f"{CURVE_ALT} The allowed error is {given(certificate.epsilon)}.", ""
    if sizes is not None and sizes.any():
        parts = [f"{percent(count / sizes.sum())} hold {size}" for size, count in enumerate(sizes) if count]
        more = f" and {len(parts) - 8} further sizes" if len(parts) > 8 else ""
        counted = f"Sizes of the target's sets: {', '.join(parts[:8])}{more}."
    every: list[tuple[str, Any, Callable[..., Axes], float, str]] = [
        ("mix", certificate, plots.label_mix, tall, mix),
        ("weights", certificate.weights, plots.weight_intervals, tall, weights),
        ("misses", certificate.class_miss, plots.class_misses, tall, misses),
        ("curve", certificate.curve, plots.bound_curve, 3.0, allowed),
        ("sensitivity", certificate.sensitivity, plots.sensitivity_curve, 3.0, SENSITIVITY_ALT),
        ("sizes", sizes, plots.set_sizes, 3.0, counted),
    ]
    pictures = {
        name: Picture(lambda figure, plot=plot: plot(certificate, ax=figure.subplots()), height, alt)  # type: ignore[misc]
        for name, numbers, plot, height, alt in every
        if numbers is not None
    }
    groups = {} if certificate.assumption is None else {"groups": groups_picture(certificate.assumption)}
    return pictures | groups


def write_refusal(error: AssumptionError, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a refusal as one HTML page that loads nothing and runs no scripts.

    Parameters
    ----------
    error : AssumptionError
        What ``calibrate`` raised.
    path : path
        The file. It is written whole or not at all.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the file exists and may not be replaced, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pacshift import AssumptionError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_refusal(AssumptionError("label shift is refuted."), Path(folder) / "refused.html")
    """
    write_page(render_refusal(error), path, overwrite=overwrite)


def render_refusal(error: AssumptionError) -> str:
    """Return the HTML page of ``write_refusal`` as text.

    Parameters
    ----------
    error : AssumptionError
        What ``calibrate`` raised.

    Returns
    -------
    str

    Examples
    --------
    >>> import pacshift
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500
    >>> try:
    ...     certificate = pacshift.calibrate(scores, labels, [[0.6, 0.4], [0.4, 0.6]] * 500)
    ... except pacshift.AssumptionError as refusal:
    ...     page = render_refusal(refusal)
    >>> page[:15], "pacshift.label_sheet(target, budget=400" in page
    ('<!doctype html>', True)
    """
    tested, attempt = error.assumption, error.attempt
    return render(
        "refusal.html",
        refusal=capital(error.refusal),
        labels_certify=LABELS_CERTIFY,
        tested=tested,
        pictures=drawn({} if tested is None else {"groups": groups_picture(tested)}),
        expected_sizes=error.expected_sizes,
        attempt=attempt,
        looks="" if attempt is None else one_of([f"{look:,}" for look in attempt.looks]),
        too_small="" if attempt is None or attempt.looks else f"{too_small(attempt)}.",
        other_ways=OTHER_WAYS if attempt is None else attempt.other_ways,
    )
