"""Sizes of sets are counted without making the sets: both ways must agree."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.rows.sets import labels_at, make_sets, sizes_at
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import TRANSFORMS


@pytest.mark.parametrize("n_classes", [2, 10, 65, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("never_empty", [False, True])
def test_sizes_are_those_of_the_sets(n_classes: int, dtype: type, order: str, never_empty: bool) -> None:
    rng = np.random.default_rng(n_classes)
    values: NDArray[np.floating[Any]] = rng.dirichlet(np.ones(n_classes), 700).astype(dtype)
    scores = ScoreMatrix(np.asarray(values, order=order), tuple(range(n_classes)))  # type: ignore[call-overload]
    per_class = np.quantile(values, 0.9, axis=0).astype(np.float64)
    per_class[0] = -np.inf
    on_a_score = np.full(n_classes, float(values[0, 1]))  # float32: not a number of float64 nearby
    cuts = [per_class, on_a_score, np.nextafter(on_a_score, 1), np.full(n_classes, np.inf)]
    for name in ("probability", "aps"):
        transform = TRANSFORMS[name]
        found = sizes_at(scores, cuts, transform, never_empty=never_empty)
        for cut, sizes in zip(cuts, found, strict=True):
            sets = make_sets(scores, cut, transform, never_empty=never_empty)
            np.testing.assert_array_equal(sizes, np.bincount(sets.sum(axis=1), minlength=n_classes + 1))
    plain = TRANSFORMS["probability"]
    sums = [int(make_sets(scores, cut, plain, never_empty=False).sum()) for cut in cuts]
    assert labels_at(scores, cuts) == sums


def test_sizes_of_rows_that_are_not_finite_are_refused() -> None:
    scores = ScoreMatrix(np.array([[0.5, 0.5], [np.nan, 0.1]]), (0, 1))
    with pytest.raises(InputError, match="first is row 1"):
        sizes_at(scores, [np.zeros(2)], TRANSFORMS["probability"])
