"""Linear programs with both solvers, and with one that lies: the guarantee rests on the prices' check alone."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lp_solvers import solved_by
from pacshift import Population, calibrate
from pacshift.arrays import FloatArray, IntArray
from pacshift.certification.verify import compare
from pacshift.methods import PSW
from pacshift.methods.weight_box import hull
from pacshift.mix import lp
from pacshift.mix.lp import LinearProgram, Problem, linear_program
from pacshift.mix.programs import MixProgram, least_violation
from pacshift.mix.region import prevalence_region
from strategies import BoxedSystem, boxed_systems, seeds

SOLVERS = ("highspy", "scipy")
NAMES = ["a", "b", "c"]


def transport(*, sharp: bool = False) -> LinearProgram:
    """Costs 1, 2, 3; x_0 + x_1 >= 4, x_1 + x_2 = 5, x_0 <= 3; x_2 may be below 0."""
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    lower, upper = np.array([4.0, 5.0, -np.inf]), np.array([np.inf, 5.0, 3.0])
    least = np.array([0.0, 0.0, -np.inf])
    return linear_program(Problem(rows, lower, upper, cost=np.array([1.0, 2.0, 3.0]), least=least, sharp=sharp))


@pytest.mark.parametrize("sharp", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_solutions_and_signs_of_prices_by_hand(solver: str, sharp: bool) -> None:
    with solved_by(solver):
        program = transport(sharp=sharp)
        program.change_costs(np.array([2]), np.array([1.5]))  # 2 - 1.5 for x_1 beyond x_2, against 1 for x_0
        program.solve()
        assert program.values == pytest.approx([0, 4, 1])
        assert program.prices == pytest.approx([0.5, 1.5, 0])
        program.add_row(np.array([1, 2]), np.array([1.0, 0.0]), 1.5)  # now x_0 must help
        program.solve()
        assert program.values == pytest.approx([2.5, 1.5, 3.5])
        assert program.prices == pytest.approx([1, 1.5, 0, -0.5])
        program.change_bounds(np.array([2]), np.array([-np.inf]), np.array([1.0]))
        program.solve()
        assert program.is_infeasible
        assert not program.values.any()
        assert not program.prices.any()
        program.change_row(3, np.array([1.0, 0.0]))  # x_0 <= 1.5 in place of x_1 <= 1.5
        program.solve()
        assert not program.is_infeasible
        assert program.values == pytest.approx([0, 4, 1])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_program_without_columns_has_prices_of_zero(solver: str) -> None:
    with solved_by(solver):
        none, free = np.zeros(0), np.array([-np.inf])
        program = linear_program(Problem(np.zeros((1, 0)), free, np.array([0.5]), cost=none, least=none))
        program.solve()
    assert not program.is_infeasible
    assert program.prices.tolist() == [0.0]


@given(seeds, st.integers(2, 8))
@settings(deadline=None, max_examples=15)
def test_both_solvers_give_the_same_bounds(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(1, 4 * n_classes)), n_classes))
    limits = rows @ rng.dirichlet(np.ones(n_classes)) + rng.choice([0.0, 0.1], len(rows))  # some are degenerate
    costs, found = rng.normal(size=(3, n_classes)), []
    for solver in SOLVERS:
        with solved_by(solver):
            program = MixProgram(rows, limits)
            violation = least_violation(rows, limits - 0.2, (len(rows) + 1) // 2)[0]
            found.append([program.largest(cost) for cost in costs] + [violation > 1e-9])
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def data(world: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(world)
    model = Population.synthetic(NAMES, strength=float(rng.uniform(1.5, 4)), rng=world)
    source, labels = model.draw(rng.dirichlet(np.full(3, 3.0)), int(rng.integers(300, 3000)), rng=world + 1)
    target, _ = model.draw(rng.dirichlet(np.ones(3)), int(rng.integers(300, 3000)), rng=world + 2)
    return source, labels, target


@pytest.mark.parametrize("method", ["PS-LP", PSW(intervals="hull")], ids=["PS-LP", "PS-W hull"])
@pytest.mark.parametrize("world", [3, 14, 15])
@pytest.mark.filterwarnings("ignore:every set contains all labels")
def test_certificates_agree_up_to_what_verify_calls_rounding(world: int, method: str | PSW) -> None:
    made = []
    for solver in SOLVERS:
        with solved_by(solver):
            made.append(calibrate(*data(world), epsilon=0.1, delta=0.1, classes=NAMES, rng=0, method=method))
    assert not compare(*made, same_code=False)
    assert made[0].thresholds == pytest.approx(made[1].thresholds, rel=1e-12)


class Liar:
    """In place of a solver: random prices, or zeros, or numbers that cannot be; it calls everything solved."""

    LIBRARY, is_infeasible = "scipy", False

    def __init__(self, problem: Problem) -> None:
        self.n_rows, self.n_columns = problem.matrix.shape
        self.rng = np.random.default_rng(self.n_rows)

    def change_costs(self, columns: IntArray, costs: FloatArray) -> None: ...
    def change_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None: ...
    def change_row(self, row: int, values: FloatArray) -> None: ...
    def solve(self) -> None: ...

    def add_row(self, columns: IntArray, values: FloatArray, upper: float) -> None:
        self.n_rows += 1

    @property
    def values(self) -> FloatArray:
        return self._made_up(self.n_columns)

    @property
    def prices(self) -> FloatArray:
        return self._made_up(self.n_rows)

    def _made_up(self, length: int) -> FloatArray:
        return np.asarray(self.rng.normal(size=length) * self.rng.choice([0.0, 0.1, 1e3]))


@given(boxed_systems(), seeds)
@settings(deadline=None, max_examples=30)
def test_a_lying_solver_can_only_widen_what_is_certified(box: BoxedSystem, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lp, "solver", lambda: Liar)
        assert hull(box.confusion, box.target).contains(box.weights).all()
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    columns = rng.dirichlet(np.ones(n_classes), n_classes).T + np.eye(n_classes)
    confusion = np.array([rng.multinomial(300, column / column.sum()) for column in columns.T]).T
    target = rng.multinomial(500, confusion @ rng.dirichlet(np.ones(n_classes)) / 300)
    honest = prevalence_region(confusion, target, delta=0.05)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lp, "solver", lambda: Liar)
        lied_to = prevalence_region(confusion, target, delta=0.05)
    assert (lied_to.prevalence.lower <= honest.prevalence.lower + 1e-9).all()
    assert (lied_to.prevalence.upper >= honest.prevalence.upper - 1e-9).all()
    assert lied_to.accuracy <= honest.accuracy + 1e-9


@pytest.mark.parametrize("world", [3, 14, 15])
@pytest.mark.filterwarnings("ignore:every set contains all labels")
def test_a_lying_solver_can_only_enlarge_sets(world: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, labels, target = data(world)
    honest = calibrate(source, labels, target, epsilon=0.1, delta=0.1, classes=NAMES, rng=0)
    monkeypatch.setattr(lp, "solver", lambda: Liar)
    lied_to = calibrate(source, labels, target, epsilon=0.1, delta=0.1, classes=NAMES, rng=0)
    assert lied_to.sets(target).mean() >= honest.sets(target).mean()


def test_a_lying_solver_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp, "solver", lambda: Liar)  # a true refutation may be lost, but none may be made up
    assert least_violation(np.eye(3), np.full(3, 0.4), 3)[0] <= 0
    prevalence_region(np.diag([900, 900]), np.array([300, 700]), delta=0.05)


CODE = """
import sys
sys.modules["highspy"] = None  # as where it is not installed
import numpy as np
import pacshift
rng = np.random.default_rng(0)
labels = rng.integers(2, size=900)
scores = np.eye(2)[labels] * 0.8 + 0.1
made = pacshift.calibrate(scores, labels, scores[:500], epsilon=0.1, delta=0.1)
assert made.provenance.solver.startswith("scipy "), made.provenance.solver
assert not made.trivial
"""


@pytest.mark.slow
def test_without_highspy_scipy_is_chosen_and_noted() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # a note in the certificate, no warning at every call


@pytest.mark.parametrize("installed", [True, False])
def test_the_version_says_what_solves(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cli = pytest.importorskip("pacshift.cli", reason="the command line is an extra", exc_type=ImportError)
    runner = pytest.importorskip("typer.testing").CliRunner()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object() if installed else None)
    said = runner.invoke(cli.app, ["--version"]).stdout
    assert ("SciPy solves the linear programs" in said) is not installed
