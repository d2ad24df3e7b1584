"""Certificate to HTML: one file, nothing loaded from anywhere, no scripts."""

import json
import os
from collections.abc import Callable, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes

from pacshift import plots
from pacshift.certificate import Certificate
from pacshift.certificate.explain import about_the_clean_part, clean_part, sets_in_words
from pacshift.certificate.file import to_document
from pacshift.certificate.groups import counted_groups
from pacshift.certificate.label_shift import implied_change
from pacshift.certificate.one_label import one_label_in_words
from pacshift.certificate.provenance import left_out_in_words
from pacshift.comparison.table import ComparisonRow
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.report import numbers, text
from pacshift.report.in_short import in_short
from pacshift.report.page import render, write_page
from pacshift.report.pictures import Picture, drawn, groups_picture
from pacshift.words.numbers import given, percent


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
    >>> from pacshift import Tally, calibrate_tally
    >>> tally = Tally.from_scores([[0.8, 0.2], [0.3, 0.7]] * 100, [0, 1] * 100)
    >>> certificate = calibrate_tally(tally, epsilon=0.1, delta=0.05, method="PS-LW")
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
    >>> from pacshift import Tally, calibrate_tally
    >>> tally = Tally.from_scores([[0.8, 0.2], [0.3, 0.7]] * 100, [0, 1] * 100)
    >>> page = render_report(calibrate_tally(tally, epsilon=0.1, delta=0.05, method="PS-LW"))
    >>> page[:15], "Guaranteed on the target" in page
    ('<!doctype html>', True)
    """
    certificate = certificate.with_curves()
    return render(
        "page.html",
        certificate=certificate,
        in_short=in_short(certificate),
        headline=text.headline(certificate),
        method=plots.readable(certificate.method),
        assumption=text.assumption(certificate),
        assumption_check=text.assumption_check(certificate),
        implied_change=plots.readable(implied_change(certificate), longest=2000),
        key_figures=numbers.key_figures(certificate),
        one_label=one_label_in_words(certificate),
        sets=plots.readable(sets_in_words(certificate), longest=2000),
        clean_part=clean_part(certificate),
        groups=plots.readable(counted_groups(certificate), longest=2000),
        promises_target=promises_target(certificate),
        threshold_shown=numbers.threshold_shown,
        reasons=[plots.readable(note, longest=2000) for note in (*certificate.reasons, *certificate.notes)],
        pictures=_pictures(certificate),
        whose_misses=about_the_clean_part(certificate),
        most=plots.MAX_CLASSES_SHOWN,
        comparison=list(comparison or ()),
        size_note=numbers.size_note(certificate, comparison or ()),
        meanings=MEANINGS,
        left_out=plots.readable(left_out_in_words(certificate.provenance), longest=2000),
        origin=numbers.origin(certificate),
        # Escaped once here as JSON (never a lone surrogate) and once more by the template as HTML.
        document=json.dumps(to_document(certificate), indent=1),
    )


def _pictures(certificate: Certificate) -> dict[str, Markup]:
    """The pictures for which the certificate has numbers."""
    tall = plots.class_height(min(len(certificate.classes), plots.MAX_CLASSES_SHOWN))
    pictures = {"mix": _picture(plots.label_mix, certificate, tall, _mix_alt(certificate))}
    if certificate.weights is not None:
        pictures["weights"] = _picture(plots.weight_intervals, certificate, tall, WEIGHTS_ALT)
    if certificate.class_miss is not None:
        pictures["misses"] = _picture(plots.class_misses, certificate, tall, MISSES_ALT)
    if certificate.assumption is not None:
        pictures["groups"] = groups_picture(certificate.assumption)
    if certificate.curve is not None:
        allowed = f"{CURVE_ALT} The allowed error is {given(certificate.epsilon)}."
        pictures["curve"] = _picture(plots.bound_curve, certificate, 3.0, allowed)
    if certificate.sensitivity is not None:
        pictures["sensitivity"] = _picture(plots.sensitivity_curve, certificate, 3.0, SENSITIVITY_ALT)
    if certificate.set_sizes is not None:
        pictures["sizes"] = _picture(plots.set_sizes, certificate, 3.0, _sizes_alt(certificate))
    return drawn(pictures)


def _picture(plot: Callable[..., Axes], certificate: Certificate, height: float, alt: str) -> Picture:
    return Picture(lambda figure: plot(certificate, ax=figure.subplots()), height, alt)


WEIGHTS_ALT = "Interval of the importance weight of each class. The numbers are in the table of classes."
MISSES_ALT = "Bounds of the share of each class that is missed. The numbers are in the table of classes."
CURVE_ALT = (
    "How the bound of the target error rises with the share of labels missed on the source: a picture, not a "
    "second guarantee."
)
SENSITIVITY_ALT = "How the bound of the target error grows with the share of the target that is not label-shifted."


def _mix_alt(certificate: Certificate) -> str:
    what = "the interval of its share" if certificate.prevalence is not None else "the share of predictions"
    return f"Share of each class on the source and {what} on the target. The numbers are in the table of classes."


def _sizes_alt(certificate: Certificate) -> str:
    counts = certificate.set_sizes
    if counts is None or not counts.sum():
        return ""
    parts = [f"{percent(count / counts.sum())} hold {size}" for size, count in enumerate(counts) if count]
    more = f" and {len(parts) - 8} further sizes" if len(parts) > 8 else ""
    return f"Sizes of the target's sets: {', '.join(parts[:8])}{more}."
