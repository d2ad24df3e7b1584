"""Held-out rows: as if each row had its own coin, the same in any order, never a row that certifies."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import pacshift.paths.sample as sampling
from pacshift import Population, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.paths.sample import RowSample, own_order, places_below, row_numbers
from pacshift.ps_lp.tuned import HELD_OUT_SHARE, HeldOutRows, held_out_rows, hold_out
from pacshift.tally.grid import to_grid
from strategies import seeds


def rounded_rows(seed: int, rows: int = 600, decimals: int = 1) -> tuple[FloatArray, IntArray, FloatArray]:
    """Source, labels and target, rounded so that many own scores repeat while the other scores differ."""
    population, rng = Population.synthetic(4, strength=2, rng=1), np.random.default_rng(seed)
    source, labels = population.draw([0.4, 0.3, 0.2, 0.1], rows, rng)
    target = population.draw([0.1, 0.2, 0.3, 0.4], rows, rng)[0]
    values, others = np.asarray(source, float).round(decimals), np.asarray(target, float).round(decimals)
    return values, labels.astype(np.int64), others


def counted(source: FloatArray, labels: IntArray, target: FloatArray, *, grid: bool = False) -> Tally:
    classes = range(source.shape[1])
    return Tally.from_scores(source, labels, classes=classes, grid=grid) + Tally.from_target(
        target, classes=classes
    )


def entries(tally: Tally, rows: HeldOutRows) -> IntArray:
    """How many of the rows lie in each entry of the tally."""
    own = rows.scores[np.arange(len(rows.labels)), rows.labels]
    own = to_grid(own) if tally.grid else own
    found = np.zeros(len(tally.values), np.int64)
    for label, (first, last) in enumerate(pairwise(tally.starts)):
        place = first + np.searchsorted(tally.values[first:last], own[rows.labels == label])
        np.add.at(found, place, 1)
    return found


@given(seeds, st.sampled_from([1, 2, 6]), st.booleans())
@settings(deadline=None, max_examples=10)
def test_the_rows_are_those_that_the_counts_leave_out(seed: int, decimals: int, grid: bool) -> None:
    source, labels, target = rounded_rows(seed, decimals=decimals)
    tally, held = (
        counted(source, labels, target, grid=grid),
        hold_out(counted(source, labels, target, grid=grid)).counts,
    )
    rows = held_out_rows(tally, hold_out(tally), RowSample.of(source, labels, target))
    assert np.array_equal(entries(tally, rows), held)
    given_rows = {(*row, label) for row, label in zip(source.tolist(), labels.tolist(), strict=True)}
    assert {
        (*row, label) for row, label in zip(rows.scores.tolist(), rows.labels.tolist(), strict=True)
    } <= given_rows


@given(seeds)
@settings(deadline=None, max_examples=8)
def test_a_sample_never_has_more_rows_than_are_held_out(seed: int) -> None:
    source, labels, target = rounded_rows(seed)
    tally = counted(source, labels, target)
    few = places_below(source, 0.4)
    assert 0 < len(few) < len(source)
    rows = held_out_rows(tally, hold_out(tally, seed), RowSample(source[few], labels[few], target))
    assert (entries(tally, rows) <= hold_out(tally, seed).counts).all()


@pytest.mark.parametrize("in_sample", [[0, 1, 2], [0, 2]])
def test_every_row_has_its_own_coin_also_where_scores_repeat(in_sample: list[int]) -> None:
    """Three rows with one label and own score: all subsets of the sample as often as independent coins say.

    A rule that takes the first rows in some order would give the right counts and fail here.
    """
    source = np.array([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3], [0.5, 0.1, 0.4]])
    labels, repeats = np.zeros(3, np.int64), 800
    tally = counted(source, labels, source)
    seen = dict[tuple[float, ...], int]()
    for seed in range(repeats):
        rows = held_out_rows(tally, hold_out(tally, seed), RowSample(source[in_sample], labels[in_sample], source))
        found = tuple(sorted(rows.scores[:, 1].tolist()))
        seen[found] = seen.get(found, 0) + 1
    subsets = [
        [row for bit, row in enumerate(in_sample) if mask >> bit & 1] for mask in range(1 << len(in_sample))
    ]
    observed = [seen.get(tuple(sorted(source[rows, 1].tolist())), 0) for rows in subsets]
    sizes = np.array([len(rows) for rows in subsets])
    chances = HELD_OUT_SHARE**sizes * (1 - HELD_OUT_SHARE) ** (len(in_sample) - sizes)
    assert sum(observed) == repeats
    assert chisquare(observed, chances * repeats).pvalue > 1e-3


@pytest.mark.parametrize("decimals", [1, 8])
def test_the_order_of_rows_does_not_matter(decimals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SOURCE_ROWS", 400)  # of 600, so that the sample is one
    source, labels, target = rounded_rows(3, decimals=decimals)
    shuffle, other = np.random.default_rng(0).permutation(600), np.random.default_rng(1).permutation(600)
    found = []
    for own, their in ((np.arange(600), np.arange(600)), (shuffle, other)):
        rows = source[own], labels[own], target[their]
        tally = counted(*rows)
        found.append(held_out_rows(tally, hold_out(tally), RowSample.of(*rows)))
    for name in ("scores", "labels", "target"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name)), name
    assert 20 < len(found[0].labels) < 90


def test_single_and_double_precision_give_the_same_rows() -> None:
    source = rounded_rows(5, decimals=8)[0].astype(np.float32)
    assert np.array_equal(row_numbers(source), row_numbers(source.astype(np.float64)))
    assert np.array_equal(row_numbers(np.array([[0.0, 1.0]])), row_numbers(np.array([[-0.0, 1.0]])))
    assert np.array_equal(row_numbers(np.asfortranarray(source)), row_numbers(source))


def test_a_sample_has_its_share_of_rows_and_blocks_do_not_matter() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 250_000)
    found = places_below(rows, 0.1)
    assert abs(len(found) - 25_000) < 5 * 150
    assert np.array_equal(found, np.flatnonzero(row_numbers(rows) < np.uint64(0.1 * 2.0**64)))
    assert np.array_equal(places_below(rows, 1.0), np.arange(len(rows)))


def test_rows_that_are_alike_are_put_in_order_by_what_they_hold() -> None:
    rows = np.array([[0.2, 0.8], [0.2, 0.8], [0.6, 0.4], [0.2, 0.8]])
    labels = np.array([1, 0, 0, 1])
    order = own_order(rows, labels)
    again = own_order(rows[::-1], labels[::-1])
    assert np.array_equal(rows[order], rows[::-1][again])
    assert np.array_equal(labels[order], labels[::-1][again])
