"""What comes in: every container, every dtype, labels by value, and an InputError for all else."""

import re
import tracemalloc
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import InputError, Tally, calibrate, read
from pacshift.scores.check import (
    check_classes,
    check_flag,
    check_labels,
    check_rate,
    check_rng,
    check_scores,
    check_weights,
    foreign_columns,
)
from pacshift.scores.names import find_name, match_labels, places_by_text

MATRIX = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.0, 0.25, 0.75]])
NAMES = ("cat", "dog", "eel")


class OnlyArray:
    """A foreign container that speaks ``__array__`` and nothing else."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values if dtype is None else self.values.astype(dtype)


class OnlyDLPack:
    """A foreign container that speaks DLPack and nothing else, as tensors of other frameworks do."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def frame(kind: str, values: Any = MATRIX, names: Any = NAMES) -> Any:
    columns = {name: np.asarray(values)[:, place] for place, name in enumerate(names)}
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)


@pytest.mark.parametrize(
    "wrap",
    [np.asarray, np.asfortranarray, OnlyArray, OnlyDLPack, lambda x: x.tolist(), lambda x: tuple(map(tuple, x))],
    ids=["array", "fortran", "__array__", "DLPack", "list", "tuple"],
)
def test_containers_without_names_get_0_to_k_minus_1(wrap: Any) -> None:
    scores = check_scores(wrap(MATRIX), name="source")
    assert np.array_equal(scores.values, MATRIX)
    assert scores.classes == (0, 1, 2)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_nulls_of_frames(kind: str) -> None:
    columns = {"a": [0.5, None, 0.25], "b": [0.5, 0.5, 0.75]}
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)
    with pytest.raises(InputError, match=r"source: 1 row has NaN or infinite scores, the first is row 1"):
        Tally.from_scores(table, ["a", "b", "a"])


def test_chunks_and_batches_of_arrow() -> None:
    two = pa.concat_tables([frame("arrow"), frame("arrow")])
    assert np.array_equal(check_scores(two, name="x").values, np.vstack([MATRIX, MATRIX]))
    batch = pa.record_batch({"a": [0.5, None, 0.25], "b": [0.5, 0.5, 0.75]})
    assert check_scores(batch.slice(2), name="x").values.tolist() == [[0.25, 0.75]]
    unions = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1.0, 2.0])])
    with pytest.raises(InputError, match="x: scores must be numbers"):
        check_scores(pa.record_batch({"a": unions, "b": [0.5, 0.5]}), name="x")


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scores = check_scores(torch.tensor(MATRIX), name="source")
    assert np.array_equal(scores.values, MATRIX)
    with pytest.raises(InputError, match=r"detach"):
        check_scores(torch.tensor(MATRIX, requires_grad=True), name="source")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble, np.bool_, np.uint8, np.int64])
def test_every_number_type_keeps_its_values(dtype: Any) -> None:
    values = np.array([[0.1, 0.9], [1.0, 0.0]], dtype)
    scores = check_scores(values, name="source")
    assert scores.values.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert np.array_equal(scores.values, values.astype(scores.values.dtype))


