"""How frequent each class is on the target, as sharply as counts tell, where nothing else is asked of δ.

For a set S of predicted classes X_t = sum_j t_j Â_Sj - q̂_S has mean 0 at the true mix t: a sum of independent
terms. PS-LP's region (``mix.region``) bounds it by Bennett's inequality for the longest of them. Here its moment
generating function is used as it is, with the prefactor of "Tails with their prefactor", and the rates A, which it
does not know, run over a box. Two classes: shares are excluded by a grid of which nothing is trusted
(``ShareTest``). More: half-spaces of the mix (``half_spaces``). Lemmas 1 to 3 of docs/methods/shares.md.
"""

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.bounds import ROUNDING, Interval, binomial_lower, binomial_upper
from pacshift.errors import AssumptionError
from pacshift.mix.programs import MixProgram
from pacshift.mix.region import (
    PrevalenceRegion,
    SetCounts,
    exact_box,
    exact_upper,
    known_rows,
    largest_variance,
    predicted_sets,
    quick_box,
    require_some_mix,
    within_known,
)
from pacshift.mix.tails import prefactor
from pacshift.words.numbers import digits_apart, percent

BOX_SHARE = 0.1
"""Share of δ for the boxes of the rates; the tests get the rest. With .02 to .2 widths differ by 1 to 2 %."""

TILTS = np.array([0.35, 0.5, 0.65, 0.8, 0.9, 1.0, 1.15, 1.35])[:, None]
"""Exponents tried for two classes, as shares of the best for a normal law; each is valid, the best is taken."""

FEW_TILTS = (0.6, 0.85, 1.1)
"""The same for more classes, where each gives rows of its own and all of them are kept."""

LONGEST = 30.0
"""Largest exponent of one term: beyond, exponentials are of no use, and later overflow."""

CELLS = 12
"""Cells of each unknown rate. Coarser ones cost width, never validity."""

RESOLUTION = 256
"""Ends of an interval of two classes are found to this part of its width, rounded outward."""

ROUNDS, QUICK_ROUNDS, ENOUGH = 8, 2, 0.97
"""How often a box is computed anew at most, how often of these from one row at a time, and until it keeps this
part of its widths."""

MAX_EXACT_CLASSES = 50
"""Beyond, no box is computed by linear programs: 100 classes take twice as long, and gain 0.5 %."""


def share_region(
    confusion: IntArray,
    target: IntArray,
    *,
    delta: float,
    classes: Sequence[Label] | None = None,
    known: Interval | None = None,
) -> PrevalenceRegion:
    """The label mixes that fit the counts, as ``prevalence_region`` gives them, in a narrower box.

    The true one is among them with probability >= 1 - δ; an AssumptionError where there is none.

    >>> region = share_region(np.diag([900, 900]), np.array([300, 700]), delta=0.05)
    >>> region.prevalence.lower.round(2), region.prevalence.upper.round(2)
    (array([0.27, 0.67]), array([0.33, 0.73]))
    """
    names = range(len(target)) if classes is None else classes
    find = _two_classes if len(target) == 2 else _more_classes
    rows, limits, box, recall = find(confusion, target, delta, names, known)
    none = np.empty((0, len(target)))
    accuracy = max(0.0, -MixProgram(rows, limits).largest(-recall.lower))
    return PrevalenceRegion(rows, limits, none, none[:, 0], box, accuracy, recall)


def _two_classes(
    confusion: IntArray, target: IntArray, delta: float, names: Sequence[Label], known: Interval | None
) -> tuple[FloatArray, FloatArray, Interval, Interval]:
    """Rows, limits, the box and the recalls: the hull of the shares that are not excluded (Lemma 2)."""
    test = ShareTest(confusion, target, delta)
    low, high = 0.0, 1.0
    if known is not None:  # with room for rounding, as the region has
        low = max(known.lower[1], 1 - known.upper[0], ROUNDING) - ROUNDING
        high = min(known.upper[1], 1 - known.lower[0], 1 - ROUNDING) + ROUNDING
    while True:
        finest = (high - low) / RESOLUTION
        top = test.outermost(low, high, finest, from_above=True)
        bottom = None if top is None else test.outermost(low, top, finest, from_above=False)
        if top is None or bottom is None:
            raise AssumptionError(test.refusal(names, known))
        if top - bottom >= ENOUGH * (high - low):
            break
        low, high = bottom, top
    box = within_known(Interval(np.array([1 - top, bottom]), np.array([1 - bottom, top])), known, 0.0)
    recall = Interval(
        np.array([1 - test.rate.upper[1], test.rate.lower[0]]),
        np.array([1 - test.rate.lower[1], test.rate.upper[0]]),
    )
    return np.eye(2), box.upper, box, recall


