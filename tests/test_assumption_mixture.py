"""The mixture of the bets: every row of it is kept where the mean wealth is below its hurdle, and it is sharp."""

import numpy as np
from hypothesis import given, settings

from pacshift.assumption.mixture import Mixture, cut
from pacshift.bounds import ROUNDING
from strategies import seeds


def random_mixture(rng: np.random.Generator, n_classes: int) -> Mixture:
    n_bets = int(rng.integers(1, 8))
    slope = rng.normal(0, rng.choice([0.1, 3.0, 40.0]), (n_bets, n_classes)) + rng.normal(0, 30)
    constant = slope.mean(axis=1) + rng.normal(0, 5, n_bets)
    return Mixture(constant, slope, float(rng.uniform(0.5, 6)), rng.dirichlet(np.ones(n_classes)))


@given(seeds)
@settings(max_examples=60)
def test_no_row_cuts_off_a_mix_at_which_the_mean_wealth_is_below_its_hurdle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 6))
    mixture = random_mixture(rng, n_classes)
    for where in rng.dirichlet(np.ones(n_classes), 5):
        row, limit = mixture.row(where)
        for mix in rng.dirichlet(np.full(n_classes, 0.5), 20):
            wealth = np.log(np.mean(np.exp(mixture.constant - mixture.slope @ mix)))
            assert np.isclose(wealth, mixture.log_wealth(mix))
            if wealth <= mixture.hurdle:
                assert row @ mix <= limit + 1e-9
        # At the mix where it is sought the row says all that the mean wealth says.
        if abs(mixture.log_wealth(where) - mixture.hurdle) > 1e-6:
            assert (row @ where > limit) == (mixture.log_wealth(where) > mixture.hurdle)


@given(seeds)
@settings(max_examples=25)
def test_refuted_is_right_wherever_a_fine_grid_of_mixes_is_clear(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixture = random_mixture(rng, 2)
    top = float(rng.uniform(0.5, 1))
    found = cut(np.eye(2), np.array([top, 1.0]), mixture)
    grid = np.linspace(0, top, 401)
    least = min(mixture.log_wealth(np.array([t, 1 - t])) for t in grid.tolist())
    slack = np.ptp(mixture.slope, axis=1).max() / 400 + 1e-6
    if least > mixture.hurdle + slack:
        assert found.refuted or len(found.limits) == 8
    if least <= mixture.hurdle:
        assert not found.refuted


def test_two_bets_that_exclude_different_mixes_refute_together() -> None:
    """Each bet alone leaves a half of the mixes; weights between them leave none."""
    slope = np.array([[40.0, 0.0], [0.0, 40.0]])
    mixture = Mixture(np.full(2, 40.0), slope, 3.0, np.array([0.9, 0.1]))
    rows, limits = np.eye(2), np.ones(2)
    found = cut(rows, limits, mixture)
    assert found.refuted
    assert len(found.rows) > 1
    assert not cut(rows, limits, None).refuted
    assert cut(rows, np.full(2, 0.5 - 2 * ROUNDING), None).refuted
