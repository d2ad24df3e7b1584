"""A box around the importance weights, from boxes around the confusion matrix and the target's predictions.

The hull is the tightest box, by linear programs. Interval Gaussian elimination is Algorithm 1 of the paper
(``IntervalGaussianElim``) with its errata: the update of q uses q_k of the pivot row, and back-substitution runs
once, after the last step.
"""

from typing import Literal, TypeAlias

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import ROUNDING, Interval, clean_shares, clopper_pearson
from pacshift.errors import AssumptionError, InputError
from pacshift.mix.lp import Problem, linear_program
from pacshift.tally import Tally
from pacshift.words.numbers import number_down, number_up

Form: TypeAlias = Literal["signed", "strict"]

Intervals: TypeAlias = Literal["hull", "elimination", "strict"]
"""How the box around the importance weights is computed: an option of PS-W and PS-C.

The hull is the default, at no cost in δ: both boxes hold on the same event. What it gains and takes is measured on
docs/methods/ps-w.md.
"""

EPS = float(np.finfo(float).eps)
"""Every step is rounded outward by at least half of this share, so the box holds for real numbers too."""

MAX_HULL_CLASSES = 200
"""2K dense programs of 2K rows each take 0.1 s at 50 classes, 0.9 s at 100, 6 to 9 s here; elimination 0.07 s."""


class NoBox(Exception):
    """Elimination cannot continue; the weights may be any numbers that are not negative.

    ``cell`` is the (predicted, true) cell at fault, or (predicted, None) in the target column.
    """

    def __init__(self, message: str, *, cell: tuple[int, int | None]) -> None:
        super().__init__(message)
        self.cell = cell


class EmptyBox(Exception):
    """No weights >= 0 solve any system in the boxes: they refute label shift at their level."""


def weight_box(tally: Tally, *, delta: float, intervals: Intervals, contamination: float = 0.0) -> Interval:
    """A box that holds w* with probability at least 1 - K(K+1) ``delta``; raises NoBox where there is none.

    If a share ``contamination`` of the target is not label-shifted, w* are the weights of the rest.
    """
    confusion = clopper_pearson(tally.confusion, tally.n_source, delta=delta)
    target = clean_shares(clopper_pearson(tally.target, tally.n_target, delta=delta), contamination)
    try:
        if intervals == "hull" and tally.n_classes <= MAX_HULL_CLASSES:
            box = hull(confusion, target)
        else:
            box = eliminate(confusion, target, form="strict" if intervals == "strict" else "signed")
    except EmptyBox as empty:
        raise AssumptionError(f"label shift is rejected: {empty}. No weights fit the counts.") from None
    if not np.isfinite(box.upper).all():
        label = int(np.argmax(box.upper))
        raise NoBox("its weight has no upper bound", cell=(label, label))
    if box.upper.max() < 1 - ROUNDING:  # source frequencies average the true weights to exactly 1
        raise AssumptionError(
            f"label shift is rejected: weights average to 1, but none can exceed {number_up(box.upper.max())}."
        )
    return box


