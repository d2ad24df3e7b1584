"""Cells and folds: every row is somewhere, once, and where it is depends on nothing but chance.

Bins of top scores are quantiles of source rows that are not tested, so that nothing tested chose its own bin.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from pacshift import Population, Tally
from pacshift.assumption import check_assumption
from pacshift.assumption.cells import (
    FEW_CLASSES,
    MAX_PERMUTED,
    PILOT_ROWS,
    choose_bins,
    count_cells,
    even_folds,
    join_folds,
    split,
)
from pacshift.tally.cells import N_CONFIDENCE, Cells

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
    logits = Tally.from_target(np.log(TARGET))
    for target in (logits, Tally.from_target(TARGET) + logits):
        counts = count_cells(source + target)
        assert (len(counts.target), counts.n_bins) == (3, 1)
        assert np.array_equal(counts.source, source.confusion)


def test_folds_add_up_and_are_the_same_every_time() -> None:
    counts = count_cells(both())
    (source, target), again = even_folds(counts), even_folds(counts)
    assert source.shape[:2] == (5, 6)
    for part, whole in ((source, counts.source), (target, counts.target)):
        assert all(np.array_equal(one, whole) for one in part.sum(axis=1))
    assert np.array_equal(source, again[0])
    assert not np.array_equal(source[0], source[1])


def test_folds_are_even_and_which_rows_they_hold_is_chance() -> None:
    counts = count_cells(both())
    source, target = even_folds(counts)
    assert np.ptp(source.sum(axis=2), axis=1).max() <= 1
    assert np.ptp(target.sum(axis=2), axis=1).max() <= 1
    spread = np.sqrt(counts.target * (1 / 6) * (5 / 6)) + 1
    assert (np.abs(target - counts.target / 6) < 5 * spread).all()
    # As a draw without replacement: the variance of a cell's count is that of the hypergeometric law.
    many = np.concatenate([even_folds(replace(counts, target=np.roll(counts.target, turn)))[1].reshape(30, -1)
                           [:, np.roll(np.arange(39), turn)[:39].argsort()] for turn in range(30)])  # fmt: skip
    cell = int(np.argmax(counts.target))
    share = counts.target[cell] / 3000
    expected = 500 * share * (1 - share) * (3000 - 500) / (3000 - 1)
    assert 0.8 < many[:, cell].var() / expected < 1.25


def test_large_classes_are_split_row_by_row() -> None:
    counts = count_cells(both())
    large = replace(counts, source=3 * counts.source, target=2 * counts.target)
    _, target = even_folds(large)
    assert all(np.array_equal(one, large.target) for one in target.sum(axis=1))
    sizes = target.sum(axis=2)
    assert large.n_target > MAX_PERMUTED
    assert np.ptp(sizes) > 1
    assert np.abs(sizes - 1000).max() < 5 * np.sqrt(1000)


def test_folds_of_many_classes_add_up() -> None:
    n_classes = FEW_CLASSES + 1
    population = Population.synthetic(n_classes, rows_per_class=50, rng=0)
    tally = Tally.from_scores(*population.draw(np.ones(n_classes), 2000, rng=1))
    counts = count_cells(tally + Tally.from_target(population.scores))
    folds = split(counts)
    assert len(folds) == 4
    whole = join_folds(folds)
    assert (whole.source != counts.source).nnz == 0
    assert np.array_equal(whole.target, counts.target)
    for fold in folds:  # no fold lists a cell because another one fills it
        assert fold.source.nnz == fold.source.count_nonzero() < counts.source.nnz


def drawn(seed: int, rows: int, mix: tuple[float, ...] = (0.5, 0.3, 0.2)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, rows, p=mix)
    # Classes differ in how sure the classifier is about them: the mix moves the top scores, too.
    return rng.normal(size=(rows, 3)) + np.array([1.0, 2.0, 4.0])[labels][:, None] * np.eye(3)[labels], labels


def cells_of(seed: int, rows: int) -> Cells:
    return Tally.from_scores(*drawn(seed, rows)).source_cells


def by_bin(edges: np.ndarray, cells: Cells, counts: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, cells.bin, side="right"), counts, minlength=N_CONFIDENCE)


@pytest.mark.parametrize(("rows", "pilot"), [(1_000, 100), (100_000, PILOT_ROWS)])
def test_edges_are_quantiles_of_a_small_part_that_is_not_tested(rows: int, pilot: int) -> None:
    cells = cells_of(0, rows)
    edges, tested = choose_bins(cells)
    assert abs(rows - tested.n_rows - pilot) < 5 * np.sqrt(pilot)
    assert len(edges) == N_CONFIDENCE - 1
    shares = by_bin(edges, cells, cells.counts) / rows
    assert (np.abs(shares - 1 / N_CONFIDENCE) < 0.09).all()
    left = dict(zip(tested.codes.tolist(), tested.counts.tolist(), strict=True))
    before = dict(zip(cells.codes.tolist(), cells.counts.tolist(), strict=True))
    assert all(0 < count <= before[code] for code, count in left.items())


def test_the_same_counts_give_the_same_bins_in_any_order() -> None:
    scores, labels = drawn(3, 2_000)
    order = np.lexsort((scores.max(axis=1), labels))
    one, other = (
        choose_bins(Tally.from_scores(scores[rows], labels[rows]).source_cells) for rows in (order, slice(None))
    )
    assert np.array_equal(one[0], other[0])
    assert np.array_equal(one[1].counts, other[1].counts)


def test_a_handful_of_rows_is_no_problem() -> None:
    for rows in range(1, 12):
        edges, tested = choose_bins(cells_of(rows, rows))
        assert tested.n_rows <= rows
        assert len(edges) <= rows
    target = Tally.from_target(drawn(9, 5)[0])
    for seed in range(20):  # whether or not a row was taken for the edges
        both = Tally.from_scores(*drawn(seed, 8)) + target
        check_assumption(both, level=0.05)


def test_rows_that_chose_the_edges_would_be_too_regular_if_they_were_tested() -> None:
    """The pilot's rows lie evenly in the bins they chose: that is why they are taken out."""
    cells = cells_of(5, 3_000)
    edges, tested = choose_bins(cells)
    pilot = cells.counts.copy()
    pilot[np.searchsorted(cells.codes, tested.codes)] -= tested.counts
    even, rest = by_bin(edges, cells, pilot), by_bin(edges, tested, tested.counts)
    spread = [np.var(part / part.mean()) * part.mean() for part in (even, rest)]  # 1 for independent draws
    assert spread[0] < 0.5
    assert spread[1] > spread[0]


@pytest.mark.montecarlo
@pytest.mark.parametrize("level", [0.2, 0.5])
def test_logits_under_label_shift_are_refused_at_most_as_often_as_the_level_says(level: float) -> None:
    refusals, draws = 0, 150
    for seed in range(draws):
        source = Tally.from_scores(*drawn(1000 + seed, 600))
        target = Tally.from_target(drawn(5000 + seed, 400, (0.2, 0.3, 0.5))[0])
        refusals += check_assumption(source + target, level=level).refuted
    assert binomtest(refusals, draws, level, alternative="greater").pvalue > 1e-3


@pytest.mark.montecarlo
def test_logits_of_another_temperature_are_noticed() -> None:
    """Predictions are the same: without bins nothing could be noticed."""
    noticed = 0
    for seed in range(10):
        source = Tally.from_scores(*drawn(seed, 5_000))
        target = Tally.from_target(0.8 * drawn(100 + seed, 5_000, (0.2, 0.3, 0.5))[0])
        noticed += check_assumption(source + target, level=0.005).refuted
    assert noticed >= 9
