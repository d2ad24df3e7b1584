"""Score transforms: by hand on small rows, the same bits in calibration and prediction."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from pacshift import InputError, Tally, calibrate
from pacshift.arrays import FloatArray
from pacshift.scores.check import check_scores
from pacshift.scores.transforms import TRANSFORMS, resolve_transform, uniform_numbers

ROW = np.array([[0.5, 0.2, 0.3]])


def transformed(name: Any, scores: Any) -> FloatArray:
    return resolve_transform(name).of_all(check_scores(scores, name="x"))


def test_by_hand() -> None:
    assert np.array_equal(transformed("probability", ROW), ROW)
    np.testing.assert_allclose(transformed("margin", ROW), [[0.2, -0.3, -0.2]])
    assert transformed("margin", [[0.4, 0.4, 0.2]])[0, :2].tolist() == [0, 0]
    np.testing.assert_allclose(transformed("aps-plain", ROW), [[0.5, 0.0, 0.2]], atol=1e-7)
    (uniform,) = uniform_numbers(ROW)
    expected = [[1 - 0.5 * uniform, 1 - 0.8 - 0.2 * uniform, 1 - 0.5 - 0.3 * uniform]]
    np.testing.assert_allclose(transformed("aps", ROW), expected)


def test_raps_adds_a_penalty_from_the_sixth_rank_on() -> None:
    scores = np.full((1, 8), 0.125)
    difference = transformed("aps-plain", scores) - transformed("raps-plain", scores)
    np.testing.assert_allclose(difference, [[0, 0, 0, 0, 0, 0.01, 0.02, 0.03]], atol=1e-15)


def test_ties_rank_in_the_order_of_the_columns() -> None:
    scores = np.random.default_rng(0).integers(0, 3, (1, 200)) / 512
    ranked = sorted(range(200), key=lambda column: -scores[0, column])  # Python's sort keeps the order of ties
    expected = np.empty((1, 200))
    expected[0, ranked] = 1 - np.cumsum(scores[0, ranked])
    np.testing.assert_allclose(transformed("aps-plain", scores), expected)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.sampled_from([*list(TRANSFORMS)[1:], np.sqrt]))
def test_a_row_gets_the_same_bits_wherever_it_stands(seed: int, n_classes: int, name: Any) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.full(n_classes, 0.3), 300)
    whole = transformed(name, scores)
    assert np.array_equal(whole, transformed(name, np.asfortranarray(scores)))
    assert np.array_equal(whole, transformed(name, np.repeat(scores, 2, axis=1)[:, ::2]))  # a strided view
    some = rng.integers(0, 300, 17)
    assert np.array_equal(whole[some], transformed(name, scores[some]))
    assert np.array_equal(whole[5:6], transformed(name, scores[5:6]))


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 12), st.sampled_from(["probability", *list(TRANSFORMS)[1:], np.cbrt])
)
def test_prediction_misses_exactly_what_calibration_counted(seed: int, n_classes: int, score: Any) -> None:
    """Sets of the calibration rows must miss the true label exactly as often as the tally says."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.full(n_classes, 0.5), 400)
    labels = np.array([rng.choice(n_classes, p=row) for row in scores])
    made = calibrate(scores, labels, None, epsilon=0.2, delta=0.2, method="PS", score=score)
    tally = Tally.from_scores(scores, labels, score=score)
    sets = made.sets(scores)
    missed = ~sets[np.arange(400), labels]
    assert np.array_equal(np.bincount(labels[missed], minlength=n_classes), tally.misses(made.thresholds))


def test_uniform_numbers_are_uniform_and_belong_to_the_row() -> None:
    scores = np.random.default_rng(0).dirichlet(np.ones(4), 20_000)
    numbers = uniform_numbers(scores)
    assert kstest(numbers, "uniform").pvalue > 1e-3
    assert max(abs(np.corrcoef(numbers, column)[0, 1]) for column in scores.T) < 0.03
    assert np.array_equal(numbers[::-1], uniform_numbers(np.ascontiguousarray(scores[::-1])))
    # The last bits of a softmax may differ from place to place; columns that change places are another row.
    assert np.array_equal(numbers, uniform_numbers(scores * (1 + 1e-16)))
    assert (numbers != uniform_numbers(np.ascontiguousarray(scores[:, ::-1]))).all()


