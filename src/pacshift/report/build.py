"""Certificate to HTML: one file, nothing loaded from anywhere, no scripts."""

import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import jinja2
from markupsafe import Markup

from pacshift import plots
from pacshift.certificate import Certificate
from pacshift.certificate.explain import implied_change, known_shares, percent, share
from pacshift.certificate.file import to_document
from pacshift.comparison import ComparisonRow
from pacshift.files import atomic_write
from pacshift.report import text
from pacshift.report.pictures import picture
from pacshift.report.recipe import recipe

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("pacshift.report", "."),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(percent=percent, share=share, readable=plots.readable)


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
    html = render_report(certificate, comparison=comparison)
    with atomic_write(path, overwrite=overwrite) as draft:
        draft.write_text(html, encoding="utf-8")


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
    return ENVIRONMENT.get_template("page.html").render(
        certificate=certificate,
        verdict=text.verdict(certificate),
        limits=text.limits(certificate),
        method=plots.readable(certificate.method),
        assumption=text.assumption(certificate),
        doubts=text.doubts(certificate),
        assumption_check=text.assumption_check(certificate),
        implied_change=plots.readable(implied_change(certificate), longest=2000),
        known=plots.readable(known_shares(certificate), longest=2000),
        noticeable=[] if certificate.assumption is None else certificate.assumption.noticeable,
        blind_spots=text.BLIND_SPOTS if text.promises_target(certificate) else (),
        key_figures=text.key_figures(certificate),
        rule=text.rule(certificate),
        rows=text.class_rows(certificate),
        reasons=[plots.readable(note, longest=2000) for note in (*certificate.reasons, *certificate.notes)],
        pictures=_pictures(certificate),
        most=plots.MAX_CLASSES_SHOWN,
        comparison=list(comparison or ()),
        guarantees=text.GUARANTEES,
        version=version("pacshift"),
        origin=text.origin(certificate),
        recipe=recipe(certificate),
        # Escaped once here as JSON (never a lone surrogate) and once more by the template as HTML.
        document=json.dumps(to_document(certificate), indent=1),
    )


def _pictures(certificate: Certificate) -> dict[str, Markup]:
    """The pictures for which the certificate has numbers."""
    shown = min(len(certificate.classes), plots.MAX_CLASSES_SHOWN)
    tall = plots.class_height(shown)
    wanted: dict[str, tuple[Any, bool, float, str]] = {
        "mix": (plots.label_mix, True, tall, _mix_alt(certificate)),
        "weights": (
            plots.weight_intervals,
            certificate.weights is not None,
            tall,
            "Interval of the importance weight of each class. The numbers are in the table of classes.",
        ),
        "curve": (
            plots.bound_curve,
            certificate.curve is not None,
            3.0,
            "How the bound of the target error rises with the share of labels missed on the source: a picture, "
            f"not a second guarantee. The allowed error is {certificate.epsilon:g}.",
        ),
        "groups": (
            plots.assumption_groups,
            certificate.assumption is not None,
            plots.class_height(_groups_shown(certificate)),
            "Share of the target in groups of predicted label and confidence: observed, and what the label mix "
            "that fits best gives, with what chance allows.",
        ),
        "misses": (
            plots.class_misses,
            certificate.class_miss is not None,
            tall,
            "Bounds of the share of each class that is missed. The numbers are in the table of classes.",
        ),
        "sensitivity": (
            plots.sensitivity_curve,
            certificate.sensitivity is not None,
            3.0,
            "How the bound of the target error grows with the share of the target that is not label-shifted.",
        ),
        "sizes": (plots.set_sizes, certificate.set_sizes is not None, 3.0, _sizes_alt(certificate)),
    }
    return {
        name: picture(plot, certificate, name=name, alt=alt, height=height)
        for name, (plot, available, height, alt) in wanted.items()
        if available
    }


def _groups_shown(certificate: Certificate) -> int:
    return 0 if certificate.assumption is None else min(len(certificate.assumption.groups), plots.MAX_GROUPS_SHOWN)


def _mix_alt(certificate: Certificate) -> str:
    what = "the interval of its share" if certificate.prevalence is not None else "the share of predictions"
    return f"Share of each class on the source and {what} on the target. The numbers are in the table of classes."


def _sizes_alt(certificate: Certificate) -> str:
    counts = certificate.set_sizes
    if counts is None or not counts.sum():
        return ""
    parts = [f"{share(count / counts.sum())} hold {size}" for size, count in enumerate(counts) if count]
    more = f" and {len(parts) - 8} further sizes" if len(parts) > 8 else ""
    return f"Sizes of the target's sets: {', '.join(parts[:8])}{more}."
