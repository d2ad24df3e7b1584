"""HiGHS, the linear programming solver: how models go in and prices come out."""

from functools import cache
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray


@cache
def highs() -> Any:
    """The solver's module, loaded when the first program is solved: sets and most methods need none."""
    import highspy

    return highspy


def duals(solver: Any) -> FloatArray:
    """Dual prices of the rows, zeros where the solver gave up."""
    return solution(solver, "row_dual")


def solution(solver: Any, part: str) -> FloatArray:
    """A part of the solution, zeros where the solver gave up."""
    values = np.array(getattr(solver.getSolution(), part))
    if is_solved(solver) and np.isfinite(values).all():
        return values
    return np.zeros(solver.getNumCol() if part == "col_value" else solver.getNumRow())


def is_solved(solver: Any) -> bool:
    """Whether the solver found a solution that it calls optimal."""
    return bool(solver.getModelStatus() == highs().HighsModelStatus.kOptimal)


def quiet_solver() -> Any:
    """HiGHS without output and presolve: presolve would discard the basis that the next program starts from."""
    solver = highs().Highs()
    solver.silent()
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("small_matrix_value", 1e-12)  # the default drops cells of very rare classes
    return solver


def dense_model(
    matrix: FloatArray, lower: FloatArray, upper: FloatArray, col_lower: FloatArray, col_upper: FloatArray
) -> Any:
    """A HiGHS model of a dense matrix, its zeros left out."""
    model = highs().HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = np.zeros(matrix.shape[1])
    model.col_lower_, model.col_upper_ = col_lower, col_upper
    model.row_lower_, model.row_upper_ = lower, upper
    filled = matrix != 0
    model.a_matrix_.format_ = highs().MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    model.a_matrix_.index_ = np.nonzero(filled)[1]
    model.a_matrix_.value_ = matrix[filled]
    return model
