"""Linear programs, solved by HiGHS: through highspy, or through SciPy where highspy is not installed.

Neither is trusted: a bound is computed from the prices by weak duality, and any prices give a safe one. So the
guarantee is the same with both. A worse solution makes sets larger, never wrong.
"""

from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Protocol

from pacshift.arrays import FloatArray, IntArray


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


class LinearProgram(Protocol):
    """A problem in the hands of a solver, changed and solved again."""

    def change_costs(self, columns: IntArray, costs: FloatArray) -> None:
        """Other costs of some columns."""

    def change_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Other bounds of some rows."""

    def change_row(self, row: int, values: FloatArray) -> None:
        """Other coefficients of a row, in its first columns."""

    def add_row(self, columns: IntArray, values: FloatArray, upper: float) -> None:
        """One more row, ``values · x[columns] <= upper``."""

    def solve(self) -> None:
        """Find a solution, starting from the last one if the solver can."""

    @property
    def is_infeasible(self) -> bool:
        """Whether the solver says that no x keeps all bounds."""

    @property
    def values(self) -> FloatArray:
        """The solution x, zeros where the solver gave up."""

    @property
    def prices(self) -> FloatArray:
        """How much the least cost grows with the bound of each row, zeros where the solver gave up."""


class Solver(Protocol):
    """A class of programs."""

    LIBRARY: str

    def __call__(self, problem: Problem) -> LinearProgram: ...


@cache
def solver() -> Solver:
    """Programs of the installed library, loaded with the first of them: sets and most methods need none."""
    try:
        from pacshift.mix.lp_highspy import HighspyProgram
    except ImportError:  # no wheel of highspy for this Python, such as 3.15 or a free-threaded one
        from pacshift.mix.lp_scipy import ScipyProgram

        return ScipyProgram
    return HighspyProgram


def solved_by() -> str:
    """Name and version of the library that solves linear programs, for the record."""
    return f"{solver().LIBRARY} {_version(solver().LIBRARY)}"


@cache
def _version(library: str) -> str:
    from importlib.metadata import version  # looks through the installed packages: 2 ms

    return version(library)


def linear_program(problem: Problem) -> LinearProgram:
    """A problem in the hands of the solver that is installed."""
    return solver()(problem)
