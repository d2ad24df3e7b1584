"""The picture of a plan: how sets shrink with more rows."""

from matplotlib.axes import Axes

from pacshift.planning import Plan
from pacshift.plots.axes import legend_above, log_ticks, new_axes
from pacshift.plots.palette import TARGET, UNDECIDED


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
