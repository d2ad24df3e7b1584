"""One HTML page with every figure and table inside: it opens from disk, without server or network."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacshift.files.writing import atomic_write
from paper.experiments.claims import check_claims
from paper.experiments.figures import heading
from paper.experiments.runner import PanelResult
from paper.experiments.summary import HEADINGS, cells, summarise


def write_page(results: Sequence[PanelResult], figures: Path, path: Path, note: str) -> None:
    """Write the page; ``figures`` is the folder that ``write_figures`` filled."""
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
    content = {"panels": panels, "headings": HEADINGS[1:], "claims": check_claims(results), "note": note}
    with atomic_write(path) as draft:
        draft.write_text(render("paper.experiments", "page.html", content), encoding="utf-8")


def render(package: str, template: str, content: Mapping[str, Any]) -> str:
    """A page by the template of a package, with every text escaped."""
    import jinja2

    loader = jinja2.PackageLoader(package, ".")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(template).render(content)
