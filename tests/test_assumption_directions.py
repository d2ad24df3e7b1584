"""Directions: functions with values in [0, 1] that no change of the mix moves, learned for all splits at once."""

from dataclasses import replace

import numpy as np
import pytest

from cell_worlds import make_world
from pacshift import Population, Tally
from pacshift.arrays import FloatArray
from pacshift.assumption.bets import wealth_lines
from pacshift.assumption.cells import CellCounts, count_cells, even_folds
from pacshift.assumption.directions import (
    CLIPS,
    DIRECTIONS,
    Fits,
    Stages,
    best_fit,
    cell_variance,
    difference_bets,
    difference_directions,
    fit_all,
    many_direction,
    scale_directions,
    share_directions,
    solve_marginals,
)
from pacshift.tally.cells import N_CONFIDENCE


def learned(counts: CellCounts) -> tuple[Fits, FloatArray]:
    """Fit and directions of one past."""
    fits = fit_all(counts.source[None], counts.target[None])
    return fits, difference_directions(fits, counts)


@pytest.mark.parametrize("n_classes", [2, 5, 12])
def test_directions_have_values_between_0_and_1_and_the_mix_is_a_mix(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    for _ in range(5):
        counts = make_world(rng, n_classes, (3000, 3000)).draw(rng)
        fits, found = learned(counts)
        values, width = scale_directions(found, fits.weight, CLIPS)
        assert found.shape == (1, len(counts.target), len(DIRECTIONS))
        assert values.min() >= 0
        assert values.max() <= 1
        assert (width > 0).all()
        assert fits.mix.min() >= 0
        assert np.isclose(fits.mix.sum(), 1)


def test_fitting_all_at_once_is_as_good_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    worlds = [make_world(rng, 4, (20_000, 20_000)) for _ in range(20)]
    for counts in (world.draw(rng) for world in worlds):
        fits, (best, variance) = fit_all(counts.source[None], counts.target[None]), best_fit(counts)
        misfit = [((counts.shares - counts.rates @ mix) ** 2 / variance).sum() for mix in (fits.mix[0], best)]
        assert misfit[0] <= 1.05 * misfit[1] + 0.5


def test_a_change_of_mix_does_not_move_any_direction_but_a_difference_does() -> None:
    rng = np.random.default_rng(8)
    world = make_world(rng, 4, (40_000, 40_000))
    while world.n_bins == 1:
        world = make_world(rng, 4, (40_000, 40_000))
    moved = replace(world, rates=np.roll(world.rates, 1, axis=0)).draw(rng).target
    counts = replace(world.draw(rng), target=moved)
    fits, found = learned(counts)
    means = counts.rates.T @ found[0]  # (K, D)
    spread = np.sqrt((fits.weight[0] * found[0] ** 2).sum(axis=0))
    assert (np.ptp(means, axis=0) < 0.02 * spread).all()  # not yet cut: the same for all classes
    assert (counts.shares @ found[0] > means.max(axis=0)).all()


def test_share_directions_have_unit_class_means() -> None:
    rng = np.random.default_rng(2)
    counts = make_world(rng, 3, (30_000, 30_000)).draw(rng)
    reach = share_directions(fit_all(counts.source[None], counts.target[None]))[0]
    rows = counts.class_counts > 100
    assert np.allclose((counts.rates.T @ reach)[np.ix_(rows, rows)], np.eye(3)[np.ix_(rows, rows)], atol=0.02)


def test_tilts_cancel_the_slopes_in_the_mix() -> None:
    """Without tilt the log-wealth leans further towards some mixes: this is what the tilt is for."""
    population = Population.synthetic(4, strength=3, rows_per_class=3000, rng=0)
    source = Tally.from_scores(*population.draw(np.ones(4), 4000, rng=1), soft=False)
    scores = population.draw([1, 2, 3, 4], 4000, rng=2)[0] ** 0.8
    scores = scores / scores.sum(axis=1, keepdims=True)
    counts = count_cells(source + Tally.from_target(scores, soft=False, bins=False))
    stages = Stages.of(counts, *even_folds(counts))
    untilted = replace(stages, reach=np.zeros_like(stages.reach))  # nothing to tilt with
    mix = stages.fits.mix[-1]
    low, top = np.maximum(mix - 0.05, 0), mix + 0.05
    lean = []
    for each in (stages, untilted):
        _, slope = wealth_lines(difference_bets(each, 5.5), low, top, 0.0)
        lean.append(np.median(np.ptp(slope, axis=1)))
    assert lean[0] < 0.8 * lean[1]


def test_the_covariance_of_marginals_is_solved_as_a_dense_one_would_be() -> None:
    rng = np.random.default_rng(3)
    population = Population.synthetic(70, strength=6, rows_per_class=50, rng=0)
    tally = Tally.from_scores(*population.draw(np.ones(70), 3000, rng), soft=False)
    counts = count_cells(tally + Tally.from_target(population.scores, soft=False, bins=False))
    variance = cell_variance(counts, np.full(70, 1 / 70))
    marginals = np.hstack([np.eye(70)[counts.predicted], np.eye(N_CONFIDENCE)[counts.confidence]])
    dense = marginals.T @ (marginals * variance[:, None])
    dense += 1e-6 * np.trace(dense) / len(dense) * np.eye(len(dense))
    wanted = rng.normal(size=(dense.shape[0], 4))
    assert np.allclose(solve_marginals(counts, variance, wanted), np.linalg.solve(dense, wanted))
    found, mix = many_direction(counts)
    assert found.shape == counts.target.shape
    assert np.isclose(mix.sum(), 1)
