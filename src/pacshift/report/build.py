"""Certificates and refusals to HTML: one file, nothing loaded from anywhere, no scripts."""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pacshift import plots
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.file import to_document
from pacshift.comparison import ComparisonRow
from pacshift.errors import AssumptionError
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.plots.axes import MAX_CLASSES_SHOWN, class_height, readable
from pacshift.report.page import Picture, draw_all, groups_picture, render, write_page
from pacshift.rows.sets import mean_and_empty
from pacshift.words.findings import LABELS_CERTIFY, OTHER_WAYS, too_small
from pacshift.words.numbers import between, capital, given, mean_size, one_of, percent
from pacshift.words.rules import outside, words_of
from pacshift.words.statements import most_changed, statements

MAX_BARS = 4
"""Classes in a small picture of the first screen."""

MAX_INPUTS_SHOWN = 10
"""Files named on the page; the certificate itself, also on the page, names more."""

MODEL_NOT_STATED = "Not stated: the certificate does not say which classifier the scores come from."

IN_TABLE = "The numbers are in the table of classes."


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
        Adds a table of methods run on the same data; ``pacshift.compare(...).rows``.
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
    >>> page[:15], "Promise about the target" in page
    ('<!doctype html>', True)
    """
    lines = [
        replace(line, short=readable(line.short, longest=4000), full=readable(line.full, longest=4000))
        for line in statements(certificate, most_notes=None)
    ]
    meant, first = MEANINGS[certificate.guarantee], "sets" if certificate.trivial else "promise"
    return render(
        "page.html",
        certificate=certificate,
        said={line.key: line for line in lines},
        headline=next(line.short for line in lines if line.key == first),
        # The short form; of the notes all, and of what follows from the data the line that says when it was made.
        lines=[line.short for line in lines if line.short and line.key not in ("note", first)]
        + [line.full for line in lines if line.key in ("note", "origin")],
        tone="limited" if certificate.trivial else meant.tone,
        badge="Uninformative" if certificate.trivial else capital(meant.title),
        method=readable(certificate.method),
        bars=_make_bars(certificate, {line.key for line in lines}),
        outside=outside(certificate),
        promises_target=promises_target(certificate),
        not_promised=words_of(certificate.rule).not_promised(certificate),
        threshold_shown=words_of(certificate.rule).threshold_shown,
        pictures=draw_all(_pictures(certificate)),
        most=MAX_CLASSES_SHOWN,
        comparison=list(comparison or ()),
        size_note=_size_note(certificate, comparison or ()),
        meanings=MEANINGS,
        origin=_origin(certificate),
        # Escaped once here as JSON (never a lone surrogate) and once more by the template as HTML.
        document=json.dumps(to_document(certificate), indent=1),
    )


@dataclass(frozen=True)
class Bar:
    """A row of a small picture: a range from ``low`` to ``high``, and a mark to compare it with."""

    name: str
    value: str
    low: float
    high: float
    mark: float | None = None
    marked: bool = False


@dataclass(frozen=True)
class Bars:
    """A small picture of the first screen."""

    title: str
    legend: str
    rows: Sequence[Bar]
    scale: float = 1.0
    limit: float | None = None
    more: str = ""


def _make_bars(certificate: Certificate, keys: Collection[str]) -> list[Bars]:
    """Label mix before and after, misses per class with the line at ε, and how many labels sets have."""
    names, mix, epsilon, pictures = certificate.classes, certificate.prevalence, certificate.epsilon, list[Bars]()
    before = certificate.class_counts / max(certificate.n_source, 1)

    def cut(which: str) -> str:
        return f"The {MAX_BARS} {which} of {len(names)} classes." if len(names) > MAX_BARS else ""

    def highest(title: str, legend: str, bounds: Interval, scale: float) -> Bars:
        """The labels with the highest bounds, the first of them marked, beside the line at ε."""
        low, high = bounds.lower, bounds.upper
        worst = np.argsort(-high, kind="stable")[:MAX_BARS].tolist()
        rows = [Bar(str(names[k]), between(low[k], high[k]), low[k], high[k], marked=k == worst[0]) for k in worst]
        legend += f" Line: ε = {given(epsilon)} for all together."
        return Bars(title, legend, rows, scale, epsilon, cut("highest bounds"))

    if mix is not None:
        rows = [
            Bar(str(names[k]), between(mix.lower[k], mix.upper[k]), mix.lower[k], mix.upper[k], before[k])
            for k in most_changed(mix, before)[0][:MAX_BARS]
        ]
        legend = f"Bar: range in the target{outside(certificate)}. Mark: share in the source."
        pictures.append(Bars("Label mix.", legend, rows, more=cut("that changed most")))
    elif "change" in keys and certificate.assumption is not None:
        now = certificate.assumption.mix
        order = most_changed(Interval(now, now), before)[0][:MAX_BARS]
        rows = [Bar(str(names[k]), f"about {percent(now[k])}", 0.0, now[k], before[k]) for k in order]
        legend = "Bar: estimate for the target. Mark: share in the source."
        pictures.append(Bars("Label mix.", legend, rows, more=cut("that changed most")))
    words, bounds = words_of(certificate.rule), None
    if not certificate.trivial:
        bounds = words.errors(certificate)
    if bounds is not None:
        title, legend = words.bars
        pictures.append(
            highest(title, legend.format(outside=outside(certificate)), bounds, words.scale(bounds, epsilon))
        )
    sizes = certificate.set_sizes
    if sizes is not None and sizes.any() and not certificate.trivial:
        title, legend, shares = words.shares(certificate)
        pictures.append(Bars(title, legend, _shares(shares)))
    return pictures


def _shares(shares: Mapping[str, float]) -> list[Bar]:
    return [Bar(name, percent(share), 0.0, share) for name, share in shares.items()]


def _size_note(certificate: Certificate, comparison: Sequence[ComparisonRow]) -> str:
    """Why the comparison shows another mean size for this method than the card at the top, where it does."""
    counts = certificate.set_sizes
    if counts is None or not counts.sum():
        return ""
    card = mean_size(mean_and_empty(counts)[0])
    sizes = [row.size for row in comparison if row.method == certificate.method]
    if {mean_size(size) for size in sizes if size is not None} <= {card}:
        return ""
    return (
        f"The {card} labels per set at the top are the mean over the {counts.sum():,} target cases that were "
        "calibrated on. This table was measured on other cases, or on a whole population."
    )


def _origin(certificate: Certificate) -> list[tuple[str, str]]:
    """When and by what the certificate was made, for which model and from which data: terms and what they say."""
    origin = certificate.provenance
    version = f", version {certificate.facts.version} of the method" if certificate.facts.version else ""
    facts = {
        "Certificate made": f"{origin.created} with pacshift {origin.pacshift_version}{version}",
        "By which code": origin.code or "not known",
        "Model": origin.model_id or MODEL_NOT_STATED,
        "Valid until": origin.valid_until,
        "Maker's note": origin.note,
        "Seed": str(origin.seed),
    }
    terms = [(term, value) for term, value in facts.items() if value is not None]
    for file in [each for each in origin.inputs if each.name is not None][:MAX_INPUTS_SHOWN]:
        rows = "" if file.rows is None else f", {file.rows:,} rows counted"
        left_out = f", left out: {file.left_out_in_words}" if file.left_out else ""
        terms.append((f"Read as {file.role}", f"{file.name}{rows}{left_out}, SHA-256 {file.sha256 or 'unknown'}"))
    return terms


def _pictures(certificate: Certificate) -> dict[str, Picture]:
    """The pictures for which the certificate has numbers."""
    tall, sizes = class_height(min(len(certificate.classes), MAX_CLASSES_SHOWN)), certificate.set_sizes
    what = "the interval of its share" if certificate.prevalence is not None else "the share of predictions"
    mix = f"Share of each class on the source and {what} on the target. {IN_TABLE}"
    weights = f"Bounds of the weight of each class. {IN_TABLE}"
    misses = f"Bounds of the share of each class that is missed. {IN_TABLE}"
    counted = ""
    if sizes is not None and sizes.any():
        parts = [f"{percent(count / sizes.sum())} hold {size}" for size, count in enumerate(sizes) if count]
        more = f" and {len(parts) - 8} further sizes" if len(parts) > 8 else ""
        counted = f"Sizes of the target's sets: {', '.join(parts[:8])}{more}."
    every: list[tuple[str, Any, Callable[..., Axes], float, str]] = [
        ("mix", certificate, plots.label_mix, tall, mix),
        ("weights", certificate.weights, plots.weight_intervals, tall, weights),
        ("misses", certificate.class_miss, plots.class_misses, tall, misses),
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
    ...     write_refusal(AssumptionError("label shift is rejected."), Path(folder) / "refused.html")
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
        pictures=draw_all({} if tested is None else {"groups": groups_picture(tested)}),
        expected_sizes=error.expected_sizes,
        attempt=attempt,
        looks="" if attempt is None else one_of([f"{look:,}" for look in attempt.looks]),
        too_small="" if attempt is None or attempt.looks else f"{too_small(attempt)}.",
        other_ways=OTHER_WAYS,
    )
