"""Cells and folds: every row is somewhere, once, and where it is depends on nothing but chance."""

from dataclasses import replace

import numpy as np

from pacshift import Population, Tally
from pacshift.assumption.folds import (
    FEW_CLASSES,
    MAX_PERMUTED,
    count_cells,
    even_folds,
    joined,
    n_folds,
    n_splits,
    split,
)
from pacshift.tally.cells import N_CONFIDENCE

POPULATION = Population.synthetic(3, rng=0)
SOURCE = POPULATION.draw([0.5, 0.3, 0.2], 4000, rng=1)
TARGET = POPULATION.draw([0.2, 0.3, 0.5], 3000, rng=2)[0]


def both() -> Tally:
    return Tally.from_scores(*SOURCE) + Tally.from_target(TARGET)


def test_cells_hold_the_confusion_and_the_confidence() -> None:
    tally = both()
    counts = count_cells(tally)
    assert len(counts.target) == 3 * N_CONFIDENCE
    assert np.array_equal(counts.source.reshape(3, N_CONFIDENCE, 3).sum(axis=1), tally.confusion)
    assert np.array_equal(counts.target.reshape(3, -1).sum(axis=1), tally.target)
    assert np.array_equal(counts.class_counts, tally.class_counts)
    assert counts.n_target == 3000
    sure = TARGET.max(axis=1) >= 0.999
    assert counts.target[counts.confidence == N_CONFIDENCE - 1].sum() == sure.sum()


def test_scores_that_are_no_probabilities_have_bins_of_their_own() -> None:
    tally = Tally.from_scores(np.log(SOURCE[0]), SOURCE[1]) + Tally.from_target(np.log(TARGET))
    counts = count_cells(tally)
    assert len(counts.target) == 3 * N_CONFIDENCE
    assert counts.top_edges is not None
    assert counts.n_bins == len(counts.top_edges) + 1 <= N_CONFIDENCE
    assert np.array_equal(counts.target.reshape(3, -1).sum(axis=1), tally.target)
    top, edges = np.log(TARGET).max(axis=1).astype(np.float32), np.array(counts.top_edges)
    expected = np.bincount(np.searchsorted(edges, top, side="right"), minlength=N_CONFIDENCE)
    assert np.array_equal(np.bincount(counts.confidence, counts.target), expected)
    assert 3500 < counts.class_counts.sum() < 3700  # a tenth chose the edges


def test_sides_that_do_not_have_the_same_bins_have_one_bin() -> None:
    source = Tally.from_scores(*SOURCE)
    for target in (
        Tally.from_target(np.log(TARGET)),
        Tally.from_target(TARGET) + Tally.from_target(np.log(TARGET)),
    ):
        counts = count_cells(source + target)
        assert (len(counts.target), counts.n_bins) == (3, 1)
        assert np.array_equal(counts.source, source.confusion)


def test_folds_add_up_and_are_the_same_every_time() -> None:
    counts = count_cells(both())
    folds, again = even_folds(counts), even_folds(counts)
    assert folds.source.shape[:2] == (n_splits(3), n_folds(3)) == (5, 6)
    for part, whole in ((folds.source, counts.source), (folds.target, counts.target)):
        assert all(np.array_equal(one, whole) for one in part.sum(axis=1))
    assert np.array_equal(folds.source, again.source)
    assert not np.array_equal(folds.source[0], folds.source[1])
    assert [n_splits(n_classes) for n_classes in (2, 12, 13, 20, 31, 60, 61, 5000)] == [5, 5, 4, 3, 1, 1, 1, 1]


def test_folds_are_even_and_which_rows_they_hold_is_chance() -> None:
    counts = count_cells(both())
    folds = even_folds(counts)
    assert np.ptp(folds.source.sum(axis=2), axis=1).max() <= 1
    assert np.ptp(folds.target.sum(axis=2), axis=1).max() <= 1
    spread = np.sqrt(counts.target * (1 / 6) * (5 / 6)) + 1
    assert (np.abs(folds.target - counts.target / 6) < 5 * spread).all()
    # As a draw without replacement: the variance of a cell's count is that of the hypergeometric law.
    many = np.concatenate([even_folds(replace(counts, target=np.roll(counts.target, turn))).target.reshape(30, -1)
                           [:, np.roll(np.arange(39), turn)[:39].argsort()] for turn in range(30)])  # fmt: skip
    cell = int(np.argmax(counts.target))
    share = counts.target[cell] / 3000
    expected = 500 * share * (1 - share) * (3000 - 500) / (3000 - 1)
    assert 0.8 < many[:, cell].var() / expected < 1.25


def test_large_classes_are_split_row_by_row() -> None:
    counts = count_cells(both())
    large = replace(counts, source=3 * counts.source, target=2 * counts.target)
    folds = even_folds(large)
    assert all(np.array_equal(one, large.target) for one in folds.target.sum(axis=1))
    sizes = folds.target.sum(axis=2)
    assert large.n_target > MAX_PERMUTED
    assert np.ptp(sizes) > 1
    assert np.abs(sizes - 1000).max() < 5 * np.sqrt(1000)


def test_folds_of_many_classes_add_up() -> None:
    n_classes = FEW_CLASSES + 1
    population = Population.synthetic(n_classes, rows_per_class=50, rng=0)
    tally = Tally.from_scores(*population.draw(np.ones(n_classes), 2000, rng=1))
    counts = count_cells(tally + Tally.from_target(population.scores))
    folds = split(counts)
    assert len(folds) == n_folds(n_classes) == 4
    whole = joined(folds)
    assert (whole.source != counts.source).nnz == 0
    assert np.array_equal(whole.target, counts.target)
    for fold in folds:  # no fold lists a cell because another one fills it
        assert fold.source.nnz == fold.source.count_nonzero() < counts.source.nnz


def test_means_are_the_same_dense_and_sparse() -> None:
    rng, n_classes = np.random.default_rng(0), FEW_CLASSES + 1
    population = Population.synthetic(n_classes, rows_per_class=50, rng=0)
    tally = Tally.from_scores(*population.draw(np.ones(n_classes), 2000, rng=1))
    counts = count_cells(tally + Tally.from_target(population.scores))
    values = rng.random((len(counts.target), 2))
    dense = counts.source.toarray()
    expected = values.T @ (dense / np.maximum(dense.sum(axis=0), 1))
    assert np.allclose(counts.means(values)[0], expected)
