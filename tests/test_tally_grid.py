"""Bins: each score in its bin, sizes right to the width of a bin. Thresholds: the largest that is admissible."""

import math
from bisect import bisect_right

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from pacshift import Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods.point_weights import weighted_quantiles
from pacshift.tally.grid import (
    BINS,
    class_threshold,
    count_bins,
    largest_threshold,
    mean_binned_size,
    mean_size_range,
)
from strategies import seeds

# Eight bins per octave from 2**-32 to 1; the first one reaches down to 0, the last one from 1 to 1.125.
EIGHTHS = [2.0**octave * (1 + eighth / 8) for octave in range(-32, 0) for eighth in range(8)]
EDGES = [0.0, *EIGHTHS[1:], 1.0, 1.125]
HARD = [-0.0, 5e-324, 1e-310, 2.0**-33, 2.0**-32, *(math.nextafter(edge, 0) for edge in EDGES), *EDGES[:-1]]
PROBABILITIES = st.floats(0, 1) | st.sampled_from(HARD)


def counted(columns: FloatArray) -> IntArray:
    found = count_bins(columns)
    assert found is not None
    return found


def drawn(seed: int) -> FloatArray:
    """Columns of probabilities, sharp and even, that sum to 1 in every row."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(int(rng.integers(2, 8)), rng.choice([0.1, 1.0, 20.0])), int(rng.integers(1, 200)))
    return np.ascontiguousarray(rows.T)


def cuts(rng: np.random.Generator, columns: FloatArray) -> FloatArray:
    """One threshold per class: one of its scores, any number, an edge, or one that all or none reach."""
    some = [rng.choice(columns, axis=1), rng.random(len(columns)), rng.choice(EDGES, len(columns))]
    some += [rng.choice([-np.inf, np.inf, -1.0, 2.0], len(columns)), rng.lognormal(-9, 5, len(columns))]
    return np.asarray(np.array(some)[rng.integers(0, len(some), len(columns)), np.arange(len(columns))])


@given(
    arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=PROBABILITIES),
    st.sampled_from(["as it is", "Fortran", "every second", "float32"]),
)
def test_bins_count_what_a_loop_counts(columns: FloatArray, form: str) -> None:
    if form == "Fortran":
        columns = np.asfortranarray(columns)
    elif form == "every second":
        columns = np.repeat(columns, 2, axis=1)[:, ::2]
    elif form == "float32":
        columns = columns.astype(np.float32).astype(np.float64)
    expected = np.zeros((len(columns), BINS), np.int64)
    for label, column in enumerate(columns.tolist()):
        for score in column:
            expected[label, bisect_right(EDGES, score) - 1] += 1
    before = columns.tobytes()
    found = counted(columns)
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    assert columns.tobytes() == before


@pytest.mark.parametrize("wrong", [-5e-324, -0.3, 1.125, 7.0, 1e300, math.inf, -math.inf, math.nan, -math.nan])
def test_what_is_no_probability_has_no_bins(wrong: float) -> None:
    columns = np.array([[0.2, 0.5], [-0.0, 1.0], [0.7, 0.0]])
    assert count_bins(columns) is not None
    for place in np.ndindex(columns.shape):
        spoilt = columns.copy()
        spoilt[place] = wrong
        assert count_bins(spoilt) is None


@given(seeds)
def test_sizes_are_exact_at_the_edges_of_bins(seed: int) -> None:
    columns, rng = drawn(seed), np.random.default_rng(seed)
    edges = rng.choice([-np.inf, *EDGES, np.inf], len(columns))
    true = (columns >= edges[:, None]).sum() / columns.shape[1]
    assert mean_binned_size(counted(columns), edges) == true


@given(seeds)
def test_sizes_are_right_to_the_width_of_a_bin(seed: int) -> None:
    columns, rng = drawn(seed), np.random.default_rng(seed)
    thresholds = cuts(rng, columns)
    places = [min(max(bisect_right(EDGES, cut) - 1, 0), BINS - 1) for cut in thresholds.tolist()]
    lower, upper = (np.array([EDGES[place + end] for place in places]) for end in (0, 1))
    # Rows in the bin of the threshold are the only ones that may be counted wrongly.
    doubtful = ((columns >= lower[:, None]) & (columns < upper[:, None])).sum() / columns.shape[1]
    true = (columns >= thresholds[:, None]).sum() / columns.shape[1]
    assert abs(mean_binned_size(counted(columns), thresholds) - true) <= doubtful + 1e-12


@given(st.integers(0, BINS - 1) | st.sampled_from([0, BINS - 1]), st.sampled_from([0.25, 0.5, 0.75]))
def test_sizes_are_spread_evenly_inside_a_bin(place: int, part: float) -> None:
    """A quarter of the way through a bin a quarter of its rows is missed."""
    low, high = EDGES[place : place + 2]
    bins = np.zeros((1, BINS), np.int64)
    bins[0, max(place - 1, 0) : place + 2] = 8
    above = bins[0, place + 1 :].sum()
    found = mean_binned_size(bins, np.array([low + part * (high - low)])) * bins.sum()
    assert found == pytest.approx(above + 8 * (1 - part))


@given(st.integers(1, BINS - 3), st.sampled_from([0.25, 0.5, 0.75]))
def test_more_rows_than_in_the_neighbours_are_taken_as_one_repeated_score(place: int, part: float) -> None:
    low, high = EDGES[place : place + 2]
    bins = np.zeros((1, BINS), np.int64)
    bins[0, place - 1 : place + 2] = 4, 10, 2
    found = mean_binned_size(bins, np.array([low + part * (high - low)])) * bins.sum()
    assert found == pytest.approx(2 + 6 + 4 * (1 - part))


@given(seeds)
def test_the_range_of_sizes_holds_the_true_size_however_scores_repeat(seed: int) -> None:
    columns, rng = drawn(seed), np.random.default_rng(seed)
    columns[:, : columns.shape[1] // 2] = columns[:, :1]
    thresholds = cuts(rng, columns)
    least, most = mean_size_range(counted(columns), thresholds)
    true = (columns >= thresholds[:, None]).sum() / columns.shape[1]
    assert least - 1e-12 <= true <= most + 1e-12
    assert least - 1e-12 <= mean_binned_size(counted(columns), thresholds) <= most + 1e-12


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, n_classes = draw(st.integers(1, 50)), draw(st.integers(2, 6))
    kind = draw(st.sampled_from(["ties", "fine", "signed", "tiny"]))
    if kind == "ties":
        scores = rng.integers(0, 4, (size, n_classes)) / 4
    else:
        scores = rng.normal(0, 1e-310 if kind == "tiny" else 1, (size, n_classes))
    scores = abs(scores) if kind == "fine" else scores
    return Tally.from_scores(scores, rng.integers(0, n_classes, size), soft=False)


@settings(deadline=None, max_examples=150)
@given(tallies(), st.integers(-1, 55))
def test_largest_threshold_is_the_best_observed_score(tally: Tally, allowed: int) -> None:
    def passes(misses: IntArray) -> bool:
        return bool(misses.sum() <= allowed)

    found = largest_threshold(tally, passes)
    admissible = [value for value in tally.values if tally.misses(value).sum() <= allowed]
    if allowed >= tally.n_source:
        assert found == np.inf
    else:
        assert found == (max(admissible) if admissible else -np.inf)
        if np.isfinite(found):
            assert not passes(tally.misses(np.nextafter(found, np.inf)))


@settings(deadline=None, max_examples=100)
@given(tallies(), st.integers(0, 2**32 - 1))
def test_other_counts_take_the_place_of_the_tally_s(tally: Tally, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = rng.integers(0, 3, len(tally.counts)), rng.integers(0, 3, len(tally.counts))
    label = np.repeat(np.arange(tally.n_classes), np.diff(tally.starts))

    def below(counts: IntArray, cut: float) -> IntArray:
        return np.bincount(label, counts * (tally.values < cut), minlength=tally.n_classes).astype(np.int64)

    def passes(first: IntArray, second: IntArray) -> bool:
        return bool(first.sum() + 2 * second.sum() <= 20)

    found = largest_threshold(tally, passes, one, two)
    top = np.nextafter(tally.values.max(), np.inf)
    if passes(below(one, top), below(two, top)):
        assert found == np.inf
    else:
        admissible = [cut for cut in tally.values if passes(below(one, cut), below(two, cut))]
        # Scores without a count may be passed over: what matters is what lies below.
        assert found >= max(admissible, default=-np.inf)
        assert np.isneginf(found) or passes(below(one, found), below(two, found))
        assert not passes(below(one, np.nextafter(found, np.inf)), below(two, np.nextafter(found, np.inf)))


@settings(deadline=None, max_examples=100)
@given(tallies(), st.integers(-1, 55))
def test_class_threshold_looks_at_one_class(tally: Tally, cut: int) -> None:
    for label in range(tally.n_classes):
        own = tally.values[tally.starts[label] : tally.starts[label + 1]]
        found = class_threshold(tally, label, cut)
        if cut < 0 or not len(own):
            assert found == -np.inf
        else:
            assert found == max(value for value in own if tally.misses(value)[label] <= cut)


def test_no_source_no_threshold() -> None:
    assert largest_threshold(Tally.from_target(np.eye(2)), lambda misses: True) == -np.inf


@settings(deadline=None, max_examples=100)
@given(tallies(), st.integers(0, 2**32 - 1))
def test_weighted_quantiles_are_what_the_search_finds(tally: Tally, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, allowed = (rng.integers(low, 12, tally.n_classes).astype(np.float64) for low in (0, -2))
    found = weighted_quantiles(tally, weights, allowed)
    for limit, threshold in zip(allowed, found, strict=True):
        assert threshold == largest_threshold(tally, lambda misses, limit=limit: bool(weights @ misses <= limit))
