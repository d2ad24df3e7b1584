"""Bad tables end in one InputError that says what, where and what to do; never in a traceback."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from pacshift import InputError, Tally
from pacshift.cli import app
from pacshift.tables import read_table, tally_table

SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
LABELS = np.array([0, 1, 2, 1, 2])


def table(scores: Any = SCORES, labels: Any = LABELS) -> Any:
    columns = {
        f"p_{place}": pa.array(column, pa.float64()) for place, column in enumerate(zip(*scores, strict=True))
    }
    return pa.table(columns | {"label": labels})


def parquet(path: Path, content: Any) -> Path:
    pq.write_table(content, path)
    return path


def no_file(folder: Path) -> Path:
    return folder / "absent.parquet"


def empty_folder(folder: Path) -> Path:
    return folder


def wrong_suffix(folder: Path) -> Path:
    (folder / "scores.xlsx").write_text("p_0,p_1\n")
    return folder / "scores.xlsx"


def no_bytes(folder: Path) -> Path:
    (folder / "a.parquet").write_bytes(b"")
    return folder / "a.parquet"


def text_called_parquet(folder: Path) -> Path:
    (folder / "a.parquet").write_text("p_0,p_1,label\n0.5,0.5,1\n")
    return folder / "a.parquet"


def truncated(folder: Path) -> Path:
    path = parquet(folder / "a.parquet", table())
    path.write_bytes(path.read_bytes()[:-40])
    return path


def truncated_second(folder: Path) -> Path:
    truncated(folder).rename(folder / "b.parquet")
    parquet(folder / "a.parquet", table())
    return folder


def damaged_page(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    path = parquet(folder / "a.parquet", table(rng.random((5000, 3)), rng.integers(0, 3, 5000)))
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    return path


def bad_feather(folder: Path) -> Path:
    (folder / "a.feather").write_bytes(b"FEA1 of long ago")
    return folder / "a.feather"


def ragged_csv(folder: Path) -> Path:
    (folder / "a.csv").write_text("p_0,p_1,label\n0.5,0.5,1\n0.5,1\n")
    return folder / "a.csv"


def words_in_csv(folder: Path) -> Path:
    rows = "0.5,0.5,1\n" * 200_000  # beyond the first block, from which Arrow guesses the types
    (folder / "a.csv").write_text(f"p_0,p_1,label\n{rows}many,0.5,1\n")
    return folder / "a.csv"


def latin_csv(folder: Path) -> Path:
    (folder / "a.csv").write_bytes("p_0,p_1,label\n0.5,0.5,é\n".encode("latin-1"))
    return folder / "a.csv"


def latin_late(folder: Path) -> Path:
    """Behind the first megabyte, by which types are guessed."""
    rows = b"0.5,0.5,0\n" * 150_000
    (folder / "a.csv").write_bytes(b"p_0,p_1,label\n" + rows + "0.5,0.5,é\n".encode("latin-1"))
    return folder / "a.csv"


def latin_names(folder: Path) -> Path:
    (folder / "a.csv").write_bytes("p_0,p_1,p_é,label\n0.5,0.5,0,1\n".encode("latin-1"))
    return folder / "a.csv"


def semicolon_csv(folder: Path) -> Path:
    (folder / "a.csv").write_text("p_0;p_1;label\n0,5;0,5;0\n")  # as spreadsheets of many countries write it
    return folder / "a.csv"


def tab_csv(folder: Path) -> Path:
    (folder / "a.csv").write_text("p_0\tp_1\tlabel\n0.5\t0.5\t0\n")
    return folder / "a.csv"


def utf16_csv(folder: Path) -> Path:
    (folder / "a.csv").write_text("p_0,p_1,label\n0.5,0.5,0\n", encoding="utf-16")
    return folder / "a.csv"


def header_only(folder: Path) -> Path:
    (folder / "a.csv").write_text("p_0,p_1,label\n")
    return folder / "a.csv"


def no_rows(folder: Path) -> Path:
    return parquet(folder / "a.parquet", table().slice(0, 0))


def no_scores(folder: Path) -> Path:
    return parquet(folder / "a.parquet", table().rename_columns(["q_0", "q_1", "q_2", "label"]))


def one_score(folder: Path) -> Path:
    return parquet(folder / "a.parquet", table().select(["p_0", "label"]))


def text_scores(folder: Path) -> Path:
    return parquet(folder / "a.parquet", table().append_column("p_name", pa.array(["x"] * 5)))


def no_label(folder: Path) -> Path:
    return parquet(folder / "a.parquet", table().drop_columns("label"))


def mixed_kinds(folder: Path) -> Path:
    parquet(folder / "a.parquet", table())
    pa.feather.write_feather(table(), folder / "b.feather")
    return folder


def missing_column(folder: Path) -> Path:
    parquet(folder / "a.parquet", table())
    parquet(folder / "b.parquet", table().drop_columns("p_1"))
    return folder


def other_type(folder: Path) -> Path:
    parquet(folder / "a.parquet", table())
    parquet(folder / "b.parquet", table(labels=LABELS.astype(str)))
    return folder


def pickled(folder: Path) -> Path:
    np.savez(folder / "a.npz", probs=SCORES, labels=np.array([object()] * 5))
    return folder / "a.npz"


def no_archive(folder: Path) -> Path:
    (folder / "a.npz").write_bytes(b"PK nothing")
    return folder / "a.npz"


def no_probs(folder: Path) -> Path:
    np.savez(folder / "a.npz", scores=SCORES)
    return folder / "a.npz"


def short_labels(folder: Path) -> Path:
    np.savez(folder / "a.npz", probs=SCORES, labels=LABELS[:3])
    return folder / "a.npz"


def label_out_of_names(folder: Path) -> Path:
    np.savez(folder / "a.npz", probs=SCORES, labels=LABELS + 1, class_names=["x", "y", "z"])
    return folder / "a.npz"


def other_archive(folder: Path) -> Path:
    np.savez(folder / "a.npz", probs=SCORES, labels=LABELS)
    np.savez(folder / "b.npz", probs=SCORES[:, :2], labels=LABELS)
    return folder


def unlabelled_archive(folder: Path) -> Path:
    np.savez(folder / "a.npz", probs=SCORES)
    return folder / "a.npz"


def damaged_column(kind: str) -> Any:
    """A column that says it reaches beyond its memory, or that holds bytes which are no text."""
    if kind == "lists":
        offsets = pa.py_buffer(np.array([0, 2**30, 6, 9, 12, 15], np.int32))
        return pa.Array.from_buffers(pa.list_(pa.float64()), 5, [None, offsets], children=[pa.array(np.ones(15))])
    if kind == "dictionary":
        codes, names = pa.array([0, 1, 2, 1, 77]), pa.array(["0", "1", "2"])
        return pa.DictionaryArray.from_arrays(codes, names, safe=False)
    return pa.array([b"0", b"1", b"2", b"1", b"\xff"]).view(pa.string())


@pytest.mark.parametrize("kind", ["lists", "dictionary", "text"])
def test_a_column_that_reaches_beyond_its_memory_is_refused(kind: str, tmp_path: Path) -> None:
    content = table().set_column(3, "label", damaged_column(kind if kind != "lists" else "text"))
    if kind == "lists":
        content = pa.table({"scores": damaged_column(kind), "label": LABELS})
    path = tmp_path / "a.feather"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, content.schema) as writer:
        writer.write_table(content)
    with pytest.raises(InputError, match=r"cannot read .*a.feather: .* Is it a whole feather file"):
        tally_table(path, label="label", scores="scores" if kind == "lists" else "p_*", classes=["0", "1", "2"])


BAD: dict[Callable[[Path], Path], str] = {
    no_file: "absent.parquet: no such file or folder",
    empty_folder: r"no table in this folder \(looked for .parquet",
    wrong_suffix: "unknown kind of table. Its name must end in .parquet",
    no_bytes: "the file is empty",
    text_called_parquet: "cannot read .*a.parquet: .* Is it a whole parquet file",
    truncated: "cannot read .*a.parquet: .* Is it a whole parquet file",
    truncated_second: "cannot read .*b.parquet: ",
    damaged_page: "cannot read .*a.parquet: ",
    bad_feather: "cannot read .*a.feather: .* Is it a whole feather file",
    ragged_csv: "cannot read .*a.csv: .*Expected 3 columns, got 2",
    words_in_csv: "cannot read .*a.csv: .*invalid value 'many'",
    latin_csv: "cannot read .*a.csv: column 'label' is not in UTF-8. Save the file in UTF-8",
    latin_late: "cannot read .*a.csv: column 'label' is not in UTF-8",
    latin_names: "cannot read .*a.csv: the names of its columns are not in UTF-8",
    semicolon_csv: "cannot read .*a.csv: its columns are separated by ';', and CSV is read with commas",
    tab_csv: "cannot read .*a.csv: its columns are separated by tabs",
    utf16_csv: "cannot read .*a.csv: it is in UTF-16, and CSV is read in UTF-8",
    header_only: "no usable row",
    no_rows: "no usable row",
    no_scores: r"fewer than two are called p_\*, and the labels '0', '1', '2' of .* have no column.*'q_2'",
    one_score: r"fewer than two are called p_\*, .* have no column of their name\. scores= takes a pattern",
    text_scores: "score column 'p_name' holds string, not numbers",
    no_label: "No column 'label'. Name the label column: label=NAME",
    mixed_kinds: "cannot mix feather and parquet files",
    missing_column: "b.parquet: no column 'p_1', but every file of a table needs one",
    other_type: "b.parquet: column 'label' is string, but int64 in .*a.parquet",
    pickled: "cannot read .*a.npz: Object arrays cannot be loaded",
    no_archive: "cannot read .*a.npz: .*np.savez",
    no_probs: "must hold numbers 'probs'",
    short_labels: r"5 rows of probs but labels of shape \(3,\)",
    label_out_of_names: "labels must lie between 0 and 2",
    other_archive: "b.npz: array 'probs' is not what it is in",
    unlabelled_archive: "No column 'labels'",
}


@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
def test_bad_tables_are_refused_with_a_reason(make: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=BAD[make]) as caught:
        tally_table(make(tmp_path), label="label")
    assert "\n" not in str(caught.value)


def test_an_empty_name_is_not_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("s.csv", "t.csv"):
        (tmp_path / name).write_text("p_0,p_1,label\n0.5,0.5,0\n0.4,0.6,1\n" + name)
    with pytest.raises(InputError, match="the empty name"):
        tally_table("", label="label")
    for words in (["calibrate", "", "t.csv"], ["tally", "s.csv", "--label="], ["monitor", "s.csv", "--state", ""]):
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 2
        assert "Is a variable of the shell not set?" in found.stderr


def test_no_paths_at_all() -> None:
    with pytest.raises(InputError, match="no table given"):
        tally_table([], label=None)


def test_every_unusable_row_is_counted_and_the_first_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 6)
    scores = [list(row) for row in SCORES]
    parquet(tmp_path / "a.parquet", table())
    scores[1][2], scores[2][0], scores[3][1] = np.nan, None, np.inf
    parquet(tmp_path / "b.parquet", table(scores, pa.array([None, 1, 2, None, 2])))
    expected = (
        r"4 row\(s\) cannot be used \(2 with no label, 3 with scores that .*\), the first is row 0 of .*b.parquet"
    )
    with pytest.raises(InputError, match=expected):
        tally_table(tmp_path, label="label")
    with pytest.raises(InputError, match=r"3 row\(s\) cannot be used .* the first is row 1 of .*b.parquet"):
        tally_table(tmp_path, label=None)
    counted = tally_table(tmp_path, label="label", drop_invalid=True)
    whole = Tally.from_scores([*SCORES, SCORES[4]], [*LABELS, LABELS[4]], grid=True)
    assert (counted.tally, counted.n_rows, counted.n_dropped) == (whole, 6, 4)
    none = parquet(tmp_path / "c.parquet", table([[np.nan] * 3], [0]))
    for drop_invalid in (False, True):  # to leave rows out is offered only where some are left
        with pytest.raises(InputError, match=r"no usable row: 1 row\(s\) cannot be used .* is needed\.$"):
            tally_table(none, label="label", drop_invalid=drop_invalid)


def test_huge_scores_are_finite(tmp_path: Path) -> None:
    huge = np.array([[1e308, 1e308], [1e308, -1e308]])  # their sum is not
    path = parquet(tmp_path / "a.parquet", pa.table({"p_0": huge[:, 0], "p_1": huge[:, 1]}))
    assert tally_table(path, label=None).tally == Tally.from_target(huge)


def test_lists_of_another_length_are_unusable(tmp_path: Path) -> None:
    lists = [[0.5, 0.5], None, [0.2], [0.1, 0.9], [0.3, None], [0.1, 0.2, 0.7]]
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64())):
        content = pa.table({"scores": pa.array(lists, kind), "label": [0, 1, 0, 1, 0, 1]})
        path = parquet(tmp_path / "a.parquet", content)
        with pytest.raises(InputError, match=r"4 row\(s\) cannot be used .* the first is row 1 of"):
            tally_table(path, label="label", scores="scores")
        loaded = read_table(path, label="label", scores="scores", drop_invalid=True)
        np.testing.assert_allclose(loaded.scores, [[0.5, 0.5], [0.1, 0.9]])
        assert loaded.labels is not None
        assert loaded.labels.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["feather", "parquet"])
def test_missing_lists_of_fixed_length_are_unusable(kind: str, tmp_path: Path) -> None:
    if kind == "parquet" and int(pa.__version__.split(".")[0]) < 25:
        pytest.skip("Arrow before 25 cannot read such a Parquet file at all")
    fixed = pa.table({"scores": pa.array([None, [0.5, 0.5], [np.nan, 1]], pa.list_(pa.float64(), 2))})
    path = tmp_path / f"a.{kind}"
    (pq.write_table if kind == "parquet" else pa.feather.write_feather)(fixed, path)
    counted = tally_table(path, label=None, scores="scores", drop_invalid=True)
    assert (counted.n_rows, counted.n_dropped) == (1, 2)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (pa.array([None, None], pa.list_(pa.float64())), "holds no list at all"),
        (pa.array([["a", "b"]]), "must hold lists of numbers, it holds list<"),
        (pa.array([[0.5], [0.5]]), "at least 2 classes are needed"),
        (pa.array([[0.5, 0.5]]), "holds lists of 2, but 3 classes are named"),
    ],
)
def test_bad_list_columns(lists: Any, message: str, tmp_path: Path) -> None:
    classes = ["a", "b", "c"] if "named" in message else None
    path = parquet(tmp_path / "a.parquet", pa.table({"scores": lists}))
    with pytest.raises(InputError, match=message):
        tally_table(path, label=None, scores="scores", classes=classes)


def test_labels_without_a_column_are_never_dropped(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", table(labels=[0, 1, 7, 8, 2]))
    expected = (
        r"2 label\(s\) have no score column, the first is 7 in row 2 of .*a.parquet. The classes are 0, 1, 2"
    )
    for drop in (False, True):
        with pytest.raises(InputError, match=expected):
            tally_table(path, label="label", drop_invalid=drop)


def test_a_label_that_is_no_number_is_no_label(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", table(labels=[0.0, np.nan, 2.0, np.nan, 1.0]))
    with pytest.raises(InputError, match=r"2 row\(s\) cannot be used \(2 with no label\), the first is row 1"):
        tally_table(path, label="label")


def test_classes_that_are_not_the_columns(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", table())
    with pytest.raises(InputError, match=re.escape("no score column for class 'x'")):
        tally_table(path, label=None, classes=["0", "1", "x"])
    with pytest.raises(InputError, match="no score column for class 3: 3 score columns"):
        tally_table(path, label=None, classes=range(4))
    with pytest.raises(InputError, match="class names must differ"):
        tally_table(path, label=None, classes=[0, 0, 1])
