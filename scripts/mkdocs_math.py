"""MkDocs hook: turn TeX into MathML while building, so that pages need neither network nor JavaScript."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex (generic) leaves in the page.
INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)
# Docstrings write formulas as NumPy does; Markdown takes the directive for a paragraph.
DIRECTIVE = re.compile(r"<p>\.\. math::\s*(.+?)</p>", re.DOTALL)

LONGEST = 40
"""Characters of TeX that fit into a line of a phone."""


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula of a rendered page."""
    content = INLINE.sub(inline, content)
    return DIRECTIVE.sub(displayed, BLOCK.sub(displayed, content))


def inline(formula: re.Match[str]) -> str:
    """A formula within a line. A browser does not break it, so a long one may scroll by itself on a phone."""
    tex = html.unescape(formula[1]).strip()
    return f'<span class="long-formula">{convert(tex)}</span>' if len(tex) > LONGEST else convert(tex)


def displayed(formula: re.Match[str]) -> str:
    """A formula on a line of its own."""
    return f'<div class="arithmatex">{convert(html.unescape(formula[1]).strip(), display="block")}</div>'
