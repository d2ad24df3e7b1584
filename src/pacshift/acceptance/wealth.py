"""The test of one rule: can more than a share of what it accepts be wrong? (docs/methods/accept.md, Lemmas 1 to 3)

A rule's whole evidence is a table of counts: source rows by (cell, label), target rows by cell, where the cell of
a row is its predicted label and whether it is accepted.
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, cached_property
from pacshift.mix.programs import MixProgram
from pacshift.mix.region import PrevalenceRegion

MOST_STAKED = 0.95
"""No bet may be larger anywhere in the box of mixes: beyond, one row could take nearly all. Plans stay below."""

LEAST_STEP = 0.05
"""Least unit of a class's bet, so that dividing by it is safe where a correction explains all of the loss. Any
number is valid; not measured."""


def psi(bet: FloatArray | float) -> FloatArray:
    """-log(1 - x) - x, the price of a bet of size x per squared unit (Lemma 2)."""
    return np.asarray(-np.log1p(-np.asarray(bet)) - bet)


def loss(n_classes: int, error: float) -> FloatArray:
    """φ for every cell and label: 1 - error where a wrong label is accepted, -error where the right one is.

    >>> loss(2, 0.1)
    array([[ 0. ,  0. ],
           [-0.1,  0.9],
           [ 0. ,  0. ],
           [ 0.9, -0.1]])
    """
    wrong = np.arange(n_classes)[:, None] != np.arange(n_classes)
    phi = np.zeros((2 * n_classes, n_classes))
    phi[1::2] = wrong - error
    return phi


def label_loss(n_classes: int, label: int, error: float) -> FloatArray:
    """φ of one predicted label: as ``loss`` in its cell, and 0 in all others ("Label by label" of the page)."""
    phi = np.zeros((2 * n_classes, n_classes))
    phi[2 * label + 1] = loss(n_classes, error)[2 * label + 1]
    return phi


@dataclass(frozen=True, eq=False)
class Bet:
    """What is planned for one rule, from held-out rows alone.

    Parameters
    ----------
    loss : array of shape (2K, K)
        φ, whose mean over the target is not above 0 where the promise holds.
    correction : array of shape (2K,)
        u, one number per cell (Lemma 1).
    centres : array of shape (K,)
        About the mean of φ - u in each class.
    target_centre : float
        About the mean of u on the target.
    stake : float
        θ, how much is bet on each unit of the mean.
    on : bool array of shape (K,)
        The classes that are bet on. Others count with their largest loss.
    """

    loss: FloatArray
    correction: FloatArray
    centres: FloatArray
    target_centre: float
    stake: float
    on: BoolArray

    @cached_property
    def rest(self) -> FloatArray:
        """ξ = φ - u."""
        return self.loss - self.correction[:, None]

    @cached_property
    def unit(self) -> FloatArray:
        """b_j, at least the largest ξ of a class minus its centre."""
        return np.asarray(np.maximum(self.rest.max(axis=0) - self.centres, LEAST_STEP))

    @cached_property
    def target_unit(self) -> float:
        """b_0."""
        return max(float(self.correction.max()) - self.target_centre, LEAST_STEP)


@dataclass(frozen=True, slots=True, eq=False)
class WealthTest:
    """Tests rules on certifying rows: ``rows`` source rows of each class and ``n_target`` target rows."""

    region: PrevalenceRegion
    program: MixProgram
    rows: FloatArray
    n_target: float

    @classmethod
    def over(cls, region: PrevalenceRegion, rows: FloatArray, n_target: float) -> "WealthTest":
        """The test over a region of mixes."""
        return cls(region, MixProgram(*region.all_rows), rows, n_target)

    def passes(self, bet: Bet, source: FloatArray, target: FloatArray, *, delta: float) -> bool:
        """Whether the wealth against "more is wrong" reaches 1 / δ for every mix of the region (Theorem).

        If the true mix is in the region, a wrong rule passes with probability at most ``delta``.
        """
        return bool(self.excess(bet, source, target) + np.log(1 / delta) <= 0)

    def excess(self, bet: Bet, source: FloatArray, target: FloatArray) -> float:
        """The largest θ X(t) + G(t) over the mixes t of the region, by one linear program (Lemma 3).

        ``source`` counts rows by (cell, label), ``target`` by cell.
        """
        box, rows, stake = self.region.prevalence, np.maximum(self.rows, 1.0), bet.stake
        least, most = (np.where(bet.on, stake * t * bet.unit / rows, 0.0) for t in (box.lower, box.upper))
        on_target = stake * bet.target_unit / self.n_target
        if max(float(most.max()), on_target) >= MOST_STAKED:
            return np.inf
        squares = np.where(bet.on, (source * ((bet.rest - bet.centres) / bet.unit) ** 2).sum(axis=0), 0.0)
        target_squares = float(target @ ((bet.correction - bet.target_centre) / bet.target_unit) ** 2)
        means = np.where(bet.on, (source * bet.rest).sum(axis=0) / rows, bet.rest.max(axis=0))
        # ψ is convex, so it lies below its chord between the ends of the box.
        slope = (psi(most) - psi(least)) / np.maximum(box.upper - box.lower, 1e-12)
        # Without a target row the mean of u may be as large as u gets, as that of ξ in a class without rows.
        on_average = float(target @ bet.correction / self.n_target if target.any() else bet.correction.max())
        fixed = stake * on_average + float(psi(on_target)) * target_squares
        fixed += float(squares @ (psi(least) - slope * box.lower))
        return fixed + self.program.largest(stake * means + squares * slope)
