"""Which source rows are held out: first how many of each score, then which rows of a sample these are.

Steps "Holding out" and "Held-out rows" of the proof (docs/methods/ps-lp-proof.md).
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.paths.sample import SOURCE_ROWS, TARGET_ROWS, RowSample, own_order
from pacshift.tally import Tally
from pacshift.tally.coins import score_coins
from pacshift.tally.grid import to_grid
from pacshift.tally.stores import running_sum

HELD_OUT_SHARE = 0.15
"""Each source row is held out with this probability.

At 0.06, 0.10, 0.22, 0.35: large +0.1, -0.1, +0.2, +0.4 %, middle +1.0, +0.4, -0.3, +0.1 %.
"""

MAX_HELD_OUT_ROWS = SOURCE_ROWS // 4
"""Held-out rows that are looked at; more than can be expected, unless many rows are alike."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Coins that were thrown over the source rows of a tally.

    ``counts`` says how many rows of each entry of ``tally.values`` are held out; ``coins`` are those not thrown
    yet, which no other choice uses.
    """

    counts: IntArray
    coins: np.random.Generator


def hold_out(tally: Tally, seed: int = 0) -> HeldOut:
    """Step "Holding out": one coin per row.

    Which of the rows with the same label and score it is does not matter as long as only these are looked at, so
    that counts are enough.
    """
    rng, counts = score_coins("held out", tally, seed), tally.counts
    held = (rng.random(len(counts)) < HELD_OUT_SHARE).astype(np.int64)
    repeated = counts != 1
    held[repeated] = rng.binomial(counts[repeated], HELD_OUT_SHARE)
    return HeldOut(held, rng)


def per_class(tally: Tally, counts: IntArray) -> IntArray:
    """Sums per class of ``counts``, which are aligned with ``tally.values`` (step "Holding out")."""
    return np.asarray(np.diff(running_sum(counts)[tally.starts]))


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutRows:
    """Scores and labels of held-out source rows, and scores of target rows, both in an order of their own."""

    scores: FloatArray
    labels: IntArray
    target: FloatArray


def held_out_rows(tally: Tally, held: HeldOut, sample: RowSample) -> HeldOutRows:
    """Step "Held-out rows": the rows of the sample that are held out.

    Of c rows with one label and score h are held out, and k are in the sample. How many of these k are held out is
    hypergeometric, and every choice among them is equally likely, as if each row had its own coin.
    """
    entry = _entries(tally, sample)
    n_held, n_all = held.counts[entry], tally.counts[entry]
    unsure = np.flatnonzero((n_held > 0) & (n_held < n_all))
    drawn = unsure[_drawn(sample.source[unsure], entry[unsure], tally.counts, held)]
    chosen = np.concatenate([np.flatnonzero(n_held == n_all), drawn])
    rows, labels = sample.source[chosen], sample.labels[chosen]
    order = own_order(rows, labels)[:MAX_HELD_OUT_ROWS]
    return HeldOutRows(rows[order], labels[order], sample.target[own_order(sample.target)[:TARGET_ROWS]])


def _entries(tally: Tally, sample: RowSample) -> IntArray:
    """The entry of ``tally.values`` that each row of the sample was counted in."""
    own = sample.source[np.arange(len(sample.labels)), sample.labels]
    own = to_grid(own) if tally.grid else own
    found = np.empty(len(own), np.int64)
    for label in range(tally.n_classes):
        rows = np.flatnonzero(sample.labels == label)
        first, last = tally.starts[label], tally.starts[label + 1]
        found[rows] = first + np.searchsorted(tally.values[first:last], own[rows])
    assert np.array_equal(tally.values[np.minimum(found, len(tally.values) - 1)], own)  # the rows were counted
    return found


def _drawn(scores: FloatArray, entry: IntArray, counts: IntArray, held: HeldOut) -> IntArray:
    """Places of rows that are held out, where some rows of their entry are and others are not.

    Every choice among the rows of an entry is equally likely.
    """
    distinct, looked_at = np.unique(entry, return_counts=True)
    taken = held.coins.hypergeometric(held.counts[distinct], counts[distinct] - held.counts[distinct], looked_at)
    rows = np.lexsort((*scores.T, entry))
    rows = rows[np.lexsort((held.coins.random(len(rows)), entry[rows]))]
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(looked_at) - looked_at, looked_at)
    return np.asarray(rows[rank < np.repeat(taken, looked_at)])
