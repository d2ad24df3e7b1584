"""Reports of certificates of every shape, rendered once for all tests that only read them."""

import re
from functools import cache
from html import unescape

from certificates import every_shape
from pacshift.report import ComparisonRow, render_report

ROWS = [
    ComparisonRow("PS-LW", "pac-target", 1.25, 0.0125, 0.0625),
    ComparisonRow("PS", "pac-source", 1.0, 0.0, 0.2),
    ComparisonRow("PS-W", "pac-target", None, note="refused: <b>label shift</b> is false"),
    ComparisonRow("PS-C", "pac-target", 5.0, 0.0, 0.0, trivial=True, note="too few"),
]


@cache
def every_page() -> dict[str, str]:
    """The page of each shape, with ``ROWS`` compared on it."""
    return {name: render_report(certificate, comparison=ROWS) for name, certificate in every_shape().items()}


def page_text(html: str) -> str:
    """What a reader sees, without the pictures and the JSON at the end."""
    html = re.sub(r"<(style|svg|details)\b.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
