"""Stores of growing counts: whatever the keys and the way of counting them, the counts are those of a loop."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pacshift.tally import stores
from pacshift.tally.grid import to_grid
from pacshift.tally.stores import ExactScores, GridScores, KeyCounts, sum_by_key
from strategies import seeds


def spread_keys(seed: int, kind: str) -> NDArray[Any]:
    """Keys on one page, on a few pages far apart, and too wide for a table."""
    rng = np.random.default_rng(seed)
    if kind == "dense":
        return rng.integers(0, 50, 400).astype([np.uint16, np.uint32, np.int64][seed % 3])
    if kind == "pages":  # few pages, far apart: 65,536 keys for at most 16 pages
        return (rng.integers(0, 16, 1 << 16) * 1_000_003 % 4096 << 12 | rng.integers(0, 4096, 1 << 16)).astype(
            np.uint32
        )
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


@given(seeds, st.integers(1, 9))
def test_sums_by_key_are_those_of_a_loop(seed: int, n_keys: int) -> None:
    rng = np.random.default_rng(seed)
    keys, counts = rng.integers(0, n_keys, 40), rng.integers(1, 5, 40)
    expected: Counter[int] = Counter()
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        expected[key] += count
    found = sum_by_key(keys, counts)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == sorted(expected.items())


@pytest.mark.parametrize("store", ["keys", "grid", "exact"])
def test_threads_may_add_at_once(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_PENDING_KEYS", 100)
    monkeypatch.setattr(stores, "ROWS_PER_SLICE", 20)
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
    values, counts, starts = (grid if store == "grid" else exact).distinct()
    for label in range(5):
        own = slice(starts[label], starts[label + 1])
        expected = np.unique(rounded[labels == label], return_counts=True)
        assert (values[own].tolist(), counts[own].tolist()) == tuple(part.tolist() for part in expected)


@given(seeds, st.sampled_from([2, 300, 70_000]))
@settings(max_examples=20)
def test_exact_scores_are_sorted_class_by_class(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, n_classes, 500), rng.choice([-0.0, 0.0, 0.5, -1.0, 1e-300], 500)
    store = ExactScores(n_classes)
    for rows in np.array_split(rng.permutation(500), 7):
        store.add(labels[rows], scores[rows])
    values, counts, starts = store.distinct()
    assert counts.sum() == 500
    assert not np.signbit(values[values == 0]).any()  # two zeros of different signs would not be one value
    for label in np.unique(labels).tolist():
        own = slice(starts[label], starts[label + 1])
        found = dict(zip(values[own].tolist(), counts[own].tolist(), strict=True))
        assert found == Counter((scores[labels == label] + 0.0).tolist())
        assert (np.diff(values[own]) > 0).all()
