"""Interval Gaussian elimination: a box around the importance weights of every system in the boxes.

Algorithm 1 of the paper (``IntervalGaussianElim``) with its slips corrected: the update of q uses q_k of the pivot
row, and back-substitution runs once, after the last step.
"""

from typing import Literal, TypeAlias

import numpy as np

from pacshift.arrays import IntArray
from pacshift.bounds import ROUNDING, Interval
from pacshift.words.numbers import number_down, number_up

Form: TypeAlias = Literal["signed", "strict"]

EPS = float(np.finfo(float).eps)
"""Every step is rounded outward by at least half of this share, so the box holds for real numbers too."""


class NoBox(Exception):
    """Elimination cannot continue; the weights may be any numbers that are not negative.

    ``cell`` is the (predicted, true) cell at fault, or (predicted, None) in the target column; ``lower`` is the
    bound that broke the rule.
    """

    def __init__(self, message: str, *, cell: tuple[int, int | None], lower: float) -> None:
        super().__init__(message)
        self.cell, self.lower = cell, lower


class EmptyBox(Exception):
    """No weights >= 0 solve any system in the boxes: they refute label shift at their level."""


def eliminate(confusion: Interval, target: Interval, *, form: Form = "signed") -> Interval:
    r"""Box around all w >= 0 that solve ``C w = q`` for some C in ``confusion`` and q in ``target``.

    Step k of the elimination, in interval arithmetic, for the rows i and columns j that are left:

    .. math:: c_{ij} \leftarrow c_{ij} - c_{ik} c_{kj} / c_{kk}, \qquad q_i \leftarrow q_i - c_{ik} q_k / c_{kk}

    ``"signed"`` follows Appendix ``sec:positivity``: any sign may come up, only the pivots must stay above 0. It
    takes the classes in one order, then in reverse, and intersects the two boxes. ``"strict"`` is Algorithm 1:
    natural order, and it stops where a bound turns negative (``lem:gaussianelim``).
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
        If a pivot may be 0, or in the strict form if a lower bound turns negative.
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
        return _run(_System(confusion, target, np.arange(len(target.lower))), signs=True)
    system = _System(confusion, target, _canonical_order(confusion, target))
    box = _run(system, surest_first=True)
    # A class that goes first keeps its narrow pivot but is solved for last. The surest first is the order that
    # fails least; its reverse serves the rare classes better, whose weights are often the largest.
    try:
        other = _run(_System(confusion, target, system.order[::-1]))
    except NoBox:
        return box
    lower, upper = np.maximum(box.lower, other.lower), np.minimum(box.upper, other.upper)
    gap = lower - upper
    if (gap > ROUNDING).any():
        label = int(np.argmax(gap))
        raise EmptyBox(
            f"the weight of class {label} would have to be above {number_down(lower[label])} and below "
            f"{number_up(upper[label])}"
        )
    return Interval(np.minimum(lower, upper), np.maximum(lower, upper))  # apart by rounding at most


def _run(system: "_System", *, surest_first: bool = False, signs: bool = False) -> Interval:
    """Eliminate the classes, in the order they come unless ``surest_first``, and solve."""
    for step in range(len(system.order)):
        if signs:
            system.check_signs(step)
        if surest_first:
            system.bring_surest(step)
        system.check_pivot(step)
        system.reduce(step)
    return system.substitute_back()


class _System:
    """The augmented matrix [C | q] in boxes; row and column s hold the class ``order[s]``."""

    def __init__(self, confusion: Interval, target: Interval, order: IntArray) -> None:
        self.order = order.copy()
        grid = np.ix_(order, order)
        self.lower = np.column_stack([confusion.lower[grid], target.lower[order]])
        self.upper = np.column_stack([confusion.upper[grid], target.upper[order]])

    def box(self, row: int | slice, column: int | slice) -> Interval:
        """A part of the matrix."""
        return Interval(self.lower[row, column], self.upper[row, column])

    def bring_surest(self, step: int) -> None:
        """Swap in the class whose pivot is the furthest from 0 for its size."""
        low, high = np.diagonal(self.lower)[step:], np.diagonal(self.upper)[step:]
        best = step + int(np.argmax(np.where(low > 0, low, 0) / np.where(low > 0, high, 1)))
        swap, back = [step, best], [best, step]
        # Moving a row and the column of the same class together only renames the classes: the solution
        # keeps its values.
        self.order[swap] = self.order[back]
        for side in (self.lower, self.upper):
            side[swap] = side[back]
            side[:, swap] = side[:, back]

    def check_pivot(self, step: int) -> None:
        """The pivot must be above 0 in every system of the box."""
        low = np.diagonal(self.lower)[step:]
        if low[0] > 0:
            return
        size = np.abs(low) + np.abs(np.diagonal(self.upper)[step:])
        worst = step + int(np.argmin(low / np.where(size > 0, size, 1)))
        label, bound = int(self.order[worst]), float(self.lower[worst, worst])
        raise NoBox(
            f"its pivot may be 0: lower bound {bound:.3g} after {step} of {len(self.order)} elimination steps",
            cell=(label, label),
            lower=bound,
        )

    def check_signs(self, step: int) -> None:
        """The conditions of ``lem:gaussianelim`` on the part that step ``step`` works on."""
        rest = self.lower[step:, step:]
        if (rest >= 0).all():
            return
        row, column = (int(at) + step for at in np.unravel_index(np.argmin(rest), rest.shape))
        bound = float(self.lower[row, column])
        in_target = column == len(self.order)
        where = f"of target cell {row}" if in_target else f"of cell (predicted {row}, true {column})"
        raise NoBox(
            f"the lower bound {where} is {bound:.3g} after {step} of {len(self.order)} elimination steps, and the "
            "strict form needs it to be >= 0",
            cell=(row, None if in_target else column),
            lower=bound,
        )

    def reduce(self, step: int) -> None:
        """Eliminate the pivot's column from the rows below it."""
        rest = slice(step + 1, None)
        factor = _divide(self.box(rest, step), self.box(step, step))
        column = Interval(factor.lower[:, None], factor.upper[:, None])
        product = _multiply(column, self.box(step, rest))
        lower, upper = self.lower[rest, rest], self.upper[rest, rest]
        lower -= product.upper  # subtracting intervals swaps the ends
        upper -= product.lower
        lower -= np.multiply(np.abs(lower, out=product.upper), EPS, out=product.upper)
        upper += np.multiply(np.abs(upper, out=product.lower), EPS, out=product.lower)

    def substitute_back(self) -> Interval:
        """Weights from the last class up, each cut at 0 as soon as it is known, because w* >= 0."""
        size = len(self.order)
        lower, upper = np.empty(size), np.empty(size)
        for row in range(size - 1, -1, -1):
            known = slice(row + 1, size)
            terms = _multiply(self.box(row, known), Interval(lower[known], upper[known]))
            low, high = self.lower[row, size], self.upper[row, size]
            scale = max(-low, high) + np.maximum(-terms.lower, terms.upper).sum()
            rounding_slack = EPS * (size + 2) * scale  # the rounding of a sum of that many terms
            rest = Interval(low - terms.upper.sum() - rounding_slack, high - terms.lower.sum() + rounding_slack)
            weight = _divide(rest, self.box(row, row))
            if weight.upper < -ROUNDING:
                limit = number_up(float(weight.upper))
                raise EmptyBox(f"the weight of class {self.order[row]} would have to be {limit} or less")
            lower[row], upper[row] = max(float(weight.lower), 0.0), max(float(weight.upper), 0.0)
        home = np.argsort(self.order)
        return Interval(lower[home], upper[home])


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
    for one, other in ((left.lower, right.upper), (left.upper, right.lower), (left.upper, right.upper)):
        corners = one * other
        np.minimum(lower, corners, out=lower)
        np.maximum(upper, corners, out=upper)
    return Interval(lower, upper)


def _divide(numerator: Interval, pivot: Interval) -> Interval:
    """All quotients by a pivot above 0: the far end of the numerator meets the small end of the pivot."""
    lower = numerator.lower / np.where(numerator.lower < 0, pivot.lower, pivot.upper)
    upper = numerator.upper / np.where(numerator.upper < 0, pivot.upper, pivot.lower)
    # Wide enough for the rounding of this division and of a product with the result.
    return Interval(lower - 4 * EPS * np.abs(lower), upper + 4 * EPS * np.abs(upper))
