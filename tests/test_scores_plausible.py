"""A class without labelled rows is believed where its column fits the others, and only there."""

import numpy as np
import pytest

from pacshift.scores.check import foreign_columns

RNG = np.random.default_rng(0)
PROBABILITIES = RNG.dirichlet(np.ones(4), 200)
LOGITS = RNG.normal(0, 4, (200, 4))
SOME = np.array([90, 60, 50, 0])  # no row of the last class


@pytest.mark.parametrize("scale", [1, 100])
def test_probabilities_and_percentages_of_an_unseen_class(scale: float) -> None:
    assert foreign_columns(scale * PROBABILITIES, SOME) == []
    assert foreign_columns((scale * PROBABILITIES).astype(np.float16), SOME) == []
    assert foreign_columns(scale * PROBABILITIES, np.array([200, 0, 0, 0])) == []
    never = np.column_stack(
        [PROBABILITIES[:, :3] / PROBABILITIES[:, :3].sum(axis=1, keepdims=True), np.zeros(200)]
    )
    assert foreign_columns(scale * never, SOME) == []


@pytest.mark.parametrize(
    "column",
    [np.arange(200), np.full(200, 2024), RNG.integers(0, 2, 200), np.ones(200), RNG.random(200), -np.arange(200)],
    ids=["id", "year", "flag", "constant", "share", "negative"],
)
def test_columns_beside_probabilities(column: np.ndarray) -> None:
    scores = np.column_stack([PROBABILITIES, column])
    assert foreign_columns(scores, np.array([90, 60, 50, 10, 0])) == [4]
    both = np.column_stack([PROBABILITIES, column, np.arange(200) + 5])
    assert foreign_columns(both, np.array([90, 60, 50, 10, 0, 0])) == [4, 5]


def test_logits() -> None:
    assert foreign_columns(LOGITS, SOME) == []
    assert foreign_columns(np.column_stack([LOGITS, np.arange(200)]), np.array([90, 60, 50, 0, 0])) == [4]


def test_nothing_is_said_about_classes_with_rows() -> None:
    assert foreign_columns(np.column_stack([PROBABILITIES, np.arange(200)]), np.array([1, 1, 1, 1, 1])) == []
    assert foreign_columns(LOGITS, np.zeros(4, np.int64)) == []
