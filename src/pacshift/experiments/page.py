"""One HTML page with every figure and table inside: it opens from disk, without server or network."""

import base64
from collections.abc import Sequence
from pathlib import Path

from pacshift.experiments.claims import check_claims
from pacshift.experiments.figures import heading
from pacshift.experiments.runner import PanelResult
from pacshift.experiments.summary import HEADINGS, cells, summarise
from pacshift.files.writing import atomic_write


def write_page(results: Sequence[PanelResult], figures: Path, path: Path, note: str) -> None:
    """Write the page; ``figures`` is the folder that ``write_figures`` filled."""
    import jinja2

    loader = jinja2.PackageLoader("pacshift.experiments", ".")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    panels = [
        {
            "id": result.panel.name,
            "name": result.name,
            "heading": heading(result),
            "figure": result.panel.figure,
            "image": base64.b64encode((figures / f"{result.panel.name}.png").read_bytes()).decode(),
            "rows": [{"above": s.above > 0, "cells": cells(s)[1:]} for s in summarise(result)],
        }
        for result in results
    ]
    claims = check_claims(results)
    text = environment.get_template("page.html").render(
        panels=panels, headings=HEADINGS[1:], claims=claims, note=note
    )
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8")
