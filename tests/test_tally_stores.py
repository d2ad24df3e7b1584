"""Where counts are kept: cells, keys, grid and exact scores, as a loop counts them; additive, from any thread."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pacshift import Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.tally import stores
from pacshift.tally.cells import (
    CONFIDENCE_EDGES,
    N_CONFIDENCE,
    N_TOP,
    cell_codes,
    confidence_bin,
    least_top,
    top_bin,
    typical_tops,
)
from pacshift.tally.grid import to_grid
from pacshift.tally.stores import SAMPLED, ExactScores, GridScores, KeyCounts, RawScores, select
from strategies import labelled, seeds


def test_bins_have_the_edges_that_were_fixed() -> None:
    assert CONFIDENCE_EDGES == (0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.018, 0.01, 0.004, 0.001)
    between = 1 - np.array([0.6, 0.4, 0.3, 0.2, 0.15, 0.1, 0.06, 0.04, 0.02, 0.015, 0.005, 0.002, 0.0005])
    assert confidence_bin(between).tolist() == list(range(N_CONFIDENCE))
    assert confidence_bin(np.array([0.0, 1.0])).tolist() == [0, 12]
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert confidence_bin(np.array([0.5, below], np.float32)).tolist() == [1, 0]


@given(st.lists(st.floats(0, 1), min_size=1))
def test_bins_of_float32_are_those_of_the_same_numbers_in_float64(tops: list[float]) -> None:
    single = np.array(tops, np.float32)
    assert np.array_equal(confidence_bin(single), confidence_bin(single.astype(np.float64)))


@given(labelled())
def test_confusion_and_target_are_marginals(data: tuple[FloatArray, IntArray]) -> None:
    tally = Tally.from_scores(*data) + Tally.from_target(data[0])
    plain = tally.source_cells.without_bins()
    assert np.array_equal(plain.table(tally.n_classes), tally.confusion)
    assert np.array_equal(plain.label_counts(), tally.class_counts)
    assert np.array_equal(tally.target, tally.confusion.sum(axis=1))


def test_parts_of_both_kinds_have_no_bins_in_the_sum() -> None:
    probabilities, logits = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[2.0, -1.0]])
    sure, unsure = Tally.from_scores(probabilities, [0, 1]), Tally.from_scores(logits, [1])
    assert sure.source_cells.bins == "confidence"
    assert unsure.source_cells.bins == "top scores"
    for total in (sure + unsure, unsure + sure, Tally.sum([sure, unsure, sure]), sure + (unsure + sure)):
        assert total.source_cells.bins == "none"
        assert not total.source_cells.bin.any()
    assert (unsure + unsure).source_cells.bins == "top scores"
    both = sure + Tally.from_target(logits)  # source and target are told apart
    assert both.source_cells.bins == "confidence"
    assert both.target_cells.bins == "top scores"
    assert sure + Tally.from_target(probabilities) == Tally.from_target(probabilities) + sure


@given(st.lists(st.floats(-1e30, 1e30), min_size=1), st.floats(1e-6, 1e6))
def test_bins_of_top_scores_keep_their_order_at_any_scale(tops: list[float], scale: float) -> None:
    ordered = np.sort(np.array(tops)) * scale
    bins = top_bin(ordered)
    assert (np.diff(bins) >= 0).all()
    assert bins.min() >= 0
    assert bins.max() < N_TOP
    single = ordered.astype(np.float32)
    assert np.array_equal(bins, top_bin(single))
    below = least_top(bins.astype(np.int64))
    assert (below <= single).all()
    assert (single - below <= np.abs(below) / 16 + 1e-37).all()


def test_scores_beyond_single_precision_are_in_the_outermost_bins() -> None:
    found = top_bin(np.array([-1e300, -1e30, -0.0, 0.0, 1e30, 1e300]))
    assert (np.diff(found) >= 0).all()
    assert found[2] == found[3]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_typical_top_scores_are_quantiles_of_the_classes(scale: float) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [500, 300, 3])  # three rows say too little about a class
    scores = np.column_stack([rng.normal(10 + labels * 5, 1), *rng.normal(-20, 1, (2, len(labels)))]) * scale
    expected = [np.quantile(scores[labels == label, 0], [0.1, 0.9]) for label in (0, 1)]
    low, high = typical_tops(Tally.from_scores(scores, labels).source_cells) or (0.0, 0.0)
    assert low == pytest.approx(expected[0][0], rel=0.05)
    assert high == pytest.approx(expected[1][1], rel=0.05)
    assert typical_tops(Tally.from_scores(scores, labels).source_cells.without_bins()) is None
    probabilities = Tally.from_scores([[0.9, 0.1]] * 20, [0] * 20)
    assert typical_tops(probabilities.source_cells) == pytest.approx((0.88, 0.92))


@pytest.mark.parametrize(
    ("n_classes", "kind"), [(71, np.uint16), (72, np.uint32), (18_000, np.uint32), (19_000, np.uint64)]
)
def test_codes_fit_their_type(n_classes: int, kind: type) -> None:
    last = np.array([n_classes - 1])
    codes = cell_codes(last, np.array([1.0]), last, n_classes, "confidence")
    assert codes.dtype == kind
    assert int(codes[0]) == n_classes * N_CONFIDENCE * n_classes - 1


def spread_keys(seed: int, kind: str) -> NDArray[Any]:
    """Keys on one page, on a few pages far apart, and too wide for a table."""
    rng = np.random.default_rng(seed)
    if kind == "dense":
        return rng.integers(0, 50, 400).astype([np.uint16, np.uint32, np.int64][seed % 3])
    if kind == "pages":  # few pages, far apart: 65,536 keys for at most 16 pages
        pages = rng.integers(0, 16, 1 << 16) * 1_000_003 % 4096 << 12
        return (pages | rng.integers(0, 4096, 1 << 16)).astype(np.uint32)
    return rng.integers(0, 2**40, 300)


def added(parts: Sequence[NDArray[Any]], limit: int) -> dict[int, int]:
    store = KeyCounts(limit)
    for part in parts:
        store.add(part)
    keys, counts = store.result()
    assert keys.dtype == counts.dtype == np.int64
    assert (np.diff(keys) > 0).all()
    return dict(zip(keys.tolist(), counts.tolist(), strict=True))


@given(seeds, st.sampled_from(["dense", "pages", "sparse"]))
@settings(max_examples=30)
def test_keys_are_counted_as_a_loop_counts_them(seed: int, kind: str) -> None:
    keys = spread_keys(seed, kind)
    assert added(np.array_split(keys, 5), 2**40 if kind == "sparse" else 2**24) == Counter(keys.tolist())


@given(seeds, st.integers(1, 30), st.integers(1, 200))
@settings(max_examples=30)
def test_a_table_that_grows_too_large_gives_way_to_sorting(seed: int, max_pages: int, max_pending: int) -> None:
    keys = spread_keys(seed, "pages")[:2000]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "MAX_SMALL_KEYS", 0)
        patch.setattr(stores, "MIN_PAGES", max_pages)
        patch.setattr(stores, "MAX_PENDING_KEYS", max_pending)
        assert added(np.array_split(keys, 9), 2**24) == Counter(keys.tolist())


def test_no_keys_no_counts() -> None:
    for limit in (10, 2**40):
        assert added([], limit) == added([np.empty(0, np.uint16)], limit) == {}


@pytest.mark.parametrize("store", ["keys", "grid", "exact"])
def test_threads_may_add_at_once(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_PENDING_KEYS", 100)
    monkeypatch.setattr(stores, "ROWS_PER_SLICE", 20)
    monkeypatch.setattr(stores, "ROWS_PER_RANGE", 1)
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 5, (200, 50)), rng.integers(-9, 9, (200, 50)) / 7
    keys, grid, exact = KeyCounts(5), GridScores(5), ExactScores(5)
    with ThreadPoolExecutor(8) as pool:
        if store == "keys":
            list(pool.map(keys.add, labels))
        else:
            list(pool.map(grid.add if store == "grid" else exact.add, labels, scores))
    if store == "keys":
        assert keys.result()[1].tolist() == np.bincount(labels.ravel()).tolist()
        return
    rounded = to_grid(scores) if store == "grid" else scores
    found = (grid if store == "grid" else exact).distinct()
    values, counts, starts = found.values, found.counts, found.starts
    for label in range(5):
        own = slice(starts[label], starts[label + 1])
        expected = np.unique(rounded[labels == label], return_counts=True)
        assert (values[own].tolist(), counts[own].tolist()) == tuple(part.tolist() for part in expected)


@given(seeds, st.sampled_from([2, 300, 70_000]), st.sampled_from(["single", "double", "both"]))
@settings(max_examples=20)
def test_exact_scores_are_sorted_class_by_class(seed: int, n_classes: int, precision: str) -> None:
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, n_classes, 500), rng.choice([-0.0, 0.0, 0.5, -1.0, 1e-300], 500)
    is_single = np.arange(500) % 2 == 0 if precision == "both" else np.full(500, precision == "single")
    scores = np.where(is_single, scores.astype(np.float32), scores)
    store, raw, again = ExactScores(n_classes), RawScores(n_classes), RawScores(n_classes)
    for rows in np.array_split(rng.permutation(500), 7):
        for some, dtype in ((rows[is_single[rows]], np.float32), (rows[~is_single[rows]], np.float64)):
            if len(some):
                store.add(labels[some], scores[some].astype(dtype))
                raw.add(labels[some], scores[some].astype(dtype))
    again.add(labels, scores + 0.0)
    distinct = store.distinct()
    values, counts, starts = distinct.values, distinct.counts, distinct.starts
    cuts = rng.choice(scores, n_classes)
    assert raw.misses(cuts).tolist() == [int((scores[labels == j] < cuts[j]).sum()) for j in range(n_classes)]
    assert raw.misses(np.full(n_classes, 0.5)).sum() == (scores < 0.5).sum()
    assert [raw.at_rank(rank) for rank in (0, 250, 499, 600)] == np.sort(scores)[[0, 250, 499, 499]].tolist()
    label = int(labels[0])
    assert raw.at_rank(1, label) == np.sort(scores[labels == label])[:2][-1]
    assert np.array_equal(raw.digest(), again.digest())  # in another order and in other types
    again.add(labels[:1], scores[:1])
    assert not np.array_equal(raw.digest(), again.digest())
    others = RawScores(n_classes)
    others.add(labels[np.argsort(scores)], np.sort(scores)[::-1])  # as many of each, for other scores
    assert not np.array_equal(raw.digest(), others.digest())
    for name in ("values", "counts", "starts"):  # sorted when somebody asks
        assert np.array_equal(getattr(raw.distinct(), name), getattr(distinct, name))
    assert counts.sum() == 500
    assert not np.signbit(values[values == 0]).any()  # two zeros of different signs would not be one value
    for label in np.unique(labels).tolist():
        own = slice(starts[label], starts[label + 1])
        found = dict(zip(values[own].tolist(), counts[own].tolist(), strict=True))
        assert found == Counter((scores[labels == label] + 0.0).tolist())
        assert (np.diff(values[own]) > 0).all()


@pytest.mark.parametrize("how", ["spread", "few values", "sorted", "misleading"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_score_of_a_rank_is_that_of_sorted_scores(how: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    scores = (rng.integers(0, 3, 70_000) / 3 if how == "few values" else rng.random(70_000)).astype(dtype)
    if how == "sorted":
        scores.sort()
    if how == "misleading":  # all that is sampled is small
        scores[:: len(scores) // SAMPLED] = -1.0
    for rank in (0, 7, 35_000, *rng.integers(0, 70_000, 5).tolist(), 69_999):
        assert select(scores, rank) == np.sort(scores)[rank]
