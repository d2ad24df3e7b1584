"""Leaning thresholds: never above what was proven, and leaning the right way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import Tally
from pacshift.ps_lp.rescale import factors, leaned, straightened
from pacshift.tally.grid import to_grid
from strategies import seeds
from worlds import make_world


@given(seeds, st.floats(1e-6, 1.2), st.booleans())
@settings(deadline=None, max_examples=200)
def test_what_reaches_the_leaned_threshold_reaches_its_own(seed: int, threshold: float, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    tally = Tally.from_scores(rng.random((50, 3)), rng.integers(0, 3, 50), grid=grid) + Tally.from_target(
        rng.random((50, 3))
    )
    by = factors(tally)
    cuts = straightened(threshold, by, tally)
    near = (threshold / by)[:, None] * (1 + np.arange(-40, 41) * 2.0**-52)
    scores = np.concatenate([near, rng.random((3, 200))], axis=1)
    seen = to_grid(scores) if grid else scores
    reached = seen * by[:, None] >= threshold
    assert (scores[reached] >= np.broadcast_to(cuts[:, None], scores.shape)[reached]).all()
    assert np.allclose(cuts, threshold / by, rtol=3e-4 if grid else 1e-14)
    if grid:
        assert np.array_equal(cuts, to_grid(cuts))


@pytest.mark.parametrize("threshold", [-np.inf, np.inf])
def test_all_labels_and_none_stay_what_they_are(threshold: float) -> None:
    tally = make_world(3, strength=3, shift=0.3).draw(100, 100, np.random.default_rng(0))
    assert (straightened(threshold, factors(tally), tally) == threshold).all()


def test_the_lean_does_not_look_at_the_sources_scores() -> None:
    rng = np.random.default_rng(0)
    labels, target = rng.integers(0, 4, 300), Tally.from_target(rng.dirichlet(np.ones(4), 200))
    one, other = (factors(Tally.from_scores(rng.dirichlet(np.ones(4), 300), labels) + target) for _ in range(2))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("grid", [False, True])
def test_classes_that_the_target_has_more_of_get_lower_thresholds(grid: bool) -> None:
    world = make_world(3, strength=4, shift=0.5)
    tally = world.draw(5000, 5000, np.random.default_rng(0))
    tally = tally + Tally.from_scores(world.population.scores[:1], [0], grid=grid)
    by = factors(tally)
    assert by[2] > 1 > by[:2].max()
    leaning = leaned(tally, by)
    for threshold in leaning.values[leaning.values > 0.05][::50]:  # thresholds that are taken are scores
        cuts = straightened(threshold, by, tally)
        assert cuts[2] < threshold < cuts[:2].min()
        lost = leaning.misses(threshold) - tally.misses(cuts)  # on the grid: down to the next step
        assert (lost == 0).all() if not grid else (lost >= 0).all() and (lost <= 10).all() and 0 in lost


def test_a_class_that_is_never_predicted_still_has_a_factor() -> None:
    scores = np.tile([0.6, 0.3, 0.1], (20, 1))
    tally = Tally.from_scores(scores, np.zeros(20, int)) + Tally.from_target(scores)
    by = factors(tally)
    assert np.isfinite(by).all()
    assert (by > 0).all()
