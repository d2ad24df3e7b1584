"""The test with up to 60 classes: five tilted directions on every split, two per class for its share, and boxes.

"Directions" and "The test" of docs/methods/assumption.md. Every choice for a fold is made on the folds before it
and on the fold's size, as Lemma 2 asks.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import (
    Bets,
    FoldBets,
    Means,
    Mixture,
    as_rows,
    bets_if_past_repeats,
    choose_stakes,
    place_bets,
)
from pacshift.assumption.cells import CellCounts, even_folds
from pacshift.assumption.directions import (
    CLIPS,
    DIRECTIONS,
    SHARE_CLIP,
    Fits,
    cell_features,
    difference_directions,
    fit_all,
    scaled,
    share_directions,
    transpose_last,
)
from pacshift.assumption.inequalities import JointRows, box_rows, known_box, largest_shares, level_shares
from pacshift.bounds import Interval
from pacshift.mix.region import quick_box


@dataclass(frozen=True, eq=False)
class Stages:
    """Every fold but the first of every split, with the folds before it, along one first axis G.

    G runs over the stages, and in each stage over the ``n_splits`` splits: ``source`` (G, C, K), ``target``
    (G, C). ``fits`` are the mixes that explain each past best, and ``reach`` (G, C, K) has for each class the
    function whose class means are 1 for this class and 0 for the others.
    """

    counts: CellCounts
    n_splits: int
    past_source: FloatArray
    past_target: FloatArray
    source: FloatArray
    target: FloatArray
    fits: Fits
    reach: FloatArray

    @classmethod
    def of(cls, counts: CellCounts, source: FloatArray, target: FloatArray) -> "Stages":
        """The stages of the folds that ``even_folds`` made."""
        source, target = np.swapaxes(source, 0, 1), np.swapaxes(target, 0, 1)
        parts = np.cumsum(source, axis=0)[:-1], np.cumsum(target, axis=0)[:-1], source[1:], target[1:]
        before, target_before, now, target_now = (part.reshape(-1, *part.shape[2:]) for part in parts)
        fits = fit_all(before, target_before)
        return cls(counts, source.shape[1], before, target_before, now, target_now, fits, share_directions(fits))

    @property
    def n_stages(self) -> int:
        """Folds that are tested."""
        return len(self.source) // self.n_splits

    def likely(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mixes, and shares between which classes probably lie, for stakes and tilts: nothing rests on them."""
        mix, n = self.fits.mix, self.fits.n_target[:, None]
        wide = 4 * np.sqrt(mix / n) + 4 / n
        low, top = np.maximum(0.7 * mix - wide, 0.0), np.minimum(1.3 * mix + wide, 1.0)
        return mix[:, None, :], low[:, None, :], top[:, None, :]


def difference_bets(stages: Stages, hurdle: float, contamination: float) -> Bets:
    """The bets that look for a difference: one per split and direction (Lemmas 2 to 4)."""
    counts, fits, weight = stages.counts, stages.fits, stages.fits.weight
    features = cell_features(counts.predicted, counts.confidence, counts.n_classes)
    values, _ = scaled(difference_directions(fits, features), weight, CLIPS)
    before = _means(values, stages.past_source, stages.past_target)
    sizes = stages.source.sum(axis=1)[:, None, :], stages.target.sum(axis=1)[:, None]
    likely = stages.likely()
    wanted = (hurdle + log(len(DIRECTIONS))) / stages.n_stages
    stakes = choose_stakes(bets_if_past_repeats(before, *sizes), *likely, wanted)
    # Tilt: the log-wealth of the stages before has slopes in t that are known by now. A function with class means
    # equal to these slopes, up to what the mix itself would gain, is subtracted from the direction, to cancel what
    # a change of the mix would have gained so far.
    placed: list[FoldBets] = []
    slopes: FloatArray = np.zeros((stages.n_splits, values.shape[2], counts.n_classes))
    for first in range(0, len(values), stages.n_splits):
        now = slice(first, first + stages.n_splits)
        mix, low, top = (part[now] for part in likely)
        above = slopes - (slopes * mix).sum(axis=2, keepdims=True)
        untilted = stakes[now][:, None, :] * values[now]
        tilted, width = scaled(untilted - stages.reach[now] @ transpose_last(above), weight[now], CLIPS)
        before = _means(tilted, stages.past_source[now], stages.past_target[now])
        fold = _means(tilted, stages.source[now], stages.target[now])
        placed.append(place_bets(width, before, fold).within_limits())
        slopes = slopes + placed[-1].lines(low, top, 0.0)[1]
    return Bets.of(placed, contamination)