def eliminate(confusion: Interval, target: Interval, *, form: Form = "signed") -> Interval:
    r"""Box around all w >= 0 that solve ``C w = q`` for some C in ``confusion`` and q in ``target``.

    Step k of the elimination, in interval arithmetic, for the rows i and columns j that are left:

    .. math:: c_{ij} \leftarrow c_{ij} - c_{ik} c_{kj} / c_{kk}, \qquad q_i \leftarrow q_i - c_{ik} q_k / c_{kk}

    Rows are swapped (section 3.2) and their signs changed by any rule: each row is an equation that w* satisfies,
    wherever it stands. ``"signed"`` follows Appendix ``sec:positivity``: any sign may come up, only the pivots
    must not be 0. It takes the surest pivot on the diagonal first, then the same ones in reverse, and intersects
    the two boxes. If there is none, or a class is mostly taken for another, the surest of all cells go first (and
    in reverse) as well: the classifier may mean another class than it says.
    ``"strict"`` is Algorithm 1: natural order, a row is swapped only where its pivot may be 0, and it stops where
    a bound turns negative (``lem:gaussianelim``).
    Rounding errors widen the box; they never make it miss a solution.

    Parameters
    ----------
    confusion : Interval
        Bounds on C, shape ``(K, K)``, predicted classes in rows and true ones in columns.
    target : Interval
        Bounds on q, shape ``(K,)``.
    form : {"signed", "strict"}
        Which conditions must hold on the way.

    Returns
    -------
    Interval
        Bounds on the weights, shape ``(K,)``.

    Raises
    ------
    NoBox
        If all that is left to be a pivot may be 0, or in the strict form if a lower bound turns negative.
    EmptyBox
        If a weight would have to be negative: no system in the boxes has a solution.

    Examples
    --------
    >>> point = np.array([[0.45, 0.05], [0.05, 0.45]])
    >>> box = eliminate(Interval(point - 0.01, point + 0.01), Interval(np.array([0.6, 0.3]), np.array([0.7, 0.4])))
    >>> box.lower.round(2), box.upper.round(2)
    (array([1.2 , 0.45]), array([1.55, 0.8 ]))
    """
    if form == "strict":
        order = np.arange(len(target.lower))
        return _solve_in_order(confusion, target, order, order.copy(), strict=True)
    boxes: list[Interval] = []
    failures: list[NoBox] = []
    plain = (np.argmax(confusion.lower, axis=0) == np.arange(len(target.lower))).all()
    for surest in ("own", "any"):
        if boxes and plain:
            break  # the same pivots again, mostly, for the same time
        rows = _canonical_order(confusion, target)
        columns = rows.copy()
        # A cell that goes first keeps its narrow pivot, but its class is solved for last. The surest first is the
        # order that fails least; its reverse serves the rare classes better, whose weights are often the largest.
        try:
            boxes.append(_solve_in_order(confusion, target, rows, columns, surest=surest))
            boxes.append(_solve_in_order(confusion, target, rows[::-1], columns[::-1]))
        except NoBox as failure:
            failures.append(failure)
    if not boxes:
        raise failures[0]
    lower, upper = np.max([box.lower for box in boxes], axis=0), np.min([box.upper for box in boxes], axis=0)
    gap = lower - upper
    if (gap > ROUNDING).any():
        label = int(np.argmax(gap))
        raise EmptyBox(
            f"the weight of class {label} would have to be above {number_down(lower[label])} and below "
            f"{number_up(upper[label])}"
        )
    return Interval(np.minimum(lower, upper), np.maximum(lower, upper))  # apart by rounding at most


