"""Worlds of cells under exact label shift, hard on purpose: rare classes, absent classes, few rows."""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption.cells import CellCounts, dense_if_few
from pacshift.tally.cells import N_CONFIDENCE


@dataclass(frozen=True, eq=False)
class CellWorld:
    """Class-wise laws over cells ``rates[cell, label]``, the target's mix, and the sample sizes."""

    rates: FloatArray
    mix: FloatArray
    class_counts: IntArray
    n_target: int
    n_bins: int
    contamination: float = 0.0
    junk: FloatArray | None = None

    @property
    def target_law(self) -> FloatArray:
        law = self.rates @ self.mix
        return law if self.junk is None else (1 - self.contamination) * law + self.contamination * self.junk

    def draw(self, rng: np.random.Generator) -> CellCounts:
        source = [rng.multinomial(m, law) for m, law in zip(self.class_counts, self.rates.T, strict=True)]
        target = rng.multinomial(self.n_target, self.target_law / self.target_law.sum())
        return cell_counts(np.array(source, float).T, target.astype(float), self.n_bins)


def cell_counts(source: FloatArray, target: FloatArray, n_bins: int) -> CellCounts:
    """Dense or sparse, as the package keeps them."""
    from scipy import sparse

    cell = np.arange(len(target))
    return CellCounts(dense_if_few(sparse.csc_matrix(source)), target, cell // n_bins, cell % n_bins)


def make_world(
    rng: np.random.Generator, n_classes: int, sizes: tuple[int, int], *, contamination: float = 0.0
) -> CellWorld:
    """A random world; a third of the classes predict well, some are rare or have no source rows."""
    n_bins = int(rng.choice([1, N_CONFIDENCE]))
    n_cells = n_classes * n_bins
    rates = rng.dirichlet(np.full(n_cells, float(rng.choice([0.05, 0.5]))), n_classes).T
    own = np.arange(n_cells)[:, None] // n_bins == np.arange(n_classes)
    peaked = rates * own + 1e-3 * rates
    rates = np.where(rng.random(n_classes) < 0.7, peaked / peaked.sum(axis=0), rates)
    rates = rates / rates.sum(axis=0)
    shape = float(rng.choice([0.3, 3.0]))
    class_counts = rng.multinomial(sizes[0], rng.dirichlet(np.full(n_classes, shape)))
    junk = np.eye(n_cells)[int(rng.integers(n_cells))] if contamination else None
    mix = rng.dirichlet(np.full(n_classes, shape))
    return CellWorld(rates, mix, class_counts, sizes[1], n_bins, contamination, junk)
