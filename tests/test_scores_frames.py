"""Frames in give frames out, in the library and with the index of what came in."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pacshift
from certificates import alter, birds
from pacshift import Certificate, InputError, Tally, evaluate
from pacshift.scores.check import check_weights

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


def test_labels_are_the_sets_with_the_most_likely_first(certificate: Certificate) -> None:
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.ones(3), 400).round(1)  # ties
    wide = alter(certificate, thresholds=np.array([0.3, 0.2, 0.7]))
    sets, labels = wide.sets(scores), wide.labels(scores)
    assert {len(row) for row in labels} == {0, 1, 2}
    for row, inside, values in zip(labels, sets, scores, strict=True):
        assert sorted(row) == [name for name, is_in in zip(NAMES, inside, strict=True) if is_in]
        places = [certificate.classes.index(name) for name in row]
        assert places == sorted(places, key=lambda place: (-values[place], place))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_evaluate_takes_frames_of_sets_and_their_names(certificate: Certificate, kind: str) -> None:
    columns = dict(zip(NAMES, ROWS.T, strict=True))
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)
    truth = ["owl", "crow", "wren", "owl", "owl", "crow"]
    expected = evaluate(certificate.sets(ROWS), truth, classes=NAMES)
    assert repr(evaluate(certificate.sets(frame), truth)) == repr(expected)


def world(n_rows: int = 400, seed: int = 3) -> tuple[pd.DataFrame, "pd.Series[Any]"]:
    """Scores and labels with one index, which is not in order."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_rows)
    scores = 0.7 * np.eye(3)[labels] + 0.3 * rng.dirichlet(np.ones(3), n_rows)
    index = pd.Index([f"row {number}" for number in rng.permutation(n_rows)])
    return pd.DataFrame(scores, index, NAMES), pd.Series(np.array(NAMES)[labels], index)


SCORES, TRUTH = world()
LABELLED: dict[str, Any] = {
    "calibrate": lambda labels: pacshift.calibrate(SCORES, labels, SCORES, method="PS-LW"),
    "calibrate with softmax": lambda labels: pacshift.calibrate(
        np.log(SCORES), labels, None, softmax=True, method="PS"
    ),
    "labels of a target": lambda labels: pacshift.calibrate(
        *world(seed=4), pacshift.Rows(SCORES, labels.where(labels.index.str.endswith("0")))
    ),
    "compare": lambda labels: pacshift.compare(SCORES, labels, SCORES, methods=["PS"]),
    "labels of compare's target": lambda labels: pacshift.compare(
        *world(seed=4), pacshift.Rows(SCORES, labels), methods=["PS"]
    ),
    "prevalence": lambda labels: pacshift.prevalence(SCORES, labels, SCORES),
    "Tally.from_scores": lambda labels: pacshift.Tally.from_scores(SCORES, labels),
    "evaluate": lambda labels: evaluate(SCORES > 0.5, labels),
    "Population": lambda labels: pacshift.Population(SCORES, labels),
    "row_weights": lambda labels: pacshift.Population(SCORES, TRUTH, row_weights=labels.str.len()),
    "plan": lambda labels: pacshift.plan(
        SCORES, labels, target_mix=[0.4, 0.3, 0.3], n_source=300, n_target=300, method="PS-LW"
    ),
}


@pytest.mark.parametrize("call", LABELLED.values(), ids=LABELLED.keys())
def test_labels_with_another_index_are_refused(call: Any) -> None:
    call(TRUTH)
    for labels in (TRUTH.sort_index(), TRUTH.reset_index(drop=True).rename(str)):
        with pytest.raises(InputError, match=r"different indexes: row 0 is 'row \d+' in .*\.loc\[.*to_numpy"):
            call(labels)


