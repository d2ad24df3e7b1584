"""Linear programs through ``scipy.optimize.linprog``: the same HiGHS, but every solution starts from nothing."""

import numpy as np
from scipy.optimize import linprog

from pacshift.arrays import FloatArray, IntArray
from pacshift.mix.lp import Problem

TOLERANCE, TIGHTEST = 1e-7, 1e-10
"""HiGHS's own tolerance, and the smallest that it takes."""

OPTIMAL, INFEASIBLE = 0, 2
"""What ``linprog`` calls its status."""


class ScipyProgram:
    """A program as arrays (see ``mix/lp.py`` for what its methods do)."""

    LIBRARY = "scipy"

    def __init__(self, problem: Problem) -> None:
        self._matrix, self._cost, self._least = problem.matrix.copy(), problem.cost.copy(), problem.least
        self._lower, self._upper = problem.lower.copy(), problem.upper.copy()
        self._tolerance = TIGHTEST if problem.sharp else TOLERANCE
        self._status, self._values, self._prices = -1, np.zeros(len(self._cost)), np.zeros(len(self._lower))

    def change_costs(self, columns: IntArray, costs: FloatArray) -> None:
        self._cost[columns] = costs

    def change_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self._lower[rows], self._upper[rows] = lower, upper

    def change_row(self, row: int, values: FloatArray) -> None:
        self._matrix[row, : len(values)] = values

    def add_row(self, columns: IntArray, values: FloatArray, upper: float) -> None:
        row = np.zeros(self._matrix.shape[1])
        row[columns] = values
        self._matrix = np.vstack([self._matrix, row])
        self._lower, self._upper = np.append(self._lower, -np.inf), np.append(self._upper, upper)

    def solve(self) -> None:
        """Rows with equal bounds are equations; the others read "at most", so "at least" changes its sign."""
        if not len(self._cost):  # nothing to solve, and linprog wants a column
            return
        equal = self._lower == self._upper
        sign = np.where(np.isfinite(self._upper), 1.0, -1.0)
        limits = np.where(sign > 0, self._upper, -self._lower)
        rows = self._matrix * sign[:, None]
        found = linprog(
            self._cost,
            A_ub=rows[~equal],
            b_ub=limits[~equal],
            A_eq=rows[equal],
            b_eq=limits[equal],
            bounds=[(least, None) for least in self._least.tolist()],
            method="highs",
            options={
                "primal_feasibility_tolerance": self._tolerance,
                "dual_feasibility_tolerance": self._tolerance,
            },
        )
        self._status = found.status
        self._values, self._prices = np.zeros(len(self._cost)), np.zeros(len(limits))
        if found.status == OPTIMAL:
            self._values = np.asarray(found.x)
            self._prices[~equal], self._prices[equal] = found.ineqlin.marginals, found.eqlin.marginals
            self._prices *= sign

    @property
    def is_infeasible(self) -> bool:
        return self._status == INFEASIBLE

    @property
    def values(self) -> FloatArray:
        return self._values

    @property
    def prices(self) -> FloatArray:
        return self._prices
