"""Pictures of a certificate: label mix, weights, sizes of sets, and what helps to doubt it; all in one figure.

And of a plan: how sets shrink with more rows.
"""

from collections.abc import Callable

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pacshift.assumption import Assumption
from pacshift.certificate import Certificate
from pacshift.planning import Plan
from pacshift.plots.axes import (
    LIMIT,
    MAX_CLASSES_SHOWN,
    SOURCE,
    TARGET,
    UNDECIDED,
    WIDTH,
    bars,
    class_axes,
    class_height,
    finish,
    limit_line,
    log_ticks,
    most_telling,
    need,
    new_axes,
    plain_text,
    row_axes,
)
from pacshift.words.numbers import percent

LARGEST_WEIGHT_SHOWN = 1e6  # no axis goes further
LARGEST_LINEAR_WEIGHT = 20.0  # beyond it the axis is logarithmic
MAX_GROUPS_SHOWN = 16
LONGEST_GROUP = 36
"""Groups and characters of their names: what can be read in half a page."""
TITLE_HEIGHT, MIN_HEIGHT = 0.4, 2.4  # inches


def overview(certificate: Certificate) -> Figure:
    """Draw label mix, misses by class and set sizes side by side, as far as the certificate has them.

    ``certificate.plot()`` calls this.

    Parameters
    ----------
    certificate : Certificate
        Any certificate.

    Returns
    -------
    matplotlib.figure.Figure
        One part for each picture, from left to right; ``figure.savefig("certificate.png")`` writes it.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
    >>> certificate = calibrate(scores, labels, scores, method="PS-LW").with_set_sizes(scores)
    >>> [part.get_suptitle() for part in overview(certificate).subfigs]
    ['Label mix', 'Missed, class by class', 'Set sizes']
    """
    pictures: list[tuple[str, Callable[..., Axes]]] = [("Label mix", label_mix)]
    if certificate.class_miss is not None:
        pictures.append(("Missed, class by class", class_misses))
    if certificate.set_sizes is not None:
        pictures.append(("Set sizes", set_sizes))
    height = max(class_height(min(len(certificate.classes), MAX_CLASSES_SHOWN)), MIN_HEIGHT) + TITLE_HEIGHT
    figure = plt.figure(figsize=(WIDTH * len(pictures), height), layout="constrained")
    for part, (title, draw) in zip(figure.subfigures(1, len(pictures), squeeze=False)[0], pictures, strict=True):
        part.suptitle(title)  # the title of a part leaves room for the legend above the axes
        draw(certificate, ax=part.subplots())
    return figure


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
    left = 0.0
    if largest > LARGEST_LINEAR_WEIGHT:  # a linear axis would squeeze most classes
        log_ticks(ax)
        positive = weights.lower[weights.lower > 0]
        left = float(max(0.01, 0.7 * min(positive.min(initial=0.3), 1.0)))
    right = largest * (1.5 if left else 1.08)
    low, high = weights.lower[shown], weights.upper[shown]
    colours = [UNDECIDED if undecided else TARGET for undecided in (low <= 1) & (high >= 1)]
    bars(ax, np.clip(low, left, right), np.minimum(high, right), colour=colours)
    for row in np.flatnonzero(high > right):  # no upper bound: an arrow leaves the picture
        ax.plot([right], [row], ">", color=colours[row], clip_on=False, zorder=3)
    ax.set_xlim(left, right)
    ax.axvline(1, color=SOURCE, linestyle="--", linewidth=1, zorder=0.5, label="1: as on the source")
    return finish(ax, x="weight = target share / source share")


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
    counts = certificate.predicted_counts  # not counted for methods that do not look at the target
    predicted = source if counts is None else counts / max(certificate.n_target, 1)
    shown = most_telling(np.maximum(source, predicted if prevalence is None else prevalence.upper), most)
    ax = class_axes(ax, certificate, shown)
    rows = np.arange(len(shown))
    if prevalence is not None:
        bars(ax, prevalence.lower[shown], prevalence.upper[shown], label="target (interval)")
    elif counts is not None and certificate.n_target:
        ax.plot(predicted[shown], rows, "D", color=TARGET, markersize=5, label="predicted on the target")
    ax.plot(source[shown], rows, "|", color=SOURCE, markeredgewidth=3, markersize=13, label="source")
    ax.set_xlim(left=0)
    return finish(ax, x="share of all cases", percent="x")


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
        ax.bar_label(columns, [percent(share) if share else "" for share in shares], padding=2, fontsize=8.5)
    ax.margins(y=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    number = "number of labels in the set (0 = empty)"
    return finish(ax, x=number, y="share of target cases", percent="y", columns=0)


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
    if certificate.limits is not None:
        ax.axvline(limit := float(certificate.limits.min()), color=LIMIT, linestyle=":", linewidth=1.5,
                   label=f"limit per class {limit:g}")  # fmt: skip
    ax.set_xlim(0, min(1.0, 1.08 * max(float(high.max(initial=0)), epsilon)))
    return finish(ax, x="share of the class that is missed", percent="x")


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
    tested: Assumption = certificate if isinstance(certificate, Assumption) else need(
        certificate.assumption, "test of label shift", certificate
    )  # fmt: skip
    allowed = np.maximum(tested.allowed.upper - tested.allowed.lower, 1e-12)
    shown = most_telling(np.abs(tested.observed - tested.explained) / allowed, most)
    names = []
    for group in shown.tolist():  # in few words: long class names lose their middle, not the end
        text = tested.groups[group].replace("predicted ", "", 1).replace(", confidence ", ", ", 1)
        text = text if len(text) <= LONGEST_GROUP else f"{text[: LONGEST_GROUP - 21]}…{text[-20:]}"
        names.append(plain_text(f"{text}: {percent(tested.observed[group], 2)}", LONGEST_GROUP + 12))
    ax = row_axes(ax, names, fontsize=8.5)
    middle = tested.explained[shown]
    low, high = 100 * (tested.allowed.lower[shown] - middle), 100 * (tested.allowed.upper[shown] - middle)
    bars(ax, low, high, colour=UNDECIDED, label="what chance allows")
    observed = 100 * (tested.observed[shown] - middle)
    ax.plot(observed, np.arange(len(shown)), "D", color=TARGET, markersize=4.5, label="observed on the target")
    ax.axvline(0, color=SOURCE, linestyle="--", linewidth=1, zorder=0.5)
    return finish(ax, x="observed minus explained, percentage points")


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
    if plan.solved_for == "size":
        ax.vlines(rows, low, high, color=UNDECIDED, linewidth=4, label="about 90 % of cases")
    else:
        right = min(high, float(plan.curve_rows[-1]))
        ax.hlines(plan.size, low, right, color=UNDECIDED, linewidth=4, label="about 90 % of cases")
    ax.plot([rows], [plan.size], "o", color=TARGET, markersize=9, markeredgecolor="white", label="plan", zorder=3)
    wide = plan.curve_rows[-1] > 100 * plan.curve_rows[0]
    log_ticks(ax, steps=(1,) if wide else (1, 3), form=",.0f")
    x = "labelled source rows" if plan.curve_over == "n_source" else "unlabelled target rows"
    return finish(ax, x=x, y="labels in a set", columns=3)
