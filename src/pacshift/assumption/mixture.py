"""One e-value for all bets on a difference: the mean of their wealth, as linear inequalities in the mix.

Lemma 4 of docs/methods/assumption.md.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import as_rows
from pacshift.bounds import ROUNDING
from pacshift.mix.programs import ViolationProgram

MAX_CUTS = 8
"""How many rows of the mixture are tried; one or two are usual. Fewer refuse less often, never wrongly."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Bets with log-wealth S_i(t) >= ``constant`` - ``slope`` · t, and log(1 / level) of their mean wealth.

    ``start`` is a mix near which the first row is sought.
    """

    constant: FloatArray
    slope: FloatArray
    hurdle: float
    start: FloatArray

    def log_wealth(self, mix: FloatArray) -> float:
        """A lower bound of the logarithm of the mean wealth at ``mix``."""
        return float(scipy.special.logsumexp(self._bets(mix)))

    def row(self, mix: FloatArray) -> tuple[FloatArray, float]:
        """The row of Lemma 4 that is sharpest at ``mix``: weights w as the bets' wealth is there."""
        bets = self._bets(mix)
        weights = np.exp(bets - bets.max())
        weights /= weights.sum()
        some = weights > 0
        divergence = float(weights[some] @ np.log(len(weights) * weights[some]))
        rows, limits = as_rows(
            np.array([weights @ self.constant - divergence]), (weights @ self.slope)[None], self.hurdle
        )
        return rows[0], float(limits[0])

    def _bets(self, mix: FloatArray) -> FloatArray:
        return np.asarray(self.constant - self.slope @ mix - np.log(len(self.constant)))


@dataclass(frozen=True, eq=False)
class Cuts:
    """The mixture's ``rows t <= limits`` that were needed, and whether no mix keeps them and the others."""

    rows: FloatArray
    limits: FloatArray
    refuted: bool


def cut(rows: FloatArray, limits: FloatArray, mixture: Mixture | None) -> Cuts:
    """Add rows of the mixture until some mix keeps everything, or none keeps ``rows t <= limits`` and the cuts.

    All of them hold on the event of Lemma 4: the solution of each program chooses the next one.
    """
    program = ViolationProgram(rows, limits)
    cuts, ends = np.empty((0, rows.shape[1])), np.empty(0)
    if mixture is None:
        return Cuts(cuts, ends, program.solve()[0] > ROUNDING)
    mix, refuted = mixture.start, False
    while len(cuts) < MAX_CUTS and not refuted and (not len(cuts) or mixture.log_wealth(mix) > mixture.hurdle):
        row, end = mixture.row(mix)
        program.add(row, end)
        cuts, ends = np.vstack([cuts, row]), np.append(ends, end)
        violation, mix = program.solve()
        refuted = violation > ROUNDING
    return Cuts(cuts, ends, refuted)
