"""The largest admissible threshold: an observed score, and the next one up fails."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import Tally
from pacshift.arrays import IntArray
from pacshift.methods.point_weights import weighted_quantiles
from pacshift.tally.grid import class_threshold, largest_threshold


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
def testweighted_quantiles_are_what_the_search_finds(tally: Tally, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, allowed = (rng.integers(low, 12, tally.n_classes).astype(np.float64) for low in (0, -2))
    found = weighted_quantiles(tally, weights, allowed)
    for limit, threshold in zip(allowed, found, strict=True):
        assert threshold == largest_threshold(tally, lambda misses, limit=limit: bool(weights @ misses <= limit))
