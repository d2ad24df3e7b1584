"""MkDocs hook: the interactive picture of the first page, complete in the page itself.

Nothing is loaded from elsewhere, and it opens from the file system. Without JavaScript there is a table instead.
"""

import json
from html import escape
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).resolve().parents[1] / "docs" / "assets"
MARK = "<!-- try it -->"
SHOWN_SHARES, SHOWN_EPSILON = (0.1, 0.3, 0.5), 0.1  # in the table


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the picture where a page marks its place."""
    return markdown.replace(MARK, fragment()) if MARK in markdown else markdown


def fragment() -> str:
    """The picture as HTML: a table that needs nothing, the data, and the script that replaces the table."""
    text = (ASSETS / "try-it.json").read_text(encoding="utf-8").strip()
    data = json.loads(text)
    rows = []
    for share in SHOWN_SHARES:
        for method in data["methods"]:
            result = data["results"][f"{share:g} {SHOWN_EPSILON:g}"][method]
            cells = (percent(share), method, percent(result["error"]), f"{result['size']:.2f}")
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = ("heart disease in the target", "method", "sets without the true label", "labels per set")
    head = "".join(f"<th>{name}</th>" for name in heads)
    script = (ASSETS / "try-it.js").read_text(encoding="utf-8").strip()
    return "\n".join(
        [
            '<div class="try-it" id="try-it">',
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>",
            f"<p>{percent(SHOWN_EPSILON)} may be missed. The source has {percent(data['source_share'])}.</p>",
            f'<script type="application/json">{text.replace("<", chr(92) + "u003c")}</script>',
            f"<script>{one_line_free(script)}</script>",
            "</div>",
        ]
    )


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.0993), percent(0.3)
    ('9.9 %', '30 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def one_line_free(script: str) -> str:
    """A script without blank lines, at which Markdown would end the block of HTML."""
    return "\n".join(line for line in script.splitlines() if line.strip())
