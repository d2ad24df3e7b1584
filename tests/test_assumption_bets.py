"""Bets: their expected wealth is at most 1 for the true mix, whatever the world; checked by exact enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binomtest

from cell_worlds import CellWorld, make_world
from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption.bets import (
    LEAST_REACH,
    MAX_CUTS,
    MAX_STAKE,
    FoldBets,
    Means,
    Mixture,
    as_rows,
    cutting_planes,
    fourth_price,
    place_bets,
    stake_price,
    wealth_lines,
)
from pacshift.assumption.cells import even_folds, split
from pacshift.assumption.directions import Stages, difference_bets, many_bets, share_bets
from pacshift.bounds import ROUNDING
from strategies import seeds


def powers(distance: FloatArray) -> FloatArray:
    return np.array([distance**2, distance**3, distance**4])


@given(seeds, st.floats(0.0, 0.99), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.2, 1.0]))
@settings(max_examples=80)
def test_one_row_wins_nothing_on_average(seed: int, part: float, centre: float, more: float) -> None:
    rng = np.random.default_rng(seed)
    values = np.append(rng.random(4) ** rng.choice([0.1, 1, 10]), rng.integers(0, 2, 2))
    law = rng.dirichlet(np.full(len(values), 0.3))
    for sign, farthest in (
        (1, 1 - centre),
        (-1, centre),
    ):  # source rows bet on smaller values, target rows on larger
        reach = np.maximum(farthest, 0.01) + more
        stake = part / reach
        price = stake_price(np.array(stake), np.array(reach), powers(sign * (centre - values)))
        assert law @ np.exp(sign * stake * (law @ values - values) - price) <= 1 + 1e-9


def test_the_price_is_just_above_the_least_that_its_proof_allows() -> None:
    for x in np.linspace(0, MAX_STAKE, 33).tolist():
        exact = quad(lambda s, x=x: s**3 / (1 - x * s), 0, 1)[0]
        assert exact - 1e-12 <= fourth_price(np.array(x)) <= 1.04 * exact
    rows = np.linspace(-0.7, 0.3, 50)
    stake, reach = np.array(1.1), np.array(0.7)
    excess = stake_price(stake, reach, powers(rows)) - (stake * rows - np.log1p(stake * rows))
    assert excess.min() >= 0
    assert excess[0] < 0.02  # the farthest row is the worst case of the proof


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
    stake = float(min(rng.choice([0.3, 1.0, 3.0, 8.0]), MAX_STAKE * n_target / max(centre, LEAST_REACH)))
    low, top = mix * rng.choice([0.0, 0.5, 1.0]), np.minimum(mix * rng.choice([1.0, 1.5, 20.0]) + 1e-9, 1.0)
    rows = [(label, rates[:, label]) for label in range(n_classes) for _ in range(counts[label])]
    rows += [(-1, law)] * n_target
    labels = np.array([label for label, _ in rows])
    ones = np.ones((1, n_classes)), np.ones(1)
    past = Means(np.tile(centres, (4, 1, 1)), np.full((4, 1), centre), *ones)  # it had shown these centres
    expected = np.zeros(2)
    for outcome in product(range(n_cells), repeat=len(rows)):
        chance = np.prod([law[cell] for (_, law), cell in zip(rows, outcome, strict=True)])
        fold = means(values[list(outcome), None], labels, n_classes)
        bets = place_bets(np.array([stake]), past, fold)
        intercept, slope = bets.lines(low, top, eta)
        linear = bets.constant(eta) - (intercept + slope * mix).sum(axis=1)
        exact = bets.constant(eta) - bets.loss((1 - eta) * mix).sum(axis=1)
        assert linear[0] <= exact[0] + 1e-9
        expected += chance * np.exp([linear[0], exact[0]])
    return expected


def means(seen: FloatArray, labels: IntArray, n_classes: int) -> Means:
    """Means of the powers of single rows (n, D), for label -1 of the target."""

    def powers_of(label: int) -> FloatArray:
        rows = seen[labels == label]
        return np.array([(rows**power).mean(axis=0) if len(rows) else 0 * seen[0] for power in (1, 2, 3, 4)])

    counts = np.array([[(labels == label).sum() for label in range(n_classes)]], float)
    source = np.stack([powers_of(label) for label in range(n_classes)], axis=2)
    return Means(source, powers_of(-1), counts, np.array([(labels == -1).sum()], float))


@pytest.mark.slow
def test_expected_wealth_of_the_true_mix_is_at_most_one_by_enumeration() -> None:
    found = np.array([enumerated(seed) for seed in range(30)])
    assert found.max() <= 1 + 1e-9
    assert found[:, 1].max() > 0.9  # not merely because nothing is ever bet


def random_bets(rng: np.random.Generator, n_classes: int, n_directions: int = 3) -> FoldBets:
    """Bets on 0 to 30 rows of each class with values in [0, 1]."""
    labels = np.concatenate([np.repeat(np.arange(n_classes), rng.integers(0, 30, n_classes)), np.full(100, -1)])
    power = rng.choice([0.1, 1.0, 10.0], n_classes + 1)[labels]  # of each class
    fold = means(rng.random((len(labels), n_directions)) ** power[:, None], labels, n_classes)
    others = rng.random(fold.source.shape), rng.random(fold.target.shape)
    past = replace(fold, source=others[0], target=others[1], class_counts=np.ones((1, n_classes)))
    return place_bets(rng.choice([0.5, 5.0, 50.0], n_directions), past, fold)


@given(seeds)
@settings(max_examples=40)
def test_lines_bound_the_exact_losses_between_low_and_top(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 6))
    bets, eta = random_bets(rng, n_classes), float(rng.choice([0.0, 0.2]))
    low, top = np.sort(rng.random((2, n_classes)), axis=0)
    low = low * rng.choice([0.0, 1.0])
    intercept, slope = bets.lines(low, top, eta)
    for share in low + rng.random((20, n_classes)) * (top - low):
        assert (intercept + slope * share >= bets.loss((1 - eta) * share) - 1e-9).all()
    shares = np.array([low, top])  # a chord touches at both ends, up to the kink
    kink = MAX_STAKE * bets.class_counts / bets.source_reach / bets.stake[:, None]
    whole = (1 - eta) * top <= kink
    for share in shares:
        assert np.allclose((intercept + slope * share)[whole], bets.loss((1 - eta) * share)[whole], atol=1e-6)


def test_rows_say_the_same_as_the_wealth() -> None:
    rng = np.random.default_rng(3)
    stages = stages_of(make_world(rng, 3, (2000, 2000)), rng)
    low, top = np.array([0.1, 0.0, 0.0]), np.array([0.5, 0.9, 1.0])
    constant, slope = wealth_lines(difference_bets(stages, 4.0), low, top, 0.1)
    rows, limits = as_rows(constant, slope, 4.0)
    assert len(rows) == 25
    assert ((rows >= 0) & (rows <= 1)).all()
    for mix in rng.dirichlet(np.ones(3), 50):
        wealth = constant - slope @ mix
        clear = np.abs(wealth - 4.0) > 1e-6
        assert ((rows @ mix <= limits)[clear] == (wealth <= 4.0)[clear]).all()


def stages_of(world: CellWorld, rng: np.random.Generator) -> Stages:
    counts = world.draw(rng)
    return Stages.of(counts, *even_folds(counts))


def test_the_past_of_a_fold_is_all_before_it_and_nothing_of_it() -> None:
    rng = np.random.default_rng(9)
    counts = make_world(rng, 3, (500, 500)).draw(rng)
    source, target = even_folds(counts)
    stages = Stages.of(counts, source, target)
    for place in range(25):
        stage, split_number = divmod(place, 5)
        for past, now, parts in zip(stages.past, stages.fold, (source, target), strict=True):
            assert np.array_equal(past[place], parts[split_number, : stage + 1].sum(axis=0))
            assert np.array_equal(now[place], parts[split_number, stage + 1])


def chosen(bets: FoldBets) -> list[FloatArray]:
    """What must be chosen before a fold is looked at."""
    return [bets.stake, bets.source_reach, bets.target_reach]


@pytest.mark.parametrize("place", [difference_bets, share_bets])
def test_nothing_that_is_chosen_for_a_fold_looks_at_it(place: object) -> None:
    assert callable(place)
    rng, changed_later = np.random.default_rng(4), 0
    for stage in (0, 2, 4):
        counts = make_world(rng, 3, (300, 300)).draw(rng)
        folds = even_folds(counts)
        moved = tuple(np.copy(part) for part in folds)
        for part in moved:  # as many rows of each label, in other cells
            part[:, stage + 1] = rng.permuted(part[:, stage + 1], axis=1)
        one, two = (place(Stages.of(counts, *each), 6.0) for each in (folds, moved))
        for a, b in zip(chosen(one), chosen(two), strict=True):
            assert np.array_equal(a[: stage + 1], b[: stage + 1])
        assert not np.array_equal(one.source_mean[stage], two.source_mean[stage])
        changed_later += stage < 4 and not np.allclose(one.stake[stage + 1 :], two.stake[stage + 1 :])
    assert changed_later == 2  # later folds do learn from it


def test_reaches_hold_every_value_that_a_row_can_have() -> None:
    rng = np.random.default_rng(7)
    centres, centre, nothing = rng.random((1, 3)), rng.random(1), np.zeros((4, 1, 3))
    sizes = np.array([[5.0, 0.0, 5.0]]), np.array([9.0])
    past = Means(np.tile(centres, (4, 1, 1)), np.tile(centre, (4, 1)), *sizes)
    bets = place_bets(np.ones(1), past, Means(nothing, np.zeros((4, 1)), *sizes))
    centres[0, 1] = 0.5  # no rows
    assert np.allclose(bets.source_reach, np.maximum(1 - centres, LEAST_REACH))
    assert np.allclose(bets.target_reach, np.maximum(centre, LEAST_REACH))
    assert np.allclose(bets.source_moments, powers(centres))  # all values are 0
    assert np.allclose(bets.target_moments, powers(-centre))


def test_stakes_and_reaches_are_those_of_the_lemmas() -> None:
    rng = np.random.default_rng(5)
    for n_classes in (2, 5, 70):
        counts = make_world(rng, n_classes, (400, 400)).draw(rng)
        if n_classes == 70:
            found = [many_bets(split(counts), 9.0)]
        else:
            stages = Stages.of(counts, *even_folds(counts))
            found = [place(stages, 9.0) for place in (difference_bets, share_bets)]
        for bets in found:
            assert (bets.stake * bets.target_reach <= MAX_STAKE * bets.n_target * (1 + 1e-12)).all()
            assert min(bets.source_reach.min(), bets.target_reach.min()) >= LEAST_REACH
            assert max(bets.source_reach.max(), bets.target_reach.max()) <= 1 + 1e-12
            assert bets.source_mean.min() >= 0
            assert bets.source_mean.max() <= 1 + 1e-12


@pytest.mark.montecarlo
@pytest.mark.parametrize("contamination", [0.0, 0.15])
def test_the_true_mix_rarely_loses_all_bets_and_each_as_rarely_as_promised(contamination: float) -> None:
    """Lemma 4 for the exact log-wealth at the true mix, tilts included: P(mean wealth >= 1/α) <= α."""
    rng, repeats, found = np.random.default_rng(21), 250, []
    for _ in range(repeats):
        sizes = (int(rng.choice([60, 400, 3000])), int(rng.choice([60, 400, 3000])))
        world = make_world(rng, int(rng.choice([2, 3, 5])), sizes, contamination=contamination)
        folds = difference_bets(stages_of(world, rng), 2.0)
        losses = folds.loss((1 - contamination) * world.mix).sum(axis=-1)
        log_wealth = (folds.constant(contamination) - losses).sum(axis=0)
        found.append(np.exp(log_wealth).mean())
    for alpha in (0.5, 0.2, 0.05):
        wins = int((np.array(found) >= 1 / alpha).sum())
        assert binomtest(wins, repeats, alpha, alternative="greater").pvalue > 1e-3
    assert np.max(found) > 1.5  # something is at stake


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
    _, limits, refuted = cutting_planes(np.eye(2), np.array([top, 1.0]), mixture)
    grid = np.linspace(0, top, 401)
    least = min(mixture.log_wealth(np.array([t, 1 - t])) for t in grid.tolist())
    slack = np.ptp(mixture.slope, axis=1).max() / 400 + 1e-6
    if least > mixture.hurdle + slack:
        assert refuted or len(limits) == 2 + MAX_CUTS
    if least <= mixture.hurdle:
        assert not refuted


def test_two_bets_that_exclude_different_mixes_refute_together() -> None:
    """Each bet alone leaves a half of the mixes; weights between them leave none."""
    slope = np.array([[40.0, 0.0], [0.0, 40.0]])
    mixture = Mixture(np.full(2, 40.0), slope, 3.0, np.array([0.9, 0.1]))
    rows, limits = np.eye(2), np.ones(2)
    cut, _, refuted = cutting_planes(rows, limits, mixture)
    assert refuted
    assert len(cut) > len(rows) + 1
    assert not cutting_planes(rows, limits, None)[2]
    assert cutting_planes(rows, np.full(2, 0.5 - 2 * ROUNDING), None)[2]
