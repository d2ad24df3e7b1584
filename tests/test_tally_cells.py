"""Cells by predicted label, confidence bin and true label: additive, sparse, and what a loop counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacshift import Tally
from pacshift.arrays import FloatArray, IntArray
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
from strategies import labelled


def test_bins_have_the_edges_that_were_fixed() -> None:
    assert CONFIDENCE_EDGES == (0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.018, 0.01, 0.004, 0.001)
    between = 1 - np.array([0.6, 0.4, 0.3, 0.2, 0.15, 0.1, 0.06, 0.04, 0.02, 0.015, 0.005, 0.002, 0.0005])
    assert confidence_bin(between).tolist() == list(range(N_CONFIDENCE))
    assert confidence_bin(np.array([0.0, 1.0])).tolist() == [0, 12]
    assert confidence_bin(np.array([0.5, np.nextafter(np.float32(0.5), np.float32(0))], np.float32)).tolist() == [
        1,
        0,
    ]


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
    ("n_classes", "n_labels", "kind"),
    [(71, 71, np.uint16), (72, 72, np.uint32), (18_000, 18_000, np.uint32), (19_000, 19_000, np.uint64)],
)
def test_codes_fit_their_type(n_classes: int, n_labels: int, kind: type) -> None:
    last = np.array([n_classes - 1])
    codes = cell_codes(last, np.array([1.0]), last, n_classes, "confidence")
    assert codes.dtype == kind
    assert int(codes[0]) == n_classes * N_CONFIDENCE * n_labels - 1
