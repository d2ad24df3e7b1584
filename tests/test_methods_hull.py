"""The exact hull: sound, as tight as an independent solver says, inside elimination's box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from lp_solvers import each_solver  # noqa: F401  tests run with both
from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.methods.weight_box import MAX_HULL_CLASSES, EmptyBox, HullProgram, NoBox, eliminate, hull
from strategies import BoxedSystem, Counts, boxed_systems, counts, seeds


def slack(weights: FloatArray) -> float:
    """Rows are loosened by 1e-9; what that does to a weight grows with the weights."""
    return float(1e-6 * (1 + np.abs(weights).max()))


@given(boxed_systems())
def test_every_system_in_the_boxes_has_its_solution_in_the_hull(box: BoxedSystem) -> None:
    weights = hull(box.confusion, box.target)
    assert weights.contains(box.weights).all()  # no tolerance: the ends are safe by construction


@given(boxed_systems(), seeds)
def test_any_prices_whatsoever_give_a_safe_bound(box: BoxedSystem, seed: int) -> None:
    # So soundness never hangs on the solver: a wrong dual solution makes the box wider, not wrong.
    bounded = np.asarray((box.confusion.lower > 0).any(axis=0))
    program = HullProgram(box.confusion, box.target, helpers=~bounded)
    rng = np.random.default_rng(seed)
    prices = rng.exponential(size=len(program.limits)) * (rng.random(len(program.limits)) < 0.3)
    for column, label in enumerate(np.flatnonzero(bounded)):
        for sign in (1.0, -1.0):
            bound = program.scale[column] * program.certified(prices, column, sign)
            assert sign * box.weights[label] <= bound * (1 + 1e-12 * np.sign(bound)) + 1e-12


@given(counts(), st.floats(1e-9, 0.5))
def test_hull_is_inside_the_box_of_elimination(drawn: Counts, delta: float) -> None:
    boxes = drawn.boxes(delta)
    try:
        wide = eliminate(*boxes)
    except NoBox:
        return
    except EmptyBox:
        with pytest.raises(EmptyBox):
            hull(*boxes)
        return
    try:
        tight = hull(*boxes)
    except EmptyBox:  # the exact method may refute what elimination cannot
        return
    assert (tight.lower >= wide.lower - slack(wide.upper)).all()
    assert (tight.upper <= wide.upper + slack(wide.upper)).all()


@pytest.mark.slow
@given(counts(), st.floats(1e-9, 0.5))
def test_hull_is_what_scipy_finds(drawn: Counts, delta: float) -> None:
    confusion, target = drawn.boxes(delta)
    n_classes = min(len(drawn.target), 8)  # independent programs, one at a time, are slow
    confusion = Interval(confusion.lower[:n_classes, :n_classes], confusion.upper[:n_classes, :n_classes])
    target = Interval(target.lower[:n_classes], target.upper[:n_classes])
    rows = np.vstack([confusion.lower, -confusion.upper])
    limits = np.concatenate([target.upper, -target.lower])
    try:
        weights = hull(confusion, target)
    except EmptyBox:
        assert linprog(np.zeros(n_classes), rows, limits).status == 2  # infeasible
        return
    for label, unit in enumerate(np.eye(n_classes)):
        least, most = linprog(unit, rows, limits), linprog(-unit, rows, limits)
        assert weights.lower[label] == pytest.approx(least.fun, rel=1e-4, abs=1e-4)
        if np.isinf(weights.upper[label]):
            assert most.status == 3  # unbounded
        elif weights.upper[label] < 1e5:  # beyond that SciPy drops the small cells that bound the weight
            assert weights.upper[label] == pytest.approx(-np.array(most.fun), rel=1e-4, abs=1e-4)


@pytest.mark.slow
@given(counts(), seeds)
def test_permuting_classes_permutes_the_hull(drawn: Counts, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(drawn.target))
    permuted = Counts(drawn.confusion[np.ix_(order, order)], drawn.target[order])
    try:
        weights = hull(*drawn.boxes(0.01))
    except EmptyBox:
        with pytest.raises(EmptyBox):
            hull(*permuted.boxes(0.01))
        return
    after = hull(*permuted.boxes(0.01))
    np.testing.assert_allclose(after.lower, weights.lower[order], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(after.upper, weights.upper[order], rtol=1e-5, atol=1e-6)


def test_hull_by_hand() -> None:
    # A diagonal matrix: each weight is q_j / c_jj, extremes at opposite ends.
    confusion = Interval(np.diag([0.4, 0.5]), np.diag([0.45, 0.55]))
    weights = hull(confusion, Interval(np.array([0.2, 0.7]), np.array([0.3, 0.8])))
    np.testing.assert_allclose(weights.lower, [0.2 / 0.45, 0.7 / 0.55], rtol=1e-8)
    np.testing.assert_allclose(weights.upper, [0.3 / 0.4, 0.8 / 0.5], rtol=1e-8)


def test_class_that_was_never_seen_has_no_upper_end() -> None:
    drawn = Counts(np.array([[500, 10, 0], [10, 500, 0], [3, 2, 0]]), np.array([300, 300, 5]))
    weights = hull(*drawn.boxes(1e-3))
    assert np.isinf(weights.upper).tolist() == [False, False, True]
    assert weights.lower[2] == 0  # nothing on the target needs it


def test_class_that_was_never_seen_may_be_needed() -> None:
    # A fifth of the target is predicted 2, which the two seen classes hardly ever are.
    drawn = Counts(np.array([[50_000, 100, 0], [100, 50_000, 0], [3, 2, 0]]), np.array([4000, 4000, 2000]))
    confusion, target = drawn.boxes(1e-3)
    weights = hull(confusion, target)
    assert np.isinf(weights.upper[2])
    rows = np.vstack([confusion.lower, -confusion.upper])
    limits = np.concatenate([target.upper, -target.lower])
    least = linprog(np.array([0.0, 0.0, 1.0]), rows, limits)
    assert weights.lower[2] == pytest.approx(least.fun, rel=1e-6)
    assert weights.lower[2] > 100


def test_nothing_seen_says_nothing() -> None:
    weights = hull(*Counts(np.zeros((3, 3), int), np.array([5, 5, 5])).boxes(0.01))
    assert weights.lower.tolist() == [0, 0, 0]
    assert np.isinf(weights.upper).all()


def test_hull_answers_where_elimination_finds_no_pivot() -> None:
    rng = np.random.default_rng(0)
    table = 0.25 * np.eye(10) + 0.075
    confusion = rng.multinomial(20_000, table.ravel() / table.sum()).reshape(10, 10)
    boxes = Counts(confusion, rng.multinomial(20_000, np.full(10, 0.1))).boxes(1e-5)
    with pytest.raises(NoBox):
        eliminate(*boxes)
    weights = hull(*boxes)
    assert weights.contains(np.ones(10)).all()
    assert np.isfinite(weights.upper).all()


def test_target_that_no_label_mix_explains_is_refuted() -> None:
    drawn = Counts(np.array([[4000, 2500], [1000, 2500]]), np.array([0, 10_000]))
    with pytest.raises(EmptyBox, match="no weights"):
        hull(*drawn.boxes(1e-6))


def test_too_many_classes_get_an_answer_and_not_a_hang() -> None:
    size = MAX_HULL_CLASSES + 1
    boxes = Interval(np.zeros((size, size)), np.ones((size, size))), Interval(np.zeros(size), np.ones(size))
    with pytest.raises(InputError, match=r"up to 200 classes, got 201.*elimination"):
        hull(*boxes)
