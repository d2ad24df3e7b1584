"""Interval Gaussian elimination: a box around the importance weights of every system in the boxes.

Algorithm 1 of the paper (``IntervalGaussianElim``) with its slips corrected: the update of q takes q_k of the
pivot row, and back-substitution runs once, after the last step.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from pacshift.arrays import IntArray, Label
from pacshift.bounds import Interval

Form = Literal["signed", "strict"]


class _Finding(Exception):
    """A finding about classes; ``text`` has one ``{}`` for each column index in ``labels``."""

    def __init__(self, text: str, *labels: int) -> None:
        super().__init__(text.format(*labels))
        self.text = text
        self.labels = labels

    def named(self, classes: Sequence[Label]) -> str:
        """The message with names in place of column indices."""
        return self.text.format(*(repr(classes[label]) for label in self.labels))


class NoBox(_Finding):
    """The boxes allow no upper bound on the weights; the message names the class or cell that is too vague."""


class EmptyBox(_Finding):
    """No weights >= 0 solve any system in the boxes: they refute label shift at their level."""


def eliminate(confusion: Interval, target: Interval, *, form: Form = "signed") -> Interval:
    r"""Box around all w >= 0 that solve ``C w = q`` for some C in ``confusion`` and q in ``target``.

    Step k of the elimination, in interval arithmetic, for the rows i and columns j that are left:

    .. math:: c_{ij} \leftarrow c_{ij} - c_{ik} c_{kj} / c_{kk}, \qquad q_i \leftarrow q_i - c_{ik} q_k / c_{kk}

    ``"signed"`` follows Appendix ``sec:positivity``: any sign may come up, only the pivots must stay above 0.
    ``"strict"`` is Algorithm 1: natural order, and it stops where a bound turns negative (``lem:gaussianelim``).
    Rounding (1e-16) is not tracked: it is far below the width of any box that comes from counts.

    Raises :class:`NoBox` where a condition fails, :class:`EmptyBox` where a weight would have to be negative.

    >>> point = np.array([[0.45, 0.05], [0.05, 0.45]])
    >>> box = eliminate(Interval(point - 0.01, point + 0.01), Interval(np.array([0.6, 0.3]), np.array([0.7, 0.4])))
    >>> box.lower.round(2), box.upper.round(2)
    (array([1.19, 0.45]), array([1.56, 0.8 ]))
    """
    start = _canonical_order(confusion, target) if form == "signed" else np.arange(len(target.lower))
    system = _System(confusion, target, start)
    for step in range(len(start)):
        if form == "strict":
            system.check_signs(step)
        else:
            system.move_largest_pivot_to(step)
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

    def move_largest_pivot_to(self, step: int) -> None:
        # Moving a row and the column of the same class together only renames the classes, so the solution
        # keeps its values. The largest pivot first divides by the safest number and keeps factors small.
        best = step + int(np.argmax(np.diagonal(self.lower)[step:]))
        swap, back = [step, best], [best, step]
        self.order[swap] = self.order[back]
        for side in (self.lower, self.upper):
            side[swap] = side[back]
            side[:, swap] = side[:, back]

    def check_pivot(self, step: int) -> None:
        """The pivot must be above 0 in every system of the box."""
        if self.lower[step, step] > 0:
            return
        raise NoBox(
            f"the pivot of class {{}} may be 0: its lower bound is {self.lower[step, step]:.3g} after {step} of "
            f"{len(self.order)} elimination steps",
            int(self.order[step]),
        )

    def check_signs(self, step: int) -> None:
        """The conditions of ``lem:gaussianelim`` on the part that step ``step`` works on."""
        rest = self.lower[step:, step:]
        if (rest >= 0).all():
            return
        row, column = (int(at) + step for at in np.unravel_index(np.argmin(rest), rest.shape))
        in_target = column == len(self.order)
        cell = "(predicted {}, target)" if in_target else "(predicted {}, true {})"
        raise NoBox(
            f"the lower bound of cell {cell} is {self.lower[row, column]:.3g} after {step} of "
            f"{len(self.order)} elimination steps, and the strict form needs it to be >= 0",
            *((row,) if in_target else (row, column)),
        )

    def reduce(self, step: int) -> None:
        """Eliminate the pivot's column from the rows below it."""
        below, right = slice(step + 1, None), slice(step + 1, None)
        factor = _divide(
            Interval(self.lower[below, step], self.upper[below, step]),
            Interval(self.lower[step, step], self.upper[step, step]),
        )
        product = _multiply(
            Interval(factor.lower[:, None], factor.upper[:, None]),
            Interval(self.lower[step, right], self.upper[step, right]),
        )
        self.lower[below, right] -= product.upper  # subtracting intervals swaps the ends
        self.upper[below, right] -= product.lower

    def substitute_back(self) -> Interval:
        """Weights from the last class up, each cut at 0 as soon as it is known, because w* >= 0."""
        size = len(self.order)
        lower, upper = np.empty(size), np.empty(size)
        for row in range(size - 1, -1, -1):
            known = slice(row + 1, size)
            terms = _multiply(
                Interval(self.lower[row, known], self.upper[row, known]), Interval(lower[known], upper[known])
            )
            rest = Interval(self.lower[row, size] - terms.upper.sum(), self.upper[row, size] - terms.lower.sum())
            weight = _divide(rest, Interval(self.lower[row, row], self.upper[row, row]))
            if weight.upper < 0:
                raise EmptyBox(
                    f"the weight of class {{}} would have to be {weight.upper:.3g} or less",
                    int(self.order[row]),
                )
            lower[row], upper[row] = max(float(weight.lower), 0.0), weight.upper
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
    return Interval(
        numerator.lower / np.where(numerator.lower < 0, pivot.lower, pivot.upper),
        numerator.upper / np.where(numerator.upper < 0, pivot.upper, pivot.lower),
    )
