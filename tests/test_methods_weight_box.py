"""Boxes around the weights: sound on every system in the boxes, independent of the order of classes.

The hull is as tight as an independent solver says, and inside elimination's box.
"""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from lp_solvers import each_solver  # noqa: F401  tests run with both
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, clopper_pearson
from pacshift.errors import InputError
from pacshift.methods.weight_box import (
    MAX_HULL_CLASSES,
    EmptyBox,
    Form,
    HullProgram,
    NoBox,
    _divide,
    _multiply,
    _solve_in_order,
    eliminate,
    hull,
)
from strategies import BoxedSystem, Counts, boxed_systems, counts, rates, seeds


def around(point: FloatArray, width: float) -> Interval:
    return Interval(np.maximum(point - width, 0), point + width)


def in_order(size: int) -> tuple[IntArray, IntArray]:
    return np.arange(size), np.arange(size)


def solved(box: BoxedSystem, form: Form) -> Interval | None:
    try:
        return eliminate(box.confusion, box.target, form=form)
    except NoBox:
        return None


def intervals(lowest: float) -> st.SearchStrategy[Interval]:
    ends = st.floats(lowest, 1e3).filter(lambda end: end == 0 or abs(end) > 1e-3)
    return st.tuples(ends, ends).map(lambda pair: Interval(np.array([min(pair)]), np.array([max(pair)])))


@given(intervals(-1e3), intervals(-1e3))
def test_products_of_intervals_are_exactly_the_range_of_products(left: Interval, right: Interval) -> None:
    product = _multiply(left, right)
    inner = np.outer(np.linspace(left.lower, left.upper, 5), np.linspace(right.lower, right.upper, 5))
    assert product.lower == pytest.approx(inner.min())
    assert product.upper == pytest.approx(inner.max())


@given(intervals(-1e3), intervals(0.01))
def test_quotients_are_the_range_of_quotients_rounded_outward(top: Interval, pivot: Interval) -> None:
    quotient = _divide(top, pivot)
    inner = np.divide.outer([top.lower, top.upper], [pivot.lower, pivot.upper])
    for end, exact, outward in ((quotient.lower, inner.min(), -1), (quotient.upper, inner.max(), 1)):
        assert end == pytest.approx(exact, rel=1e-14)
        assert outward * end > outward * exact or exact == 0


@pytest.mark.parametrize("form", ["signed", "strict"])
@given(boxed_systems())
def test_every_system_in_the_boxes_has_its_solution_in_the_result(form: Form, box: BoxedSystem) -> None:
    weights = solved(box, form)  # an EmptyBox would be wrong too: the system has a solution >= 0
    if weights is not None:  # no tolerance: the system is exact and the arithmetic rounds outward
        assert weights.contains(box.weights).all()


@given(counts(), seeds, st.floats(1e-9, 0.5))
def test_systems_drawn_from_the_boxes_of_counts(drawn: Counts, seed: int, delta: float) -> None:
    confusion, target = drawn.boxes(delta)
    try:
        weights = eliminate(confusion, target)
    except (NoBox, EmptyBox):
        return
    rng = np.random.default_rng(seed)
    for _ in range(5):
        # Mostly corners of the box: that is where the extremes are.
        corner = rng.choice([0.0, 1.0, 0.5], size=confusion.lower.shape, p=[0.45, 0.45, 0.1])
        inner = confusion.lower + corner * (confusion.upper - confusion.lower)
        right = target.lower + rng.choice([0.0, 1.0], len(target.lower)) * (target.upper - target.lower)
        solution = np.asarray(np.linalg.solve(inner, right), float)
        if (solution >= 0).all():
            rounding = 1e-9 * (1 + solution.max())  # of np.linalg.solve
            assert (weights.lower - rounding <= solution).all()
            assert (solution <= weights.upper + rounding).all()


