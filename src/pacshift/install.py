"""How pacshift is installed: one variable, for every message and page."""

PACKAGE = "."
"""What pip is given: a checkout, because pacshift is on no package index yet. On the day it is, write "pacshift"
here and run ``python scripts/install_line.py``, which brings the pages into line."""


def install_line(extra: str) -> str:
    """The end of a message about something that is not installed.

    >>> install_line("cli")
    "Install it, in your checkout of pacshift: pip install '.[cli]'"
    """
    where = ", in your checkout of pacshift" if PACKAGE == "." else ""
    return f"Install it{where}: pip install '{PACKAGE}[{extra}]'"
