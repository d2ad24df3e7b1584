"""The mix that fits best, directions that show best where the target is no such mix, and the bets on them.

A direction is a function of the cell that is learned on rows that are not tested with it: every choice for a fold
is made on the folds before it and on the fold's size, as Lemma 2 asks. So nothing here can break validity: this
module is about power alone. The best-fitting mix t minimises the weighted squared residual r of the target's
cells. What is left of a direction after the span of the classes is taken out has the same source mean for every
class: no change of the mix explains what it shows. "Directions" of docs/methods/assumption.md.

Up to 60 classes there are five tilted directions on every split and two per class for its share; all splits and
folds are learned at once, along the first axis. Beyond, there is one direction at four stakes, on sparse counts.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, scipy
from pacshift.assumption.bets import FoldBets, Means, bets_if_past_repeats, choose_stakes, place_bets, stack_folds
from pacshift.assumption.cells import FEW_CLASSES, CellCounts, join_folds
from pacshift.mix.programs import nonnegative_least_squares
from pacshift.tally.cells import N_CONFIDENCE

DIRECTIONS = ("cells", "smooth", "marginal", "slope", "single")
"""What looks for a difference. Without "single" 0.10 of log-wealth would be lost on difficult draws."""

CLIPS = np.array([4.0, 2.5, 2.5, 2.5, 2.5])
"""Each direction is clipped at so many standard deviations: rare cells must not set the scale. With 2.5 for
"cells" new kinds of rows in a few cells were missed."""

SHARE_CLIP = 2.5
"""The same for the directions that bound the classes' shares."""

SLOPE, BINS, CLASS_SLOPE, CLASS_CURVE, SINGLE = 0.35, 0.2, 0.2, 0.14, 0.35
"""How large a change of log(target share / explained share) is expected for each feature, in prior deviations.
Chosen on heart, CIFAR-10 and Entity-13."""

FIT_STEPS = 4
"""How often negative shares are dropped and the others solved again."""

REWEIGHTINGS = 2
"""How often the weights are computed from the last fit. With 0 or 5 as many are refused."""

SUM_WEIGHT = 1e3
"""Weight of the row "shares add up to 1" in the non-negative least squares. With 10 or 1e5 as many are refused."""

RIDGE = 1e-6
"""Share of the mean diagonal that is added to it, so that classes that look alike can be solved."""

MAX_PROJECTED_CLASSES = 2000
"""Beyond this many classes the one direction looks at confidence alone: K x K numbers would be too many (32 MB
here)."""

MANY_STAKES = np.array([0.3, 0.12, 0.07, 0.04])
"""Stakes that it is tried with, as shares of the best one for a known mix. Chosen on draws of ImageNet scores;
small, because the mix of many classes is known badly."""

MANY_CLIP = 2.5
"""It is clipped at so many standard deviations. Chosen on draws of ImageNet scores."""


def best_fit(counts: CellCounts) -> tuple[FloatArray, FloatArray]:
    """The label mix that explains the target's cells best, and the variance of each cell's residual.

    By weighted least squares over single cells; by expectation maximisation where classes are many.
    """
    if counts.n_classes > FEW_CLASSES:
        mix = em_mix(counts)
        return mix, cell_variance(counts, mix)
    variance = (counts.target + 1) / max(counts.n_target, 1.0) ** 2
    for _ in range(1 + REWEIGHTINGS):
        mix = simplex_fit(counts.rates, counts.shares, 1 / np.sqrt(variance))
        variance = cell_variance(counts, mix)
    return simplex_fit(counts.rates, counts.shares, 1 / np.sqrt(variance)), variance


def cell_variance(counts: CellCounts, mix: FloatArray) -> FloatArray:
    """Variance of the residual of each cell, at least that of two target rows."""
    n, totals = max(counts.n_target, 1.0), np.maximum(counts.class_counts, 1.0)
    explained = np.maximum(counts.rates @ mix, 0.0)
    return np.asarray((explained * n + 2) / n**2 + counts.rates @ (mix**2 / totals))


