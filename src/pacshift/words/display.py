"""How results show themselves at a prompt and in a notebook: always short, whatever the number of classes."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

from pacshift.words.visible import visible

MAX_ROWS = 12
"""Rows of a table in a notebook; longer ones end with "... and N more"."""

MAX_VALUES = 6
"""Values of an array or list that a ``repr`` shows; longer ones are counted."""

MAX_CHARACTERS = 80
"""Length of a text in a ``repr`` or in a cell."""

_CELL = "text-align:left;padding:0.2em 0.8em 0.2em 0"


def short_repr(result: Any) -> str:
    """A dataclass on one line. Arrays and lists that are long are counted, not listed.

    >>> from pacshift import Interval
    >>> Interval(np.array([0.1, 0.25]), np.ones(7))
    Interval(lower=[0.1, 0.25], upper=<7 values>)
    """
    shown = (f"{each.name}={_short(getattr(result, each.name))}" for each in fields(result) if each.repr)
    return f"{type(result).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and (value.ndim != 1 or len(value) > MAX_VALUES):
        return f"<{' x '.join(map(str, value.shape))} values>"
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{each:.4g}' if value.dtype.kind == 'f' else str(each) for each in value)}]"
    if isinstance(value, (tuple, list, dict)) and len(value) > MAX_VALUES:
        return f"<{len(value)} values>"
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))}{',' if len(value) == 1 else ''})"
    if is_dataclass(value):
        return f"<{type(value).__name__}>"
    if isinstance(value, str) and len(value) > MAX_CHARACTERS:
        return f"{value[: MAX_CHARACTERS - 3]!r}..."
    return f"{value:.6g}" if isinstance(value, float) and not value.is_integer() else repr(value)


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns, one line per row.

    >>> print(text_table(["method", "size"], [["PS-LP", "1.21"], ["PS", "0.9"]]))
    method  size
    PS-LP   1.21
    PS      0.9
    """
    lines = [list(map(visible, line)) for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left_out: int = 0) -> str:
    """A table for a notebook. Every text is escaped; ``left_out`` rows are counted below it.

    >>> html_table(["class"], [["<b>"]], left_out=3)[-46:]
    '&lt;b&gt;</td></tr></table><p>… and 3 more</p>'
    """
    lines = [_html_row(header, "th"), *(_html_row(row, "td") for row in rows)]
    more = html_paragraphs([f"… and {left_out:,} more"] if left_out else [])
    return f"<table>{''.join(lines)}</table>{more}"


def html_paragraphs(texts: Iterable[str]) -> str:
    """One paragraph per text, escaped.

    >>> html_paragraphs(["a < b"])
    '<p>a &lt; b</p>'
    """
    return "".join(f"<p>{escape(visible(text))}</p>" for text in texts)


def one_line(text: str) -> str:
    """A text for a cell: cut where it grows long, and what would break or reorder the line is spelled out.

    >>> one_line("two\\nlines"), len(one_line("x" * 300))
    ('two\\\\nlines', 80)
    """
    shown = visible(text)
    return shown if len(shown) <= MAX_CHARACTERS else f"{shown[: MAX_CHARACTERS - 1]}…"


def _html_row(cells: Sequence[str], tag: str) -> str:
    line = "".join(f"<{tag} style='{_CELL}'>{escape(visible(cell))}</{tag}>" for cell in cells)
    return f"<tr>{line}</tr>"
