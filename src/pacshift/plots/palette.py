"""One colour per meaning, the same in every picture, report and page.

They stay apart for colour-blind readers and in dark mode (``tests/test_plots_palette.py``), and are never the only
cue: marks differ in shape too.
"""

from typing import Any

from pacshift.methods.guarantee import MEANINGS, Guarantee

TARGET = "#0072b2"
"""What is known about the target, and promises that are kept."""
SOURCE = "#1c2430"
"""The source: its label mix, and promises that hold there only."""
LIMIT = "#c44f00"
"""What is allowed, and what is proven to exceed it."""
UNDECIDED = "#8a939c"
"""What the data leave open, and lines to compare with."""
RULE = "#d5dbe1"
"""Grid lines."""

PROMISE_MARKS: dict[Guarantee, tuple[str, dict[str, Any]]] = {
    "pac-target": (MEANINGS["pac-target"].title, {"marker": "o", "color": TARGET}),
    "marginal": (MEANINGS["marginal"].title, {"marker": "o", "color": TARGET, "markerfacecolor": "white"}),
    "pac-source": (MEANINGS["pac-source"].title, {"marker": "s", "color": SOURCE}),
    "none": (MEANINGS["none"].title, {"marker": "x", "color": UNDECIDED}),
}
"""How methods are marked by what they promise: words and the properties of a line."""
PROMISE_FILLS: dict[Guarantee, str] = {
    "pac-target": TARGET,
    "marginal": "#cfe3f2",
    "pac-source": SOURCE,
    "none": UNDECIDED,
}
"""The same for areas, where there is no mark: a promise on average is a light blue."""
