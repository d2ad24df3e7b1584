"""Linear programs over label mixes, with answers that hold however the solver rounded; and least squares.

HiGHS finds dual prices; the value is then computed from the prices by weak duality, which needs no feasibility and
no optimality: bad prices give a wide bound, never a wrong one. Used by the section "The region" of the
proof page (docs/methods/ps-lp-proof.md), the test of label shift and the monitor.
"""

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.mix.lp import Problem, linear_program

ROWS_PER_CUT = 4
"""How many violated rows are added before the program is solved again. With 1 or 16 sizes do not change."""


class MixProgram:
    """Maxima over the label mixes t >= 0 of sum 1 with ``rows t <= limits`` (step "The region").

    Only the objective changes from call to call. Solved as its dual, min y·limits + z over y >= 0 and z with
    y·rows + z >= cost: one constraint per class instead of one per row is a far smaller basis, and a new cost
    leaves the last prices dual feasible.
    """

    def __init__(self, rows: FloatArray, limits: FloatArray) -> None:
        self.rows, self.limits = rows, limits
        n_rows, n_classes = rows.shape
        self._index, self._open = np.arange(n_classes), np.full(n_classes, np.inf)
        dual = Problem(
            np.hstack([rows.T, np.ones((n_classes, 1))]),
            np.zeros(n_classes),
            self._open,
            cost=np.append(limits, 1.0),
            least=np.append(np.zeros(n_rows), -np.inf),
        )
        self._dual = linear_program(dual)

    def largest(self, cost: FloatArray) -> float:
        """An upper bound of ``cost · t`` over the mixes, equal to the maximum up to rounding.

        For prices y >= 0: cost·t <= y·limits + max_j (cost_j - (y·rows)_j), as t >= 0 sums to 1.
        """
        self._dual.change_bounds(self._index, cost, self._open)
        self._dual.solve()
        prices = np.maximum(self._dual.values[:-1], 0.0)
        over_simplex = float(cost.max())
        return min(over_simplex, float(prices @ self.limits + (cost - prices @ self.rows).max()))

    @property
    def largest_mix(self) -> FloatArray:
        """The mix of the last maximum, up to the solver's rounding: nothing may rest on it."""
        return np.maximum(self._dual.prices, 0.0)


def largest_in_box(slopes: FloatArray, widths: FloatArray, total: float) -> FloatArray:
    """For each row the largest ``slopes · x`` over 0 <= x <= widths, x of sum ``total``: steepest first."""
    order = np.argsort(-slopes, axis=1)
    open_widths = widths[order]
    before = np.cumsum(open_widths, axis=1) - open_widths
    taken = np.clip(total - before, 0.0, open_widths)
    return np.asarray((np.take_along_axis(slopes, order, axis=1) * taken).sum(axis=1))


def largest_means(values: FloatArray, box: Interval) -> FloatArray:
    """For each row of ``values`` the largest ``values · t`` over the mixes t in the box, classes filled greedily.

    >>> largest_means(np.array([[0.1, 0.5]]), Interval(np.array([0.2, 0.0]), np.array([1.0, 0.6]))).round(3)
    array([0.34])
    """
    room, rest = np.maximum(box.upper - box.lower, 0.0), max(1 - float(box.lower.sum()), 0.0)
    return np.asarray(values @ box.lower + largest_in_box(values, room, rest))


