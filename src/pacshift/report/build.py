"""Certificates and refusals to HTML: one file, nothing loaded from anywhere, no scripts."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from pacshift import plots
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.file import to_document
from pacshift.comparison import ComparisonRow
from pacshift.errors import AssumptionError
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.plots.axes import MAX_CLASSES_SHOWN, class_height
from pacshift.report.page import Picture, draw_all, groups_picture, render, write_page
from pacshift.words.findings import LABELS_CERTIFY, OTHER_WAYS, too_small
from pacshift.words.numbers import between, capital, given, one_of, percent
from pacshift.words.rules import outside, size_words, words_of
from pacshift.words.statements import rank_changes, statements

MAX_BARS = 4
"""Classes in a small picture of the first screen."""

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
    lines = statements(certificate, most_notes=None)
    meant, first = MEANINGS[certificate.guarantee], "sets" if certificate.trivial else "promise"
    by_key = {line.key: line for line in lines}
    return render(
        "page.html",
        certificate=certificate,
        said=by_key,
        headline=next(line.short for line in lines if line.key == first),
        # The short form; of the notes all, and of what follows from the data the line that says when it was made.
        lines=[line.short for line in lines if line.short and line.key not in ("note", first)]
        + [line.full for line in lines if line.key in ("note", "origin")],
        tone="limited" if certificate.trivial else meant.tone,
        badge="Uninformative" if certificate.trivial else capital(meant.title),
        bars=list(_list_bars(certificate, shows_change="change" in by_key)),
        promises_target=promises_target(certificate),
        words=words_of(certificate.rule),
        pictures=draw_all(_list_pictures(certificate)),
        most=MAX_CLASSES_SHOWN,
        comparison=list(comparison or ()),
        meanings=MEANINGS,
        # Escaped once here as JSON (never a lone surrogate) and once more by the template as HTML.
        document=json.dumps(to_document(certificate), indent=1),
    )


@dataclass(frozen=True)
class Bars:
    """A small picture of the first screen: bars, and a line at the ``limit``.

    A row is a name, a value in words, both ends of the bar, and a mark to compare it with. ``which`` says how rows
    are chosen among more classes.
    """

    title: str
    legend: str
    rows: Sequence[tuple[str, str, float, float, float | None]]
    which: str = ""
    scale: float = 1.0
    limit: float | None = None


def _list_bars(certificate: Certificate, *, shows_change: bool) -> Iterator[Bars]:
    """Label mix before and after, misses per class with the line at ε, and how many labels sets have."""
    mix, tested, words = certificate.prevalence, certificate.assumption, words_of(certificate.rule)
    names, around = list(map(str, certificate.classes)), outside(certificate)
    before = certificate.class_counts / max(certificate.n_source, 1)
    if mix is not None:
        legend = f"Bar: range in the target{around}. Mark: share in the source."
        rows = [
            (names[k], between(mix.lower[k], mix.upper[k]), mix.lower[k], mix.upper[k], before[k])
            for k in rank_changes(mix, before)[0][:MAX_BARS]
        ]
        yield Bars("Label mix.", legend, rows, "that changed most")
    elif shows_change and tested is not None:
        now, legend = tested.mix, "Bar: estimate for the target. Mark: share in the source."
        order = rank_changes(Interval(now, now), before)[0][:MAX_BARS]
        rows = [(names[k], f"about {percent(now[k])}", 0.0, now[k], before[k]) for k in order]
        yield Bars("Label mix.", legend, rows, "that changed most")
    errors = None if certificate.trivial else words.errors(certificate)
    if errors is not None:
        (title, legend), low, high, epsilon = words.bars, errors.lower, errors.upper, certificate.epsilon
        order = np.argsort(-high, kind="stable")[:MAX_BARS].tolist()
        rows = [(names[k], between(low[k], high[k]), low[k], high[k], None) for k in order]
        legend = f"{legend.format(outside=around)} Line: ε = {given(epsilon)} for all together."
        yield Bars(title, legend, rows, "with the highest bounds", words.scale(errors, epsilon), epsilon)
    if _has_sizes(certificate) and not certificate.trivial:
        title, legend, shares = words.shares(certificate)
        yield Bars(title, legend, [(name, percent(share), 0.0, share, None) for name, share in shares.items()])


def _has_sizes(certificate: Certificate) -> bool:
    return certificate.set_sizes is not None and bool(certificate.set_sizes.any())


def _list_pictures(certificate: Certificate) -> dict[str, Picture]:
    """The pictures for which the certificate has numbers."""
    what = "the interval of its share" if certificate.prevalence is not None else "the share of predictions"
    wanted: dict[str, tuple[Callable[..., Axes], str]] = {
        "mix": (plots.label_mix, f"Share of each class on the source and {what} on the target. {IN_TABLE}")
    }
    if certificate.class_miss is not None:
        wanted["misses"] = plots.class_misses, f"Bounds of the share of each class that is missed. {IN_TABLE}"
    if _has_sizes(certificate):
        wanted["sizes"] = plots.set_sizes, f"Sizes of the target's sets: {size_words(certificate.set_sizes)}"
    tall = class_height(min(len(certificate.classes), MAX_CLASSES_SHOWN))
    pictures = {
        name: Picture(
            lambda figure, plot=plot: plot(certificate, ax=figure.subplots()),  # type: ignore[misc]
            3.0 if name == "sizes" else tall,
            alt,
        )
        for name, (plot, alt) in wanted.items()
    }
    return pictures | groups_picture(certificate.assumption)


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
        pictures=draw_all(groups_picture(tested)),
        expected_sizes=error.expected_sizes,
        attempt=attempt,
        looks="" if attempt is None else one_of([f"{look:,}" for look in attempt.looks]),
        too_small="" if attempt is None or attempt.looks else f"{too_small(attempt)}.",
        other_ways=OTHER_WAYS,
    )
