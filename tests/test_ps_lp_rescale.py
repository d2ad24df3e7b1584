"""Rescaled thresholds: never above what was proven, and lower where the target has more of a class."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import Tally
from pacshift.ps_lp.rescale import TINY, rescaled, rescaling_factors, undo_rescaling
from pacshift.tally.grid import to_grid
from strategies import seeds
from worlds import make_world


@given(seeds, st.floats(1e-6, 1.2), st.booleans())
@settings(deadline=None, max_examples=200)
def test_what_reaches_the_rescaled_threshold_reaches_its_own(seed: int, threshold: float, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    tally = Tally.from_scores(rng.random((50, 3)), rng.integers(0, 3, 50), grid=grid) + Tally.from_target(
        rng.random((50, 3))
    )
    factors = rescaling_factors(tally)
    cuts = undo_rescaling(threshold, factors, tally)
    near = (threshold / factors)[:, None] * (1 + np.arange(-40, 41) * 2.0**-52)
    scores = np.concatenate([near, rng.random((3, 200))], axis=1)
    seen = to_grid(scores) if grid else scores
    reached = seen * factors[:, None] >= threshold
    assert (scores[reached] >= np.broadcast_to(cuts[:, None], scores.shape)[reached]).all()
    assert np.allclose(cuts, threshold / factors, rtol=3e-4 if grid else 1e-14)
    if grid:
        assert np.array_equal(cuts, to_grid(cuts))


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("threshold", [5e-324, -5e-324, 1e-315, 3e-308, 2 * TINY, 0.0, -1e-310, 1e308, -1e308])
def test_thresholds_at_the_ends_of_the_floats_are_rounded_down_too(threshold: float, grid: bool) -> None:
    """Products of subnormal numbers lose digits, and quotients of large ones overflow."""
    tally = replace(make_world(3, strength=3, shift=0.3).draw(9, 9, np.random.default_rng(0)), grid=grid)
    factors = np.array([3.7e-4, 0.9, 41.0])
    cuts = undo_rescaling(threshold, factors, tally)
    assert not np.isnan(cuts).any()
    with np.errstate(over="ignore"):
        edge = np.clip(threshold / factors, -1.7e308, 1.7e308)[:, None]
        steps = np.arange(-400, 401)
        near = [
            edge * (1 + steps * 2.0**-52),
            edge + steps * 5e-324,
            edge * (1 + steps * 2.0**-13),
            edge + 1e-290 * steps,
        ]
        scores = np.concatenate(near, axis=1)
        scores = np.where(np.isfinite(scores), scores, 0.0)
        seen = to_grid(scores) if grid else scores
        reached = seen * factors[:, None] >= threshold
    assert reached.any()
    assert (scores >= cuts[:, None])[reached].all()


@pytest.mark.parametrize("threshold", [-np.inf, np.inf])
def test_all_labels_and_none_stay_what_they_are(threshold: float) -> None:
    tally = make_world(3, strength=3, shift=0.3).draw(100, 100, np.random.default_rng(0))
    assert (undo_rescaling(threshold, rescaling_factors(tally), tally) == threshold).all()


def test_the_factors_do_not_depend_on_the_sources_scores() -> None:
    rng = np.random.default_rng(0)
    labels, target = rng.integers(0, 4, 300), Tally.from_target(rng.dirichlet(np.ones(4), 200))
    sources = [Tally.from_scores(rng.dirichlet(np.ones(4), 300), labels) for _ in range(2)]
    one, other = (rescaling_factors(source + target) for source in sources)
    assert np.array_equal(one, other)


@pytest.mark.parametrize("grid", [False, True])
def test_classes_that_the_target_has_more_of_get_lower_thresholds(grid: bool) -> None:
    world = make_world(3, strength=4, shift=0.5)
    tally = world.draw(5000, 5000, np.random.default_rng(0))
    tally = tally + Tally.from_scores(world.population.scores[:1], [0], grid=grid)
    factors = rescaling_factors(tally)
    assert factors[2] > 1 > factors[:2].max()
    products = rescaled(tally, factors)
    for threshold in products.values[products.values > 0.05][::50]:  # thresholds that are taken are scores
        cuts = undo_rescaling(threshold, factors, tally)
        assert cuts[2] < threshold < cuts[:2].min()
        lost = products.misses(threshold) - tally.misses(cuts)  # on the grid: down to the next step
        assert (lost == 0).all() if not grid else (lost >= 0).all() and (lost <= 10).all() and 0 in lost


def test_a_class_that_is_never_predicted_still_has_a_factor() -> None:
    scores = np.tile([0.6, 0.3, 0.1], (20, 1))
    tally = Tally.from_scores(scores, np.zeros(20, int)) + Tally.from_target(scores)
    factors = rescaling_factors(tally)
    assert np.isfinite(factors).all()
    assert (factors > 0).all()