def test_float64_arrays_are_not_copied() -> None:
    assert check_scores(MATRIX, name="source").values is MATRIX


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["dog", "cat", "dog", "eel"], NAMES),
        (np.array(["dog", "cat", "dog", "eel"]), NAMES),
        (np.array(["dog", "cat", "dog", "eel"], object), NAMES),
        (pd.Series(["dog", "cat", "dog", "eel"]), NAMES),
        (pd.Categorical(["dog", "cat", "dog", "eel"], categories=["eel", "dog", "cat"]), NAMES),
        (pd.Series(["dog", "cat", "dog", "eel"], dtype="category"), NAMES),
        (pl.Series(["dog", "cat", "dog", "eel"]), NAMES),
        (pl.Series(["dog", "cat", "dog", "eel"], dtype=pl.Categorical), NAMES),
        (pa.array(["dog", "cat", "dog", "eel"]), NAMES),
        (pa.chunked_array([["dog", "cat"], ["dog", "eel"]]), NAMES),
        (pa.array(["dog", "cat", "dog", "eel"]).dictionary_encode(), NAMES),
        ([20, 10, 20, -3], (10, 20, -3)),
        (np.array([20, 10, 20, 3], np.uint8), (10, 20, 3)),
        (np.array([2.0, 1.0, 2.0, 0.5]), (1.0, 2.0, 0.5)),
        (np.array([1.0, 0.0, 1.0, 2.0]), (0, 1, 2)),
        (pd.Series([20, 10, 20, -3], dtype="Int64"), (10, 20, -3)),
        (OnlyArray([1, 0, 1, 2]), (0, 1, 2)),
        (OnlyDLPack([1, 0, 1, 2]), (0, 1, 2)),
        (["1", "0"], (1, 0)),
        (np.array(["1", "0"]), (1, 0)),
        (np.array(["1", "0"], object), (1.0, 0)),
        ([1, 0], ("1", "0")),
        (np.array([1.0, 0.0]), ("1", "0")),
        ([Decimal(1), Decimal("0")], (1, 0)),
        ([True, False], ("True", "False")),
        (["True", "False"], (True, False)),
        (np.array([2**63, 5], np.uint64), (2**63, 5)),
        (np.array([-5, 7], np.int8), (-5, 7)),
        ([2**53 + 1, 2**53], (2**53 + 1, 2**53)),
        ([True, False], (True, False)),
        (np.array([0, 1]), (False, True)),
    ],
)
def test_labels_are_matched_by_value_and_compared_as_text(labels: Any, classes: Any) -> None:
    expected = [1, 0, 1, 2] if len(classes) == 3 else [0, 1]
    assert check_labels(labels, check_classes(classes), n_rows=len(expected), name="source").tolist() == expected


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
NAME_LISTS = [st.lists(one, min_size=2, max_size=9, unique=True) for one in (TEXT, st.integers(-(2**62), 2**62))]


@settings(deadline=None, max_examples=90)
@given(st.one_of(NAME_LISTS), st.randoms())
def test_any_text_or_number_can_name_a_class_and_labels_go_by_name(names: list[Any], random: Any) -> None:
    labels = [random.choice(names) for _ in range(20)]
    for form in (labels, np.array(labels), np.array(labels, object)):
        index = check_labels(form, check_classes(names), n_rows=20, name="source")
        assert [names[place] for place in index] == labels


