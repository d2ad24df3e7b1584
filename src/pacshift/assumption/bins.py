"""Bins of top scores at any scale: quantiles of a few source rows, which are then not tested.

"Cells" of docs/methods/assumption.md. Probabilities need none of this: their bins are fixed beforehand.
"""

from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import IntArray
from pacshift.tally.cells import N_CONFIDENCE, Cells, least_top
from pacshift.tally.coins import coins

PILOT_ROWS, PILOT_SHARE = 500, 0.1
"""About so many source rows choose the edges, at most such a share of them: 500 rows place 12 quantiles to within
2 % of the rows, and a tenth of the source is little to lose. Other values were not measured."""


@dataclass(frozen=True, eq=False)
class TopBins:
    """Where bins of top scores begin, numbered as in ``tally.cells.top_bin``, and the source rows to be tested."""

    edges: IntArray
    source: Cells

    def place(self, cells: Cells) -> IntArray:
        """The bin of each cell: how many edges its top scores reach."""
        return np.searchsorted(self.edges, cells.bin, side="right")

    @property
    def top_scores(self) -> tuple[float, ...]:
        """The edges as scores."""
        return tuple(least_top(self.edges).tolist())


def choose_bins(source: Cells) -> TopBins:
    """Take each source row into the pilot with the same small chance; its quantiles are the edges."""
    share = min(PILOT_SHARE, PILOT_ROWS / source.n_rows)
    drawn = coins("confidence bins", 0, source.codes, source.counts).binomial(source.counts, share)
    order = np.argsort(source.bin, kind="stable")
    reached = np.cumsum(drawn[order])
    wanted = np.arange(1, N_CONFIDENCE) * (reached[-1] / N_CONFIDENCE)
    edges = (
        np.unique(source.bin[order][np.searchsorted(reached, wanted)]) if reached[-1] else np.empty(0, np.int64)
    )
    left = source.counts - drawn
    return TopBins(edges, replace(source, codes=source.codes[left > 0], counts=left[left > 0]))
