"""The worst label mix and miss rates that the evidence leaves: the program of "What must be refuted".

HiGHS finds prices; the value is computed from them by weak duality, so it holds however the solver rounded.
Section "The bets" of the proof page (docs/methods/ps-lp-proof.md).
"""

from dataclasses import dataclass, field

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.mix.lp import Problem, linear_program
from pacshift.mix.programs import most_violated

ROW_PENALTY = 1e4
"""Price of violating a row in ``WorstCase``: every program stays feasible, so no case needs a ray.

Far above the prices of rows, which are log-wealth per share. Too low a price would cost size, not validity.
"""


@dataclass(frozen=True, eq=False)
class Corners:
    """Four corners (t, r = t e) per class of a set of mixes and miss rates: arrays of shape (4, K).

    ``value`` holds a function that is concave in (t, r), class by class: between the corners it is nowhere below
    the mixture of its values at the corners.
    """

    share: FloatArray
    missed: FloatArray
    value: FloatArray


@dataclass(frozen=True, eq=False)
class Prices:
    """Dual prices of ``WorstCase``: of the rows, of ``sum r >= epsilon`` and of ``sum t = 1``."""

    rows: FloatArray
    missed: float
    total: float

    def least(self, corners: Corners, rows: FloatArray, limits: FloatArray, epsilon: float) -> float:
        """Weak duality: no admissible (t, r) has a smaller value than this, whatever the prices."""
        reduced = corners.value + (self.rows @ rows + self.total) * corners.share - self.missed * corners.missed
        constant = self.missed * epsilon - self.rows @ limits - self.total
        return float(constant + reduced.min(axis=0).sum())


@dataclass(eq=False)
class WorstCase:
    """The least value L over ``rows t <= limits, sum t = 1, sum r >= epsilon`` (step "What must be refuted").

    Each (t_j, r_j) lies between its corners. ``extra_rows`` are added only where a solution violates them: few of
    thousands ever matter. Each cell keeps its program, which starts from its last solution.
    """

    rows: FloatArray
    limits: FloatArray
    extra_rows: FloatArray
    extra_limits: FloatArray
    _used: list[int] = field(default_factory=list)
    _programs: dict[int, "_CornerProgram"] = field(default_factory=dict)

    def solve(self, cell: int, corners: Corners, epsilon: float, enough: float) -> tuple[float, Prices]:
        """A safe lower bound of the least value, and its prices; stops early once the bound is ``enough``.

        The corners of one ``cell`` always have the same shares.
        """
        if cell not in self._programs:
            self._programs[cell] = _CornerProgram(corners, self.rows, self.limits)
        program = self._programs[cell]
        program.change(corners, epsilon)
        while True:
            program.add_rows(self.rows, self.limits)
            prices, mix = program.run()
            value = prices.least(corners, self.rows, self.limits, epsilon)
            if value >= enough or not self._add_violated_rows(mix):
                return value, prices

    def least(self, prices: Prices, corners: Corners, epsilon: float) -> float:
        """The safe bound by prices found before; rows added since then have no price."""
        known = len(prices.rows)
        return prices.least(corners, self.rows[:known], self.limits[:known], epsilon)

    def _add_violated_rows(self, mix: FloatArray) -> bool:
        """Add the extra rows that the solution violates most; False where it violates none."""
        if not len(self.extra_rows):
            return False
        worst = most_violated(self.extra_rows @ mix - self.extra_limits, self._used, tolerance=1e-7)
        self._used += worst
        self.rows = np.vstack([self.rows, self.extra_rows[worst]])
        self.limits = np.append(self.limits, self.extra_limits[worst])
        return bool(worst)


class _CornerProgram:
    """Columns: the weights of the corners, t, one slack. Rows: sum t, sum r, links of t, weights, region."""

    def __init__(self, corners: Corners, rows: FloatArray, limits: FloatArray) -> None:
        n_classes, self._n_rows = corners.share.shape[1], len(rows)
        self.n_classes = n_classes
        eye, none = np.eye(n_classes), np.zeros((n_classes, 1))
        matrix = np.vstack(
            [
                np.concatenate([np.zeros(4 * n_classes), np.ones(n_classes), [0.0]])[None],
                np.concatenate([corners.missed.ravel(), np.zeros(n_classes), [1.0]])[None],
                np.hstack([*(corners.share[:, None, :] * eye), -eye, none]),
                np.hstack([eye, eye, eye, eye, np.zeros((n_classes, n_classes)), none]),
                np.hstack([np.zeros((len(rows), 4 * n_classes)), rows, -np.ones((len(rows), 1))]),
            ]
        )
        equal = np.concatenate([np.zeros(n_classes), np.ones(n_classes)])
        lower = np.concatenate([[1.0, 0.0], equal, np.full(len(rows), -np.inf)])
        upper = np.concatenate([[1.0, np.inf], equal, limits])
        columns = matrix.shape[1]
        cost = np.concatenate([np.zeros(columns - 1), [ROW_PENALTY]])
        self._program = linear_program(Problem(matrix, lower, upper, cost=cost, least=np.zeros(columns)))

    def change(self, corners: Corners, epsilon: float) -> None:
        """Other values and missed shares at the corners, another ε; the last solution is the start."""
        self._program.change_costs(np.arange(4 * self.n_classes), corners.value.ravel())
        self._program.change_row(1, corners.missed.ravel())
        self._program.change_bounds(np.array([1]), np.array([epsilon]), np.array([np.inf]))

    def add_rows(self, rows: FloatArray, limits: FloatArray) -> None:
        """Add the rows of the region that the program does not have yet."""
        index = np.arange(4 * self.n_classes, 5 * self.n_classes + 1)
        for row, limit in zip(rows[self._n_rows :], limits[self._n_rows :], strict=True):
            self._program.add_row(index, np.append(row, -1.0), limit)
        self._n_rows = len(rows)

    def run(self) -> tuple[Prices, FloatArray]:
        """Prices and mix of the worst case."""
        self._program.solve()
        dual, n_classes = self._program.prices, self.n_classes
        rows = np.maximum(-dual[2 * n_classes + 2 :], 0.0)
        mix = self._program.values[4 * n_classes : 5 * n_classes]
        return Prices(rows, max(float(dual[1]), 0.0), -float(dual[0])), mix
