"""Splits: no row and no patient on both sides, the same for the same seed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacshift.errors import InputError
from paper.experiments.trial import halves
from paper.recipes.raw import RawData
from paper.recipes.train import Split, check_split, rebalanced, split_rows


def rows(n_rows: int, *, n_patients: int = 0, n_test: int = 0, seed: int = 0) -> RawData:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, n_patients, n_rows) if n_patients else None
    labels, is_test = np.arange(n_rows) % 2, np.arange(n_rows) >= n_rows - n_test
    return RawData("made up", np.arange(n_rows), labels, ("a", "b"), np.zeros((n_rows, 1)), is_test, groups)


def split_unless_a_class_is_missing(data: RawData, share: float, seed: int) -> Split | None:
    """A few large patients can leave one side without a class, which is refused."""
    try:
        return split_rows(data, share, seed)
    except InputError as error:
        if "no row of class" not in str(error):
            raise
        return None


@given(st.integers(40, 300), st.integers(0, 30), st.integers(0, 10), st.floats(0.2, 0.8), st.integers(0, 9))
def test_no_row_or_patient_is_on_both_sides(
    n_rows: int, n_patients: int, n_test: int, share: float, seed: int
) -> None:
    data = rows(n_rows, n_patients=n_patients and n_patients + 10, n_test=n_test, seed=seed)
    split = split_unless_a_class_is_missing(data, share, seed)
    if split is None:
        return
    assert not set(split.fitted) & set(split.scored)
    assert sorted([*split.fitted, *split.scored]) == list(range(n_rows))
    assert not data.is_test[split.fitted].any()
    if data.groups is not None:
        assert not set(data.groups[split.fitted]) & set(data.groups[split.scored])
        assert not set(data.groups[split.fitted]) & set(data.groups[data.is_test])
    again = split_rows(data, share, seed)
    assert np.array_equal(again.fitted, split.fitted)


def test_another_seed_gives_another_split() -> None:
    data = rows(200)
    assert not np.array_equal(split_rows(data, 0.5, 0).fitted, split_rows(data, 0.5, 1).fitted)
    assert len(split_rows(data, 0.25, 0).fitted) == 50


def test_a_limit_keeps_whole_patients() -> None:
    data: Any = rows(300, n_patients=60)
    split = split_rows(data, 0.5, 0, limit=100)
    used = np.concatenate([split.fitted, split.scored])
    assert 80 < len(used) <= 100
    assert np.isin(data.groups, data.groups[used]).sum() == len(used)


def test_fitted_rows_are_never_scored() -> None:
    with pytest.raises(InputError, match="2 rows or groups would be scored"):
        check_split(Split(np.array([0, 1, 2]), np.array([1, 2, 3])), np.arange(5))


def test_rebalancing_leaves_out_the_frequent_and_touches_no_scored_row() -> None:
    labels = (np.random.default_rng(1).random(5000) < 0.094).astype(int)
    data = replace(rows(5000), labels=labels)
    split = split_rows(data, 0.4, 0)
    fewer = rebalanced(split, labels, (0.636, 0.364), seed=0)
    assert np.array_equal(fewer.scored, split.scored)
    assert set(fewer.fitted) < set(split.fitted)
    assert labels[fewer.fitted].sum() == labels[split.fitted].sum()  # every sick row stays
    assert labels[fewer.fitted].mean() == pytest.approx(0.364, abs=0.001)


def test_a_class_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match="no row of class"):
        split_rows(rows(100), 0.5, 0, limit=1)


def test_patients_are_never_in_both_source_and_target() -> None:
    data: Any = rows(500, n_patients=80)
    first, second = halves(data.labels, np.random.default_rng(0), data.groups)
    assert not set(data.groups[first]) & set(data.groups[second])
    assert sorted([*first, *second]) == list(range(500))
    assert 180 < len(first) < 320
