"""CSV that a spreadsheet does not run: texts that look like formulas get an apostrophe in front."""

import re

FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"  # begins with a sign, yet is no formula


def escape_cell(text: str) -> str:
    """One text. One that has apostrophes in front already gets one more, so that no two texts become the same.

    >>> escape_cell("=1+1"), escape_cell("'=1+1"), escape_cell("-3.5"), escape_cell("wren")
    ("'=1+1", "''=1+1", '-3.5', 'wren')
    """
    risky = re.match(FORMULA, text) and not re.fullmatch(NUMBER[1:-1], text)
    return f"'{text}" if risky else text


def unescape_cell(text: str) -> str:
    """The text that ``escape_cell`` was given.

    >>> unescape_cell("'=1+1"), unescape_cell("''=1+1"), unescape_cell("'wren")
    ('=1+1', "'=1+1", "'wren")
    """
    inner = text[1:]
    return inner if text.startswith("'") and escape_cell(inner) == text else text
