"""Linear programs through highspy: HiGHS keeps the last basis and starts from it."""

from typing import Any

import highspy
import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.mix.lp import Problem

PRIMAL_SIMPLEX = 4
"""HiGHS's code: a new objective leaves the last vertex feasible, so the primal method starts from there."""


class HighspyProgram:
    """One HiGHS model (see ``mix/lp.py`` for what its methods do)."""

    LIBRARY = "highspy"

    def __init__(self, problem: Problem) -> None:
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._solver.silent()
        self._solver.setOptionValue(
            "presolve", "off"
        )  # it would discard the basis that the next program starts from
        self._solver.setOptionValue("small_matrix_value", 1e-12)  # the default drops cells of very rare classes
        if problem.sharp:
            self._solver.setOptionValue("simplex_strategy", PRIMAL_SIMPLEX)
            self._solver.setOptionValue("primal_feasibility_tolerance", 1e-10)
            self._solver.setOptionValue("dual_feasibility_tolerance", 1e-10)
        self._solver.passModel(_model(problem))

    def change_costs(self, columns: IntArray, costs: FloatArray) -> None:
        self._solver.changeColsCost(len(columns), columns.astype(np.int32), costs)

    def change_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self._solver.changeRowsBounds(len(rows), rows.astype(np.int32), lower, upper)

    def change_row(self, row: int, values: FloatArray) -> None:
        for column, value in enumerate(values.tolist()):
            self._solver.changeCoeff(row, column, value)

    def add_row(self, columns: IntArray, values: FloatArray, upper: float) -> None:
        self._solver.addRow(-np.inf, upper, len(columns), columns.astype(np.int32), values)

    def solve(self) -> None:
        """Solve, once more from the start where HiGHS fails from the last solution."""
        self._solver.run()
        if not self._is(highspy.HighsModelStatus.kOptimal):
            self._solver.clearSolver()
            self._solver.run()

    @property
    def is_infeasible(self) -> bool:
        return self._is(highspy.HighsModelStatus.kInfeasible)

    @property
    def values(self) -> FloatArray:
        return self._found("col_value", self._solver.getNumCol())

    @property
    def prices(self) -> FloatArray:
        return self._found("row_dual", self._solver.getNumRow())

    def _is(self, status: object) -> bool:
        return bool(self._solver.getModelStatus() == status)

    def _found(self, part: str, length: int) -> FloatArray:
        found = np.array(getattr(self._solver.getSolution(), part))
        usable = self._is(highspy.HighsModelStatus.kOptimal) and np.isfinite(found).all()
        return found if usable else np.zeros(length)


def _model(problem: Problem) -> "highspy.HighsLp":
    """A HiGHS model of a dense matrix, its zeros left out."""
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
    return model