class ShareTest:
    """Two classes: which shares t of the second the counts exclude (Lemmas 1 and 2).

    a and b are the rates at which the second class is predicted for rows of the second and of the first, q that on
    the target: q = t a + (1 - t) b.
    """

    def __init__(self, confusion: IntArray, target: IntArray, delta: float) -> None:
        hits, rows = confusion[1, ::-1], confusion.sum(axis=0)[::-1]
        each = BOX_SHARE * delta / 6  # six one-sided bounds
        self.level = float(np.log((1 - BOX_SHARE) * delta / 2)) - ROUNDING  # of each side
        self.rate = Interval(binomial_lower(hits, rows, delta=each), binomial_upper(hits, rows, delta=each))
        self.has_both = bool(rows.all())
        self.rows, self.n_target = np.maximum(rows, 1), int(target.sum())
        self.rate = Interval(np.where(rows, self.rate.lower, 0.0), np.where(rows, self.rate.upper, 1.0))
        self.share = [
            float(bound(target[1], self.n_target, delta=each)) for bound in (binomial_lower, binomial_upper)
        ]
        self.seen, self.seen_share = hits / self.rows, float(target[1] / self.n_target)
        ends = np.linspace(self.rate.lower, self.rate.upper, CELLS + 1)
        self.half_a, self.half_b = (self.rate.upper - self.rate.lower) / (2 * CELLS)
        a, b = np.meshgrid(*((ends[1:] + ends[:-1]) / 2).T)
        self.a, self.b = a.ravel(), b.ravel()

    def outermost(self, low: float, high: float, finest: float, *, from_above: bool) -> float | None:
        """The outer end of the outermost part of [low, high] that is not excluded; None if all of it is."""
        if self.excludes(low, high):
            return None
        if high - low <= finest:
            return high if from_above else low
        middle = (low + high) / 2
        halves = [(low, middle), (middle, high)]
        for part in halves[::-1] if from_above else halves:
            end = self.outermost(*part, finest, from_above=from_above)
            if end is not None:
                return end
        return None

    def excludes(self, low: float, high: float) -> bool:
        """Whether every share between both is excluded: no rates fit, or a test rejects all that do."""
        ends = np.array([low, high])
        largest, least = (
            pick(
                [t * (self.a + sign * self.half_a) + (1 - t) * (self.b + sign * self.half_b) for t in ends], axis=0
            )
            for pick, sign in ((np.max, 1), (np.min, -1))
        )
        fits = (largest >= self.share[0]) & (least <= self.share[1])
        if not fits.any():
            return True
        if not self.has_both:  # of a class without rows nothing is known
            return False
        strip = np.maximum(least[fits], self.share[0]), np.minimum(largest[fits], self.share[1])
        return any(self._rejects(sign, ends, self.a[fits], self.b[fits], strip) for sign in (1.0, -1.0))

    def _rejects(
        self, sign: float, ends: FloatArray, a: FloatArray, b: FloatArray, strip: tuple[FloatArray, FloatArray]
    ) -> bool:
        """Lemma 2: a bound of the tail, over shares between the ``ends`` and all cells, is below the level."""
        n, (rows_a, rows_b), (seen_a, seen_b) = self.n_target, self.rows, self.seen
        gaps = sign * (self.seen_share - ends * seen_a - (1 - ends) * seen_b)
        if gaps.min() <= 0:
            return False
        low, high, t = ends[0], ends[1], ends.mean()
        q = t * a + (1 - t) * b
        variance = q * (1 - q) / n + t**2 * a * (1 - a) / rows_a + (1 - t) ** 2 * b * (1 - b) / rows_b
        most = LONGEST * min(n, rows_a / max(high, ROUNDING), rows_b / max(1 - low, ROUNDING))
        tilt = np.minimum(TILTS * gaps.min() / max(variance.max(), 1e-12), most)
        c, worst = np.expm1(sign * tilt / n), np.full((len(TILTS), len(a)), -np.inf)
        for u in ends:  # the term of the target at one end, the others at the other: convex in t
            q = u * a + (1 - u) * b
            of_target, slope = n * np.log1p(q * c), n * c / (1 + q * c)
            for v, gap in zip(ends, gaps, strict=True):
                c_a, c_b = np.expm1(-sign * tilt * v / rows_a), np.expm1(-sign * tilt * (1 - v) / rows_b)
                value = of_target + rows_a * np.log1p(a * c_a) + rows_b * np.log1p(b * c_b) - tilt * gap
                # Concave in (a, b): below its tangent plane over the cell.
                along_a = np.abs(slope * u + rows_a * c_a / (1 + a * c_a)) * self.half_a
                along_b = np.abs(slope * (1 - u) + rows_b * c_b / (1 + b * c_b)) * self.half_b
                worst = np.maximum(worst, value + along_a + along_b)
        cells_a, cells_b = (a - self.half_a, a + self.half_a), (b - self.half_b, b + self.half_b)
        parts = [
            least_tilted_variance(strip, [sign * tilt / n]) / n,
            low**2 * least_tilted_variance(cells_a, [-sign * tilt * v / rows_a for v in ends]) / rows_a,
            (1 - high) ** 2
            * least_tilted_variance(cells_b, [-sign * tilt * (1 - v) / rows_b for v in ends])
            / rows_b,
        ]
        steps = [1 / n, high / rows_a, (1 - low) / rows_b]
        factor = np.ones_like(worst)
        for fine in ((0, 1, 2), (0,), (0, 1), (0, 2)):
            sigma, fine_sigma = (tilt * np.sqrt(sum(parts[k] for k in some)) for some in ((0, 1, 2), fine))
            lengths = (tilt * max(steps[k] for k in some) for some in ((0, 1, 2), fine))
            factor = np.minimum(factor, prefactor(sigma, next(lengths), fine_sigma, next(lengths)))
        return bool(((worst + np.log(factor)).max(axis=1) <= self.level).any())

    def refusal(self, names: Sequence[Label], known: Interval | None) -> str:
        """What to say where every share is excluded."""
        share, rates = self.seen_share, self.seen[::-1]
        also = "" if known is None else ", or the known bounds are wrong"
        digits = digits_apart(*np.sort([share, rates[np.argmin(np.abs(rates - share))]]))
        of_source = [
            f"{percent(rate, digits)} of the source's {name!r}" for rate, name in zip(rates, names, strict=True)
        ]
        return (
            f"label shift is rejected: {names[1]!r} is predicted for {percent(share, digits)} of the target, and "
            f"for {' and '.join(of_source)}. Beyond sampling error no mix of them gives that. Either P(x given y) "
            "differs between source and target, or rows depend on each other"
            f"{also}. No method for label shift may be used."
        )


