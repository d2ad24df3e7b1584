"""Bets where classes are few: five directions on every split, tilted, and two per class that bound its share.

"Directions" of docs/methods/assumption.md. Every choice for a fold is made on the folds before it and on the
fold's size, as Lemma 2 asks.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import Bets, FoldBets, Means, choose_stakes, hoped, largest_stake, see, stacked
from pacshift.assumption.directions import (
    CUTS,
    DIRECTIONS,
    SHARE_CUT,
    Fits,
    difference_directions,
    features,
    fit_all,
    scaled,
    share_directions,
    turned,
)
from pacshift.assumption.folds import CellCounts, Folds


@dataclass(frozen=True, eq=False)
class Stages:
    """Every fold but the first of every split, with the folds before it: arrays [stage, split, cell, label]."""

    counts: CellCounts
    past_source: FloatArray
    past_target: FloatArray
    source: FloatArray
    target: FloatArray

    @classmethod
    def of(cls, counts: CellCounts, folds: Folds) -> "Stages":
        source, target = np.swapaxes(folds.source, 0, 1), np.swapaxes(folds.target, 0, 1)
        before = np.cumsum(source, axis=0)[:-1], np.cumsum(target, axis=0)[:-1]
        return cls(counts, *before, source[1:], target[1:])

    @property
    def shape(self) -> tuple[int, int]:
        """Stages and splits."""
        return self.source.shape[0], self.source.shape[1]

    @cached_property
    def fits(self) -> Fits:
        """The mix that explains each past best; stage and split are one axis here."""
        return fit_all(_flat(self.past_source), _flat(self.past_target))

    @cached_property
    def reach(self) -> FloatArray:
        """For each stage and class the function whose class means are 1 for this class and 0 for the others."""
        return share_directions(self.fits)

    @property
    def mix(self) -> FloatArray:
        """The mix that the last pasts suggest, averaged over the splits."""
        return np.asarray(self.fits.mix.reshape(*self.shape, -1)[-1].mean(axis=0))


def difference_bets(stages: Stages, hurdle: float, contamination: float) -> Bets:
    """The bets that look for a difference: one per split and direction (Lemmas 2 to 4)."""
    counts, fits = stages.counts, stages.fits
    found = difference_directions(fits, features(counts.predicted, counts.confidence, counts.n_classes))
    values, _ = scaled(found, fits.weight, CUTS)
    wanted = (hurdle + log(len(DIRECTIONS))) / len(stages.source)
    before = _means(values, _flat(stages.past_source), _flat(stages.past_target))
    now = _sizes(_flat(stages.source), _flat(stages.target))
    stakes = choose_stakes(hoped(before, now), *_likely(fits.mix, fits.n_target), wanted)
    return Bets(stacked(_tilted(stages, values, stakes)), contamination)


def _tilted(stages: Stages, values: FloatArray, stakes: FloatArray) -> list[FoldBets]:
    """The bets stage by stage, each tilted to cancel what a change of mix would have gained so far.

    The log-wealth of the stages before has slopes in t that are known by now. A function with class means equal to
    these slopes, up to what the mix itself would gain, is subtracted from the direction.
    """
    placed: list[FoldBets] = []
    slopes: FloatArray = np.zeros((stages.shape[1], values.shape[2], stages.counts.n_classes))
    parts = (part.reshape(*stages.shape, *part.shape[1:]) for part in (values, stakes, stages.reach))
    weights, mixes, n_past = (
        part.reshape(*stages.shape, *part.shape[1:])
        for part in (stages.fits.weight, stages.fits.mix, stages.fits.n_target)
    )
    for stage, (value, stake, reach) in enumerate(zip(*parts, strict=True)):
        mix, low, top = _likely(mixes[stage], n_past[stage])
        above = slopes - (slopes * mix).sum(axis=2, keepdims=True)
        tilted, width = scaled(stake[:, None, :] * value - reach @ turned(above), weights[stage], CUTS)
        before = _means(tilted, stages.past_source[stage], stages.past_target[stage])
        now = _means(tilted, stages.source[stage], stages.target[stage])
        bets = see(width, before, now)
        largest = largest_stake(bets.n_target, bets.target_reach)
        placed.append(bets if (width <= largest).all() else see(np.minimum(width, largest), before, now))
        slopes = slopes + placed[-1].lines(low, top, 0.0)[1]
    return placed


def share_bets(stages: Stages, hurdle: float, contamination: float) -> Bets:
    """Two bets per class that bound its share from above and below, on the first split (Lemmas 2 to 4)."""
    first = slice(None, None, stages.shape[1])
    fits, reach = stages.fits, stages.reach[first]
    both = np.concatenate([reach, -reach], axis=2)
    values, _ = scaled(both, fits.weight[first], SHARE_CUT)
    before = _means(values, stages.past_source[:, 0], stages.past_target[:, 0])
    now = _means(values, stages.source[:, 0], stages.target[:, 0])
    likely = _likely(fits.mix[first], fits.n_target[first])
    stakes = choose_stakes(hoped(before, now), *likely, hurdle / len(stages.source))
    return Bets(see(stakes, before, now), contamination)


def _likely(mix: FloatArray, n_past: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The mix, and shares between which classes will probably lie, for stakes and tilts: nothing rests on them."""
    n = n_past[:, None]
    wide = 4 * np.sqrt(mix / n) + 4 / n
    low, top = np.maximum(0.7 * mix - wide, 0.0), np.minimum(1.3 * mix + wide, 1.0)
    return mix[:, None, :], low[:, None, :], top[:, None, :]


def _means(values: FloatArray, source: FloatArray, target: FloatArray) -> Means:
    """Means of the powers of directions ``values`` (G, C, D) over rows (G, C, K) and (G, C)."""
    sizes = _sizes(source, target)
    both = np.concatenate([source, target[..., None]], axis=2)
    both /= np.maximum(both.sum(axis=1, keepdims=True), 1.0)
    square = values**2
    powers = np.concatenate([values, square, square * values, square**2], axis=2)
    found = turned(powers) @ both
    found = np.moveaxis(found.reshape(len(values), 4, values.shape[2], -1), 1, 0)
    return Means(found[..., :-1], found[..., -1], sizes.class_counts, sizes.n_target)


def _sizes(source: FloatArray, target: FloatArray) -> Means:
    """The numbers of rows alone."""
    nothing = np.empty((0,))
    return Means(nothing, nothing, source.sum(axis=1)[:, None, :], target.sum(axis=1)[:, None])


def _flat(parts: FloatArray) -> FloatArray:
    """Stage and split as one axis."""
    return parts.reshape(-1, *parts.shape[2:])
