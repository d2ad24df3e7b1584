"""Equal miss rate: moments above the true ones, tails as promised by both tests, and ranks that lose little."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import beta, binomtest

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, binomial_cut
from pacshift.mix.programs import MixProgram
from pacshift.ps_lp.equal_miss_rate import (
    MAX_CONVOLVED_CLASSES,
    MIN_CONVOLVED_DELTA,
    _Betas,
    equal_miss_ranks,
    log_rho,
    passes_by_moments,
    ranks_of,
    upper_quantile,
)
from strategies import mix, seeds


def any_mix(n_classes: int) -> MixProgram:
    return MixProgram(np.empty((0, n_classes)), np.empty(0))


def box_around(share: FloatArray, width: float) -> Interval:
    return Interval(np.clip(share - width, 0, 1), np.clip(share + width, 0, 1))


def inside(box: Interval) -> MixProgram:
    eye = np.eye(len(box.lower))
    return MixProgram(np.vstack([eye, -eye]), np.concatenate([box.upper, -box.lower]))


def log_moment(rank: int, total: int, x: float) -> float:
    """log E exp(x B) of a Beta(k, m + 1 - k) by its series, whose terms are all positive."""
    n = np.arange(int(3 * x + 40 * np.sqrt(x)) + 200)
    rising = special.gammaln(rank + n) - special.gammaln(rank) - special.gammaln(total + 1 + n)
    return float(special.logsumexp(rising + special.gammaln(total + 1) + n * np.log(x) - special.gammaln(n + 1)))


@given(st.integers(1, 5000), st.floats(0, 1), st.floats(1e-3, 3))
@settings(deadline=None, max_examples=300)
def test_the_moment_bound_is_above_the_moment_and_close_to_it(total: int, where: float, tilt: float) -> None:
    rank = 1 + int(where * (total - 1))
    law = _Betas(np.array([total]), np.array([rank]))
    x = tilt / float(np.sqrt(law.variance[0]))
    bound, exact = float(law.log_moment(np.array([x]))[0]), log_moment(rank, total, x)
    assert bound >= exact - 1e-7 * max(1, abs(exact))
    if rank >= 20 and law.mean[0] < 0.5:  # near the normal law the first two orders agree
        assert bound - law.mean[0] * x <= 1.1 * (exact - law.mean[0] * x) + 1e-6


@given(st.floats(0.1, 50), st.floats(1e-3, 1), st.floats(1e-9, 0.9))
@settings(deadline=None, max_examples=50)
def test_what_log_concave_tails_weigh_is_integrated_rightly(tilt: float, room: float, delta: float) -> None:
    theta, s = tilt / room, (np.arange(200_000) + 0.5) / 200_000 * room
    inside = theta * np.exp(-theta * s) * delta ** (1 - s / room) * np.exp(-s / room)
    below = np.exp(-theta * room) / np.e
    exact = np.log(inside.mean() * room + below)
    assert log_rho(np.array([theta]), room, delta)[0] == pytest.approx(exact, abs=1e-6)


@pytest.mark.montecarlo
@given(
    seeds,
    st.integers(2, 5),
    st.sampled_from([0.02, 0.1, 0.4]),
    st.sampled_from([0.3, 0.05, 5e-4]),
    st.sampled_from([0.0, 0.5]),
)
@settings(deadline=None, max_examples=90)
def test_a_mixture_of_two_classes_has_the_tail_that_was_promised(
    seed: int, size: int, epsilon: float, delta: float, caution: float
) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 10**size, 2)
    share = mix(rng, 2, float(rng.choice([0.3, 3.0])))
    box = box_around(share, float(rng.choice([0.0, 0.01, 1.0])))
    ranks = equal_miss_ranks(inside(box), box, counts, epsilon=epsilon, delta=delta, caution=caution)
    for one in np.linspace(box.lower[0], box.upper[0], 5):
        assert tail_of_two(counts, ranks, np.array([one, 1 - one]), epsilon) <= delta * 1.001


@pytest.mark.montecarlo
@given(seeds, st.sampled_from([0.3, 0.05, 5e-4]))
@settings(deadline=None, max_examples=60)
def test_ranks_of_different_rates_have_the_tail_that_was_promised_too(seed: int, delta: float) -> None:
    rng = np.random.default_rng(seed)
    counts, epsilon = rng.integers(20, 3000, 2), 0.2
    box = box_around(mix(rng, 2, 3.0), float(rng.choice([0.02, 0.3])))
    rates = epsilon * rng.random(2) ** np.array([0.2, 4.0])
    for scale in np.linspace(2.0, 0.2, 25):  # down to the first ranks that pass: nothing is left to spare there
        ranks = np.minimum(ranks_of(1.0, counts) - 1, (scale * rates * counts).astype(int))
        if passes_by_moments(inside(box), box, counts, ranks, epsilon=epsilon, delta=delta):
            break
    else:
        return
    for one in np.linspace(box.lower[0], box.upper[0], 5):
        assert tail_of_two(counts, ranks, np.array([one, 1 - one]), epsilon) <= delta * 1.001


def tail_of_two(counts: IntArray, ranks: IntArray, share: FloatArray, epsilon: float) -> float:
    """P(t_0 B_0 + t_1 B_1 > ε): slices of B_0, fine at both ends, each with the chance that B_1 does the rest."""
    if ranks[0] == 0 or share[0] == 0:
        values, chances = np.zeros(1), np.ones(1)
    else:
        values, chances = slices(int(ranks[0]), int(counts[0]))
    room = epsilon - share[0] * values
    if ranks[1] == 0 or share[1] == 0:
        return float(chances @ (room < 0))
    return float(chances @ beta.sf(room / share[1], ranks[1], counts[1] + 1 - ranks[1]))


@cache
def slices(rank: int, total: int) -> tuple[FloatArray, FloatArray]:
    """Beta(k, m + 1 - k) in slices: a value in each, and its chance."""
    levels = special.expit(np.linspace(-30, 30, 6001))
    return beta.ppf((levels[1:] + levels[:-1]) / 2, rank, total + 1 - rank), np.diff(levels)


@pytest.mark.parametrize(
    ("total", "epsilon", "delta"), [(1000, 0.1, 0.01), (20_000, 0.05, 5e-4), (500, 0.3, 1e-3)]
)
def test_one_class_comes_close_to_the_exact_binomial_cut(total: int, epsilon: float, delta: float) -> None:
    counts, box = np.array([total, total]), Interval(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    rank = int(equal_miss_ranks(inside(box), box, counts, epsilon=epsilon, delta=delta)[0])
    exact = binomial_cut(total, epsilon=epsilon, delta=delta) + 1
    assert rank <= exact
    assert epsilon * total - rank <= 1.3 * (epsilon * total - exact) + 1


def test_the_more_is_known_of_the_mix_the_higher_the_ranks() -> None:
    counts, share = np.array([2000, 1000, 500]), np.array([0.5, 0.3, 0.2])
    found = []
    for width in (1.0, 0.1, 0.02, 0.0):
        box = box_around(share, width)
        found.append(equal_miss_ranks(inside(box), box, counts, epsilon=0.1, delta=0.01).sum())
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_where_nothing_can_be_promised_every_rank_is_zero() -> None:
    box = Interval(np.zeros(2), np.ones(2))
    assert not equal_miss_ranks(any_mix(2), box, np.array([5, 0]), epsilon=0.01, delta=0.01).any()
    assert not passes_by_moments(any_mix(2), box, np.array([50, 50]), np.array([20, 20]), epsilon=0.1, delta=0.1)


@pytest.mark.montecarlo
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("totals", [[400, 300, 60], [5000, 50], [200] * 6])
def test_errors_above_epsilon_are_as_rare_as_promised(totals: list[int], tied: bool) -> None:
    """Scores are uniform within each class, so that the miss rate below a threshold is the threshold."""
    counts, epsilon, delta, repeats = np.array(totals), 0.1, 0.1, 2000
    share = np.arange(1, len(totals) + 1) / np.arange(1, len(totals) + 1).sum()
    box = box_around(share, 0.03)
    ranks = equal_miss_ranks(inside(box), box, counts, epsilon=epsilon, delta=delta)
    rng, failed = np.random.default_rng(len(totals)), 0
    for _ in range(repeats):
        cuts = np.zeros(len(counts))
        for label in np.flatnonzero(ranks):
            scores = np.sort(rng.random(counts[label]))
            scores = np.floor(scores * 50) / 50 if tied else scores
            cuts[label] = scores[ranks[label] - 1]
        failed += int(share @ cuts > epsilon)
    assert binomtest(failed, repeats, delta, alternative="greater").pvalue > 1e-3
    if not tied:
        assert failed > 0.02 * delta * repeats  # and yet not merely cautious


@given(seeds, st.floats(0.0, 2.0))
@settings(deadline=None, max_examples=60)
def test_ranks_do_not_fall_as_the_rate_grows_with_any_caution(seed: int, caution: float) -> None:
    counts = np.random.default_rng(seed).integers(0, 3000, 5)
    ranks = np.array([ranks_of(rate, counts, caution) for rate in np.linspace(0, 1, 300)])
    assert (np.diff(ranks, axis=0) >= 0).all()
    assert (ranks <= ranks_of(1.0, counts)).all()


@given(st.integers(1, 10**6), st.floats(0, 1), st.sampled_from([0.3, 0.01, 5e-4, 1e-8]))
@settings(deadline=None, max_examples=100)
def test_of_one_class_it_is_the_quantile_of_its_beta_law(total: int, where: float, delta: float) -> None:
    rank = 1 + int(where * (total - 1))
    counts, box = np.array([total, total]), Interval(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    found = upper_quantile(counts, np.array([rank, rank]), box, delta=delta)
    exact = float(beta.isf(delta, rank, total + 1 - rank))
    spread = float(beta.std(rank, total + 1 - rank))
    assert exact - 1e-9 <= found + 1e-6 * spread
    assert found <= exact + 0.1 * spread + 1e-9


@pytest.mark.montecarlo
@given(seeds, st.sampled_from([0.3, 0.01, 5e-4]))
@settings(deadline=None, max_examples=60)
def test_no_mix_of_the_box_exceeds_it_too_often(seed: int, delta: float) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 10 ** int(rng.integers(1, 6)), 2)
    ranks = np.floor(rng.random(2) * (counts + 1) * float(rng.choice([0.1, 1.0]))).astype(int)
    box = box_around(mix(rng, 2, 1.0), float(rng.choice([0.0, 0.02, 0.3])))
    found = upper_quantile(counts, ranks, box, delta=delta)
    for one in np.linspace(box.lower[0], box.upper[0], 7):
        assert tail_of_two(counts, ranks, np.array([one, 1 - one]), found) <= delta * 1.001


@pytest.mark.parametrize("n_classes", [3, 10, MAX_CONVOLVED_CLASSES])
def test_of_a_known_mix_it_is_hardly_above_what_is_drawn(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    counts, share = rng.integers(50, 3000, n_classes), mix(rng, n_classes, 2.0)
    ranks = np.floor(0.1 * (counts + 1)).astype(int)
    found = upper_quantile(counts, ranks, Interval(share, share), delta=0.01)
    laws = [rng.beta(r, m + 1 - r, 200_000) if r else 0.0 for r, m in zip(ranks, counts, strict=True)]
    draws = sum(part * law for part, law in zip(share, laws, strict=True))
    assert np.mean(draws > found) <= 0.01
    assert np.mean(draws > found) >= 0.006  # rounding up costs a little, no more


def test_beyond_its_tables_it_says_one() -> None:
    counts = np.full(MAX_CONVOLVED_CLASSES + 1, 100)
    assert upper_quantile(counts, counts // 10, Interval(0.0 * counts, 0.01 * counts), delta=0.01) == 1
    few = Interval(np.array([0.2, 0.4]), np.array([0.6, 0.8]))
    assert upper_quantile(np.array([10, 0]), np.array([0, 0]), few, delta=0.01) == 0  # nothing is missed
    assert upper_quantile(counts[:2], counts[:2] // 10, few, delta=MIN_CONVOLVED_DELTA / 2) == 1