def _solve_in_order(
    confusion: Interval,
    target: Interval,
    rows: IntArray,
    columns: IntArray,
    *,
    surest: str = "",
    strict: bool = False,
) -> Interval:
    """Eliminate the classes ``columns`` in this order, with the predictions ``rows`` as pivot rows, and solve.

    A row whose pivot may be 0 is swapped with the one below whose cell is the furthest from 0 for its size. With
    ``surest`` each step takes the cell that is so of all that are left (``"any"``), or of those on the diagonal
    (``"own"``). ``rows`` and ``columns`` become the orders that were taken. ``strict`` checks the conditions of
    ``lem:gaussianelim`` in every step.
    """
    size = len(columns)
    # The augmented matrix [C | q] in boxes: of the predictions `rows`, and of the classes `columns`.
    lower = np.column_stack([confusion.lower[np.ix_(rows, columns)], target.lower[rows]])
    upper = np.column_stack([confusion.upper[np.ix_(rows, columns)], target.upper[rows]])
    for step in range(size):
        if strict and not (lower[step:, step:] >= 0).all():
            left = lower[step:, step:]
            row, column = (int(at) + step for at in np.unravel_index(np.argmin(left), left.shape))
            cell = int(rows[row]), int(columns[column]) if column < size else None
            where = f"target cell {cell[0]}" if cell[1] is None else f"cell (predicted {cell[0]}, true {cell[1]})"
            raise NoBox(
                f"the lower bound of {where} is {lower[row, column]:.3g} after {step} of {size} elimination "
                "steps, and the strict form needs it to be >= 0",
                cell=cell,
            )
        if surest or lower[step, step] <= 0:
            # The order of the equations does not matter, nor that of the unknowns, as long as each keeps its name.
            row, column = _next_pivot(lower[step:, step:size], upper[step:, step:size], surest)
            for order, best in ((rows, step + row), (columns, step + column)):
                order[[step, best]] = order[[best, step]]
            for side in (lower, upper):
                side[[step, step + row]] = side[[step + row, step]]
                side[:, [step, step + column]] = side[:, [step + column, step]]
        if upper[step, step] < 0:  # nor does the sign of an equation
            lower[step], upper[step] = -upper[step], -lower[step]
        if lower[step, step] <= 0:  # now the pivot must be above 0 in every system of the box
            bound = lower[step, step]
            raise NoBox(
                f"its pivot may be 0: lower bound {bound:.3g} after {step} of {size} elimination steps",
                cell=(int(rows[step]), int(columns[step])),
            )
        # Eliminate the pivot's column from the rows below it.
        rest = slice(step + 1, None)
        pivot = Interval(lower[step, step], upper[step, step])
        factor = _divide(Interval(lower[rest, step, None], upper[rest, step, None]), pivot)
        product = _multiply(factor, Interval(lower[step, rest], upper[step, rest]))
        below, above = lower[rest, rest], upper[rest, rest]
        below -= product.upper  # subtracting intervals swaps the ends
        above -= product.lower
        below -= np.multiply(np.abs(below, out=product.upper), EPS, out=product.upper)
        above += np.multiply(np.abs(above, out=product.lower), EPS, out=product.lower)
    # Weights from the last class up, each cut at 0 as soon as it is known, because w* >= 0.
    least, most = np.empty(size), np.empty(size)
    for row in range(size - 1, -1, -1):
        known = slice(row + 1, size)
        terms = _multiply(Interval(lower[row, known], upper[row, known]), Interval(least[known], most[known]))
        low, high = lower[row, size], upper[row, size]
        scale = max(-low, high) + np.maximum(-terms.lower, terms.upper).sum()
        slack = EPS * (size + 2) * scale  # the rounding of a sum of that many terms
        rest_of_row = Interval(low - terms.upper.sum() - slack, high - terms.lower.sum() + slack)
        weight = _divide(rest_of_row, Interval(lower[row, row], upper[row, row]))
        if weight.upper < -ROUNDING:
            limit = number_up(float(weight.upper))
            raise EmptyBox(f"the weight of class {columns[row]} would have to be {limit} or less")
        least[row], most[row] = max(float(weight.lower), 0.0), max(float(weight.upper), 0.0)
    home = np.argsort(columns)
    return Interval(least[home], most[home])


def _next_pivot(lower: FloatArray, upper: FloatArray, surest: str) -> tuple[int, int]:
    """The cell furthest from 0 for its size: of "any", of the diagonal ("own"), or of the first column.

    Of cells that are equally far, the largest.
    Where all of them may be 0, it is the best one of the worst column: the class to be named.
    """
    if surest == "own":
        lower, upper = np.diagonal(lower)[None, :], np.diagonal(upper)[None, :]
    elif not surest:
        lower, upper = lower[:, :1], upper[:, :1]
    near, far = np.maximum(lower, -upper), np.maximum(np.abs(lower), np.abs(upper))
    sure = near / np.where(far > 0, far, 1) + 1e-9 * near / max(float(far.max()), np.finfo(float).tiny)
    best = sure.max(axis=0)
    column = int(np.argmax(best) if best.max() > 0 else np.argmin(best))
    return column if surest == "own" else int(np.argmax(sure[:, column])), column


