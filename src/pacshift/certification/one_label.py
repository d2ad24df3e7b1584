"""When a set holds one label, how often is it wrong? A bound from the guarantee and the sizes of target sets.

Section "Sets with one label" of docs/methods/trust-proofs.md. The thresholds were chosen with the target at hand,
so the sizes of its sets say too little about the population. They are counted at thresholds of a net that the
source alone fixes, just below the chosen ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import binomial_lower
from pacshift.certificate import Certificate
from pacshift.certificate.certificate import ONE_LABEL_SHARE
from pacshift.methods import Method
from pacshift.paths.labelled import EQUAL_STEPS, equal_miss_thresholds
from pacshift.tally import Tally
from pacshift.tally.grid import fits_single, largest_threshold, single_cuts

NET_MISSES = (*np.arange(0.05, 1.21, 0.05).round(2).tolist(), 1.35, 1.5, 1.75, 2.0, 2.5, 3.0)
"""Shares of a class that thresholds of the third family miss on the source, as multiples of ε; and none at all.

With 15 instead of these 30 the bounds of 14 draws were up to 32 % larger, with 59 from 8 % smaller to 2 % larger.
"""


@dataclass(frozen=True, slots=True, eq=False)
class NetPoint:
    """Thresholds at or below the chosen ones, and the chance at which each of two bounds at them may be wrong."""

    thresholds: FloatArray
    level: float


def points_below(certificate: Certificate, tally: Tally, method: Method) -> list[NetPoint]:
    """Where sets must be counted for the bound; nowhere if there can be none."""
    delta, chosen = certificate.delta, certificate.thresholds
    is_promised = certificate.guarantee == "pac-target" and delta * (1 + ONE_LABEL_SHARE) < 1
    if not is_promised or certificate.trivial or not tally.n_target:
        return []
    if method.needs_target or certificate.n_target_labels:
        return net_below(tally, chosen, certificate.epsilon, ONE_LABEL_SHARE * delta)
    return [NetPoint(chosen, ONE_LABEL_SHARE * delta / 2)]  # the source alone fixed the thresholds


def one_label_error(points: Sequence[NetPoint], sizes: Sequence[IntArray], *, epsilon: float) -> float | None:
    """Lemma 7: at most (ε - a) / (b - a) of the sets with one label are wrong; None where b is not above ε.

    a and b are lower bounds of how many sets hold no label, and at most one (Lemma 6).

    >>> point = NetPoint(np.array([0.5, 0.5]), 0.001)
    >>> round(one_label_error([point], [np.array([0, 800, 200])], epsilon=0.1), 4)
    0.1318
    """
    if not points:
        return None
    none, few = (
        max(
            float(binomial_lower(counts[: most + 1].sum(), counts.sum(), delta=point.level))
            for point, counts in zip(points, sizes, strict=True)
        )
        for most in (0, 1)
    )
    # More than ε of the sets are empty: the guarantee is broken, and bounds nothing.
    return (epsilon - none) / (few - none) if none < epsilon < few else None


def net_below(tally: Tally, chosen: FloatArray, epsilon: float, level: float) -> list[NetPoint]:
    """The points of the net at or below the chosen thresholds: one of each family (Lemma 6).

    The net's thresholds of plain scores are ``single_cuts`` of scores, as the chosen ones are. So a score may be
    taken if it is at most the largest that has the cut ``chosen``.
    """
    families = (_one_threshold, _equal_misses, _each_class)
    is_plain = tally.score == "probability"
    most = np.where(is_plain & fits_single(chosen), -single_cuts(-chosen), chosen)
    found = [family(tally, most, epsilon) for family in families]
    return [
        NetPoint(single_cuts(points) if is_plain else points, level / (2 * len(families) * n_points))
        for points, n_points in found
    ]


def _one_threshold(tally: Tally, chosen: FloatArray, _epsilon: float) -> tuple[FloatArray, float]:
    """One threshold for all classes, at every thousandth of the source's true-label scores."""
    ranks = np.arange(EQUAL_STEPS) * tally.n_source // EQUAL_STEPS
    n_reached = tally.misses(np.nextafter(chosen.min(), np.inf)).sum()  # scores at most the least chosen
    place = int(np.searchsorted(ranks, n_reached))
    if not place:
        return np.full(tally.n_classes, -np.inf), EQUAL_STEPS
    rank = ranks[place - 1]
    return np.full(tally.n_classes, largest_threshold(tally, lambda below: below.sum() <= rank)), EQUAL_STEPS


def _equal_misses(tally: Tally, chosen: FloatArray, _epsilon: float) -> tuple[FloatArray, float]:
    """Thresholds that miss the same share of every class of the source, by thousandths."""
    low, high = 0, EQUAL_STEPS + 1
    while high - low > 1:
        middle = (low + high) // 2
        is_below = (equal_miss_thresholds(tally, middle / EQUAL_STEPS) <= chosen).all()
        low, high = (middle, high) if is_below else (low, middle)
    return equal_miss_thresholds(tally, low / EQUAL_STEPS), EQUAL_STEPS


def _each_class(tally: Tally, chosen: FloatArray, epsilon: float) -> tuple[FloatArray, float]:
    """Every class at its own of a few levels: the points are as many as levels to the power of the classes."""
    levels = np.array([equal_miss_thresholds(tally, min(part * epsilon, 1.0)) for part in NET_MISSES])
    below = np.where(levels <= chosen, levels, -np.inf).max(axis=0)
    with np.errstate(over="ignore"):  # infinitely many points get no level: the bound is 0, which is true
        return below, float(np.float64(len(NET_MISSES) + 1) ** tally.n_classes)
