"""Frames in give frames out, in the library and with the index of what came in."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from certificates import birds
from pacshift import Certificate, evaluate

ROWS = np.random.default_rng(0).dirichlet(np.ones(3), 6)
NAMES = ["crow", "owl", "wren"]
INDEX = pd.Index([f"bird {number}" for number in range(6)], name="ring")


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return birds()


def test_pandas_keeps_its_index_and_finds_columns_by_name(certificate: Certificate) -> None:
    frame = pd.DataFrame(ROWS[:, ::-1], index=INDEX, columns=NAMES[::-1]).assign(note="x")
    sets = certificate.sets(frame)
    assert isinstance(sets, pd.DataFrame)
    assert sets.index.equals(INDEX)
    assert sets.columns.tolist() == NAMES
    assert sets.to_numpy().dtype == np.bool_
    assert np.array_equal(sets.to_numpy(), certificate.sets(ROWS))
    labels = certificate.labels(frame)
    assert isinstance(labels, pd.Series)
    assert labels.index.equals(INDEX)
    assert labels.tolist() == certificate.labels(ROWS)


def test_a_subclass_of_a_pandas_frame_gives_a_frame(certificate: Certificate) -> None:
    class Mine(pd.DataFrame):
        def __init__(self, *args: Any, owner: str, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    sets = certificate.sets(Mine(ROWS, columns=NAMES, owner="me"))
    assert isinstance(sets, pd.DataFrame)


def test_polars_and_arrow(certificate: Certificate) -> None:
    columns = dict(zip(NAMES, ROWS.T, strict=True))
    polars = certificate.sets(pl.DataFrame(columns))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == NAMES
    assert np.array_equal(polars.to_numpy(), certificate.sets(ROWS))
    assert certificate.labels(pl.DataFrame(columns)).to_list() == certificate.labels(ROWS)
    for made in (pa.table(columns), pa.RecordBatch.from_pydict(columns)):
        arrow = certificate.sets(made)
        assert isinstance(arrow, pa.Table)
        assert arrow.column_names == NAMES
        assert np.array_equal(arrow.to_pandas().to_numpy(), certificate.sets(ROWS))
        assert certificate.labels(made) == certificate.labels(ROWS)


def test_arrays_and_lists_give_arrays_and_lists(certificate: Certificate) -> None:
    for scores in (ROWS, ROWS.tolist(), ROWS.astype(np.float32)):
        assert type(certificate.sets(scores)) is np.ndarray
        assert type(certificate.labels(scores)) is list


def test_labels_are_the_sets_with_the_most_likely_first(certificate: Certificate) -> None:
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.ones(3), 400).round(1)  # ties
    wide = certificate.changed(thresholds=np.array([0.3, 0.2, 0.7]))
    sets, labels = wide.sets(scores), wide.labels(scores)
    assert {len(row) for row in labels} == {0, 1, 2}
    for row, inside, values in zip(labels, sets, scores, strict=True):
        assert sorted(row) == [name for name, is_in in zip(NAMES, inside, strict=True) if is_in]
        places = [certificate.classes.index(name) for name in row]
        assert places == sorted(places, key=lambda place: (-values[place], place))


def test_randomised_sets_and_labels_agree() -> None:
    from pacshift import calibrate

    rng = np.random.default_rng(2)
    scores = rng.dirichlet(np.ones(4), 800)
    truth = np.array([rng.choice(4, p=row) for row in scores])
    made = calibrate(scores, truth, None, method="PS", score="aps", epsilon=0.3)
    lists = made.labels(scores)
    assert [sorted(row) for row in lists] == [np.flatnonzero(row).tolist() for row in made.sets(scores)]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_evaluate_takes_frames_of_sets_and_their_names(certificate: Certificate, kind: str) -> None:
    columns = dict(zip(NAMES, ROWS.T, strict=True))
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)
    truth = ["owl", "crow", "wren", "owl", "owl", "crow"]
    expected = evaluate(certificate.sets(ROWS), truth, classes=NAMES)
    assert repr(evaluate(certificate.sets(frame), truth)) == repr(expected)