def simplex_fit(model: FloatArray, seen: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted least squares over mixes; the sum is tied to 1 by a heavy row."""
    heavy = SUM_WEIGHT * max(float(np.abs(weights).mean()), 1e-300)
    matrix = np.vstack([model * weights[:, None], np.full(model.shape[1], heavy)])
    mix = nonnegative_least_squares(matrix, np.append(seen * weights, heavy))
    return np.asarray(mix / mix.sum())


def em_mix(counts: CellCounts, steps: int = 60) -> FloatArray:
    """Expectation maximisation over the mix, from equal shares."""
    mix = np.full(counts.n_classes, 1 / counts.n_classes)
    seen = counts.shares > 0
    rates, shares = scipy.sparse.csr_matrix(counts.rates)[seen], counts.shares[seen]
    transposed = rates.T.tocsr()  # once: a view would be converted in every step
    for _ in range(steps):
        mix = mix * (transposed @ (shares / np.maximum(rates @ mix, 1e-300))) + 1e-12
        mix /= mix.sum()
    return np.asarray(mix)


@dataclass(frozen=True, eq=False)
class Fits:
    """The mix that fits the past best, for each of G pasts, and what it leaves.

    ``rates`` (G, C, K) are the classes' shares of the cells, ``shares`` (G, C) the target's, ``explained`` the
    mix's, ``variance`` that of their difference, ``weight`` (G, C, 1) how frequent the cells are on both sides;
    ``mix`` (G, K).
    """

    rates: FloatArray
    shares: FloatArray
    explained: FloatArray
    variance: FloatArray
    weight: FloatArray
    mix: FloatArray
    n_target: FloatArray


def fit_all(source: FloatArray, target: FloatArray) -> Fits:
    """Fit a mix to each past: counts (G, C, K) and (G, C). As ``best_fit``, but all at once and less exact."""
    counts, n_target = np.maximum(source.sum(axis=1), 1.0), np.maximum(target.sum(axis=1), 1.0)
    rates, shares, n = source / counts[:, None, :], target / n_target[:, None], n_target[:, None]
    variance = (target + 1) / n**2
    for _ in range(2):
        mix = _mixes(rates, shares, variance)
        explained = _matvec(rates, mix)
        variance = (explained * n + 2) / n**2 + _matvec(rates, mix**2 / counts)
    mix = _mixes(rates, shares, variance)
    explained = _matvec(rates, mix)
    return Fits(rates, shares, explained, variance, (shares + explained)[..., None] / 2, mix, n_target)


def _mixes(rates: FloatArray, shares: FloatArray, variance: FloatArray) -> FloatArray:
    """Weighted least squares over mixes; negative shares are dropped and the others solved again."""
    weighted = rates / variance[..., None]
    gram, right = _add_ridge(transpose_last(weighted) @ rates, 1e-9), (shares[:, None, :] @ weighted)[:, 0]
    positive: BoolArray = np.ones(right.shape, bool)
    for _ in range(FIT_STEPS):
        kept = np.where(positive[:, :, None] & positive[:, None, :], gram, np.eye(gram.shape[1]))
        free, by_sum = np.moveaxis(
            np.linalg.solve(kept, np.stack([right * positive, 1.0 * positive], axis=2)), 2, 0
        )
        missing = (1 - free.sum(axis=1)) / np.maximum(by_sum.sum(axis=1), 1e-300)
        mix = free + by_sum * missing[:, None]  # the sum of 1 by a multiplier
        if not (mix < 0).any():
            break
        positive = positive & (mix >= 0)
    mix = np.maximum(mix, 0.0)
    return np.asarray(mix / np.maximum(mix.sum(axis=1, keepdims=True), 1e-300))


def difference_directions(fits: Fits, counts: CellCounts) -> FloatArray:
    """What looks for a difference, in the order of ``DIRECTIONS``: shape (G, C, 5), at any scale."""
    # Functions of the cell that a difference may follow: slope in the bin, lowest bin, each bin; for each
    # predicted class a cubic curve and the lowest bin.
    n_classes, middle = counts.n_classes, (N_CONFIDENCE - 1) / 2
    place, lowest = ((counts.confidence - middle) / middle)[:, None], (counts.confidence == 0)[:, None] * 1.0
    one_hot, bins = np.eye(n_classes)[counts.predicted], np.eye(N_CONFIDENCE)[counts.confidence]
    features = np.hstack([place, lowest, bins, *(one_hot * part for part in (place, place**2, place**3, lowest))])
    deviations = np.repeat([SLOPE, BINS, CLASS_SLOPE, CLASS_CURVE], [2, N_CONFIDENCE, n_classes, 3 * n_classes])
    slope, first = np.arange(2), 2 + N_CONFIDENCE
    by_class = first + np.arange(4 * n_classes)

    root = np.sqrt(fits.variance)[..., None]
    span = fits.rates / root
    gram = _add_ridge(transpose_last(span) @ span, RIDGE)

    def off_span(columns: FloatArray) -> FloatArray:
        return np.asarray(columns - span @ np.linalg.solve(gram, transpose_last(span) @ columns))

    residual = off_span((fits.shares - fits.explained)[..., None] / root)
    raw = fits.weight / root * features
    free = off_span(raw)
    seen, products = transpose_last(free) @ residual, transpose_last(free) @ free
    coefficients = np.zeros((*raw.shape[::2], len(DIRECTIONS) - 1))
    # "smooth", "marginal", "slope": posterior means
    for number, columns in enumerate((np.append(slope, by_class), np.arange(first), slope)):
        inner = products[:, columns[:, None], columns] + np.diag(1 / deviations[columns] ** 2)
        coefficients[:, columns, number] = np.linalg.solve(inner, seen[:, columns])[..., 0]
    # "single": if one predicted class has changed and nobody knows which, averaged by posterior weight.
    single = by_class.reshape(4, n_classes).T
    inner = products[:, single[:, :, None], single[:, None, :]] + np.eye(4) / SINGLE**2
    fitted = np.linalg.solve(inner, seen[:, single])
    evidence = ((seen[:, single] * fitted).sum(axis=(2, 3)) - np.linalg.slogdet(inner)[1]) / 2
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    coefficients[:, single, -1] = fitted[..., 0] * weight[..., None]
    return np.asarray(off_span(np.concatenate([residual, raw @ coefficients], axis=2)) / root)


def share_directions(fits: Fits) -> FloatArray:
    """For each class the function whose target mean estimates its share best; shape (G, C, K)."""
    weighted = fits.rates / fits.variance[..., None]
    gram = _add_ridge(transpose_last(fits.rates) @ weighted, RIDGE)
    return transpose_last(np.asarray(np.linalg.solve(gram, transpose_last(weighted)), float))


def scale_directions(
    directions: FloatArray, weight: FloatArray, clip: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Directions clipped at a few standard deviations and brought to [0, 1], and how wide they were before."""
    centred = directions - (weight * directions).sum(axis=1, keepdims=True)
    limit = clip * np.sqrt((weight * centred**2).sum(axis=1, keepdims=True))
    centred = np.clip(centred, -limit, limit)
    low = centred.min(axis=1, keepdims=True)
    width = np.maximum(centred.max(axis=1, keepdims=True) - low, 1e-9)
    return np.clip((centred - low) / width, 0.0, 1.0), width[:, 0]


def transpose_last(stack: FloatArray) -> FloatArray:
    """Each matrix of a stack transposed."""
    return np.swapaxes(stack, -1, -2)


def _matvec(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _add_ridge(matrices: FloatArray, share: float) -> FloatArray:
    """Symmetric matrices with a share of their mean diagonal added to the diagonal, so that they can be solved."""
    size = matrices.shape[-1]
    more = np.maximum(share * np.trace(matrices, axis1=1, axis2=2) / size, 1e-300)
    return np.asarray(matrices + more[:, None, None] * np.eye(size))


@dataclass(frozen=True, eq=False)
class Stages:
    """Every fold but the first of every split, with the folds before it, along one first axis G.

    G runs over the stages, and in each stage over the ``n_splits`` splits. ``past`` and ``fold`` are counts of
    source (G, C, K) and target (G, C). ``fits`` are the mixes that explain each past best, and ``reach``
    (G, C, K) has for each class the function whose class means are 1 for this class and 0 for the others.
    """

    counts: CellCounts
    n_splits: int
    past: tuple[FloatArray, FloatArray]
    fold: tuple[FloatArray, FloatArray]
    fits: Fits
    reach: FloatArray

    @classmethod
    def of(cls, counts: CellCounts, source: FloatArray, target: FloatArray) -> "Stages":
        """The stages of the folds that ``even_folds`` made."""
        source, target = np.swapaxes(source, 0, 1), np.swapaxes(target, 0, 1)
        parts = np.cumsum(source, axis=0)[:-1], np.cumsum(target, axis=0)[:-1], source[1:], target[1:]
        before, target_before, now, target_now = (part.reshape(-1, *part.shape[2:]) for part in parts)
        fits = fit_all(before, target_before)
        past, fold = (before, target_before), (now, target_now)
        return cls(counts, source.shape[1], past, fold, fits, share_directions(fits))

    @property
    def n_stages(self) -> int:
        """Folds that are tested."""
        return len(self.reach) // self.n_splits

    def likely(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mixes, and shares between which classes probably lie, for stakes and tilts: nothing rests on them."""
        mix, n = self.fits.mix, self.fits.n_target[:, None]
        wide = 4 * np.sqrt(mix / n) + 4 / n
        low, top = np.maximum(0.7 * mix - wide, 0.0), np.minimum(1.3 * mix + wide, 1.0)
        return mix[:, None, :], low[:, None, :], top[:, None, :]


def difference_bets(stages: Stages, hurdle: float) -> FoldBets:
    """The bets that look for a difference: one per split and direction (Lemmas 2 to 4)."""
    fits, weight, likely = stages.fits, stages.fits.weight, stages.likely()
    values, _ = scale_directions(difference_directions(fits, stages.counts), weight, CLIPS)
    source, target = stages.fold
    sizes = source.sum(axis=1)[:, None, :], target.sum(axis=1)[:, None]
    wanted = (hurdle + log(len(DIRECTIONS))) / stages.n_stages
    stakes = choose_stakes(bets_if_past_repeats(_means(values, *stages.past), *sizes), *likely, wanted)
    # Tilt: the log-wealth of the stages before has slopes in t that are known by now. A function with class means
    # equal to these slopes, up to what the mix itself would gain, is subtracted from the direction, to cancel what
    # a change of the mix would have gained so far.
    placed: list[FoldBets] = []
    slopes: FloatArray = np.zeros((stages.n_splits, values.shape[2], stages.counts.n_classes))
    for first in range(0, len(values), stages.n_splits):
        now = slice(first, first + stages.n_splits)
        mix, low, top = (part[now] for part in likely)
        above = slopes - (slopes * mix).sum(axis=2, keepdims=True)
        untilted = stakes[now][:, None, :] * values[now]
        tilted, width = scale_directions(untilted - stages.reach[now] @ transpose_last(above), weight[now], CLIPS)
        past, fold = (_means(tilted, source[now], target[now]) for source, target in (stages.past, stages.fold))
        placed.append(place_bets(width, past, fold).within_limits())
        slopes = slopes + placed[-1].lines(low, top, 0.0)[1]
    return stack_folds(placed)


def share_bets(stages: Stages, hurdle: float) -> FoldBets:
    """Two bets per class that bound its share from above and below, on the first split (Lemmas 2 to 4)."""
    first = slice(None, None, stages.n_splits)
    both = np.concatenate([stages.reach[first], -stages.reach[first]], axis=2)
    values, _ = scale_directions(both, stages.fits.weight[first], SHARE_CLIP)
    past, fold = (_means(values, source[first], target[first]) for source, target in (stages.past, stages.fold))
    mix, low, top = (part[first] for part in stages.likely())
    repeated = bets_if_past_repeats(past, fold.class_counts, fold.n_target)
    return place_bets(choose_stakes(repeated, mix, low, top, hurdle / stages.n_stages), past, fold)


def _means(values: FloatArray, source: FloatArray, target: FloatArray) -> Means:
    """Means of the powers of directions ``values`` (G, C, D) over rows (G, C, K) and (G, C)."""
    both = np.concatenate([source, target[..., None]], axis=2)
    both /= np.maximum(both.sum(axis=1, keepdims=True), 1.0)
    square = values**2
    powers = np.concatenate([values, square, square * values, square**2], axis=2)
    means = transpose_last(powers) @ both
    means = np.moveaxis(means.reshape(len(values), 4, values.shape[2], -1), 1, 0)
    sizes = source.sum(axis=1)[:, None, :], target.sum(axis=1)[:, None]
    return Means(means[..., :-1], means[..., -1], *sizes)


def many_bets(folds: list[CellCounts], hurdle: float) -> FoldBets:
    """With many classes: the bets on every fold but the first, one for each of the stakes (Lemmas 2 to 4)."""
    placed: list[FoldBets] = []
    for place in range(1, len(folds)):
        past, fold = join_folds(folds[:place]), folds[place]
        direction, mix = many_direction(past)
        # Clipped at a few standard deviations and brought to [0, 1].
        weight = (past.shares + np.asarray(past.rates @ mix)) / 2
        centred = direction - weight @ direction / max(weight.sum(), 1e-300)
        limit = MANY_CLIP * np.sqrt(weight @ centred**2)
        clipped = np.clip(centred, -limit, limit)
        low, high = clipped.min(), clipped.max()
        values = np.repeat(((clipped - low) / (high - low if high > low else 1.0))[:, None], len(MANY_STAKES), 1)
        powers = [values**power for power in (1, 2, 3, 4)]
        before, now = (
            Means(
                np.array([np.asarray((counts.rates.T @ power).T) for power in powers]),
                np.array([np.asarray(counts.shares @ power) for power in powers]),
                counts.class_counts[None, :],
                np.array([counts.n_target]),
            )
            for counts in (past, fold)
        )
        repeated = bets_if_past_repeats(before, now.class_counts, now.n_target)
        stakes = repeated.at_shares(MANY_STAKES, mix, hurdle / (len(folds) - 1)).stake
        placed.append(place_bets(stakes, before, now))
    return stack_folds(placed)


def many_direction(past: CellCounts) -> tuple[FloatArray, FloatArray]:
    """The marginal direction, solved without signs, then freed of every change of mix; and the best mix."""
    mix, variance = best_fit(past)
    left = past.shares - past.rates @ mix
    if past.n_classes > MAX_PROJECTED_CLASSES:
        residual, spread = (np.bincount(past.confidence, part) for part in (left, variance))
        return np.asarray((residual / spread)[past.confidence]), mix
    # The predicted class and the bin of each cell, as rows of 0 and 1.
    cells, n_rows = np.arange(len(past.target)), past.n_classes + N_CONFIDENCE
    places = np.concatenate([past.predicted, past.n_classes + past.confidence]), np.tile(cells, 2)
    pooled = scipy.sparse.csr_matrix((np.ones(2 * len(cells)), places), (n_rows, len(cells)))
    residual = np.asarray(pooled @ left)
    model = pooled @ past.rates
    weighed = solve_marginals(past, variance, np.column_stack([model.toarray(), residual]))
    gram = np.asarray(model.T @ weighed[:, :-1])
    ridge = max(3e-2 * np.trace(gram) / len(gram), 1e-12)  # against classes that look alike; not measured
    gram = gram + ridge * np.eye(len(gram))
    explained = weighed[:, :-1] @ np.linalg.solve(gram, weighed[:, :-1].T @ residual)
    return np.asarray(pooled.T @ (weighed[:, -1] - explained)), mix


def solve_marginals(past: CellCounts, variance: FloatArray, wanted: FloatArray) -> FloatArray:
    """Solve with the covariance of predicted classes and bins, of which each block but one is diagonal.

    So only 13 equations are left after the predicted classes are eliminated.
    """
    n_classes, shape = past.n_classes, (past.n_classes, N_CONFIDENCE)
    cross: FloatArray = np.zeros(shape)
    np.add.at(cross, (past.predicted, past.confidence), variance)
    ridge = max(1e-6 * 2 * variance.sum() / sum(shape), 1e-12)
    first, second = cross.sum(axis=1) + ridge, np.diag(cross.sum(axis=0) + ridge)
    scaled = cross / first[:, None]
    last = np.linalg.solve(second - cross.T @ scaled, wanted[n_classes:] - scaled.T @ wanted[:n_classes])
    return np.vstack([wanted[:n_classes] / first[:, None] - scaled @ last, last])
