"""What the tuned thresholds are computed from: curves by held-out rows and the target, no guarantee.

"How the path is chosen" of the proof (docs/methods/ps-lp-proof.md). The best thresholds per class cut every label
y at one value of ρ_y(v) = P(label y given score v) on the target. Curves from counts are three straight lines per
class. Curves from score rows are sharper, because rows show all scores at once: posteriors by vector scaling on
held-out rows, moved to the target's mix, and per class the isotonic regression of the posterior on the class's own
score over target rows. Everything here may be wrong without harm to the guarantee; it then costs size.
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.paths.path import IsotonicCurves, fit_isotonic
from pacshift.paths.posterior import Posterior, fit_posterior, log_evidence
from pacshift.tally.grid import BINS, bin_edges, bin_of

SLOPE_RIDGE = 40.0
"""How many held-out rows the guess is worth that log-odds of scores are right up to a constant.

With 10 or 160: large +0.3 or 0 %, middle +0.7 or -0.2 %.
"""

MIN_SLOPE = 0.1
"""Curves grow at least so fast, so that each has an inverse. With 0.02 or 0.3 sizes do not change."""

GOOD_RECALL = 0.8
"""Mean recall above which predictions tell the mix better than high scores do. With 0.7 or 0.9: at most 0.1 %."""

MIN_DETECTED = 20
"""Held-out rows of a class that must lie above a score for it to count as high. With 5 or 80: -0.2 to +0.2 %."""

MIX_STEPS, HALVINGS = 100, 10
"""Far more than enough: a third as many steps of each give the same sizes."""

MIN_HELD_OUT, MIN_TARGET = 10, 200
"""Held-out rows of every class, and target rows, that curves from rows need; with fewer they come from counts.
Round numbers: a slope and an offset are fitted to each class."""


@dataclass(frozen=True, eq=False)
class HeldOutBins:
    """Held-out source rows by true-label score, and target rows by score, both in the bins of the tally.

    Parameters
    ----------
    held : ndarray
        ``held[j, b]`` counts held-out rows of label j whose score of j lies in bin b.
    target : ndarray
        ``target[j, b]`` counts target rows whose score of j lies in bin b.
    predicted : ndarray
        ``predicted[j]`` counts target rows predicted j.
    """

    held: FloatArray
    target: IntArray
    predicted: IntArray

    @property
    def log_odds(self) -> FloatArray:
        """Log-odds of the middle of each bin."""
        edges = bin_edges()
        middle = np.clip((edges[:-1] + edges[1:]) / 2, 1e-12, 1 - 1e-9)
        return np.asarray(np.log(middle) - np.log1p(-middle))


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutRows:
    """Scores and labels of held-out source rows, and scores of target rows, both in an order of their own."""

    scores: FloatArray
    labels: IntArray
    target: FloatArray


def estimated_mix(counts: HeldOutBins) -> FloatArray:
    """A guess of the label mix for "Tuned thresholds", without the confusion, which counts certifying rows too.

    A good classifier: the mix of largest likelihood for the target's predictions. A weak one: high scores of a
    label are rarely false, and there the share of the target divided by the share of the class bounds its
    prevalence.
    """
    recall, rows, edges = estimated_recall(counts), counts.predicted.sum(), bin_edges()
    n_classes, half = len(recall), bin_of(np.array([0.5]))[0]
    # P(predicted i given j): the recall, and mistakes spread as low scores on the target are.
    low = counts.target[:, :half] @ (edges[:half] + edges[1 : half + 1]) / 2 / rows + 1e-4
    spread = low[:, None] * (1 - np.eye(n_classes))
    rates = spread / spread.sum(axis=0) * (1 - recall) + np.diag(recall)
    share = (counts.predicted + 0.5) / (rows + 0.5 * n_classes)
    explains = share.copy()
    for _ in range(MIX_STEPS):
        explains *= rates.T @ (share / (rates @ explains))
    # The least over scores v of P_target(score >= v) / P(score >= v given j).
    total = np.maximum(counts.held.sum(axis=1, keepdims=True), 1)
    own = counts.held[:, ::-1].cumsum(axis=1)
    above = counts.target[:, ::-1].cumsum(axis=1) / counts.target[0].sum()
    enough = own >= np.minimum(total, MIN_DETECTED)
    bound = above * total / np.maximum(own, 1) * (1 + 1 / np.sqrt(np.maximum(own, 1)))
    most = np.clip(np.min(bound, axis=1, where=enough, initial=1.0), 1e-6, 1.0)
    weak = 0.0 if n_classes == 2 else np.clip((GOOD_RECALL - recall.mean()) / 0.2, 0.0, 1.0)
    mix = np.maximum(explains, 1e-6) ** (1 - weak) * most**weak
    return np.asarray(mix / mix.sum())


def estimated_recall(counts: HeldOutBins) -> FloatArray:
    """A guess of P(predicted j given j): certain above a half, as on the target below."""
    n_classes = len(counts.target)
    half, least = bin_of(np.array([0.5]))[0], bin_of(np.array([1 / n_classes]))[0]
    unsure = counts.target[:, least:half].sum(axis=1)
    predicted = np.clip(counts.predicted - counts.target[:, half:].sum(axis=1), 0, unsure)
    part = predicted / np.maximum(unsure, 1)
    right = counts.held[:, half:].sum(axis=1) + part * counts.held[:, least:half].sum(axis=1)
    return np.asarray((right + 1) / (counts.held.sum(axis=1) + 2))


@dataclass(frozen=True, eq=False)
class BentLines:
    """log-odds of ρ_j as a function of x, the log-odds of the score: three straight pieces per class."""

    knots: FloatArray
    intercept: FloatArray
    slopes: FloatArray

    def scores_at(self, level: FloatArray | float) -> FloatArray:
        """The score of each class at which its curve reaches ``level``; does not fall as the level grows."""
        low, middle, high = self.slopes.T
        first, second = self.knots.T
        at_first, at_second = (self.intercept + middle * knot for knot in (first, second))
        x = np.where(
            level < at_first,
            first + (level - at_first) / low,
            np.where(level > at_second, second + (level - at_second) / high, (level - self.intercept) / middle),
        )
        return np.asarray(1 / (1 + np.exp(-np.clip(x, -36.0, 36.0))))


def one_curve_for_all(n_classes: int) -> BentLines:
    """The curves of well calibrated scores: one threshold for all classes."""
    knots, slopes = np.tile([-1.0, 1.0], (n_classes, 1)), np.ones((n_classes, 3))
    return BentLines(knots, np.zeros(n_classes), slopes)


def fit_curves(counts: HeldOutBins, mix: FloatArray, *, epsilon: float) -> BentLines:
    """Fit ρ_j(v) = t_j P(v given j) / P_target(v) of "How the path is chosen" by penalised likelihood.

    With h held-out and g target counts per bin this is sum h η - c g log(1 + exp η), c such that ρ has the mean
    t_j, which is concave in η. The guess towards which it is drawn is a straight line of slope 1. Curves are one
    step of Newton's method away from the guess, not the maximum.
    """
    x, held = counts.log_odds, counts.held
    total = np.maximum(held.sum(axis=1), 1)
    # The curve may bend at the class's quantiles on both sides of ε, where thresholds are.
    reached = held.cumsum(axis=1) / total[:, None]
    place = [np.minimum((reached < share).sum(axis=1), BINS - 1) for share in (epsilon / 2, min(2 * epsilon, 0.5))]
    low, high = (np.clip(x[at], -18.0, 8.0) for at in place)
    knots = np.stack([low, np.maximum(high, low + 1)], axis=1)
    design = np.stack(
        np.broadcast_arrays(1.0, x, np.minimum(x - knots[:, :1], 0.0), np.maximum(x - knots[:, 1:], 0.0)),
        axis=-1,
    )
    scale = total / mix / counts.target[0].sum()
    target, guess = counts.target * scale[:, None], np.array([0.0, 1.0, 0.0, 0.0])
    ridge = SLOPE_RIDGE * np.array([1e-4, 1.0, 1.0, 1.0])

    def gain(coefficients: FloatArray) -> FloatArray:
        eta = np.einsum("jbp,jp->jb", design, coefficients)
        fit = (held * eta - target * np.logaddexp(0.0, eta)).sum(axis=1)
        return np.asarray(fit - ((coefficients - guess) ** 2 @ ridge) / 2)

    # Offsets that give every class its share, and from there one step.
    start = np.tile(guess, (len(held), 1))
    start[:, 0] = np.log(mix * len(mix))
    eta = np.einsum("jbp,jp->jb", design, start)
    chance = 1 / (1 + np.exp(-np.clip(eta, -500, 500)))
    gradient = np.einsum("jbp,jb->jp", design, held - target * chance) - ridge * (start - guess)
    curvature = np.einsum("jbp,jb,jbq->jpq", design, target * chance * (1 - chance), design, optimize=True)
    step = np.linalg.solve(curvature + np.diag(ridge), gradient[..., None])[..., 0]
    before, length = gain(start), np.ones(len(start))
    for _ in range(HALVINGS):  # the longest of 1, 1/2, 1/4, ... that does not lose, class by class
        tried = start + length[:, None] * step
        better = gain(tried) >= before
        if better.all():
            break
        length = np.where(better, length, length / 2)
    intercept, middle, bend_low, bend_high = np.where(better[:, None], tried, start).T
    slopes = np.stack([middle + bend_low, middle, middle + bend_high], axis=1)
    return BentLines(knots, intercept, np.maximum(slopes, MIN_SLOPE))


def enough_rows(rows: HeldOutRows) -> bool:
    """Whether curves can be fitted to the rows."""
    n_classes = rows.scores.shape[1]
    held = np.bincount(rows.labels, minlength=n_classes)
    return bool(held.min() >= MIN_HELD_OUT and len(rows.target) >= MIN_TARGET)


def fit_row_curves(rows: HeldOutRows, mix: FloatArray) -> IsotonicCurves:
    """Where each class's posterior lies along its own score, for a target mix ("How the path is chosen").

    The mix is that of ``estimated_mix``. The mix of largest likelihood (EM on target rows) is nearer
    to the truth, but gives sets that are 0.2 % larger with 20,000 rows and 0.6 % with 5,000 (development): like
    the region, the guess makes allowance for classes that may be frequent.
    """
    share = np.bincount(rows.labels, minlength=len(mix)) / len(rows.labels)
    fitted, evidence = fit_posterior(log_evidence(rows.scores), rows.labels), log_evidence(rows.target)
    on_target = Posterior(fitted.slopes, fitted.offsets + np.log(mix / share))
    return fit_isotonic(rows.target, on_target.of(evidence))
