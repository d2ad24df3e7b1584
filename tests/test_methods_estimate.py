"""Point estimates: exact on exact data, sensible on singular data."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given

from pacshift import InputError, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods.point_weights import Estimate, bbse_soft, estimate_weights
from strategies import BoxedSystem, boxed_systems, mix, rates

RNG = np.random.default_rng(3)
TABLE = rates(RNG, 4, 0.6)
SOURCE, TARGET = mix(RNG, 4, 5.0), mix(RNG, 4, 5.0)


def test_exact_weights_are_recovered() -> None:
    np.testing.assert_allclose(bbse_soft(TABLE * SOURCE, TABLE @ TARGET), TARGET / SOURCE, rtol=1e-6)


def test_bbse_without_an_inverse_is_the_least_squares_solution_of_least_norm() -> None:
    joint = np.array([[0.3, 0.3, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, 0.0]])  # label 2 never seen
    weights = bbse_soft(joint, [0.7, 0.3, 0.0])
    np.testing.assert_allclose(weights, np.linalg.pinv(joint) @ [0.7, 0.3, 0.0], atol=1e-12)
    assert weights[2] == pytest.approx(0)


@pytest.mark.slow
@given(boxed_systems())
def test_estimates_are_weights_whatever_comes_in(box: BoxedSystem) -> None:
    target = box.inner_target / max(box.inner_target.sum(), 1e-300)
    for ridge in (0.0, 1e-3):
        weights = bbse_soft(box.inner_confusion, target, ridge=ridge)
        assert np.isfinite(weights).all()
        assert (weights >= 0).all()


@pytest.mark.parametrize("estimate", get_args(Estimate))
def test_every_estimate_finds_the_weights_of_a_large_tally(estimate: Estimate) -> None:
    rng = np.random.default_rng(0)
    source, target = rng.choice(3, 40_000, p=[0.6, 0.3, 0.1]), rng.choice(3, 40_000, p=[0.2, 0.3, 0.5])

    def scores(labels: IntArray) -> FloatArray:
        exps = np.exp(rng.normal(size=(len(labels), 3)) + 3 * np.eye(3)[labels])
        return np.asarray(exps / exps.sum(axis=1, keepdims=True))

    tally = Tally.from_scores(scores(source), source, soft=True) + Tally.from_target(scores(target), soft=True)
    np.testing.assert_allclose(estimate_weights(tally, estimate), [1 / 3, 1, 5], atol=0.15)


@pytest.mark.parametrize("estimate", get_args(Estimate))
def test_a_target_that_no_class_explains_is_refused(estimate: Estimate) -> None:
    certain = np.eye(3)[[0, 1] * 50]  # class 2 is neither seen nor predicted on the source
    tally = Tally.from_scores(certain, [0, 1] * 50, soft=True) + Tally.from_target(np.eye(3)[[2] * 9], soft=True)
    with pytest.raises(InputError, match="does not look like any source class"):
        estimate_weights(tally, estimate)


def test_each_name_stands_for_its_own_estimate() -> None:
    # C w = q has the solution (2.25, -0.25), which is cut at 0.
    labels, predicted = np.repeat([0, 0, 1, 1], [40, 10, 10, 40]), np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
    shown = np.array([[0.6, 0.4], [0.4, 0.6]])
    tally = Tally.from_scores(shown[predicted], labels) + Tally.from_target(np.repeat(shown, [875, 125], axis=0))
    np.testing.assert_allclose(estimate_weights(tally, "bbse"), [2.25, 0.0])
    joint, ridge = np.array([[0.4, 0.1], [0.1, 0.4]]), 1 / 100  # the authors' WCP
    ridged = np.linalg.solve(joint.T @ joint + ridge * np.eye(2), joint.T @ [0.875, 0.125])
    np.testing.assert_allclose(estimate_weights(tally, "bbse-ridge"), np.maximum(ridged, 0))