def _canonical_order(confusion: Interval, target: Interval) -> IntArray:
    """An order of the classes that depends on their numbers only, so that ties between pivots do too."""
    sides = (confusion.lower, confusion.upper)
    columns = [key for side in sides for key in np.sort(side, axis=0)]
    rows = [key for side in sides for key in np.sort(side, axis=1).T]
    return np.lexsort((*columns, *rows, target.lower, target.upper, *(np.diagonal(side) for side in sides)))


def _multiply(left: Interval, right: Interval) -> Interval:
    """All products; signs decide which corner is smallest, so take all four."""
    corners = left.lower * right.lower
    lower, upper = corners, corners.copy()
    for first, second in ((left.lower, right.upper), (left.upper, right.lower), (left.upper, right.upper)):
        corners = first * second
        np.minimum(lower, corners, out=lower)
        np.maximum(upper, corners, out=upper)
    return Interval(lower, upper)


def _divide(numerator: Interval, pivot: Interval) -> Interval:
    """All quotients by a pivot above 0: the far end of the numerator meets the small end of the pivot."""
    lower = numerator.lower / np.where(numerator.lower < 0, pivot.lower, pivot.upper)
    upper = numerator.upper / np.where(numerator.upper < 0, pivot.upper, pivot.lower)
    # Wide enough for the rounding of this division and of a product with the result.
    return Interval(lower - 4 * EPS * np.abs(lower), upper + 4 * EPS * np.abs(upper))


def hull(confusion: Interval, target: Interval) -> Interval:
    r"""Smallest box around all w >= 0 that solve ``C w = q`` for some C in ``confusion`` and q in ``target``.

    For w >= 0 those solutions are exactly a polytope (Oettli and Prager, Numer. Math. 6, 1964):

    .. math:: \underline{C} w \le \overline{q}, \qquad \overline{C} w \ge \underline{q}

    so the least and the largest w_j over it are two linear programs per class. A class whose column may be 0
    everywhere has no largest weight: ``upper`` is infinite there. Each value is computed from the dual solution by
    weak duality, so that HiGHS's tolerance can only make the box wider.

    Parameters
    ----------
    confusion : Interval
        Bounds on C, shape ``(K, K)``, predicted classes in rows and true ones in columns.
    target : Interval
        Bounds on q, shape ``(K,)``.

    Returns
    -------
    Interval
        Bounds on the weights, shape ``(K,)``.

    Raises
    ------
    EmptyBox
        If no weights >= 0 solve any system in the boxes.
    InputError
        If there are more than ``MAX_HULL_CLASSES`` classes.

    Examples
    --------
    >>> point = np.array([[0.45, 0.05], [0.05, 0.45]])
    >>> box = hull(Interval(point - 0.01, point + 0.01), Interval(np.array([0.6, 0.3]), np.array([0.7, 0.4])))
    >>> box.lower.round(2), box.upper.round(2)
    (array([1.2 , 0.45]), array([1.55, 0.8 ]))
    """
    n_classes = len(target.lower)
    if n_classes > MAX_HULL_CLASSES:
        raise InputError(
            f"the exact hull is offered up to {MAX_HULL_CLASSES} classes, got {n_classes}: its 2K linear programs "
            'would run for hours. Use intervals="elimination", or the method PS-LP.'
        )
    unbounded: BoolArray = np.asarray((confusion.lower <= 0).all(axis=0))
    lower, upper = np.zeros(n_classes), np.full(n_classes, np.inf)
    program = HullProgram(confusion, target, helpers=unbounded)
    if program.is_infeasible():
        raise EmptyBox("no weights >= 0 fit the boxes")
    for label in np.flatnonzero(~unbounded).tolist():
        lower[label], upper[label] = program.end(label, -1.0), program.end(label, 1.0)
    for label in np.flatnonzero(unbounded).tolist():
        others = unbounded & (np.arange(n_classes) != label)
        lower[label] = HullProgram(confusion, target, helpers=others).end(label, -1.0)
    return Interval(lower, upper)


