"""Were the sets right? Counted by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pacshift import InputError, evaluate
from pacshift.evaluation import EvaluationCounts

SETS = [[True, False, False], [True, True, False], [False, False, False], [True, True, True]]


def test_by_hand() -> None:
    result = evaluate(SETS, [0, 2, 1, 0])
    assert (result.n, result.error, result.size, result.empty) == (4, 0.5, 1.5, 0.25)
    assert result.class_counts.tolist() == [2, 1, 1]
    assert result.class_error.tolist() == [0.0, 1.0, 1.0]
    assert result.class_size.tolist() == [2.0, 0.0, 2.0]


def test_classes_are_matched_by_value() -> None:
    result = evaluate(SETS, ["c", "a", "b", "c"], classes=["c", "b", "a"])
    assert result.class_counts.tolist() == [2, 1, 1]
    assert result.error == 0.5
    assert evaluate(pd.DataFrame(SETS), pd.Series([0, 2, 1, 0])).error == 0.5


def test_counts_of_chunks_add_up() -> None:
    rng = np.random.default_rng(0)
    sets, index = rng.random((100, 4)) < 0.3, rng.integers(0, 3, 100)
    parts = [EvaluationCounts.of(sets[rows], index[rows]) for rows in (slice(0, 7), slice(7, 60), slice(60, 100))]
    total, whole = (parts[2] + parts[0] + parts[1]).evaluation(), evaluate(sets, index)
    for name in ("n", "error", "size", "empty", "class_counts", "class_error", "class_size"):
        np.testing.assert_array_equal(getattr(total, name), getattr(whole, name))
    assert whole.error == np.mean([not row[label] for row, label in zip(sets, index, strict=True)])
    assert whole.empty == np.mean(~sets.any(axis=1))


def test_a_class_without_rows_has_no_rate() -> None:
    result = evaluate(SETS, [0, 0, 0, 0])
    assert np.isnan(result.class_error).tolist() == [False, True, True]
    assert np.isnan(result.class_size).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("sets", "labels", "classes", "message"),
    [
        (np.ones((2, 3)), [0, 1], None, r"sets must be a boolean matrix.*got shape \(2, 3\) of float64"),
        ([True, False], [0, 1], None, r"sets must be a boolean matrix"),
        (np.empty((0, 3), bool), [], None, r"at least one row"),
        ([[True], [True, False]], [0, 1], None, r"cannot read the sets"),
        (SETS, [0, 1], None, r"2 labels for 4 rows"),
        (SETS, [0, 1, 2, 3], None, r"the first is 3 in row 3"),
        (SETS, [0, 1, 2, 0], ["a", "b"], r"3 columns but 2 class names. Give one name per column"),
        ([[True], [False]], [0, 0], None, r"at least 2 classes"),
        (None, [0], None, r"sets must be a boolean matrix"),
    ],
)
def test_bad_input(sets: Any, labels: Any, classes: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(sets, labels, classes=classes)
