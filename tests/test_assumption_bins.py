"""Bins of top scores: quantiles of source rows that are not tested, so that nothing tested chose its own bin."""

import numpy as np
import pytest
from scipy.stats import binomtest

from pacshift import Tally
from pacshift.assumption import check_assumption
from pacshift.assumption.bins import PILOT_ROWS, choose_bins
from pacshift.tally.cells import N_CONFIDENCE, Cells, least_top

N_CLASSES = 3


def drawn(seed: int, rows: int, mix: tuple[float, ...] = (0.5, 0.3, 0.2)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(N_CLASSES, rows, p=mix)
    # Classes differ in how sure the classifier is about them: the mix moves the top scores, too.
    return rng.normal(size=(rows, N_CLASSES)) + np.array([1.0, 2.0, 4.0])[labels][:, None] * np.eye(3)[
        labels
    ], labels


def cells_of(seed: int, rows: int) -> Cells:
    return Tally.from_scores(*drawn(seed, rows)).source_cells


@pytest.mark.parametrize(("rows", "pilot"), [(1_000, 100), (100_000, PILOT_ROWS)])
def test_edges_are_quantiles_of_a_small_part_that_is_not_tested(rows: int, pilot: int) -> None:
    cells = cells_of(0, rows)
    found = choose_bins(cells)
    assert abs(rows - found.source.n_rows - pilot) < 5 * np.sqrt(pilot)
    assert len(found.edges) == N_CONFIDENCE - 1
    assert np.array_equal(least_top(found.edges), found.top_scores)
    shares = np.bincount(found.place(cells), cells.counts, minlength=N_CONFIDENCE) / rows
    assert (np.abs(shares - 1 / N_CONFIDENCE) < 0.09).all()
    left = dict(zip(found.source.codes.tolist(), found.source.counts.tolist(), strict=True))
    before = dict(zip(cells.codes.tolist(), cells.counts.tolist(), strict=True))
    assert all(0 < count <= before[code] for code, count in left.items())


def test_the_same_counts_give_the_same_bins_in_any_order() -> None:
    scores, labels = drawn(3, 2_000)
    order = np.lexsort((scores.max(axis=1), labels))
    one, other = (
        choose_bins(Tally.from_scores(scores[rows], labels[rows]).source_cells) for rows in (order, slice(None))
    )
    assert np.array_equal(one.edges, other.edges)
    assert np.array_equal(one.source.counts, other.source.counts)


def test_a_handful_of_rows_is_no_problem() -> None:
    for rows in range(1, 12):
        found = choose_bins(cells_of(rows, rows))
        assert found.source.n_rows <= rows
        assert len(found.edges) <= rows
    target = Tally.from_target(drawn(9, 5)[0])
    for seed in range(20):  # whether or not a row was taken for the edges
        both = Tally.from_scores(*drawn(seed, 8)) + target
        check_assumption(both, level=0.05)


def test_rows_that_chose_the_edges_would_be_too_regular_if_they_were_tested() -> None:
    """The pilot's rows lie evenly in the bins they chose: that is why they are taken out."""
    cells = cells_of(5, 3_000)
    found = choose_bins(cells)
    pilot = cells.counts.copy()
    pilot[np.searchsorted(cells.codes, found.source.codes)] -= found.source.counts
    even = np.bincount(found.place(cells), pilot, minlength=N_CONFIDENCE)
    rest = np.bincount(found.place(found.source), found.source.counts, minlength=N_CONFIDENCE)
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
