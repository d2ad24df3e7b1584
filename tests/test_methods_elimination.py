"""Interval elimination: sound on every system in the boxes, independent of the order of classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval, clopper_pearson
from pacshift.methods.weight_box import EmptyBox, Form, NoBox, _divide, _multiply, _solve_in_order, eliminate
from strategies import BoxedSystem, Counts, boxed_systems, counts, seeds

STRONG = np.array([[0.45, 0.03], [0.05, 0.47]])


def around(point: FloatArray, width: float) -> Interval:
    return Interval(np.maximum(point - width, 0), point + width)


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


@given(counts(), seeds, st.sampled_from([1e-7, 0.01, 0.3]))
def test_permuting_classes_permutes_the_answer(drawn: Counts, seed: int, delta: float) -> None:
    order = np.random.default_rng(seed).permutation(len(drawn.target))
    permuted = Counts(drawn.confusion[np.ix_(order, order)], drawn.target[order])
    try:
        weights = eliminate(*drawn.boxes(delta))
    except (NoBox, EmptyBox) as failure:
        with pytest.raises(type(failure)):
            eliminate(*permuted.boxes(delta))
        return
    after = eliminate(*permuted.boxes(delta))
    np.testing.assert_array_equal(after.lower, weights.lower[order])
    np.testing.assert_array_equal(after.upper, weights.upper[order])


def test_pivots_that_tie_are_taken_in_an_order_that_does_not_depend_on_the_input() -> None:
    # Equal pivots, unequal rows: which of the three goes first changes the box.
    confusion = np.array([[300, 40, 5], [0, 300, 60], [20, 10, 300]])
    drawn = Counts(confusion, np.array([400, 300, 335]))
    weights = eliminate(*drawn.boxes(0.01))
    for order in ([1, 2, 0], [2, 1, 0]):
        after = eliminate(*Counts(confusion[np.ix_(order, order)], drawn.target[order]).boxes(0.01))
        np.testing.assert_array_equal(after.lower, weights.lower[order])
        np.testing.assert_array_equal(after.upper, weights.upper[order])


@given(boxed_systems())
def test_where_the_strict_form_answers_it_is_the_signed_arithmetic_in_natural_order(box: BoxedSystem) -> None:
    # With every bound >= 0 the general interval product is the paper's formula, so nothing is lost by signs.
    # (The signed form proper takes other orders, and its box may stick out of the strict one a little.)
    strict = solved(box, "strict")
    if strict is None:
        return
    natural = _solve_in_order(box.confusion, box.target, np.arange(len(box.weights)))
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
    assert stopped.value.lower == pytest.approx(-0.44)
    natural = _solve_in_order(confusion, target, np.arange(2))
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
    assert stopped.value.lower <= 0


def test_target_that_no_label_mix_explains_is_refuted() -> None:
    # Both classes are predicted 0 half of the time at least, so no mix gives "always 1".
    drawn = Counts(np.array([[4000, 2500], [1000, 2500]]), np.array([0, 10_000]))
    with pytest.raises(EmptyBox, match=r"the weight of class [01] would have to be"):
        eliminate(*drawn.boxes(1e-6))


def test_the_last_bound_is_tight_for_one_uncertain_cell() -> None:
    # Only q_1 moves, so w is linear in it and its range is exact.
    target = Interval(np.array([0.6, 0.4]), np.array([0.62, 0.4]))
    weights = eliminate(around(STRONG, 0), target)
    ends = np.linalg.solve(STRONG, np.array([[0.6, 0.62], [0.4, 0.4]]))
    np.testing.assert_allclose(weights.lower, ends.min(axis=1), rtol=1e-12)
    np.testing.assert_allclose(weights.upper, ends.max(axis=1), rtol=1e-12)


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
