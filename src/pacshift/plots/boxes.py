"""The paper's kind of picture: one box per method over repeated runs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from pacshift.arrays import FloatArray
from pacshift.plots.axes import legend_above, limit_line, new_axes, plain_text
from pacshift.plots.palette import TARGET, UNDECIDED


def boxes(
    values: Mapping[str, Sequence[float] | FloatArray],
    *,
    label: str = "prediction set error",
    epsilon: float | None = None,
    colours: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one box per method over repeated runs, as the paper draws error and size.

    A method without values is marked "refused".

    Parameters
    ----------
    values : mapping of str to sequence of float
        Errors or sizes of all runs, per method.
    label : str
        Label of the vertical axis.
    epsilon : float, optional
        Allowed error, drawn as a line.
    colours : mapping of str to str, optional
        Colour per method; default: all alike.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = boxes({"PS": [0.12, 0.13, 0.11], "PS-W": [0.05, 0.06, 0.05]}, epsilon=0.1)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['PS', 'PS-W']
    """
    ax = new_axes(ax, height=3.0, width=max(2.6, 1.2 + 0.5 * len(values)))
    data = [np.asarray(column, dtype=np.float64) for column in values.values()]
    drawn = ax.boxplot(data, widths=0.62, patch_artist=True, flierprops={"markersize": 2.5})
    for name, box, median in zip(values, drawn["boxes"], drawn["medians"], strict=True):
        box.set(facecolor=(colours or {}).get(name, TARGET), alpha=0.75, linewidth=0.8)
        median.set(color="white" if _is_dark(box.get_facecolor()) else "#111111", linewidth=1.2)
    for position, column in enumerate(data, start=1):
        if not len(column):
            ax.text(position, 0.5, "refused", transform=ax.get_xaxis_transform(), rotation=90, ha="center",
                    va="center", color=UNDECIDED)  # fmt: skip
    ax.set_xticks(range(1, len(data) + 1), [plain_text(name) for name in values], rotation=40, ha="right",
                  rotation_mode="anchor")  # fmt: skip
    ax.set_ylabel(label)
    if epsilon is not None:
        limit_line(ax, epsilon, f"ε = {epsilon:g}")
        ax.set_ylim(bottom=0)
        legend_above(ax)
    return ax


def _is_dark(colour: Sequence[float]) -> bool:
    """Whether black lines would vanish on a colour, by its luma."""
    red, green, blue, *_ = colour
    return 0.3 * red + 0.59 * green + 0.11 * blue < 0.3
