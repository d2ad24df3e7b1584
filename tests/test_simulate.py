"""Label shifts made on purpose."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from pacshift import InputError, resample, tweak_one


def test_tweak_one_adds_up() -> None:
    for share in (0.0, 0.3, 1.0):
        mix = tweak_one(7, 4, share)
        assert mix.sum() == pytest.approx(1)
        assert mix[4] == share
        assert len(set(mix[[0, 1, 2, 3, 5, 6]])) == 1


def test_resample_draws_the_mix_and_rows_of_a_label_equally() -> None:
    labels = np.array([2, 0, 1, 0, 2, 2])
    rows = resample(labels, [1, 2, 5], 80_000, np.random.default_rng(0))
    drawn = np.bincount(labels[rows], minlength=3)
    assert stats.chisquare(drawn, [10_000, 20_000, 50_000]).pvalue > 1e-3
    within = np.bincount(rows, minlength=6)
    assert stats.chisquare(within[[0, 4, 5]]).pvalue > 1e-3
    assert stats.chisquare(within[[1, 3]]).pvalue > 1e-3


def test_resample_is_reproducible_and_takes_a_seed() -> None:
    labels = np.arange(10) % 3
    one, other = (resample(labels, [1, 1, 1], 50, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(one, other)
    assert np.array_equal(one, resample(labels, [1, 1, 1], 50, 5))  # type: ignore[arg-type]


def test_classes_that_are_not_asked_for_may_be_absent() -> None:
    assert set(resample(np.array([0, 0, 2]), [1, 0, 1], 100, np.random.default_rng(0))) == {0, 1, 2}


@pytest.mark.parametrize(
    ("labels", "mix", "size", "message"),
    [
        ([0, 1], [1, 1, 1], 5, "the mix asks for class 2, of which there are no rows"),
        ([0, 3], [1, 1], 5, "labels must be column indices 0 to 1"),
        ([0, -1], [1, 1], 5, "labels must be column indices"),
        ([], [1, 1], 5, "resample needs"),
        (["a", "b"], [1, 1], 5, "resample needs a list of column indices and a size >= 1"),
        ([[0, 1]], [1, 1], 5, "resample needs"),
        ([0, 1], [1, 1], 0, "resample needs"),
        ([0, 1], [0, 0], 5, "a label mix needs 2 finite shares >= 0, not all 0"),
        ([0, 1], [1, -1], 5, "a label mix needs"),
        ([0, 1], [1, np.nan], 5, "a label mix needs"),
        ([0, 1], ["a", "b"], 5, "a label mix needs"),
        ([0, 1], 3, 5, "a label mix needs"),
    ],
)
def test_bad_input(labels: Any, mix: Any, size: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        resample(labels, mix, size, np.random.default_rng(0))


@pytest.mark.parametrize("arguments", [(1, 0, 0.5), (3, 3, 0.5), (3, -1, 0.5), (3, 0, 1.5), (3, 0, np.nan)])
def test_tweak_one_refuses(arguments: Any) -> None:
    with pytest.raises(InputError, match="tweak_one needs"):
        tweak_one(*arguments)
