"""Pictures that help to doubt: what the test of label shift saw, who is missed, what contamination would do."""

import numpy as np
from matplotlib.axes import Axes

from pacshift.arrays import IntArray
from pacshift.assumption import Assumption
from pacshift.certificate import Certificate
from pacshift.plots.axes import (
    MAX_CLASSES_SHOWN,
    bars,
    class_axes,
    legend_above,
    limit_line,
    most_telling,
    need,
    new_axes,
    percent_ticks,
    plain_text,
    row_axes,
)
from pacshift.plots.palette import LIMIT, SOURCE, TARGET, UNDECIDED
from pacshift.words.numbers import percent

MAX_GROUPS_SHOWN = 16
LONGEST_GROUP = 36
"""Groups and characters of their names: what can be read in half a page."""


def class_misses(certificate: Certificate, *, ax: Axes | None = None, most: int = MAX_CLASSES_SHOWN) -> Axes:
    """Draw the bounds of how often each class is missed, beside what is allowed for all cases together.

    Parameters
    ----------
    certificate : Certificate
        A certificate with ``class_miss``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    most : int
        Largest number of classes drawn; those that may be missed most are kept.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If the certificate has no bounds of the classes' misses.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
    >>> made = calibrate(scores, labels, scores, epsilon=0.1, delta=0.05, method="PS-LW")
    >>> class_misses(made).get_xlabel()
    'share of the class that is missed'
    """
    misses = need(certificate.class_miss, "bounds of the classes' misses", certificate)
    shown = most_telling(misses.upper, most)
    ax = class_axes(ax, certificate, shown)
    low, high, epsilon = misses.lower[shown], misses.upper[shown], certificate.epsilon
    colours = np.select([low > epsilon, high <= epsilon], [LIMIT, TARGET], UNDECIDED).tolist()
    bars(ax, low, high, colour=colours)
    for row, colour in enumerate(colours):  # ends: a narrow interval would be invisible without them
        ax.plot([low[row], high[row]], [row, row], "|", color=colour, markersize=9, markeredgewidth=2)
    limit_line(ax, epsilon, f"ε = {epsilon:g}, all cases", vertical=True)
    if certificate.class_epsilon is not None:
        ax.axvline(certificate.class_epsilon, color=LIMIT, linestyle=":", linewidth=1.5,
                   label=f"limit per class {certificate.class_epsilon:g}")  # fmt: skip
    ax.set_xlim(0, min(1.0, 1.08 * max(float(high.max(initial=0)), epsilon)))
    percent_ticks(ax.xaxis)
    ax.set_xlabel("share of the class that is missed", loc="right")
    legend_above(ax)
    return ax


def assumption_groups(
    certificate: Certificate | Assumption, *, ax: Axes | None = None, most: int = MAX_GROUPS_SHOWN
) -> Axes:
    """Draw how groups of target rows differ from what the best-fitting mix of the source's classes gives.

    Parameters
    ----------
    certificate : Certificate or Assumption
        A certificate with ``assumption``, or what the test saw: the ``assumption`` of an ``AssumptionError``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    most : int
        Largest number of groups drawn; those that differ most, for their size, are kept.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If label shift was not tested.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
    >>> made = calibrate(scores, labels, scores, epsilon=0.1, delta=0.05, method="PS-LW")
    >>> assumption_groups(made).get_xlabel()
    'observed minus explained, percentage points'
    """
    found: Assumption = certificate if isinstance(certificate, Assumption) else need(
        certificate.assumption, "test of label shift", certificate
    )  # fmt: skip
    shown = _telling_groups(found, most)
    ax = row_axes(ax, [_group_name(found, group) for group in shown.tolist()], fontsize=8.5)
    middle = found.explained[shown]
    low, high = 100 * (found.allowed.lower[shown] - middle), 100 * (found.allowed.upper[shown] - middle)
    bars(ax, low, high, colour=UNDECIDED, label="what chance allows")
    observed = 100 * (found.observed[shown] - middle)
    ax.plot(observed, np.arange(len(shown)), "D", color=TARGET, markersize=4.5, label="observed on the target")
    ax.axvline(0, color=SOURCE, linestyle="--", linewidth=1, zorder=0.5)
    ax.set_xlabel("observed minus explained, percentage points", loc="right")
    legend_above(ax)
    return ax


def _group_name(found: Assumption, group: int) -> str:
    """A group in few words, with its share of the target: long class names lose their middle, not the end."""
    text = found.groups[group].replace("predicted ", "", 1).replace(", confidence ", ", ", 1)
    if len(text) > LONGEST_GROUP:
        text = f"{text[: LONGEST_GROUP - 21]}…{text[-20:]}"
    return plain_text(f"{text}: {percent(found.observed[group], 2)}", LONGEST_GROUP + 12)


def _telling_groups(found: Assumption, most: int) -> IntArray:
    """The groups that differ most, in units of what chance allows, in their own order."""
    allowed = np.maximum(found.allowed.upper - found.allowed.lower, 1e-12)
    return most_telling(np.abs(found.observed - found.explained) / allowed, most)


def sensitivity_curve(certificate: Certificate, *, ax: Axes | None = None) -> Axes:
    """Draw how the bound of the target error grows with the share of the target that is not label-shifted.

    Parameters
    ----------
    certificate : Certificate
        A certificate with ``sensitivity``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If the certificate holds no sensitivity.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
    >>> made = calibrate(scores, labels, scores, epsilon=0.1, delta=0.05, method="PS-LW")
    >>> sensitivity_curve(made).get_ylabel()
    'missed on the target, at most'
    """
    what = "sensitivity to contamination (a file has it if certificate.with_curves() was saved)"
    found = need(certificate.with_curves().sensitivity, what, certificate)
    ax = new_axes(ax, height=3.0)
    ax.plot(found.contamination, found.bounds, "o-", color=TARGET, linewidth=2, markersize=4, label="bound")
    limit_line(ax, certificate.epsilon, f"promised ε = {certificate.epsilon:g}")
    ax.set_xlim(left=0)
    ax.set_ylim(0, min(1.0, 1.08 * max(float(found.bounds.max(initial=0.0)), certificate.epsilon)))
    percent_ticks(ax.xaxis)
    percent_ticks(ax.yaxis)
    ax.set_xlabel("share of the target that is not label-shifted")
    ax.set_ylabel("missed on the target, at most")
    legend_above(ax)
    return ax
