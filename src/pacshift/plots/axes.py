"""What all pictures share: colours, axes, bars, legends, and names that are drawn as they are.

There is one colour per meaning, the same in every picture, report and page. Colours stay apart for colour-blind
readers and in dark mode (``tests/test_plots.py``), and are never the only cue: marks differ in shape too.
"""

from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError, MissingExtraError
from pacshift.methods.guarantee import MEANINGS, Guarantee
from pacshift.words.visible import visible

try:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.plots", error, "plots") from None

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

MAX_CLASSES_SHOWN = 30  # more rows cannot be read; the table of the report has them all
WIDTH = 4.6  # inches: fits half a desktop page and a whole phone


def new_axes(ax: Axes | None, *, height: float, grid: str = "y") -> Axes:
    """The axes given, or new ones, with the grid that all pictures share."""
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    ax.grid(axis=grid, color=RULE, linewidth=0.6)  # type: ignore[arg-type]
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def row_axes(ax: Axes | None, names: list[str], **font: Any) -> Axes:
    """One row per name, the first on top."""
    ax = new_axes(ax, height=class_height(len(names)), grid="x")
    ax.set_yticks(range(len(names)), names, **font)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    return ax


def class_axes(ax: Axes | None, certificate: Certificate, shown: IntArray) -> Axes:
    """One row per class."""
    ax = row_axes(ax, [plain_text(certificate.classes[label]) for label in shown])
    if len(shown) < len(certificate.classes):
        ax.set_ylabel(f"the {len(shown)} largest of {len(certificate.classes)} classes")
    return ax


def class_height(rows: int) -> float:
    """Inches for a picture with one row per class."""
    return 1.1 + 0.24 * max(rows, 3)


def bars(
    ax: Axes, low: FloatArray, high: FloatArray, *, colour: str | list[str] = TARGET, label: str = ""
) -> None:
    """One horizontal bar per row: an interval."""
    ax.hlines(np.arange(len(low)), low, high, color=colour, linewidth=5, capstyle="butt", label=label)


def limit_line(ax: Axes, epsilon: float, label: str, *, vertical: bool = False) -> None:
    """The dashed line of what is allowed."""
    draw = ax.axvline if vertical else ax.axhline
    draw(epsilon, color=LIMIT, linestyle="--", linewidth=1.5, label=label)


def finish(ax: Axes, *, x: str = "", y: str = "", percent: str = "", columns: int = 2) -> Axes:
    """The axes with their names, shares as percentages on those in ``percent``, and a legend above."""
    for name in percent:
        percent_ticks(ax.xaxis if name == "x" else ax.yaxis)
    if x:  # on the right: long class names leave a narrow axis
        ax.set_xlabel(x, loc="center" if y else "right")
    if y:
        ax.set_ylabel(y)
    if columns:
        # Outside of the axes, anchored on the right, for the same reason.
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, frameon=False, borderaxespad=0.2,
                  handlelength=1.6, columnspacing=1.2)  # fmt: skip
    return ax


def percent_ticks(axis: Axis) -> None:
    """Shares on the axis as percentages, few enough not to touch each other."""
    axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))


def log_ticks(ax: Axes, *, steps: tuple[int, ...] = (1, 3), form: str = "g") -> None:
    """A logarithmic horizontal axis with numbers that people write."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=steps, numticks=8))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:{form}}"))


def plain_text(label: Label, longest: int = 24) -> str:
    """A class name that matplotlib draws as it is: no mathematics, no control characters, not too long.

    >>> plain_text("$x^2$"), plain_text("two" + chr(10) + "lines")
    ('\\\\$x^2\\\\$', 'two\\\\nlines')
    """
    return readable(label, longest).replace("$", r"\$")


def readable(label: Label, longest: int = 200) -> str:
    """A class name for people: cut where it grows long, and nothing in it is hidden."""
    text = str(label)
    return visible(text if len(text) <= longest else f"{text[: longest - 1]}…")


def need(value: Any, what: str, certificate: Certificate) -> Any:
    """The value itself, or an InputError where the certificate does not have it."""
    if value is None:
        raise InputError(f"this certificate of method {certificate.method} holds no {what}.")
    return value


def most_telling(importance: FloatArray, most: int) -> IntArray:
    """The classes that matter most, in their own order."""
    return np.sort(np.argsort(-importance, kind="stable")[:most])
