"""Pictures of many runs: how sets shrink with more rows, and the paper's box per method."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from pacshift.arrays import FloatArray
from pacshift.planning import Plan
from pacshift.plots.axes import TARGET, UNDECIDED, legend_above, limit_line, log_ticks, new_axes, plain_text


def plan_curve(plan: Plan, *, ax: Axes | None = None) -> Axes:
    """Draw how the mean size of sets falls with the number of rows, and the plan's own point.

    Parameters
    ----------
    plan : Plan
        Made by ``pacshift.plan``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from pacshift import Population, plan
    >>> scores, labels = Population.synthetic(2, strength=4, rng=0).draw([0.8, 0.2], 1500, rng=1)
    >>> made = plan(scores, labels, epsilon=0.1, delta=0.05, target_mix=[0.5, 0.5], n_source=4000, n_target=900,
    ...             method="PS-LW")
    >>> plan_curve(made).get_xlabel()
    'labelled source rows'
    """
    ax = new_axes(ax, height=3.0)
    ax.plot(plan.curve_rows, plan.curve_sizes, "-", color=TARGET, linewidth=2, label="mean size")
    rows = getattr(plan, plan.curve_over)
    low, high = plan.interval
    if plan.found == "size":
        ax.vlines(rows, low, high, color=UNDECIDED, linewidth=4, label="about 90 % of cases")
    else:
        right = min(high, float(plan.curve_rows[-1]))
        ax.hlines(plan.size, low, right, color=UNDECIDED, linewidth=4, label="about 90 % of cases")
    ax.plot([rows], [plan.size], "o", color=TARGET, markersize=9, markeredgecolor="white", label="plan", zorder=3)
    wide = plan.curve_rows[-1] > 100 * plan.curve_rows[0]
    log_ticks(ax, steps=(1,) if wide else (1, 3), form=",.0f")
    ax.set_xlabel("labelled source rows" if plan.curve_over == "n_source" else "unlabelled target rows")
    ax.set_ylabel("labels in a set")
    legend_above(ax, columns=3)
    return ax


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
        red, green, blue, *_ = box.get_facecolor()
        is_dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.3  # by its luma: black lines would vanish
        median.set(color="white" if is_dark else "#111111", linewidth=1.2)
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