@pytest.mark.parametrize(
    ("boxed", "tolerance"), [(eliminate, 0.0), pytest.param(hull, 1e-5, marks=pytest.mark.slow)]
)
@given(counts(), seeds, st.sampled_from([1e-7, 0.01, 0.3]))
def test_permuting_classes_permutes_the_answer(
    boxed: Callable[..., Interval], tolerance: float, drawn: Counts, seed: int, delta: float
) -> None:
    order = np.random.default_rng(seed).permutation(len(drawn.target))
    permuted = Counts(drawn.confusion[np.ix_(order, order)], drawn.target[order])
    try:
        weights = boxed(*drawn.boxes(delta))
    except (NoBox, EmptyBox) as failure:
        with pytest.raises(type(failure)):
            boxed(*permuted.boxes(delta))
        return
    after = boxed(*permuted.boxes(delta))
    np.testing.assert_allclose(after.lower, weights.lower[order], rtol=tolerance, atol=tolerance / 10)
    np.testing.assert_allclose(after.upper, weights.upper[order], rtol=tolerance, atol=tolerance / 10)


def test_pivots_that_tie_are_taken_in_an_order_that_does_not_depend_on_the_input() -> None:
    # Equal pivots, unequal rows: which of the three goes first changes the box.
    confusion = np.array([[300, 40, 5], [0, 300, 60], [20, 10, 300]])
    drawn = Counts(confusion, np.array([400, 300, 335]))
    weights = eliminate(*drawn.boxes(0.01))
    for order in ([1, 2, 0], [2, 1, 0]):
        after = eliminate(*Counts(confusion[np.ix_(order, order)], drawn.target[order]).boxes(0.01))
        np.testing.assert_array_equal(after.lower, weights.lower[order])
        np.testing.assert_array_equal(after.upper, weights.upper[order])


@pytest.mark.parametrize("n_classes", [2, 3, 6, 20])
def test_a_classifier_that_means_another_class_gets_the_box_of_one_that_says_it(n_classes: int) -> None:
    """Row swaps of section 3.2: the same equations in another order, so nearly the same box."""
    rng = np.random.default_rng(n_classes)
    table = rates(rng, n_classes, 0.9)
    joint = (table * rng.dirichlet(np.full(n_classes, 30.0))).ravel()
    confusion = rng.multinomial(200_000, joint / joint.sum()).reshape(n_classes, n_classes)
    said = Counts(confusion, rng.multinomial(100_000, table @ rng.dirichlet(np.full(n_classes, 5.0))))
    meant = np.roll(np.arange(n_classes), 1)
    swapped = Counts(said.confusion[meant], said.target[meant])
    plain, other = eliminate(*said.boxes(1e-6)), eliminate(*swapped.boxes(1e-6))
    np.testing.assert_allclose(other.lower, plain.lower, rtol=0.2)
    np.testing.assert_allclose(other.upper, plain.upper, rtol=0.2)


def test_strict_form_swaps_rows_only_where_a_pivot_may_be_0() -> None:
    strong = np.diag([0.3, 0.3, 0.4])
    target = around(np.array([0.2, 0.5, 0.3]), 0.01)
    confusion = Interval(strong * 0.97, strong * 1.03)
    weights = eliminate(confusion, target, form="strict")
    meant = [1, 2, 0]
    rows = Interval(confusion.lower[meant], confusion.upper[meant])
    other = eliminate(rows, Interval(target.lower[meant], target.upper[meant]), form="strict")
    np.testing.assert_array_equal([other.lower, other.upper], [weights.lower, weights.upper])


@pytest.mark.parametrize("form", ["signed", "strict"])
def test_equations_may_stand_in_any_order_and_have_any_sign(form: Form) -> None:
    # Every order of the rows, and pivots that are surely negative: the solution is inside whatever is swapped.
    confusion = np.array([[0.05, 0.2, 0.1], [0.3, 0.05, 0.02], [0.02, 0.06, 0.2]])
    weights = np.array([0.5, 2.0, 1.0])
    for order in itertools.permutations(range(3)):
        rows = confusion[list(order)]
        box = BoxedSystem(around(rows, 1e-4), around(rows @ weights, 1e-4), rows, rows @ weights, weights)
        found = solved(box, form)
        assert form == "strict" or found is not None
        assert found is None or found.contains(weights).all()


