"""MkDocs hook: what Markdown leaves undone when a page is set.

TeX becomes MathML while building, so that pages need neither network nor JavaScript. A percent sign stays on the
line of its number. Sentences that a command prints are broken into lines, tables are not.
"""

import html
import re
from typing import Any

import griffe
from latex2mathml.converter import convert

griffe.stdlib_decorators["pacshift.arrays.cached_property"] = {"cached", "property"}  # an attribute, no method

# What pymdownx.arithmatex (generic) leaves in the page.
INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)
# Docstrings write formulas as NumPy does; Markdown takes the directive for a paragraph.
DIRECTIVE = re.compile(r"<p>\.\. math::\s*(.+?)</p>", re.DOTALL)

LONGEST = 40
"""Characters of TeX that fit into a line of a phone."""
WIDEST = 62
"""Letters and signs that fit into a line at 1280 pixels in full size. Longer formulas are drawn smaller."""
TAG = re.compile(r"<[^>]+>")

AS_IT_IS = re.compile(r"(<(?P<kind>pre|code|math|svg)\b.*?</(?P=kind)>|<[^>]+>)", re.DOTALL)
"""Programs and what they print, formulas, pictures, and tags with their attributes."""
PERCENT = re.compile(r"(?<=\d)\s+%")
PRINTED = re.compile(r'<div class="language-text highlight">(.*?)</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula of a rendered page, and join percent signs to their numbers."""
    content = PRINTED.sub(wrap_output, INLINE.sub(inline, content))
    return join_percents(DIRECTIVE.sub(display_formula, BLOCK.sub(display_formula, content)))


def join_percents(content: str) -> str:
    """Put a space that does not break before each percent sign of the text."""
    pieces = AS_IT_IS.split(content)  # text, what is left as it is, its kind; text, ...
    texts = [PERCENT.sub("\N{NO-BREAK SPACE}%", text) for text in pieces[::3]]
    return "".join(part for pair in zip(texts, [*pieces[1::3], ""], strict=True) for part in pair)


def wrap_output(block: re.Match[str]) -> str:
    """What a command prints; a table has lines drawn between its cells, and scrolls by itself."""
    return block[0] if "│" in block[0] else block[0].replace("language-text", "language-text wrapped", 1)


def inline(formula: re.Match[str]) -> str:
    """A formula within a line. A browser does not break it, so a long one may scroll by itself on a phone."""
    tex = html.unescape(formula[1]).strip()
    return f'<span class="long-formula">{mathml(tex)}</span>' if len(tex) > LONGEST else mathml(tex)


def display_formula(formula: re.Match[str]) -> str:
    """A formula on a line of its own."""
    formula_html = mathml(html.unescape(formula[1]).strip(), display="block")
    signs = len(html.unescape(TAG.sub("", formula_html)))
    return f'<div class="arithmatex{" wide-formula" if signs > WIDEST else ""}">{formula_html}</div>'


def mathml(tex: str, display: str = "inline") -> str:
    """MathML of a formula. The converter leaves the backslash of ``\\Big\\{``."""
    return convert(tex, display=display).replace(r"\{", "{").replace(r"\}", "}")