NO_ROWS = np.empty((0, 3))
BAD_SCORES: dict[str, tuple[Any, str]] = {
    "empty": (NO_ROWS, r"x: no rows. At least one row is needed"),
    "vector": ([0.1, 0.9], r"x: scores need one column per class, got a single column.*column_stack"),
    "ragged": ([[0.1, 0.9], [1.0]], r"x: cannot read the scores"),
    "one class": ([[0.1], [0.2]], r"x: 1 score column, but at least 2 classes are needed"),
    "text": ([["a", "b"]], r"x: scores must be numbers, found the text 'a'"),
    "text in objects": (np.array([["0.5", 0.5]], object), r"x: scores must be numbers, found the text '0.5'"),
    "complex": (np.ones((2, 2)) * 1j, r"real numbers, got dtype complex128"),
    "None": (None, r"x: scores must be"),
    "masked": (np.ma.masked_less(MATRIX, 0.1), r"x: 1 of the scores are masked"),
    "frame with text": (pd.DataFrame({"a": ["u"], "b": [0.5]}), r"scores must be numbers"),
    "same column twice": (pd.DataFrame(MATRIX, columns=["a", "b", "a"]), r"class names must differ.*'a'"),
    "tuple columns": (pd.DataFrame({("a", 1): [0.5], ("b", 2): [0.5]}), r"class names must be strings"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_SCORES)
def test_bad_scores_say_what_is_wrong(case: str) -> None:
    scores, message = BAD_SCORES[case]
    with pytest.raises(InputError, match=message):
        check_scores(scores, name="x")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_not_finite_scores_are_counted_and_the_first_is_named(bad: float, dtype: Any) -> None:
    scores = np.full((50_000, 2), 0.5, dtype)
    scores[[777, 40_001], [0, 1]] = bad
    message = r"target: 2 rows have NaN or infinite scores, the first is row 777\. Fix"
    with pytest.raises(InputError, match=message):
        Tally.from_target(scores)
    with pytest.raises(InputError, match=message.replace("target", "source")):
        Tally.from_scores(scores, np.zeros(50_000, int))


def test_huge_finite_scores_are_no_infinities() -> None:
    huge = np.finfo(np.float32).max
    assert Tally.from_target([[huge, -huge], [huge, huge]]).target.tolist() == [2, 0]


BAD_CLASSES = {
    "one": (["a"], r"at least 2 classes are needed, got 1"),
    "text": ("ab", r"classes must be a list of names, one per column in their order, got 'ab'"),
    "set": ({"a", "b"}, r"classes must be a list of names"),
    "matrix": (np.eye(2), r"class names must be strings"),
    "twice": (["a", "b", "a"], r"class names must differ, but 'a' occurs twice"),
    "1 is '1'": ([1, "1"], r"class names must differ, but .* compared as text"),
    "2.0 is '2'": ([2.0, "2"], r"class names must differ, but .* compared as text"),
    "None": (["a", None], r"strings, finite numbers or booleans, got None. Convert it to str"),
    "NaN": ([1.0, np.nan], r"got nan"),
    "bytes": ([b"a", b"b"], r"class names must be strings"),
    "NUL": (["a", "a\0"], r"without NUL characters, got 'a\\x00'. Rename it"),
    "surrogate": (["a", "\ud800"], r"valid Unicode"),
    "huge": ([10**5000, 1], r"whole numbers must fit into 64 bits"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_CLASSES)
def test_bad_class_names(case: str) -> None:
    classes, message = BAD_CLASSES[case]
    with pytest.raises(InputError, match=message):
        check_classes(classes)


def test_class_names_become_plain_python_values() -> None:
    names = check_classes(np.array([np.int32(3), np.float32(0.5), np.bool_(False), np.str_("a")], object))
    assert [type(name) for name in names] == [int, float, bool, str]


MISSING = r"source: 1 row has no label, the first is row 1\. Label such rows"
BAD_LABELS: dict[str, tuple[Any, str]] = {
    "length": ([0, 1], r"source: 2 labels for 3 rows of scores. Give one label per row"),
    "matrix": (np.eye(3), r"source: labels must be one per row, got an array of 2 dimensions"),
    "unknown": ([0, 7, 7], r"2 labels not among the classes, the first is 7 in row 1. The classes are 0, 1, 2"),
    "fraction": ([0.0, 0.5, 1.0], r"the first is 0.5 in row 1"),
    "texts": (["cat", "dog", "cat"], r"so the classes are 0, 1, 2, but the labels are texts such as 'cat'"),
    "missing": ([0.0, np.nan, 1.0], MISSING),
    "None": ([0, None, 1], MISSING),
    "missing category": (pd.Series(["0", None, "1"], dtype="category"), MISSING),
    "missing time": (pd.Series([0, pd.NaT, 1], dtype=object), MISSING),
    "times alone": (pd.Series([pd.NaT] * 3), r"source: 3 rows have no label"),
    "missing and unknown": (pd.Series([7, None, "owl"], dtype=object), MISSING),
    "null in polars": (pl.Series([0, None, 1]), MISSING),
    "null in Arrow": (pa.array([0, None, 1]), MISSING),
    "padded text": (["00", "1", "2"], r"the first is '00' in row 0.*name the classes as the labels do"),
    "dates": (np.array([0, 1, 2], "M8[D]"), r"labels must be text, numbers or booleans, got dtype datetime64"),
    "dates in objects": (np.array([0, datetime(2024, 1, 1), 1], object), r"the first is datetime"),
    "unhashable": (np.array([0, {}, 1], object), r"the first is {} in row 1"),
    "arrays in objects": (pd.Series([0, np.arange(2), 1]).to_numpy(), r"the first is array\(\[0, 1\]\) in row 1"),
    "ragged": ([[0], [1, 2], [1]], r"cannot read the labels"),
    "masked": (np.ma.masked_equal([0, 1, 2], 1), r"1 of the labels are masked"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(case: str) -> None:
    labels, message = BAD_LABELS[case]
    with pytest.raises(InputError, match=message):
        Tally.from_scores(MATRIX, labels)


def test_a_frame_must_hold_every_class() -> None:
    with pytest.raises(InputError, match=r"x: no score column for 'fox'; the columns are 'cat', 'dog', 'eel'"):
        check_scores(frame("pandas"), name="x", classes=["cat", "dog", "fox"])
    twice = pd.DataFrame(np.ones((1, 3)), columns=["cat", "dog", "cat"])
    with pytest.raises(InputError, match=r"occur twice: 'cat'"):
        check_scores(twice, name="x", classes=["cat", "dog"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_columns_of_a_frame_are_found_by_name_alone(kind: str) -> None:
    """By position, columns in another order would give wrong sets without a word."""
    named = check_scores(frame(kind), name="source")
    turned = check_scores(frame(kind, MATRIX[:, [2, 0, 1]], ["eel", "cat", "dog"]), name="target", classes=NAMES)
    for scores in (named, turned):
        assert np.array_equal(scores.values, MATRIX)
        assert scores.classes == NAMES
    message = r"no score column for 'u', 'v', 'w'; the columns are .*frame.to_numpy\(\)"
    with pytest.raises(InputError, match=message):
        check_scores(frame(kind), name="x", classes=["u", "v", "w"])
    scores = check_scores(np.asarray(frame(kind)), name="x", classes=["u", "v", "w"])
    assert np.array_equal(scores.values, MATRIX)


@pytest.mark.parametrize(
    ("columns", "classes"),
    [(["2", "0", "1"], (0, 1, 2)), ([2, 0, 1], ("0", "1", "2")), ([2.0, 0.0, 1.0], (0, 1, 2))],
)
def test_columns_are_compared_as_text(columns: list[Any], classes: Any) -> None:
    turned = pd.DataFrame(MATRIX[:, [2, 0, 1]], columns=columns)
    scores = check_scores(turned, name="x", classes=classes)
    assert np.array_equal(scores.values, MATRIX)
    assert scores.classes == classes
    made = calibrate(MATRIX, list(classes), None, classes=classes, epsilon=0.5, delta=0.5, method="PS")
    assert np.array_equal(made.sets(turned), made.sets(MATRIX))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([2.0**53]), (2**53 + 1, 0)),
        (np.array([2.0**53]), (2**53, 0)),  # it may stand for its neighbour
        ([2**53 + 1, 0.5], (2**53, 0.5)),
        (np.array([2**53 + 1]), (2.0**53, 0.0)),
        (np.array([2**63 + 1], np.uint64), (2**63, 0)),
        (np.array([3], np.int8), (259, 0)),
        (["a\0"], ("a", "b")),
        (np.array(["a\0"], object), ("a", "b")),
        (["true", "1.0"], (True, 1.5)),
        (["1e3"], (1000, 1)),
        (["+1", " 1"], (1, 0)),
        ([float("nan")], ("nan", "b")),
        ([None], ("None", "b")),
    ],
)
def test_names_that_are_merely_alike_do_not_match(labels: Any, classes: Any) -> None:
    with pytest.raises(InputError, match=r"not among the classes, the first is|no label"):
        check_labels(labels, check_classes(classes), n_rows=len(labels), name="source")


NUMBER = st.integers(-300, 300) | st.booleans() | st.floats(-9, 9).map(lambda x: round(x, 1))
NAME = NUMBER | st.text("019.-", max_size=3)


@settings(max_examples=200)
@given(
    st.lists(NAME, min_size=2, max_size=6),
    st.sampled_from([np.int8, np.uint16, np.float32, np.float64, np.bool_, "U4"]),
)
def test_every_type_of_labels_follows_the_one_rule(names: list[Any], dtype: Any) -> None:
    """What the fast ways find is what comparing texts one by one finds."""
    try:
        classes = check_classes(names)
    except InputError:
        return
    labels = np.array([0, 1, 7, -3, 250, 19], np.int64).astype(dtype)
    places = places_by_text(classes)
    expected = [find_name(label, places) for label in labels.tolist()]
    assert match_labels(labels, classes).tolist() == expected


def test_number_of_classes_must_agree() -> None:
    with pytest.raises(InputError, match=r"x: 3 score columns, but there are 2 classes. Give one column"):
        check_scores(MATRIX, name="x", classes=["a", "b"])
    with pytest.raises(InputError, match=r"target: 2 score columns, but there are 3 classes"):
        calibrate(MATRIX, [0, 1, 2], MATRIX[:, :2], epsilon=0.1, delta=0.1, method="PS-W")


BAD_RATES = [0, 1, -0.1, 1.5, np.nan, np.inf, "much", None, [0.1, 0.2], True, "0.1", b"0.1", 10**400]


@pytest.mark.parametrize("rate", [*BAD_RATES, memoryview(b"0.1")], ids=lambda rate: type(rate).__name__)
def test_rates_lie_strictly_between_0_and_1(rate: Any) -> None:
    with pytest.raises(InputError, match="epsilon must lie strictly between 0 and 1, got") as caught:
        check_rate(rate, "epsilon")
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("rate", [5e-324, 1e-307, 1e-101])
def test_rates_have_a_floor(rate: float) -> None:
    with pytest.raises(InputError, match=r"delta must be at least 1e-100, got .*no data can show so small a rate"):
        check_rate(rate, "delta")


@pytest.mark.parametrize("rate", [0.5, np.float32(0.5), np.array(0.5), Decimal("0.5")])
def test_numbers_of_any_type_are_rates(rate: Any) -> None:
    assert check_rate(rate, "epsilon") == 0.5


def test_flags() -> None:
    assert check_flag(np.True_, "never_empty") is True
    for wrong in ("no", 1, None):
        with pytest.raises(InputError, match="never_empty must be True or False, got"):
            check_flag(wrong, "never_empty")


@pytest.mark.parametrize("weights", [[1.0], [1, 2, -1], [0, 0, 0], [1, np.nan, 1], np.ones((3, 1))])
def test_weights_are_one_number_per_class(weights: Any) -> None:
    with pytest.raises(InputError, match="weights"):
        check_weights(weights, (0, 1, 2))


@pytest.mark.parametrize("rng", [-1, "seed", 0.5, [[-1]]])
def test_rng_is_a_seed_or_a_generator(rng: Any) -> None:
    with pytest.raises(InputError, match="rng must be a seed >= 0"):
        check_rng(rng)


RNG = np.random.default_rng(0)
PROBABILITIES = RNG.dirichlet(np.ones(4), 200)
LOGITS = RNG.normal(0, 4, (200, 4))
SOME = np.array([90, 60, 50, 0])  # no row of the last class


@pytest.mark.parametrize("scale", [1, 100])
def test_probabilities_and_percentages_of_an_unseen_class(scale: float) -> None:
    assert foreign_columns(scale * PROBABILITIES, SOME) == []
    assert foreign_columns((scale * PROBABILITIES).astype(np.float16), SOME) == []
    assert foreign_columns(scale * PROBABILITIES, np.array([200, 0, 0, 0])) == []
    seen = PROBABILITIES[:, :3]
    never = np.column_stack([seen / seen.sum(axis=1, keepdims=True), np.zeros(200)])
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


def test_columns_beside_logits() -> None:
    assert foreign_columns(LOGITS, SOME) == []
    assert foreign_columns(np.column_stack([LOGITS, np.arange(200)]), np.array([90, 60, 50, 0, 0])) == [4]


def test_nothing_is_said_about_classes_with_rows() -> None:
    assert foreign_columns(np.column_stack([PROBABILITIES, np.arange(200)]), np.array([1, 1, 1, 1, 1])) == []
    assert foreign_columns(LOGITS, np.zeros(4, np.int64)) == []


def test_a_long_class_name_does_not_widen_the_labels() -> None:
    """Labels are matched in the room they take, not with each as wide as the longest name."""
    labels = np.array(["ant", "bee"] * 500)
    tracemalloc.start()
    try:
        assert match_labels(labels, ("bee", "x" * 100_000, "ant")).tolist() == [2, 0] * 500
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("labels", [np.array([2, 0, 1]), [2, 0, 1], np.array([2.0, 0.0, 1.0])])
def test_labels_that_are_positions_among_named_classes_are_told_how_to_become_names(labels: Any) -> None:
    said = re.escape("The classes are 'cat', 'dog', 'owl'. If labels are positions, pass their names: ")
    with pytest.raises(InputError, match=said + re.escape("np.array(['cat', 'dog', 'owl'])[labels].")):
        Tally.from_scores(np.eye(3), labels, classes=["cat", "dog", "owl"])
    with pytest.raises(InputError, match=re.escape("np.array(['cat', 'dog', 'owl'])[target_labels].")):
        check_labels(labels, ("cat", "dog", "owl"), n_rows=3, name="target_labels")
    table = pd.DataFrame(np.eye(3), columns=["p_cat", "p_dog", "p_owl"]).assign(label=np.asarray(labels, int))
    with pytest.raises(InputError, match=said + re.escape("np.array(['cat', 'dog', 'owl'])[labels].")):
        read(table, label="label").tally()


@pytest.mark.parametrize(("labels", "classes"), [([1, 2, 3], ["a", "b", "c"]), ([0, 1, 5], [0, 1, 2])])
def test_other_labels_are_not_called_positions(labels: Any, classes: Any) -> None:
    with pytest.raises(InputError, match="Correct the labels, or name the classes as the labels do"):
        Tally.from_scores(np.eye(3), labels, classes=classes)