def share_bets(stages: Stages, hurdle: float, contamination: float) -> Bets:
    """Two bets per class that bound its share from above and below, on the first split (Lemmas 2 to 4)."""
    first = slice(None, None, stages.n_splits)
    both = np.concatenate([stages.reach[first], -stages.reach[first]], axis=2)
    values, _ = scaled(both, stages.fits.weight[first], SHARE_CLIP)
    before = _means(values, stages.past_source[first], stages.past_target[first])
    fold = _means(values, stages.source[first], stages.target[first])
    mix, low, top = (part[first] for part in stages.likely())
    repeated = bets_if_past_repeats(before, fold.class_counts, fold.n_target)
    stakes = choose_stakes(repeated, mix, low, top, hurdle / stages.n_stages)
    return Bets(place_bets(stakes, before, fold), contamination)


def _means(values: FloatArray, source: FloatArray, target: FloatArray) -> Means:
    """Means of the powers of directions ``values`` (G, C, D) over rows (G, C, K) and (G, C)."""
    both = np.concatenate([source, target[..., None]], axis=2)
    both /= np.maximum(both.sum(axis=1, keepdims=True), 1.0)
    square = values**2
    powers = np.concatenate([values, square, square * values, square**2], axis=2)
    found = transpose_last(powers) @ both
    found = np.moveaxis(found.reshape(len(values), 4, values.shape[2], -1), 1, 0)
    sizes = source.sum(axis=1)[:, None, :], target.sum(axis=1)[:, None]
    return Means(found[..., :-1], found[..., -1], *sizes)


@dataclass(frozen=True, eq=False)
class FewClasses:
    """All bets and bounds of one tally, before anything known of the mix: ``top`` are the largest shares.

    ``boxes`` are rows and limits, ``hurdles`` the log-wealth that bets on classes' shares, and the mean of those
    on a difference, reach by chance with their parts of the level. ``mix`` is what the last pasts suggest.
    """

    top: FloatArray
    boxes: tuple[FloatArray, FloatArray]
    shares: Bets
    differences: Bets
    hurdles: tuple[float, float]
    mix: FloatArray

    @classmethod
    def place(cls, counts: CellCounts, *, level: float, contamination: float) -> "FewClasses":
        """Bet on every fold and bound every rate ("The test" of the page)."""
        spent, n_classes = level_shares(counts.n_classes), counts.n_classes
        boxes: tuple[FloatArray, FloatArray] = np.empty((0, n_classes)), np.empty(0)
        if spent.boxes:
            boxes = box_rows(counts, delta=spent.boxes * level, contamination=contamination)
        stages = Stages.of(counts, *even_folds(counts))
        hurdles = log(2 * n_classes / (spent.class_shares * level)), log(1 / (spent.differences * level))
        return cls(
            largest_shares(counts, delta=spent.tops * level, contamination=contamination),
            boxes,
            share_bets(stages, hurdles[0], contamination),
            difference_bets(stages, hurdles[1], contamination),
            hurdles,
            stages.fits.mix[-stages.n_splits :].mean(axis=0),
        )

    def rows(self, known: Interval | None = None) -> JointRows:
        """All inequalities of the test, with known bounds of the mix ("The test" of the page)."""
        box = known_box(self.top, known, self.differences.contamination)
        # Smaller largest shares make sharper rows; the same events pay for both rounds.
        low, top = box.lower, box.upper
        for _ in range(2):
            rows, limits = as_rows(*self.shares.lines(low, top), self.hurdles[0])
            rows, limits = np.vstack([rows, self.boxes[0]]), np.append(limits, self.boxes[1])
            sharper = quick_box(rows, limits)
            low, top = np.maximum(box.lower, sharper.lower), np.minimum(box.upper, sharper.upper)
        mixture = Mixture(*self.differences.lines(low, top), self.hurdles[1], self.mix)
        return JointRows(rows, limits, Interval(low, top), mixture)