def test_rows_that_differ_little_get_unrelated_numbers() -> None:
    """Scores on a coarse grid, as half precision and rounded tables have them."""
    share = np.arange(1001) / 1000
    numbers = uniform_numbers(np.column_stack([share, 1 - share]))
    assert kstest(numbers, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.1


@pytest.mark.parametrize("score", ["aps", "raps"])
def test_the_order_of_the_rows_does_not_matter(score: str) -> None:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(4), 500)
    labels = np.array([rng.choice(4, p=row) for row in scores])
    order = np.lexsort((scores[:, 0], labels))
    asked: Any = {"epsilon": 0.2, "delta": 0.2, "method": "PS", "score": score}
    made, again = calibrate(scores, labels, None, **asked), calibrate(scores[order], labels[order], None, **asked)
    assert np.array_equal(made.thresholds, again.thresholds)
    assert np.array_equal(made.sets(scores)[order], again.sets(scores[order]))
    same = calibrate(scores, labels, None, **{**asked, "method": "APS"})  # whose own score is aps
    assert np.array_equal(same.thresholds, made.thresholds)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (
            "logit",
            r"score must be one of probability, margin, aps, .* or a function of the score matrix, got 'logit'",
        ),
        (3, r"score must be a name or a function"),
        ("mrgin", r"Did you mean 'margin'\?"),
        (lambda block: block[:, :1], r"must give a matrix of finite real numbers of the shape it gets, \(1, 3\)"),
        (lambda block: block * np.nan, r"\(1, 3\) with 3 entries that are not finite"),
        (lambda block: "text", r"score function"),
        (lambda block: block * 1j, r"got shape \(1, 3\) of complex128"),
        (lambda block: block.astype(str), r"got shape \(1, 3\) of <U"),
        (lambda block: np.ma.masked_less(block, 0.3), r"got masked entries"),
        (lambda block: [[1, 2, 3], [4]], r"score function must give"),
    ],
)
def test_bad_transforms(score: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        transformed(score, ROW)


def in_place(block: FloatArray) -> FloatArray:
    block -= block.max(axis=1, keepdims=True)
    return block


def test_a_score_function_cannot_change_the_scores() -> None:
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    before = scores.copy()
    with pytest.raises(InputError, match=r"writes into the scores it gets .* Let it work on a copy"):
        calibrate(scores, [0, 1] * 10, None, epsilon=0.5, delta=0.5, method="PS", score=in_place)
    assert np.array_equal(scores, before)


@pytest.mark.parametrize(
    "function",
    [
        lambda block: block - block.mean(axis=0),
        lambda block: block.argsort(axis=0).argsort(axis=0),
        lambda block: block.cumsum(axis=0),
        lambda block: block / block.max(),
        lambda block: block[::-1],
        lambda block: block + np.random.default_rng().random(block.shape),
        lambda block: block + np.random.default_rng(0).random(block.shape),
    ],
    ids=["centred", "ranks", "running sum", "scaled by the block", "turned", "random", "by place"],
)
def test_a_score_function_must_treat_each_row_on_its_own(function: Any) -> None:
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    with pytest.raises(InputError, match="scores that depend on this row alone"):
        transformed(function, scores)


def test_row_wise_functions_may_round() -> None:
    rng = np.random.default_rng(0)
    scores, matrix = rng.dirichlet(np.ones(30), 4000), rng.normal(size=(30, 30))
    transformed(lambda block: block @ matrix, scores)  # sums of matrix products depend on the shape
    transformed(lambda block: (block * 100).astype(np.int32), scores)


@pytest.mark.parametrize("name", ["aps", "aps-plain", "raps", "raps-plain"])
def test_adaptive_scores_need_probabilities(name: str) -> None:
    with pytest.raises(InputError, match=r"a score is negative \(-1\). Pass probabilities"):
        transformed(name, [[-1.0, 2.0]])


@pytest.mark.parametrize("name", ["margin", "aps", "aps-plain", "raps", "raps-plain"])
def test_overflow_is_an_input_error(name: str) -> None:
    huge = np.finfo(np.float32).max
    with pytest.raises(InputError, match=r"overflows on scores as large as 3\.40282e\+38"):
        transformed(name, [[huge, -huge if name == "margin" else huge]])


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_prediction_refuses_what_calibration_refuses(name: str, bad: float) -> None:
    made = calibrate([[0.9, 0.1]] * 50, [0] * 50, None, epsilon=0.5, delta=0.5, method="PS", score=name)
    with pytest.raises(InputError, match=r"scores: 1 row has NaN or infinite scores, the first is row 1"):
        made.sets([[0.9, 0.1], [bad, 0.5]])
