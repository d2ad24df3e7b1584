"""The tightest box around the importance weights, by linear programs."""

import numpy as np

from pacshift.arrays import BoolArray, FloatArray
from pacshift.bounds import ROUNDING, Interval
from pacshift.errors import InputError
from pacshift.methods.elimination import EmptyBox
from pacshift.mix.lp import Problem, linear_program

MAX_HULL_CLASSES = 200
"""2K dense programs of 2K rows each: at this K they take half a minute, and the time grows faster than K^4."""


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
    program = _Program(confusion, target, helpers=unbounded)
    program.require_feasible()
    for label in np.flatnonzero(~unbounded).tolist():
        lower[label], upper[label] = program.smallest(label), program.largest(label)
    for label in np.flatnonzero(unbounded).tolist():
        others = unbounded & (np.arange(n_classes) != label)
        lower[label] = _Program(confusion, target, helpers=others).smallest(label)
    return Interval(lower, upper)


class _Program:
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

    def require_feasible(self) -> None:
        self.program.solve()
        if self.program.is_infeasible:
            raise EmptyBox("no weights >= 0 fit the boxes")

    def largest(self, label: int) -> float:
        """Upper end of w_label."""
        column = int(self.column[label])
        return float(self.scale[column] * self._bound(column, 1.0))

    def smallest(self, label: int) -> float:
        """Lower end of w_label; ``scale`` caps it where the bound was derived for u_label <= 1 only."""
        column = int(self.column[label])
        return float(self.scale[column] * np.clip(-self._bound(column, -1.0), 0.0, 1.0))

    def _bound(self, column: int, sign: float) -> float:
        """No ``sign * u_column`` in the region is above this, however HiGHS rounded."""
        self.program.change_costs(np.array([column]), np.array([-sign]))
        self.program.solve()
        prices = np.maximum(-self.program.prices, 0.0)  # HiGHS minimises: the duals of "at most" rows are negative
        self.program.change_costs(np.array([column]), np.zeros(1))
        return self.certified(prices, column, sign)

    def certified(self, prices: FloatArray, column: int, sign: float) -> float:
        """Weak duality: c·u <= y·limits + sum_j max(c_j - (y·rows)_j, 0) for any prices y >= 0, as 0 <= u <= 1.

        The best prices make it exact; prices of 0 give what 0 <= u <= 1 says alone.
        """
        reduced = -(prices @ self.rows)
        reduced[column] += sign
        return float(prices @ self.limits + np.maximum(reduced, 0.0).sum())