INDEXES: dict[str, tuple[Any, Any]] = {
    "numbers": (pd.RangeIndex(6), pd.Index([0.0, 1, 2, 3, 4, 5])),
    "repeated": (pd.Index(list("aabbcc")), pd.Index(list("aabbcc"), dtype="category")),
    "texts": (pd.Index(list("abcdef"), dtype=object), pd.Index(list("abcdef"), dtype="string")),
    "missing": (pd.Index([1.0, np.nan, 2, 3, 4, np.nan]), pd.Index([1, np.nan, 2, 3, 4, np.nan], dtype=object)),
    "levels": (
        pd.MultiIndex.from_product([[1, 2], ["a", "b", "c"]]),
        pd.MultiIndex.from_product([[1, 2], ["a", "b", "c"]]),
    ),
    "times": (pd.date_range("2024", periods=6), pd.date_range("2024", periods=6).rename("day")),
}
TRUE_LABELS = ["owl", "crow", "wren", "owl", "owl", "crow"]


@pytest.mark.parametrize(("rows", "labels"), INDEXES.values(), ids=INDEXES.keys())
def test_equal_indexes_of_any_type(rows: Any, labels: Any) -> None:
    frame, series = pd.DataFrame(ROWS, rows, NAMES), pd.Series(TRUE_LABELS, labels)
    assert Tally.from_scores(frame, series) == Tally.from_scores(ROWS, TRUE_LABELS, classes=NAMES)
    for place in (0, 5):
        other = labels.delete(place).insert(place, pd.NA if labels.nlevels == 1 else (7, "z"))
        with pytest.raises(InputError, match=f"different indexes: row {place} is"):
            Tally.from_scores(frame, pd.Series(TRUE_LABELS, other))


def test_one_side_without_an_index_is_matched_by_position() -> None:
    expected = Tally.from_scores(ROWS, TRUE_LABELS, classes=NAMES)
    frame, series = pd.DataFrame(ROWS, INDEX, NAMES), pd.Series(TRUE_LABELS, INDEX[::-1])
    for scores, labels in ((ROWS, series), (frame, TRUE_LABELS), (pl.DataFrame(ROWS, NAMES), series)):
        assert Tally.from_scores(scores, labels, classes=NAMES) == expected
    with pytest.raises(InputError, match="5 labels for 6 rows"):
        Tally.from_scores(frame, series[1:])


def named_weights(given: Any) -> Any:
    """The weights as ORACLE keeps them, by name if they have names."""
    kept = pacshift.Oracle(weights=given).weights
    return dict(kept) if isinstance(kept[0], tuple) else kept


def test_values_per_class_are_found_by_their_names() -> None:
    """A series from value_counts is in the order of the counts, not of the classes."""
    by_name = pd.Series({"wren": 2.0, "crow": 0.5, "owl": 1.0})
    for given in (by_name, pd.Series([0.5, 1, 2]), [0.5, 1, 2], pd.Series([0.5, 1, 2], [*NAMES])):
        assert check_weights(named_weights(given), tuple(NAMES)).tolist() == [0.5, 1.0, 2.0]
        assert SURE.error(SURE_ABOVE, given) == pytest.approx(2 / 3.5)
    for wrong in (by_name[:2], by_name.rename({"owl": "emu"}), by_name.rename({"owl": "crow"})):
        with pytest.raises(InputError, match=r"weights: they name .*Name every class once"):
            check_weights(named_weights(wrong), tuple(NAMES))


def test_a_plan_takes_mixes_by_name() -> None:
    mix = pd.Series({"wren": 0.6, "crow": 0.1, "owl": 0.3})
    asked: dict[str, Any] = {"n_source": 300, "n_target": 300, "method": "PS-LW"}
    mixes = mix, dict(mix), [0.1, 0.3, 0.6]
    plans = [pacshift.plan(SCORES, TRUTH, target_mix=given, **asked).size for given in mixes]
    assert plans[0] == plans[1] == plans[2]


SURE = pacshift.Population(np.eye(3), NAMES, classes=NAMES)
SURE_ABOVE = [0.5, 0.5, 2.0]  # wren is always missed


class Output:
    """As transformers give it."""

    logits = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (Output(), "Pass its .logits"),
        (
            [np.zeros((3, 2)), np.zeros((2, 2))],
            "got a list of 2 batches. Join them with np.concatenate or torch.cat",
        ),
    ],
)
def test_what_a_model_or_a_loader_gives_is_refused_with_what_to_pass(given: Any, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        pacshift.calibrate(given, [0, 1])