def least_tilted_variance(rates: tuple[FloatArray, FloatArray], exponents: Sequence[FloatArray]) -> FloatArray:
    """The least p (1 - p) of tilted rates p e^x / (1 + p (e^x - 1)) over intervals of p and x.

    A tilted rate grows with both, and p (1 - p) is concave: the least is at a corner.
    """
    corners = []
    for exponent in exponents:
        for rate in rates:
            tilted = rate * np.exp(exponent) / (1 + rate * np.expm1(exponent))
            corners.append(tilted * (1 - tilted))
    return np.asarray(np.maximum(np.min(corners, axis=0), 0.0))


def _more_classes(
    confusion: IntArray, target: IntArray, delta: float, names: Sequence[Label], known: Interval | None
) -> tuple[FloatArray, FloatArray, Interval, Interval]:
    """Rows, limits, the box and the recalls: half-spaces over a box, and over what they leave of it (Lemma 3)."""
    n_classes, single = len(target), predicted_sets(len(target))[0]
    counts = SetCounts.of(single, confusion, target, bound=exact_upper, delta=BOX_SHARE * delta)
    level = float(np.log((1 - BOX_SHARE) * delta / len(single)))
    stated, stated_limits = known_rows(known, 0.0, n_classes=n_classes)
    fixed = np.vstack([counts.rate.lower, stated])
    fixed_limits = np.append(counts.share.upper, stated_limits) + ROUNDING
    box = quick_box(fixed, fixed_limits)
    about = np.vstack([*[single] * (len(FEW_TILTS) + 1), 0 * stated])
    n_quick = QUICK_ROUNDS if n_classes <= MAX_EXACT_CLASSES else ROUNDS // 2
    for number in range(ROUNDS):
        spaces, most = half_spaces(counts, box, level)
        inside, ends = known_rows(box, 0.0, n_classes=n_classes)
        rows = np.vstack([spaces, fixed, inside])
        limits = np.concatenate([most, fixed_limits, ends]) + ROUNDING
        require_some_mix(rows, limits, np.vstack([about, 0 * inside]), counts, names, has_known=known is not None)
        find_box = quick_box if number < n_quick or n_classes > MAX_EXACT_CLASSES else exact_box
        before, box = box, find_box(rows, limits)
        kept = float((box.upper - box.lower).sum()) >= ENOUGH * float((before.upper - before.lower).sum())
        if kept and number >= n_quick:
            break
    recall = Interval(*(np.diag(end[:n_classes]) for end in (counts.rate.lower, counts.rate.upper)))
    return rows, limits, within_known(box, known, 0.0), recall


