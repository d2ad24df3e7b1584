"""Tallies: chunks add up to the whole in any order, the grid loses nothing but resolution, files are safe."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import InputError, Tally, calibrate
from pacshift.arrays import FloatArray, IntArray
from pacshift.tally.grid import float_to_order, order_to_float, to_grid
from strategies import labelled


@settings(deadline=None, max_examples=80)
@given(labelled(), st.booleans(), st.sampled_from(["probability", "margin"]), st.randoms(), st.integers(1, 8))
def test_chunks_in_any_order_add_up_to_the_whole(
    data: tuple[FloatArray, IntArray], grid: bool, score: str, random: Any, n_chunks: int
) -> None:
    scores, labels = data
    whole = Tally.from_scores(scores, labels, grid=grid, score=score) + Tally.from_target(scores[::2])
    place = np.array([random.randrange(n_chunks) for _ in labels])
    chunks = [np.flatnonzero(place == chunk) for chunk in range(n_chunks)]
    parts = [Tally.from_scores(scores[c], labels[c], grid=grid, score=score) for c in chunks if len(c)]
    evens = [c[c % 2 == 0] for c in chunks]
    parts += [Tally.from_target(scores[c]) for c in evens if len(c)]
    random.shuffle(parts)
    assert Tally.sum(parts) == whole
    total = parts[0]
    for part in parts[1:]:
        total = part + total
    assert total == whole


def test_a_sum_has_bins_where_every_target_has() -> None:
    scores = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    source, target = Tally.from_scores(scores, [0, 1, 1]), Tally.from_target(scores)
    assert target.bins is not None
    assert source.bins is None
    for parts, times in (([source, target], 1), ([target, source], 1), ([target, source, target], 2)):
        total = Tally.sum(parts).bins  # a source has none to give
        assert total is not None
        assert np.array_equal(total, times * target.bins)
    for lacking in (Tally.from_target(scores, bins=False), Tally.from_target(np.log(scores))):
        assert lacking.bins is None
        for parts in ([target, lacking], [lacking, target], [source, lacking, target]):
            assert Tally.sum(parts).bins is None
    assert (source + source).bins is None


@settings(deadline=None, max_examples=60)
@given(labelled())
def test_a_grid_tally_counts_exactly_at_grid_thresholds(data: tuple[FloatArray, IntArray]) -> None:
    exact = Tally.from_scores(*data)
    coarse = Tally.from_scores(*data, grid=True)
    assert np.array_equal(coarse.confusion, exact.confusion)
    assert len(coarse.values) <= len(exact.values)
    for cut in coarse.values[:20]:
        assert np.array_equal(coarse.misses(cut), exact.misses(cut))
    assert exact + coarse == coarse + exact
    assert (exact + coarse).grid


@settings(deadline=None, max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_the_grid_rounds_down_and_keeps_order(one: float, other: float) -> None:
    low, high = sorted([one, other])
    down = to_grid([low, high])
    assert down[0] <= down[1] <= high
    assert down[0] <= low
    assert np.array_equal(to_grid(down), down)
    assert (low >= down[1]) == (down[0] >= down[1])
    assert order_to_float(float_to_order(one)) == one
    assert low == 0 or abs(low - down[0]) <= abs(low) / 2**11 or abs(low) < 1e-300


def test_equality_looks_at_everything() -> None:
    tally = Tally.from_scores(np.eye(3), [0, 1, 2])
    assert tally == Tally.from_scores(np.eye(3), [0, 1, 2])
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 1])
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 2], soft=False)
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 2], score="margin")
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 2], grid=True)
    assert Tally.from_target(np.eye(3)) != Tally.from_target(np.eye(3), bins=False)
    assert Tally.from_target(np.eye(3), soft=False) != Tally.from_target(np.eye(3) / 2, soft=False)
    assert tally != "tally"
    with pytest.raises(TypeError):
        hash(tally)


def test_tallies_of_different_things_do_not_add() -> None:
    tally = Tally.from_scores(np.eye(2), [0, 1])
    with pytest.raises(InputError, match="tallies of different classes do not add"):
        tally + Tally.from_target(np.eye(2), classes=["a", "b"])
    with pytest.raises(InputError, match="tallies of different scores do not add"):
        tally + Tally.from_scores(np.eye(2), [0, 1], score="margin")
    with pytest.raises(InputError, match="no tallies to add: give at least one"):
        Tally.sum([])
    with pytest.raises(InputError, match="only tallies can be added, got 3"):
        Tally.sum([tally, 3])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        tally + 1  # type: ignore[operator]


def test_methods_ask_for_what_a_tally_lacks() -> None:
    source, target = Tally.from_scores(np.eye(2), [0, 1], soft=False), Tally.from_target(np.eye(2), soft=False)
    with pytest.raises(InputError, match="no source rows: every method needs a labelled source"):
        calibrate(target, epsilon=0.1, delta=0.1, method="PS")
    with pytest.raises(InputError, match=r"method PS-W needs target scores\. Pass them, or use PS-LW"):
        calibrate(source, epsilon=0.1, delta=0.1, method="PS-W")
    with pytest.raises(InputError, match="needs sums of probabilities, which this tally lacks"):
        calibrate(source + target, epsilon=0.1, delta=0.1, method="PS-R")
    with pytest.raises(InputError, match="method APS needs a tally of adaptive scores"):
        calibrate(source, epsilon=0.1, delta=0.1, method="APS")


def test_sums_beyond_64_bits_are_refused() -> None:
    scores, labels = np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1]
    probable: Any = Tally.from_scores(scores, labels)
    huge = replace(probable, soft=replace(probable.soft, sums=probable.soft.sums << 32))
    with pytest.raises(InputError, match=r"sums of probabilities .* do not fit into 64 bits.*soft=False"):
        Tally.sum([huge] * 16)


def test_classes_are_compared_as_text() -> None:
    scores, labels = np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1]
    named = Tally.from_target(scores, classes=["0", "1"])
    assert (Tally.from_scores(scores, labels) + named).n_target == 2
    with pytest.raises(InputError, match="different classes do not add"):
        Tally.from_scores(scores, labels) + Tally.from_target(scores, classes=[1, 0])


@pytest.mark.parametrize("n_classes", [5, 90])
def test_thresholds_are_looked_up_as_searchsorted_does(n_classes: int) -> None:
    """A few classes one by one, many at once: repeated scores, empty classes and odd thresholds included."""
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(0, n_classes, 400)
    labels[labels == 3] = 4
    scores = np.round(rng.random((400, n_classes)), 2)
    tally = Tally.from_scores(scores, labels, classes=range(n_classes))
    cuts = rng.choice([0.0, 0.25, 0.5, 2.0, np.inf, -np.inf, np.nan], n_classes)
    groups = [tally.values[start:end] for start, end in pairwise(tally.starts)]
    found = [np.searchsorted(group, cut) for group, cut in zip(groups, cuts, strict=True)]
    assert np.array_equal(tally.positions(cuts) - tally.starts[:-1], found)
    assert np.array_equal(tally.positions(0.5) - tally.starts[:-1], [np.searchsorted(g, 0.5) for g in groups])
