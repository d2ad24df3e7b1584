"""Mixtures of Betas with weights in a box: the quantile is never too low, and hardly too high."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from pacshift.bounds import Interval
from pacshift.ps_lp.equal_miss_rate import MAX_CONVOLVED_CLASSES, MIN_CONVOLVED_DELTA, upper_quantile
from strategies import mix, seeds
from test_ps_lp_equal_miss_rate import box_around, tail_of_two


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
    draws = sum(
        share[j] * (rng.beta(ranks[j], counts[j] + 1 - ranks[j], 200_000) if ranks[j] else 0.0)
        for j in range(n_classes)
    )
    assert np.mean(draws > found) <= 0.01
    assert np.mean(draws > found) >= 0.006  # rounding up costs a little, no more


def test_without_thresholds_nothing_is_missed() -> None:
    box = Interval(np.array([0.2, 0.4]), np.array([0.6, 0.8]))
    assert upper_quantile(np.array([10, 0]), np.array([0, 0]), box, delta=0.01) == 0


def test_beyond_its_tables_it_says_one() -> None:
    counts, box = (
        np.full(MAX_CONVOLVED_CLASSES + 1, 100),
        Interval(np.zeros(MAX_CONVOLVED_CLASSES + 1), np.ones(MAX_CONVOLVED_CLASSES + 1)),
    )
    assert upper_quantile(counts, counts // 10, box, delta=0.01) == 1
    few = Interval(np.array([0.2, 0.4]), np.array([0.6, 0.8]))
    assert upper_quantile(counts[:2], counts[:2] // 10, few, delta=MIN_CONVOLVED_DELTA / 2) == 1