@given(boxed_systems())
def test_where_the_strict_form_answers_it_is_the_signed_arithmetic_in_natural_order(box: BoxedSystem) -> None:
    # With every bound >= 0 the general interval product is the paper's formula, so nothing is lost by signs.
    # (The signed form proper takes other orders, and its box may stick out of the strict one a little.)
    strict = solved(box, "strict")
    if strict is None:
        return
    natural = _solve_in_order(box.confusion, box.target, *in_order(len(box.weights)))
    np.testing.assert_array_equal(strict.lower, natural.lower)
    np.testing.assert_array_equal(strict.upper, natural.upper)


def test_strict_form_by_hand() -> None:
    # C in [[.4, .5], [.1, .2]; [.1, .2], [.4, .5]], q in [[.5, .6], [.4, .5]].
    confusion = Interval(np.array([[0.4, 0.1], [0.1, 0.4]]), np.array([[0.5, 0.2], [0.2, 0.5]]))
    target = Interval(np.array([0.5, 0.4]), np.array([0.6, 0.5]))
    weights = eliminate(confusion, target, form="strict")
    pivot = (0.4 - 0.2 * 0.2 / 0.4, 0.5 - 0.1 * 0.1 / 0.5)  # eqn:clower and eqn:cupper: 0.3 and 0.48
    right = (0.4 - 0.2 * 0.6 / 0.4, 0.5 - 0.1 * 0.5 / 0.5)  # eqn:q with q_k of the pivot row: 0.1 and 0.4
    second = (right[0] / pivot[1], right[1] / pivot[0])
    first = ((0.5 - 0.2 * second[1]) / 0.5, (0.6 - 0.1 * second[0]) / 0.4)  # eqn:wlowerupper
    np.testing.assert_allclose(weights.lower, [first[0], second[0]])
    np.testing.assert_allclose(weights.upper, [first[1], second[1]])


def test_signed_form_by_hand_where_the_strict_one_stops() -> None:
    # The target's second bound turns negative: 0.01 - 0.2 * 0.9 / 0.4 = -0.44.
    confusion = Interval(np.array([[0.4, 0.1], [0.1, 0.4]]), np.array([[0.5, 0.2], [0.2, 0.5]]))
    target = Interval(np.array([0.8, 0.01]), np.array([0.9, 0.3]))
    with pytest.raises(NoBox, match=r"target cell 1 is -0\.44 after 1 of 2") as stopped:
        eliminate(confusion, target, form="strict")
    assert stopped.value.cell == (1, None)
    natural = _solve_in_order(confusion, target, *in_order(2))
    second = (0.0, (0.3 - 0.1 * 0.8 / 0.5) / 0.3)  # -0.44 / 0.3 is cut at 0 at once
    first = ((0.8 - 0.2 * second[1]) / 0.5, 0.9 / 0.4)
    np.testing.assert_allclose(natural.lower, [first[0], second[0]])
    np.testing.assert_allclose(natural.upper, [first[1], second[1]])
    signed = eliminate(confusion, target)
    assert (signed.lower >= natural.lower).all()
    assert (signed.upper <= natural.upper).all()


def test_strict_form_names_the_confusion_cell() -> None:
    confusion = np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.0], [0.1, 0.0, 0.2]])
    with pytest.raises(NoBox, match=r"predicted 2, true 1\) is -0.0333 after 1 of 3") as stopped:
        eliminate(around(confusion, 0), around(np.array([0.4, 0.3, 0.3]), 0), form="strict")
    assert stopped.value.cell == (2, 1)
    # The signed form solves the same system; boxes without width give the solution itself.
    weights = eliminate(around(confusion, 0), around(np.array([0.4, 0.3, 0.3]), 0))
    solution = np.linalg.solve(confusion, [0.4, 0.3, 0.3])
    np.testing.assert_allclose([weights.lower, weights.upper], [solution, solution])


