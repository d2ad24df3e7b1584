"""Tests of a module that imports ``each_solver`` run twice: with highspy, and with SciPy in its place."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pacshift.mix import lp
from pacshift.mix.lp import ScipyProgram


@contextmanager
def solved_by(library: str) -> Iterator[None]:
    """Solve linear programs with the named library."""
    with pytest.MonkeyPatch.context() as patch:
        if library == "scipy":
            patch.setattr(lp, "solver", lambda: ScipyProgram)
        else:
            pytest.importorskip("highspy", reason="highspy has no wheel for this Python")
        yield


@pytest.fixture(
    params=["highspy", pytest.param("scipy", marks=pytest.mark.thorough)], scope="module", autouse=True
)
def each_solver(request: pytest.FixtureRequest) -> Iterator[None]:
    with solved_by(request.param):
        yield
