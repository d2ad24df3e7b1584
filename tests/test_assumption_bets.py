"""Bets: their expected wealth is at most 1 for the true mix, whatever the world; checked by exact enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cell_worlds import cell_counts, make_world
from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption.bets import MAX_STAKE, Bets, FoldBets, choose_stakes, place_bets, stake_price
from pacshift.assumption.directions import best_mix, directions
from pacshift.assumption.folds import joined, split
from pacshift.assumption.tops import likely_tops
from strategies import seeds


@given(seeds, st.floats(0.0, 0.99), st.floats(0.0, 1.0))
@settings(max_examples=120)
def test_one_row_wins_nothing_on_average(seed: int, stake: float, centre: float) -> None:
    rng = np.random.default_rng(seed)
    values = np.append(rng.random(4) ** rng.choice([0.1, 1, 10]), rng.integers(0, 2, 2))
    law = rng.dirichlet(np.full(len(values), 0.3))
    for sign in (1, -1):  # source rows bet on smaller values than expected, target rows on larger ones
        gain = sign * stake * (law @ values - values) - stake_price(stake) * (values - centre) ** 2
        assert law @ np.exp(gain) <= 1 + 1e-9


def enumerated(seed: int) -> FloatArray:
    """Expected wealth of one bet in a random tiny world, by the linear bound, and by the exact log-wealth."""
    rng = np.random.default_rng(seed)
    n_cells, n_classes = 2, 2
    counts, n_target = rng.integers(0, 4, n_classes), int(rng.integers(1, 4))
    rates = rng.dirichlet(np.full(n_cells, 0.4), n_classes).T
    mix = rng.dirichlet(np.full(n_classes, 0.5))
    eta = float(rng.choice([0.0, 0.3]))
    law = (1 - eta) * rates @ mix + eta * rng.dirichlet(np.full(n_cells, 0.2))
    values, centres, centre = rng.random(n_cells), rng.random(n_classes), rng.random()
    if seed % 2:  # the tightest case: values at the ends, centres at the means
        values = np.array([0.0, 1.0])
        centres, centre = values @ rates, float(values @ law)
    stake = float(min(rng.choice([0.3, 1.0, 3.0, 8.0]), MAX_STAKE * n_target))
    top = np.minimum(mix * rng.choice([1.0, 1.5, 20.0]) + 1e-9, 1.0)
    rows = [(label, rates[:, label]) for label in range(n_classes) for _ in range(counts[label])]
    rows += [(-1, law)] * n_target
    expected = np.zeros(2)
    for outcome in product(range(n_cells), repeat=len(rows)):
        chance = np.prod([law[cell] for (_, law), cell in zip(rows, outcome, strict=True)])
        bets = fold_bets(rows, outcome, values, centres, centre, stake, counts, n_target)
        linear = bets.constant(eta) - bets.losses(top, eta) @ mix
        exact = bets.constant(eta) - bets._loss((1 - eta) * mix).sum(axis=1)
        assert linear[0] <= exact[0] + 1e-9
        expected += chance * np.exp([linear[0], exact[0]])
    return expected


def fold_bets(
    rows: list[tuple[int, FloatArray]],
    outcome: tuple[int, ...],
    values: FloatArray,
    centres: FloatArray,
    centre: float,
    stake: float,
    counts: IntArray,
    n_target: int,
) -> FoldBets:
    seen = values[list(outcome)]
    labels = np.array([label for label, _ in rows])
    mean, square = np.zeros((1, len(counts))), np.zeros((1, len(counts)))
    for label in np.flatnonzero(counts).tolist():
        mean[0, label] = seen[labels == label].mean()
        square[0, label] = ((seen[labels == label] - centres[label]) ** 2).mean()
    target = seen[labels == -1]
    return FoldBets(
        np.array([stake]),
        mean,
        square,
        np.array([target.mean()]),
        np.array([((target - centre) ** 2).mean()]),
        counts.astype(float),
        float(n_target),
    )


@pytest.mark.slow
def test_expected_wealth_of_the_true_mix_is_at_most_one_by_enumeration() -> None:
    found = np.array([enumerated(seed) for seed in range(60)])
    assert found.max() <= 1 + 1e-9
    assert found[:, 1].max() > 0.9  # not merely because nothing is ever bet


@given(seeds)
@settings(max_examples=50)
def test_linear_losses_bound_the_exact_ones_for_all_mixes_below_the_tops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes, n_directions = int(rng.integers(2, 6)), 3
    counts = rng.integers(0, 30, n_classes).astype(float)
    shape = n_directions, n_classes
    bets = FoldBets(
        rng.choice([0.5, 5.0, 50.0], n_directions), rng.random(shape), rng.random(shape), rng.random(n_directions),
        rng.random(n_directions), counts, 100.0,
    )  # fmt: skip
    top, eta = rng.random(n_classes), float(rng.choice([0.0, 0.2]))
    for share in rng.random((20, n_classes)) * top:
        assert (bets.losses(top, eta) * share >= bets._loss((1 - eta) * share) - 1e-9).all()


def test_rows_say_the_same_as_the_wealth() -> None:
    rng = np.random.default_rng(3)
    world = make_world(rng, 3, (2000, 2000))
    folds = split(world.draw(rng))
    past, fold = joined(folds[:3]), folds[3]
    values, mix = directions(past)
    hurdles = np.full(values.shape[1], 4.0)
    placed = place_bets(values, mix, likely_tops(past, mix), past, fold, hurdles / 4)
    top = np.array([0.5, 0.9, 1.0])
    bets = Bets((placed, placed, placed, placed), 2, hurdles, 0.1)  # two folds of two splits
    rows, limits = bets.rows(top)
    assert ((rows >= 0) & (rows <= 1)).all()
    for mixture in rng.dirichlet(np.ones(3), 50):
        wealth = 2 * (placed.constant(0.1) - placed.losses(top, 0.1) @ mixture)
        clear = np.abs(wealth - hurdles) > 1e-6
        assert ((rows @ mixture <= limits)[clear] == (wealth <= hurdles)[clear]).all()


def test_stakes_and_centres_do_not_look_at_the_fold() -> None:
    rng, looked_at_gaps = np.random.default_rng(4), 0
    for _ in range(20):
        world = make_world(rng, 3, (300, 300))
        folds = split(world.draw(rng))
        past, fold = joined(folds[:3]), folds[3]
        values, mix = directions(past)
        extreme = np.zeros(len(fold.target))
        extreme[np.argmax(values[:, 0])] = fold.n_target
        wild = cell_counts(fold.source, extreme, world.n_bins)
        wanted, top = np.full(values.shape[1], 6.0), np.ones(3)
        one, other = (place_bets(values, mix, top, past, rows, wanted) for rows in (fold, wild))
        assert np.array_equal(one.stake, other.stake)
        assert np.isclose(other.target_mean[0], 1)
        centre = np.where(past.class_counts > 0, past.means(values)[0], 0.5)
        squares = ((values.T[:, :, None] - centre[:, None, :]) ** 2 * fold.rates).sum(axis=1)
        seen = fold.class_counts > 0
        assert np.allclose(one.source_square[:, seen], squares[:, seen])
        assert np.allclose(other.target_square[0], (1 - past.means(values)[1][0]) ** 2)
        # With another past the stakes would differ: they are not simply the same for all gaps.
        looked_at_gaps += not np.allclose(
            choose_stakes(replace(other, stake=one.stake), mix, top, wanted), one.stake
        )
    assert looked_at_gaps > 5


@pytest.mark.parametrize("n_classes", [2, 5, 70])
def test_directions_have_values_between_0_and_1_and_the_mix_is_a_mix(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    counts = make_world(rng, n_classes, (3000, 3000)).draw(rng)
    values, mix = directions(counts)
    assert values.min() >= 0
    assert values.max() <= 1
    assert mix.min() >= 0
    assert np.isclose(mix.sum(), 1)
    assert np.allclose(best_mix(counts), mix)


def test_a_change_of_mix_does_not_move_the_main_direction() -> None:
    rng = np.random.default_rng(8)
    world = make_world(rng, 4, (40_000, 40_000))
    moved = replace(world, rates=np.roll(world.rates, 1, axis=0)).draw(rng).target
    counts = replace(world.draw(rng), target=moved)
    values, mix = directions(counts)
    means = counts.means(values)[0][0]
    in_mix = mix > 1e-6
    # Cut at 4 standard deviations, the direction keeps equal means up to a little.
    assert np.ptp(means[in_mix]) < 0.05
    assert counts.means(values)[1][0] > means[in_mix].max()