class HullProgram:
    """One linear program, ``rows u <= 1`` with ``w = scale u``; only the objective changes from call to call.

    ``helpers`` are unbounded classes other than the one asked about: one of them can fill any row of
    ``C_upper w >= q_lower`` in which its cell may be positive, so it and those rows drop out.
    """

    def __init__(self, confusion: Interval, target: Interval, *, helpers: BoolArray) -> None:
        kept = ~helpers
        needed = (target.lower > 0) & ~(confusion.upper[:, helpers] > 0).any(axis=1)
        # Divided by their right-hand sides all rows read "at most 1", whatever the size of the class.
        at_most = confusion.lower[:, kept] / np.maximum(target.upper, np.finfo(float).tiny)[:, None]
        at_least = confusion.upper[needed][:, kept] / target.lower[needed, None]
        # w_j alone must fit every row of C_lower w <= q_upper; a class without such a bound gets one that is
        # larger than the least weight ever asked of it: with it, it alone fills every row that it can fill.
        peak = at_most.max(axis=0)
        filling = np.divide(1.0, at_least, out=np.zeros_like(at_least), where=at_least > 0)
        enough = filling.max(axis=0, initial=1.0)
        self.scale = np.where(peak > 0, 1 / np.where(peak > 0, peak, 1), enough)
        self.rows = np.vstack([at_most, -at_least]) * self.scale
        # Ten times HiGHS's tolerance below: rounding cannot empty the region.
        self.limits = np.concatenate([np.ones(len(at_most)), -np.ones(len(at_least))]) + ROUNDING
        self.column = np.cumsum(kept) - 1
        free, none = np.full(len(self.limits), -np.inf), np.zeros(self.rows.shape[1])
        self.program = linear_program(Problem(self.rows, free, self.limits, cost=none, least=none, sharp=True))

    def is_infeasible(self) -> bool:
        """Whether surely no weights fit. Near its tolerance a solver may say so wrongly, so it must prove it.

        The least s with ``rows u <= limits + s`` is above 0 if, for some prices y >= 0, so is the value below (by
        weak duality, as in ``bound_value``).
        """
        self.program.solve()
        if not self.program.is_infeasible:
            return False
        n_rows, n_columns = self.rows.shape
        rows, free = np.hstack([self.rows, -np.ones((n_rows, 1))]), np.full(n_rows, -np.inf)
        cost, least = np.append(np.zeros(n_columns), 1.0), np.zeros(n_columns + 1)
        relaxed = linear_program(Problem(rows, free, self.limits, cost=cost, least=least, sharp=True))
        relaxed.solve()
        prices = np.maximum(-relaxed.prices, 0.0)
        return bool(-(prices @ self.limits) > np.maximum(-(prices @ self.rows), 0.0).sum())

    def end(self, label: int, sign: float) -> float:
        """The upper end of w_label, or with ``sign`` -1 its lower end, however HiGHS rounded.

        ``scale`` caps the lower end where the bound was derived for u_label <= 1 only.
        """
        column = int(self.column[label])
        self.program.change_costs(np.array([column]), np.array([-sign]))
        self.program.solve()
        prices = np.maximum(-self.program.prices, 0.0)  # HiGHS minimises: the duals of "at most" rows are negative
        self.program.change_costs(np.array([column]), np.zeros(1))
        bound = self.bound_value(prices, column, sign)
        return float(self.scale[column] * (bound if sign > 0 else np.clip(-bound, 0.0, 1.0)))

    def bound_value(self, prices: FloatArray, column: int, sign: float) -> float:
        """Weak duality: c·u <= y·limits + sum_j max(c_j - (y·rows)_j, 0) for any prices y >= 0, as 0 <= u <= 1.

        The best prices make it exact; prices of 0 give what 0 <= u <= 1 says alone.
        """
        reduced = -(prices @ self.rows)
        reduced[column] += sign
        return float(prices @ self.limits + np.maximum(reduced, 0.0).sum())
