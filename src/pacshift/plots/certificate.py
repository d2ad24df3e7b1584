"""Pictures of the numbers of a certificate: label mix, weights, thresholds, sizes of sets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.errors import InputError, MissingExtraError

try:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.plots", error, "plots") from None

BLUE, ORANGE, GREY, RULE = "#0072b2", "#d55e00", "#767f89", "#d9dde1"
MAX_CLASSES_SHOWN = 30  # more rows cannot be read; the table of the report has them all
WIDTH = 4.6  # inches: fits half a desktop page and a whole phone
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
    for row, label in enumerate(shown):
        low, high = float(np.clip(weights.lower[label], left, right)), float(weights.upper[label])
        surely_changed = not weights.lower[label] <= 1 <= high
        colour = ORANGE if surely_changed else BLUE
        ax.hlines(row, low, min(high, right), color=colour, linewidth=5, capstyle="butt")
        if high > right:  # no upper bound: an arrow leaves the picture
            ax.plot([right], [row], ">", color=colour, clip_on=False, zorder=3)
    ax.set_xlim(left, right)
    ax.axvline(1, color=GREY, linestyle="--", linewidth=1, zorder=0.5)
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
        low, high = prevalence.lower[shown], prevalence.upper[shown]
        ax.hlines(rows, low, high, color=BLUE, linewidth=5, capstyle="butt", label="target (interval)")
    elif certificate.n_target:
        ax.plot(predicted[shown], rows, "D", color=BLUE, markersize=5, label="predicted on the target")
    ax.plot(source[shown], rows, "|", color=ORANGE, markeredgewidth=3, markersize=13, label="source")
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
        If the method computes no bound curve.

    Examples
    --------
    >>> from pacshift import Population, calibrate
    >>> population = Population.synthetic(2, strength=4, rng=0)
    >>> source, labels = population.draw([0.8, 0.2], 2000, rng=1)
    >>> target, _ = population.draw([0.5, 0.5], 2000, rng=2)
    >>> bound_curve(calibrate(source, labels, target, epsilon=0.1, delta=0.05)).get_ylabel()
    'missed on the target'
    """
    curve = certificate.curve
    if curve is None:
        raise InputError(f"method {certificate.method} computes no bound curve; PS-LP does.")
    finite = np.isfinite(curve.source_errors) & np.isfinite(curve.bounds)
    errors, bounds = curve.source_errors[finite], curve.bounds[finite]
    ax = new_axes(ax, height=3.0)
    ax.plot(errors, bounds, color=BLUE, linewidth=2, label="bound of the target error")
    ax.axhline(certificate.epsilon, color=ORANGE, linestyle="--", linewidth=1.5,
               label=f"allowed error ε = {certificate.epsilon:g}")  # fmt: skip
    if len(errors):
        order = np.argsort(errors)
        height = float(np.interp(curve.chosen, errors[order], bounds[order]))
        ax.plot([curve.chosen], [height], "o", color=BLUE, markersize=9, markeredgecolor="white",
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
    bars = ax.bar(sizes, shares, color=[ORANGE, *[BLUE] * last], width=0.75)
    if last <= 12:
        ax.bar_label(bars, [_share(share) for share in shares], padding=2, fontsize=8.5)
    ax.margins(y=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    percent_ticks(ax.yaxis)
    ax.set_xlabel("number of labels in the set (0 = empty)")
    ax.set_ylabel("share of target cases")
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
        box.set(facecolor=(colours or {}).get(name, BLUE), alpha=0.75, linewidth=0.8)
        median.set(color="#111111", linewidth=1.2)
    for position, column in enumerate(data, start=1):
        if not len(column):
            ax.text(position, 0.5, "refused", transform=ax.get_xaxis_transform(), rotation=90, ha="center",
                    va="center", color=GREY)  # fmt: skip
    ax.set_xticks(range(1, len(data) + 1), [plain_text(name) for name in values], rotation=40, ha="right",
                  rotation_mode="anchor")  # fmt: skip
    ax.set_ylabel(label)
    if epsilon is not None:
        ax.axhline(epsilon, color=ORANGE, linestyle="--", linewidth=1.5, label=f"ε = {epsilon:g}")
        ax.set_ylim(bottom=0)
        legend_above(ax)
    return ax


def plain_text(label: Label, longest: int = 24) -> str:
    """A class name that matplotlib draws as it is: no mathematics, no control characters, not too long.

    >>> plain_text("$x^2$"), plain_text("two" + chr(10) + "lines")
    ('\\\\$x^2\\\\$', 'two�lines')
    """
    return readable(label, longest).replace("$", r"\$")


def readable(label: Label, longest: int = 200) -> str:
    """A class name for people: characters that cannot be seen or would reorder the text are replaced."""
    text = str(label)
    text = text if len(text) <= longest else f"{text[: longest - 1]}…"
    joiners = "\u200c\u200d"  # invisible, yet part of Persian words and of emoji
    return "".join(char if char.isprintable() or char in joiners else "\ufffd" for char in text)


def need(value: Any, what: str, certificate: Certificate) -> Any:
    """The value itself, or an InputError where the certificate does not have it."""
    if value is None:
        raise InputError(f"this certificate of method {certificate.method} holds no {what}.")
    return value


def most_telling(importance: FloatArray, most: int) -> IntArray:
    """The classes that matter most, in their own order."""
    return np.sort(np.argsort(-importance, kind="stable")[:most])


def new_axes(ax: Axes | None, *, height: float, width: float = WIDTH) -> Axes:
    """The axes given, or new ones, with the grid that all pictures share."""
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.grid(axis="y", color=RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def class_axes(ax: Axes | None, certificate: Certificate, shown: IntArray) -> Axes:
    """One row per class, the first on top."""
    ax = new_axes(ax, height=class_height(len(shown)))
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", color=RULE, linewidth=0.6)
    ax.set_yticks(range(len(shown)), [plain_text(certificate.classes[label]) for label in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    if len(shown) < len(certificate.classes):
        ax.set_ylabel(f"the {len(shown)} largest of {len(certificate.classes)} classes")
    return ax


def class_height(rows: int) -> float:
    """Inches for a picture with one row per class."""
    return 1.1 + 0.24 * max(rows, 3)


def _weight_scale(ax: Axes, weights: Interval, largest: float) -> float:
    """A logarithmic axis where a linear one would squeeze most classes; returns its left end."""
    if largest <= LARGEST_LINEAR_WEIGHT:
        return 0.0
    _log_axis(ax)
    positive = weights.lower[weights.lower > 0]
    return float(max(0.01, 0.7 * min(positive.min(initial=0.3), 1.0)))


def legend_above(ax: Axes, columns: int = 2) -> None:
    """A legend outside of the axes, above them."""
    # Anchored on the right: long class names leave little room to the right of the axes' left edge.
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=columns, frameon=False, borderaxespad=0.2,
              handlelength=1.6, columnspacing=1.2)  # fmt: skip


def _log_axis(ax: Axes) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=8))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def percent_ticks(axis: Axis) -> None:
    """Shares on the axis as percentages."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))


def _share(share: float) -> str:
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.3g} %" if share else ""
