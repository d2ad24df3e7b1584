"""Least squares with unknowns that are not negative."""

import numpy as np
import pytest
import scipy.optimize

from pacshift.mix.programs import nonnegative_least_squares


def give_up(*_: object) -> None:
    raise RuntimeError("Maximum number of iterations reached.")


def test_the_answer_stays_when_scipy_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As nnls of SciPy 1.12 does on nearly dependent columns."""
    rng = np.random.default_rng(0)
    matrix, truth = rng.random((30, 5)), np.array([0.0, 0.5, 0.0, 0.2, 0.3])
    wanted = matrix @ truth + rng.normal(0, 0.01, 30)
    exact = nonnegative_least_squares(matrix, wanted)
    monkeypatch.setattr(scipy.optimize, "nnls", give_up)
    close = nonnegative_least_squares(matrix, wanted)
    assert (close >= 0).all()
    assert close == pytest.approx(exact, abs=1e-3)


def test_the_answer_is_that_of_scipy_with_and_without_a_limit_that_binds() -> None:
    rng = np.random.default_rng(1)
    binds = set()
    for _ in range(50):
        matrix, wanted = rng.random((12, 4)), rng.normal(0.5, 1.0, 12)
        found, (exact, _) = nonnegative_least_squares(matrix, wanted), scipy.optimize.nnls(matrix, wanted)
        assert (found >= 0).all()
        assert found == pytest.approx(exact, abs=1e-9)
        binds.add(bool((found == 0).any()))
    assert binds == {True, False}
