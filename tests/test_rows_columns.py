"""Columns of a table are found by name, in whatever order they stand, or refused with the rule and the columns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pacshift import Certificate, InputError, Tally, check, read, write_sets
from pacshift.rows.arrow.find import ColumnsError
from pacshift.rows.columns import Columns
from score_tables import EXPECTED, LABELS, LOGITS, NAMES, RNG, SCORES, labelled, save, table, unlike_its_columns


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather"])
def test_columns_named_as_the_labels_need_no_options(kind: str, tmp_path: Path) -> None:
    path = save(labelled("*", id=np.arange(300), age=RNG.integers(20, 90, 300)), tmp_path / f"a.{kind}")
    rows = read(path, label="label")
    assert (rows.tally(), rows.bind(name="source", role="source").columns) == (EXPECTED, Columns(NAMES, "label"))
    assert read(path, classes=NAMES).arrays()[0].tolist() == SCORES.tolist()  # without labels, by the classes


def test_a_class_that_comes_late_is_found_and_one_that_never_comes_is_asked_for(tmp_path: Path) -> None:
    order = np.argsort(LABELS == 2, kind="stable")
    late = save(labelled("*").take(pa.array(order)), tmp_path / "late.parquet")
    assert read(late, label="label").tally() == EXPECTED
    never = labelled("*", weight=RNG.random(300)).filter(pa.array(LABELS < 2))
    for content, unclear in ((never.drop_columns("weight"), "'eel'"), (never, "'eel', 'weight'")):
        with pytest.raises(ColumnsError, match=rf"{unclear} may be scores too"):  # rows do not add up without it
            read(save(content, tmp_path / "never.parquet"), label="label")


def test_logits_named_as_the_labels(tmp_path: Path) -> None:
    columns = table("*", scores=LOGITS, label=np.array(NAMES)[LABELS], age=RNG.uniform(50, 90, 300))
    path = save(columns, tmp_path / "a.csv")
    assert read(path, label="label").tally().classes == NAMES


def test_numbers_as_names(tmp_path: Path) -> None:
    path = save(table("*", (2, 0, 1), SCORES[:, [2, 0, 1]], label=LABELS), tmp_path / "a.csv")
    assert read(path, label="label").tally() == Tally.from_scores(SCORES, LABELS, grid=True)


@pytest.mark.parametrize(
    ("scores", "pattern"),
    [
        ("prob_*", "prob_*"),
        ("eel,cat,dog", "*"),
        ("p_eel, p_cat, p_dog", "p_*"),
        ("*_score", "*_score"),
        ("c*,d*,e*", "*"),
    ],
)
def test_scores_take_a_pattern_or_a_comma_list(scores: str, pattern: str, tmp_path: Path) -> None:
    path = save(labelled(pattern, id=np.arange(300)), tmp_path / "a.parquet")
    assert read(path, label="label", scores=scores, classes=NAMES).tally() == EXPECTED


def test_a_column_whose_name_has_a_comma(tmp_path: Path) -> None:
    lists = pa.table({"p,q": SCORES.tolist(), "label": LABELS})
    path = save(lists, tmp_path / "a.parquet")
    assert read(path, label="label", scores="p,q").tally() == Tally.from_scores(SCORES, LABELS, grid=True)


@pytest.fixture
def certificate() -> Certificate:
    return unlike_its_columns()


def test_a_certificate_requires_its_columns(certificate: Certificate, tmp_path: Path) -> None:
    """Calibrate on p_cat, p_dog with classes x, y; predict on p_dog, p_cat: that went by position."""
    turned = save(table("p_*", NAMES[::-1], SCORES[:, ::-1]), tmp_path / "turned.parquet")
    write_sets(certificate, turned, tmp_path / "sets.parquet")
    expected = [[c for c, inside in zip("xyz", row, strict=True) if inside] for row in certificate.sets(SCORES)]
    assert pq.read_table(tmp_path / "sets.parquet")["set"].to_pylist() == expected
    frame = pq.read_table(turned).append_column("note", pa.array(["text"] * 300))
    for frames in (frame, frame.to_pandas()):
        assert np.array_equal(certificate.sets(frames), certificate.sets(SCORES))
    other = save(table("q_*"), tmp_path / "other.parquet")
    with pytest.raises(ColumnsError, match=r"read from the columns 'p_cat', .* table has no column 'p_cat'"):
        write_sets(certificate, other, tmp_path / "more.parquet")
    write_sets(certificate, other, tmp_path / "asked.parquet", scores="q_cat,q_dog,q_eel")
    assert pq.read_table(tmp_path / "asked.parquet")["set"].to_pylist() == expected
    with pytest.raises(InputError, match=r"no score column for class 'x', 'y', 'z'"):
        write_sets(certificate, other, tmp_path / "more.parquet", scores="q_*")


def test_a_table_is_checked_by_the_columns_of_the_certificate(certificate: Certificate, tmp_path: Path) -> None:
    marked = table(label=np.array(["x", "y", "z"])[LABELS], truth=["?"] * 300)
    missed = int((~certificate.sets(SCORES)[np.arange(300), LABELS]).sum())
    rows = read(save(marked, tmp_path / "a.parquet"), label="label", like=certificate)
    found = check(certificate, rows).evaluation
    assert round(found.error * 300) == missed
    others = marked.drop_columns("truth").rename_columns([*marked.column_names[:3], "y"])
    renamed = save(others, tmp_path / "b.parquet")
    assert check(certificate, read(renamed, label="y", like=certificate)).error == found.error


def test_columns_go_by_their_order_only_if_they_are_listed(tmp_path: Path) -> None:
    path = save(table(label=np.array(["x", "y", "z"])[LABELS]), tmp_path / "a.parquet")
    expected = Tally.from_scores(SCORES, np.array(["x", "y", "z"])[LABELS], classes=["x", "y", "z"], grid=True)
    options: dict[str, Any] = {"label": "label", "classes": ["x", "y", "z"]}
    assert read(path, **options, scores="p_cat,p_dog,p_eel").tally() == expected
    with pytest.raises(InputError, match=r"no score column for class 'x', 'y', 'z'.*with by_position=True\.$"):
        read(path, **options).tally()
    assert read(path, **options, by_position=True).tally() == expected
    with pytest.raises(InputError, match="3 score columns but 2 classes: matched in their order"):
        read(path, classes=["x", "y"], scores="p_cat,p_dog,p_eel").tally()
    turned = read(path, classes=["dog", "cat", "eel"], scores="p_cat,p_dog,p_eel").tally()
    assert turned == Tally.from_target(SCORES[:, [1, 0, 2]], classes=["dog", "cat", "eel"])  # names come first
    with pytest.raises(InputError, match="no score column for class 'x'"):
        read(path, classes=["x", "cat", "eel"], scores="p_cat,p_dog,p_eel").tally()


REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "pattern": (
        lambda: labelled("prob_*"),
        {},
        r"have no column of their name\. scores= takes a pattern.*'prob_cat'",
    ),
    "list column": (
        lambda: pa.table({"probs": SCORES.tolist(), "label": LABELS}),
        {},
        r"the labels '0', '1', '2' of column 'label' have no column of their name.* The columns are 'probs'\.$",
    ),
    "wrong pattern": (
        lambda: labelled(),
        {"scores": "q_*"},
        r"scores='q_\*' match no column: they must match two",
    ),
    "wrong list": (
        lambda: labelled("*"),
        {"scores": "cat,cow"},
        "match 'cat', and there is no column 'cow'.* The columns are 'cat', 'dog', 'eel'",
    ),
    "label": (
        lambda: labelled().rename_columns(["p_cat", "p_dog", "p_eel", "animal"]),
        {},
        "no column 'label'. Name the label column: label=NAME. The columns are 'p_cat', .*, 'animal'",
    ),
    "unlabelled": (
        lambda: table("s*", range(3)),
        {"label": None},
        r"fewer than two are called p_\*\. scores= takes",
    ),
    "unlabelled with classes": (
        lambda: table("s*", range(3)),
        {"label": None, "classes": NAMES},
        "and none after the classes 'cat', 'dog', 'eel'",  # which column is which is never guessed
    ),
    "one column": (lambda: table().select(["p_cat"]), {"label": None}, "fewer than two are called"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_where_columns_cannot_be_known_the_error_says_the_rule_and_the_columns(case: str, tmp_path: Path) -> None:
    make, options, message = REFUSED[case]
    path = save(make(), tmp_path / "a.parquet")
    with pytest.raises(ColumnsError, match=message):
        read(path, **{"label": "label", **options}).tally()


def test_an_id_is_no_class(tmp_path: Path) -> None:
    """--scores '*' certified a table with its id as a class."""
    path = save(labelled("*", id=np.arange(300) + 1000), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"'id' does not look like scores: no row has this label"):
        read(path, label="label", scores="*").tally()
    frame = pq.read_table(path).drop_columns("label")
    with pytest.raises(InputError, match="source: column 'id' does not look like scores"):
        Tally.from_scores(frame, np.array(NAMES)[LABELS])
    named = read(path, label="label", scores="*", classes=[*NAMES, "id"]).tally()  # somebody says that it is one
    assert named.classes == (*NAMES, "id")


ODD: dict[str, tuple[Any, str]] = {
    "no label": ("cat,dog,label\n.9,.1,\n.2,.8,\n", "column 'label' holds no label at all"),
    "no rows": ("cat,dog,label\n", "column 'label' holds no label at all"),
    "one label": (
        "cat,label\n.9,cat\n.2,cat\n",
        "all rows have the label 'cat', but at least 2 classes are needed",
    ),
    "words": ("cat,dog,label\n.9,x,cat\n.2,.8,dog\n", "score column 'dog' holds string, not numbers"),
    "space": ("cat,dog,label\n.9,.1, cat\n.2,.8,dog\n", "the labels ' cat' of column 'label' have no column"),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_tables_are_refused_with_the_reason(case: str, tmp_path: Path) -> None:
    text, message = ODD[case]
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.csv", label="label").tally()


def test_odd_tables_that_work(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffcat,dog,note,note,label\n.9,.1,1.5,2.5,cat\n.2,.8,1.5,2.5,dog\n")
    assert read(tmp_path / "a.csv", label="label").tally().class_counts.tolist() == [1, 1]


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("cat,dog,cat\n.9,.1,.1\n.2,.8,.1\n")
    for scores in (None, "cat,dog", "*", "cat,d*"):
        with pytest.raises(InputError, match=r"2 columns are called 'cat'.*Rename"):
            read(tmp_path / "a.csv", classes=["cat", "dog"], scores=scores)


@pytest.mark.parametrize("wrong", [None, 3, [[0.1, 0.9]], {"a": 1}.items()])
def test_what_is_no_table(wrong: Any) -> None:
    with pytest.raises(InputError, match="a table is a file, a folder, a list of them, or a frame, got"):
        read(wrong).tally()


@pytest.mark.parametrize("pattern", ["p_*", "*"])
def test_a_table_with_other_columns_is_matched_by_the_names_of_the_classes(pattern: str, tmp_path: Path) -> None:
    source = read(save(labelled("*_prob"), tmp_path / "s.csv"), label="label", scores="*_prob")
    names = [pattern.replace("*", name) for name in reversed(NAMES)]  # in another order
    other = pa.table(dict(zip(names, SCORES[:, ::-1].T, strict=True)))
    target = read(save(other, tmp_path / "t.csv"), like=source)
    assert (source.classes, target.classes) == (NAMES, NAMES)
    assert target.arrays()[0].tolist() == SCORES.tolist()


def test_some_columns_of_the_source_or_other_classes_are_no_match(tmp_path: Path) -> None:
    source = read(save(labelled("*_prob"), tmp_path / "s.csv"), label="label", scores="*_prob")
    for number, names in enumerate((["p_ant", "p_bee", "p_cow"], [f"{NAMES[0]}_prob", "p_a", "p_b"], NAMES[:2])):
        other = pa.table(dict.fromkeys(names, SCORES[:, 0]))
        said = r"nor columns p_NAME or NAME for each of the classes 'cat'"
        with pytest.raises(ColumnsError, match=said):
            read(save(other, tmp_path / f"{number}.csv"), like=source)
