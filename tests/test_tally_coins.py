"""Coins: the same for the same counts in any order, and unrelated to the counts they are thrown for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from pacshift import Tally, calibrate
from pacshift.methods.point_weights import thin
from pacshift.ps_lp.tuned import HELD_OUT_SHARE, hold_out
from pacshift.tally.coins import coins, score_coins

COUNTS = np.arange(12)


def first(*given: object, seed: int = 0, purpose: str = "test") -> float:
    return float(coins(purpose, seed, *(np.asarray(each) for each in given)).random())


def test_purpose_seed_values_types_and_borders_all_matter() -> None:
    calls = [
        first(COUNTS),
        first(COUNTS, purpose="other"),
        first(COUNTS, seed=1),
        first(COUNTS + 1),
        first(COUNTS.astype(float)),
        first(COUNTS[:6], COUNTS[6:]),
        first(COUNTS[:5], COUNTS[5:]),
        first(COUNTS.reshape(3, 4)),
    ]
    assert len(set(calls)) == len(calls)


def test_how_the_numbers_lie_in_memory_does_not_matter() -> None:
    expected = first(COUNTS)
    assert first(COUNTS.astype(np.int32)) == expected
    assert first(COUNTS.astype(">i8")) == expected
    assert first(np.repeat(COUNTS, 2)[::2]) == expected


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200)
    order = rng.permutation(200)
    one, other = Tally.from_scores(scores, labels), Tally.from_scores(scores[order], labels[order])
    assert score_coins("test", one, 0).random() == score_coins("test", other, 0).random()
    assert np.array_equal(hold_out(one).counts, hold_out(other).counts)


@pytest.mark.parametrize("method", ["PS-LP", "PS-W", "PS-R"])
def test_sorted_rows_get_the_same_certificate_and_every_seed_another(method: str) -> None:
    rng = np.random.default_rng(1)
    labels = rng.choice(2, 3000, p=[0.8, 0.2])
    p = np.round(1 / (1 + np.exp(-rng.normal(4.0 * labels - 2, 1.5))), 6)  # the same bits on every processor
    scores = np.column_stack([1 - p, p])
    target, order = scores[::2], np.lexsort((p, labels))
    made, again, other = (
        calibrate(scores[rows], labels[rows], target, method=method, rng=seed)
        for rows, seed in ((slice(None), None), (order, 0), (order, 1))
    )
    assert np.array_equal(made.thresholds, again.thresholds)
    assert not np.array_equal(made.thresholds, other.thresholds)
    assert made.provenance.seed == 0


def test_a_generator_gives_its_next_number_which_the_certificate_remembers() -> None:
    scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    made = calibrate(scores, labels, scores, rng=np.random.default_rng(5))
    assert made.provenance.seed == int(np.random.default_rng(5).integers(2**63))


@pytest.mark.parametrize("thrown", ["held out", "thinned"])
def test_no_rank_is_favoured(thrown: str) -> None:
    """Each rank of sorted scores is taken equally often over fresh samples: a fixed stream takes some always."""
    draw, repeats, size = np.random.default_rng(2), 400, 60
    taken = np.zeros(size)
    for _ in range(repeats):
        scores = np.sort(draw.random(size))
        tally = Tally.from_scores(np.column_stack([1 - scores, scores]), np.ones(size, int))
        rng, keep = score_coins("test", tally, 4), np.array([0.5, HELD_OUT_SHARE])
        taken += hold_out(tally).counts if thrown == "held out" else thin(tally.counts, tally, keep, rng)
    spread = (taken - HELD_OUT_SHARE * repeats) ** 2 / (repeats * HELD_OUT_SHARE * (1 - HELD_OUT_SHARE))
    assert chi2.sf(spread.sum(), size) > 1e-3
    assert binomtest(int(taken.sum()), repeats * size, HELD_OUT_SHARE).pvalue > 1e-3
