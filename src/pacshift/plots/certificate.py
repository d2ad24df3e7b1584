"""Pictures of the numbers of a certificate: label mix, weights, thresholds, sizes of sets."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.plots.axes import (
    MAX_CLASSES_SHOWN,
    bars,
    class_axes,
    legend_above,
    limit_line,
    log_ticks,
    most_telling,
    need,
    new_axes,
    percent_ticks,
)
from pacshift.plots.palette import SOURCE, TARGET, UNDECIDED
from pacshift.words.numbers import percent

LARGEST_WEIGHT_SHOWN = 1e6  # no axis goes further
LARGEST_LINEAR_WEIGHT = 20.0  # beyond it the axis is logarithmic


def weight_intervals(certificate: Certificate, *, ax: Axes | None = None, most: int = MAX_CLASSES_SHOWN) -> Axes:
    """Draw how many times more frequent each class is on the target; 1 means no change.

    Parameters
    ----------
    certificate : Certificate
        A certificate whose method bounds the importance weights (PS-W, PS-C, PS-LP).
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    most : int
        Largest number of classes drawn; those with the largest weights are kept.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If the certificate has no intervals of the weights.

    Examples
    --------
    >>> from pacshift import Population, calibrate
    >>> population = Population.synthetic(["cat", "dog"], rng=0)
    >>> source, labels = population.draw([0.8, 0.2], 2000, rng=1)
    >>> target, _ = population.draw([0.3, 0.7], 2000, rng=2)
    >>> made = calibrate(source, labels, target, epsilon=0.1, delta=0.05, classes=["cat", "dog"])
    >>> [text.get_text() for text in weight_intervals(made).get_yticklabels()]
    ['cat', 'dog']
    """
    weights = need(certificate.weights, "importance-weight intervals", certificate)
    shown = most_telling(np.nan_to_num(weights.upper, posinf=np.finfo(float).max), most)
    ax = class_axes(ax, certificate, shown)
    largest = float(weights.upper[weights.upper < LARGEST_WEIGHT_SHOWN].max(initial=1.0))
    left = _weight_scale(ax, weights, largest)
    right = largest * (1.5 if left else 1.08)
    low, high = weights.lower[shown], weights.upper[shown]
    colours = [UNDECIDED if undecided else TARGET for undecided in (low <= 1) & (high >= 1)]
    bars(ax, np.clip(low, left, right), np.minimum(high, right), colour=colours)
    for row in np.flatnonzero(high > right):  # no upper bound: an arrow leaves the picture
        ax.plot([right], [row], ">", color=colours[row], clip_on=False, zorder=3)
    ax.set_xlim(left, right)
    ax.axvline(1, color=SOURCE, linestyle="--", linewidth=1, zorder=0.5, label="1: as on the source")
    legend_above(ax)
    ax.set_xlabel("weight = target share / source share", loc="right")  # long names leave a narrow axis
    return ax


def label_mix(certificate: Certificate, *, ax: Axes | None = None, most: int = MAX_CLASSES_SHOWN) -> Axes:
    """Draw how frequent each class is on the source, and on the target as far as the method bounds it.

    Without bounds the share of target *predictions* is drawn, which is not the share of labels.

    Parameters
    ----------
    certificate : Certificate
        Any certificate.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    most : int
        Largest number of classes drawn; the most frequent ones are kept.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
    >>> label_mix(calibrate(scores, labels, scores, epsilon=0.1, delta=0.05, method="PS")).get_xlabel()
    'share of all cases'
    """
    source = certificate.class_counts / max(certificate.n_source, 1)
    prevalence = certificate.prevalence
    predicted = certificate.predicted_counts / max(certificate.n_target, 1)
    shown = most_telling(np.maximum(source, predicted if prevalence is None else prevalence.upper), most)
    ax = class_axes(ax, certificate, shown)
    rows = np.arange(len(shown))
    if prevalence is not None:
        bars(ax, prevalence.lower[shown], prevalence.upper[shown], label="target (interval)")
    elif certificate.n_target:
        ax.plot(predicted[shown], rows, "D", color=TARGET, markersize=5, label="predicted on the target")
    ax.plot(source[shown], rows, "|", color=SOURCE, markeredgewidth=3, markersize=13, label="source")
    ax.set_xlim(left=0)
    percent_ticks(ax.xaxis)
    ax.set_xlabel("share of all cases", loc="right")
    legend_above(ax)
    return ax


def bound_curve(certificate: Certificate, *, ax: Axes | None = None) -> Axes:
    """Draw the bound of the target error against the error on the source, and the chosen point.

    The curve is a picture, not a second guarantee: only the chosen thresholds carry the promise.

    Parameters
    ----------
    certificate : Certificate
        A certificate with a bound curve (PS-LP).
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If the certificate holds no bound curve.

    Examples
    --------
    >>> from pacshift import Population, calibrate
    >>> population = Population.synthetic(2, strength=4, rng=0)
    >>> source, labels = population.draw([0.8, 0.2], 2000, rng=1)
    >>> target, _ = population.draw([0.5, 0.5], 2000, rng=2)
    >>> bound_curve(calibrate(source, labels, target, epsilon=0.1, delta=0.05)).get_ylabel()
    'missed on the target'
    """
    what = "bound curve (PS-LP has one; a file has it if certificate.with_curves() was saved)"
    curve = need(certificate.with_curves().curve, what, certificate)
    finite = np.isfinite(curve.source_errors) & np.isfinite(curve.bounds)
    errors, bounds = curve.source_errors[finite], curve.bounds[finite]
    ax = new_axes(ax, height=3.0)
    ax.plot(errors, bounds, color=TARGET, linewidth=2, label="bound of the target error")
    limit_line(ax, certificate.epsilon, f"allowed error ε = {certificate.epsilon:g}")
    if len(errors):
        order = np.argsort(errors)
        height = float(np.interp(curve.chosen, errors[order], bounds[order]))
        ax.plot([curve.chosen], [height], "o", color=TARGET, markersize=9, markeredgecolor="white",
                label="chosen thresholds", zorder=3)  # fmt: skip
    ax.set_ylim(0, min(1.0, 1.05 * float(bounds.max(initial=1.5 * certificate.epsilon))))
    percent_ticks(ax.yaxis)
    percent_ticks(ax.xaxis)
    ax.set_xlabel("share of true labels missed on the source")
    ax.set_ylabel("missed on the target")
    legend_above(ax, columns=1)
    return ax


def set_sizes(certificate: Certificate, *, ax: Axes | None = None) -> Axes:
    """Draw how many labels the sets contain on the target.

    Parameters
    ----------
    certificate : Certificate
        A certificate with set sizes, as ``with_set_sizes`` returns it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If the certificate has no set sizes.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
    >>> made = calibrate(scores, labels, scores, epsilon=0.1, delta=0.05, method="PS")
    >>> set_sizes(made.with_set_sizes(scores)).get_ylabel()
    'share of target cases'
    """
    counts = need(certificate.set_sizes, "set sizes (add them with with_set_sizes(target_scores))", certificate)
    last = int(np.flatnonzero(counts).max(initial=1))
    shares = counts[: last + 1] / max(int(counts.sum()), 1)
    ax = new_axes(ax, height=3.0)
    sizes = np.arange(last + 1)
    columns = ax.bar(sizes, shares, color=[UNDECIDED, *[TARGET] * last], width=0.75)
    if last <= 12:
        ax.bar_label(columns, [_share(share) for share in shares], padding=2, fontsize=8.5)
    ax.margins(y=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    percent_ticks(ax.yaxis)
    ax.set_xlabel("number of labels in the set (0 = empty)")
    ax.set_ylabel("share of target cases")
    return ax


def _weight_scale(ax: Axes, weights: Interval, largest: float) -> float:
    """A logarithmic axis where a linear one would squeeze most classes; returns its left end."""
    if largest <= LARGEST_LINEAR_WEIGHT:
        return 0.0
    log_ticks(ax)
    positive = weights.lower[weights.lower > 0]
    return float(max(0.01, 0.7 * min(positive.min(initial=0.3), 1.0)))


def _share(share: float) -> str:
    return percent(share) if share else ""
