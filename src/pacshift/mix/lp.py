"""Linear programs, solved by HiGHS: through highspy, or through SciPy where highspy is not installed.

Neither is trusted: a bound is computed from the prices by weak duality, and any prices give a safe one. So the
guarantee is the same with both. A worse solution makes sets larger, never wrong.
"""

from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, IntArray, scipy

PRIMAL_SIMPLEX = 4
"""HiGHS's code: a new objective leaves the last vertex feasible, so the primal method starts from there."""

TOLERANCE, TIGHTEST = 1e-7, 1e-10
"""HiGHS's own tolerance, and the smallest that it takes."""

OPTIMAL, INFEASIBLE = 0, 2
"""What SciPy's ``linprog`` calls its status."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The least ``cost · x`` over ``lower <= matrix x <= upper`` and ``x >= least``.

    A row has a bound on one side, or the same bound on both. ``sharp`` asks for the smallest tolerance, and says
    that only costs will change.
    """

    matrix: FloatArray
    lower: FloatArray
    upper: FloatArray
    _: KW_ONLY
    cost: FloatArray
    least: FloatArray
    sharp: bool = False


class HighspyProgram:
    """A problem in the hands of highspy, changed and solved again: HiGHS starts from the last basis."""

    LIBRARY = "highspy"

    def __init__(self, problem: Problem) -> None:
        import highspy

        self._status: Any = highspy.HighsModelStatus
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._solver.silent()
        # Presolve would discard the basis that the next program starts from.
        self._solver.setOptionValue("presolve", "off")
        self._solver.setOptionValue("small_matrix_value", 1e-12)  # the default drops cells of very rare classes
        if problem.sharp:
            self._solver.setOptionValue("simplex_strategy", PRIMAL_SIMPLEX)
            self._solver.setOptionValue("primal_feasibility_tolerance", TIGHTEST)
            self._solver.setOptionValue("dual_feasibility_tolerance", TIGHTEST)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = problem.matrix.shape
        model.col_cost_ = problem.cost
        model.col_lower_, model.col_upper_ = problem.least, np.full(len(problem.least), np.inf)
        model.row_lower_, model.row_upper_ = problem.lower, problem.upper
        filled = problem.matrix != 0
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        model.a_matrix_.index_ = np.nonzero(filled)[1]
        model.a_matrix_.value_ = problem.matrix[filled]
        self._solver.passModel(model)

    def change_costs(self, columns: IntArray, costs: FloatArray) -> None:
        """Other costs of some columns."""
        self._solver.changeColsCost(len(columns), columns.astype(np.int32), costs)

    def change_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Other bounds of some rows."""
        self._solver.changeRowsBounds(len(rows), rows.astype(np.int32), lower, upper)

    def change_row(self, row: int, values: FloatArray) -> None:
        """Other coefficients of a row, in its first columns."""
        for column, value in enumerate(values.tolist()):
            self._solver.changeCoeff(row, column, value)

    def add_row(self, columns: IntArray, values: FloatArray, upper: float) -> None:
        """One more row, ``values · x[columns] <= upper``."""
        self._solver.addRow(-np.inf, upper, len(columns), columns.astype(np.int32), values)

    def solve(self) -> None:
        """Find a solution, from the last one if that works; once more from the start where HiGHS fails."""
        self._solver.run()
        if self._solver.getModelStatus() != self._status.kOptimal:
            self._solver.clearSolver()
            self._solver.run()

    @property
    def n_rows(self) -> int:
        """How many rows the problem has by now."""
        return int(self._solver.getNumRow())

    @property
    def is_infeasible(self) -> bool:
        """Whether the solver says that no x keeps all bounds."""
        return bool(self._solver.getModelStatus() == self._status.kInfeasible)

    @property
    def values(self) -> FloatArray:
        """The solution x, zeros where the solver gave up."""
        return self._read_solution("col_value", self._solver.getNumCol())

    @property
    def prices(self) -> FloatArray:
        """How much the least cost grows with the bound of each row, zeros where the solver gave up."""
        return self._read_solution("row_dual", self.n_rows)

    def _read_solution(self, part: str, length: int) -> FloatArray:
        numbers = np.array(getattr(self._solver.getSolution(), part))
        usable = self._solver.getModelStatus() == self._status.kOptimal and np.isfinite(numbers).all()
        return numbers if usable else np.zeros(length)


class ScipyProgram:
    """The same by ``scipy.optimize.linprog``: a few arrays, and every solution starts from nothing."""

    LIBRARY = "scipy"

    def __init__(self, problem: Problem) -> None:
        self._matrix, self._cost, self._least = problem.matrix.copy(), problem.cost.copy(), problem.least
        self._lower, self._upper = problem.lower.copy(), problem.upper.copy()
        self._tolerance = TIGHTEST if problem.sharp else TOLERANCE
        self.is_infeasible = False
        self.values, self.prices = np.zeros(len(self._cost)), np.zeros(len(self._lower))

    def change_costs(self, columns: IntArray, costs: FloatArray) -> None:
        """Other costs of some columns."""
        self._cost[columns] = costs

    def change_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Other bounds of some rows."""
        self._lower[rows], self._upper[rows] = lower, upper

    def change_row(self, row: int, values: FloatArray) -> None:
        """Other coefficients of a row, in its first columns."""
        self._matrix[row, : len(values)] = values

    def add_row(self, columns: IntArray, values: FloatArray, upper: float) -> None:
        """One more row, ``values · x[columns] <= upper``."""
        row = np.zeros(self._matrix.shape[1])
        row[columns] = values
        self._matrix = np.vstack([self._matrix, row])
        self._lower, self._upper = np.append(self._lower, -np.inf), np.append(self._upper, upper)

    @property
    def n_rows(self) -> int:
        """How many rows the problem has by now."""
        return len(self._lower)

    def solve(self) -> None:
        """Rows with equal bounds are equations; the others read "at most", so "at least" changes its sign."""
        if not len(self._cost):  # nothing to solve, and linprog wants a column
            return
        equal = self._lower == self._upper
        sign = np.where(np.isfinite(self._upper), 1.0, -1.0)
        limits = np.where(sign > 0, self._upper, -self._lower)
        rows = self._matrix * sign[:, None]
        answer = scipy.optimize.linprog(
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
        self.is_infeasible = answer.status == INFEASIBLE
        self.values, self.prices = np.zeros(len(self._cost)), np.zeros(len(limits))
        if answer.status == OPTIMAL:
            self.values = np.asarray(answer.x)
            self.prices[~equal], self.prices[equal] = answer.ineqlin.marginals, answer.eqlin.marginals
            self.prices *= sign


LinearProgram: TypeAlias = HighspyProgram | ScipyProgram
"""A problem in the hands of a solver, changed and solved again."""


@cache
def solver() -> type[HighspyProgram] | type[ScipyProgram]:
    """Programs of the installed library, loaded with the first of them: sets and most methods need none."""
    try:
        import highspy  # noqa: F401
    except ImportError:  # no wheel of highspy for this Python, such as 3.15 or a free-threaded one
        return ScipyProgram
    return HighspyProgram


def linear_program(problem: Problem) -> LinearProgram:
    """A problem in the hands of the solver that is installed."""
    return solver()(problem)


def solved_by() -> str:
    """Name and version of the library that solves linear programs, for the record."""
    return f"{solver().LIBRARY} {_version(solver().LIBRARY)}"


@cache
def _version(library: str) -> str:
    from importlib.metadata import version  # looks through the installed packages: 2 ms

    return version(library)