def test_class_without_a_pivot_is_named() -> None:
    confusion = np.diag([0.5, 0.3, 0.0]) + 0.02
    with pytest.raises(NoBox, match="may be 0") as stopped:
        eliminate(around(confusion, 0.03), around(np.array([0.6, 0.3, 0.1]), 0.01))
    assert stopped.value.cell == (2, 2)


@pytest.mark.parametrize(
    ("boxed", "said"), [(eliminate, r"the weight of class [01] would have to be"), (hull, "no weights")]
)
def test_target_that_no_label_mix_explains_is_refuted(boxed: Callable[..., Interval], said: str) -> None:
    # Both classes are predicted 0 half of the time at least, so no mix gives "always 1".
    drawn = Counts(np.array([[4000, 2500], [1000, 2500]]), np.array([0, 10_000]))
    with pytest.raises(EmptyBox, match=said):
        boxed(*drawn.boxes(1e-6))


def many_classes(n_classes: int, rows_a_class: int) -> tuple[Interval, Interval]:
    rng = np.random.default_rng(n_classes)
    table = np.full((n_classes, n_classes), 0.05 / (n_classes - 1))
    np.fill_diagonal(table, 0.95)
    total = rows_a_class * n_classes
    confusion = rng.multinomial(total, table.ravel() / n_classes).reshape(n_classes, n_classes)
    target = rng.multinomial(total, np.full(n_classes, 1 / n_classes))
    return clopper_pearson(confusion, total, delta=1e-9), clopper_pearson(target, total, delta=1e-9)


@pytest.mark.slow
def test_hundreds_of_classes() -> None:
    weights = eliminate(*many_classes(300, 50_000))
    assert weights.contains(np.ones(300)).all()
    assert weights.upper.max() < 2
    with pytest.raises(NoBox, match=r"after \d+ of 300"):
        eliminate(*many_classes(300, 3_000))


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
            bound = program.scale[column] * program.bound_value(prices, column, sign)
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
    # Below SciPy's tolerance its solution may be called infeasible by an old release: the box is then wider.
    is_close = not ((target.lower > 0) & (target.lower < 1e-6)).any()
    for label, unit in enumerate(np.eye(n_classes)):
        least, most = linprog(unit, rows, limits), linprog(-unit, rows, limits)
        if not is_close and most.status == 0:
            assert weights.lower[label] <= np.array(least.fun) * (1 + 1e-4) + 1e-4
            assert weights.upper[label] >= -np.array(most.fun) * (1 - 1e-4) - 1e-4
            continue
        assert weights.lower[label] == pytest.approx(least.fun, rel=1e-4, abs=1e-4)
        if np.isinf(weights.upper[label]):
            assert most.status == 3  # unbounded
        elif weights.upper[label] < 1e5:  # beyond that SciPy drops the small cells that bound the weight
            assert weights.upper[label] == pytest.approx(-np.array(most.fun), rel=1e-4, abs=1e-4)


def test_a_shift_is_not_refuted_by_a_limit_as_small_as_the_solvers_tolerance() -> None:
    """One target row at a tiny delta: SciPy 1.12 calls the program infeasible, though small weights fit."""
    weights = hull(*Counts(np.array([[84, 1], [115, 0]]), np.array([1, 0])).boxes(1.1920928955078125e-07))
    assert (weights.lower <= 1e-6).all()


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


def test_too_many_classes_get_an_answer_and_not_a_hang() -> None:
    size = MAX_HULL_CLASSES + 1
    boxes = Interval(np.zeros((size, size)), np.ones((size, size))), Interval(np.zeros(size), np.ones(size))
    with pytest.raises(InputError, match=r"up to 200 classes, got 201.*elimination"):
        hull(*boxes)