class ViolationProgram:
    """By how much every mix violates some of ``rows t <= limits`` at least, where rows come one by one.

    It is the least s with ``rows t - s <= limits``.
    """

    def __init__(self, rows: FloatArray, limits: FloatArray) -> None:
        self._n_first, n_classes = rows.shape
        self._rows, self._limits = rows, limits
        problem = Problem(
            np.vstack([np.hstack([rows, -np.ones((len(rows), 1))]), np.append(np.ones(n_classes), 0.0)]),
            np.append(np.full(len(rows), -np.inf), 1.0),
            np.append(limits, 1.0),
            cost=np.append(np.zeros(n_classes), 1.0),
            least=np.append(np.zeros(n_classes), -np.inf),
        )
        self._program = linear_program(problem)

    def add(self, row: FloatArray, limit: float) -> None:
        """One more inequality ``row · t <= limit``."""
        self._program.add_row(np.arange(len(row) + 1), np.append(row, -1.0), limit)
        self._rows, self._limits = np.vstack([self._rows, row]), np.append(self._limits, limit)

    def solve(self) -> tuple[float, FloatArray, FloatArray]:
        """The violation, the prices y of the rows that prove it, and the mix that violates least.

        Not above 0 where some mix violates none. For y >= 0 with sum 1: max_i (rows t - limits)_i >= y·(rows t -
        limits) >= min_j (y·rows)_j - y·limits.
        """
        self._program.solve()
        prices = np.maximum(-np.delete(self._program.prices, self._n_first), 0.0)  # without the row "sum t = 1"
        prices = prices / prices.sum() if prices.sum() > 0 else np.full(len(prices), 1 / len(prices))
        violation = float((prices @ self._rows).min() - prices @ self._limits)
        return violation, prices, self._program.values[:-1]


def least_violation(rows: FloatArray, limits: FloatArray, first: int) -> tuple[float, FloatArray]:
    """By how much every mix violates some row at least, and the prices that prove it (step "The region").

    The ``first`` rows are always part of the program, the others are added where a solution violates them.
    """
    used = list(range(min(first, len(rows))))
    program = ViolationProgram(rows[used], limits[used])
    while True:
        violation, prices, mix = program.solve()
        worst = find_violations(rows @ mix - limits, used, tolerance=1e-9)
        if violation > 0 or not worst:
            return violation, np.asarray(np.bincount(used, prices, len(rows)), float)
        for row in worst:
            program.add(rows[row], limits[row])
        used += worst


def find_violations(excess: FloatArray, used: list[int], *, tolerance: float) -> list[int]:
    """The few rows with the largest excess that are not in use yet."""
    above = np.flatnonzero(excess > tolerance)
    order = above[np.argsort(-excess[above], kind="stable")[:ROWS_PER_CUT]].tolist()
    return [i for i in order if i not in used]


def nonnegative_least_squares(matrix: FloatArray, wanted: FloatArray) -> FloatArray:
    """The x >= 0 that brings ``matrix @ x`` closest to ``wanted``.

    Lawson, Hanson, Solving Least Squares Problems, 1974, chapter 23, begun where the solution without the limit is
    positive. A few columns of a few hundred numbers: SciPy's takes 0.13 s to load.

    >>> nonnegative_least_squares(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    n_columns = matrix.shape[1]
    if len(matrix) > 400:  # the same squares from a square matrix: far faster for many rows
        rotation, matrix = np.linalg.qr(matrix)
        wanted = rotation.T @ wanted

    def solve_with(used: NDArray[np.bool_]) -> FloatArray:
        solution = np.zeros(n_columns)
        solution[used] = np.linalg.lstsq(matrix.compress(used, axis=1), wanted, rcond=None)[0]
        return solution

    used = np.ones(n_columns, bool)
    while ((solution := solve_with(used))[used] <= 0).any():
        used &= solution > 0
    tolerance = (
        10 * max(matrix.shape) * np.finfo(float).eps * np.abs(matrix).sum(axis=0).max() * np.abs(wanted).max()
    )
    for _ in range(3 * n_columns):
        gain = np.where(used, -np.inf, matrix.T @ (wanted - matrix @ solution))
        if gain.max() <= tolerance:
            break
        used[gain.argmax()] = True
        while (
            (tried := solve_with(used))[used] <= 0
        ).any():  # go as far as stays positive, and leave out what got 0
            out = used & (tried <= 0)
            solution = solution + (solution[out] / (solution[out] - tried[out])).min() * (tried - solution)
            used &= solution > 1e-12 * solution.max()
        solution = tried
    return solution