def half_spaces(counts: SetCounts, box: Interval, level: float) -> tuple[FloatArray, FloatArray]:
    """Rows and limits, for each set and tilt, that all mixes of the box satisfy but excluded ones (Lemma 3)."""
    seen, low, high = counts.class_counts > 0, box.lower, box.upper
    rows, n, rate, share = np.maximum(counts.class_counts, 1), counts.n_target, counts.rate, counts.share
    middle = (low + high) / max(float((low + high).sum()), ROUNDING)
    variance = largest_variance(share) / n + (largest_variance(rate) / rows * high * middle * seen).sum(axis=1)
    most = LONGEST * min(n, float((rows / np.maximum(high, ROUNDING))[seen].min(initial=np.inf)))
    slopes, limits = [], []
    for part in FEW_TILTS:
        tilt = np.minimum(part * np.sqrt(-2 * level / variance), most)[:, None]
        c, q = -np.expm1(-tilt / n), counts.observed_share[:, None]
        kappa = -n * c / (1 - q * c)

        def largest(t: FloatArray, tilt: FloatArray = tilt, kappa: FloatArray = kappa) -> FloatArray:
            """H_j at the shares t: the supremum over the rates of the class, concave in them."""
            growth = np.expm1(np.where(seen, tilt * t / rows, 0.0))
            with np.errstate(divide="ignore", invalid="ignore"):
                best = np.nan_to_num(-rows / (kappa * t) - 1 / growth, nan=0.0, posinf=1.0, neginf=0.0)
            best = np.clip(best, rate.lower, rate.upper)
            value = kappa * t * best + rows * np.log1p(best * growth) - tilt * t * counts.observed
            return np.where(seen, value, 0.0)

        at_low, at_high = largest(low), largest(high)
        slope = np.divide(at_high - at_low, high - low, out=np.zeros_like(at_low), where=high > low)
        ends = [np.where(seen, tilt * t / rows, 0.0) for t in (low, high)]
        of_target = least_tilted_variance((share.lower[:, None], share.upper[:, None]), [-tilt / n]) / n
        of_class = np.where(seen, low**2 * least_tilted_variance((rate.lower, rate.upper), ends) / rows, 0.0)
        steps, target_step = np.where(seen, tilt * high / rows, 0.0), tilt / n
        longest = np.maximum(target_step, steps.max(axis=1, keepdims=True))
        total = of_target + of_class.sum(axis=1, keepdims=True)
        # Parts of the terms: all, the target's alone, with one class more, with all classes but one.
        others = np.array([np.delete(steps, j, axis=1).max(axis=1, initial=0.0) for j in range(len(rows))]).T
        fine_variance = np.hstack([total, of_target, of_target + of_class, total - of_class])
        fine_step = np.hstack(
            [longest, target_step, np.maximum(target_step, steps), np.maximum(target_step, others)]
        )
        sigma, fine_sigma = tilt * np.sqrt(total), tilt * np.sqrt(np.maximum(fine_variance, 0.0))
        factor = np.minimum(prefactor(sigma, longest, fine_sigma, fine_step).min(axis=1, keepdims=True), 1.0)
        constant = n * np.log1p(-q * c) - kappa * q + tilt * q + np.log(factor) - level
        slopes.append(-slope / tilt)
        limits.append((((at_low - slope * low).sum(axis=1, keepdims=True) + constant) / tilt)[:, 0])
    return np.vstack(slopes), np.concatenate(limits)
