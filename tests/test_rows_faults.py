"""Bad tables end in one InputError that says what, where and what to do; never in a traceback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from pacshift import InputError, Tally, read
from pacshift.cli import app

SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
LABELS = np.array([0, 1, 2, 1, 2])


def table(scores: Any = SCORES, labels: Any = LABELS) -> Any:
    places = enumerate(zip(*scores, strict=True))
    columns = {f"p_{place}": pa.array(column, pa.float64()) for place, column in places}
    return pa.table(columns | {"label": labels})


def parquet(path: Path, content: Any) -> Path:
    pq.write_table(content, path)
    return path


def no_file(folder: Path) -> Path:
    return folder / "absent.parquet"


def empty_folder(folder: Path) -> Path:
    return folder


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


def mixed_kinds(folder: Path) -> Path:
    parquet(folder / "a.parquet", table())
    pa.feather.write_feather(table(), folder / "b.feather")
    return folder


def other_archive(folder: Path) -> Path:
    np.savez(folder / "a.npz", probs=SCORES, labels=LABELS)
    np.savez(folder / "b.npz", probs=SCORES[:, :2], labels=LABELS)
    return folder


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
        read(path, label="label", scores="scores" if kind == "lists" else "p_*", classes=["0", "1", "2"]).tally()


FOLDERS: dict[Callable[[Path], Path], str] = {
    no_file: "absent.parquet: no such file or folder",
    empty_folder: r"no table in this folder \(looked for .parquet",
    truncated: "cannot read .*a.parquet: .* Is it a whole parquet file",
    truncated_second: "cannot read .*b.parquet: ",
    damaged_page: "cannot read .*a.parquet: ",
    mixed_kinds: "cannot mix feather and parquet files",
    other_archive: "b.npz: column 'probs' is .*, but .* in",
}
HEAD, ROW = b"p_0,p_1,label\n", b"0.5,0.5,1\n"
LATIN = "0.5,0.5,é\n".encode("latin-1")
CONTENTS: dict[str, tuple[str, bytes, str]] = {
    "wrong suffix": ("a.xlsx", HEAD, "unknown file type. Use .parquet"),
    "no bytes": ("a.parquet", b"", "the file is empty"),
    "text": ("a.parquet", HEAD + ROW, "cannot read .*a.parquet: .* Is it a whole parquet file"),
    "old feather": ("a.feather", b"FEA1 of long ago", "cannot read .*a.feather: .* Is it a whole feather file"),
    "no archive": ("a.npz", b"PK nothing", "cannot read .*a.npz: .*np.savez"),
    "ragged": ("a.csv", HEAD + ROW + b"0.5,1\n", "cannot read .*a.csv: .*Expected 3 columns, got 2"),
    # Beyond the first block or megabyte, from which Arrow guesses the types.
    "words": ("a.csv", HEAD + ROW * 200_000 + b"many,0.5,1\n", "cannot read .*a.csv: .*invalid value 'many'"),
    "Latin-1 late": (
        "a.csv",
        HEAD + ROW * 150_000 + LATIN,
        "cannot read .*a.csv: .*column #2.* Is it a whole csv file in UTF-8",
    ),
    "Latin-1": ("a.csv", HEAD + LATIN, "cannot read .*: .*column #2.* Is it a whole csv file in UTF-8"),
    "Latin-1 names": (
        "a.csv",
        "p_0,p_1,p_é,label\n0.5,0.5,0,1\n".encode("latin-1"),
        "cannot read .*a.csv: 'utf-8' codec.* Is it a whole csv file in UTF-8",
    ),
    "semicolons": (  # as spreadsheets of many countries write it
        "a.csv",
        b"p_0;p_1;label\n0,5;0,5;0\n",
        "cannot read .*a.csv: its columns are separated by ';', and CSV is read with commas",
    ),
    "tabs": ("a.csv", HEAD.replace(b",", b"\t"), "cannot read .*a.csv: its columns are separated by tabs"),
    "UTF-16": (
        "a.csv",
        (HEAD + ROW).decode().encode("utf-16"),
        "cannot read .*a.csv: it is in UTF-16, and CSV is read in UTF-8",
    ),
    "header only": ("a.csv", HEAD, "no usable row"),
}
TABLES: dict[str, tuple[list[Any], str]] = {
    "no rows": ([table().slice(0, 0)], "no usable row"),
    "text": (
        [table().append_column("p_name", pa.array(["x"] * 5))],
        "score column 'p_name' holds string, not numbers",
    ),
    "no column": ([table(), table().drop_columns("p_1")], "b.parquet: no column 'p_1', but every table needs one"),
    "types": (
        [table(), table(labels=LABELS.astype(str))],
        "b.parquet: column 'label' is string, but int64 in .*a.parquet",
    ),
}


def refuse(path: Path, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(path, label="label").tally()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", FOLDERS, ids=lambda make: make.__name__)
def test_bad_files_and_folders_are_refused_with_a_reason(make: Callable[[Path], Path], tmp_path: Path) -> None:
    refuse(make(tmp_path), FOLDERS[make])


@pytest.mark.parametrize("case", CONTENTS)
def test_bad_contents_are_refused_with_a_reason(case: str, tmp_path: Path) -> None:
    name, content, message = CONTENTS[case]
    (tmp_path / name).write_bytes(content)
    refuse(tmp_path / name, message)


@pytest.mark.parametrize("case", TABLES)
def test_bad_tables_are_refused_with_a_reason(case: str, tmp_path: Path) -> None:
    parts, message = TABLES[case]
    for name, part in zip("ab", parts, strict=False):
        parquet(tmp_path / f"{name}.parquet", part)
    refuse(tmp_path, message)


def test_an_empty_name_is_not_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("s.csv", "t.csv"):
        (tmp_path / name).write_text("p_0,p_1,label\n0.5,0.5,0\n0.4,0.6,1\n" + name)
    with pytest.raises(InputError, match="the empty name"):
        read("", label="label").tally()
    for words in (["calibrate", "", "t.csv"], ["tally", "s.csv", "--label="], ["monitor", "s.csv", "--state", ""]):
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 2
        assert "Is a variable of the shell not set?" in found.stderr


def test_no_paths_at_all() -> None:
    with pytest.raises(InputError, match="no table given"):
        read([]).tally()


def test_unusable_rows_are_counted_and_the_first_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 6)
    monkeypatch.setattr("pacshift.tally.counter.PIECE_VALUES", 3)  # what stands before a bad row is counted
    scores = [list(row) for row in SCORES]
    parquet(tmp_path / "a.parquet", table())
    scores[1][2], scores[2][0], scores[3][1] = np.nan, None, np.inf
    parquet(tmp_path / "b.parquet", table(scores, pa.array([None, 1, 2, None, 2])))
    expected = r"4 rows? cannot be used \(2 with no label, 3 with scores .*, the first is row 0 of .*b.parquet"
    with pytest.raises(InputError, match=expected):
        read(tmp_path, label="label").tally()
    with pytest.raises(InputError, match=r"3 rows? cannot be used .* the first is row 1 of .*b.parquet"):
        read(tmp_path).tally()
    counted = read(tmp_path, label="label", drop_invalid=1.0).tally()
    whole = Tally.from_scores([*SCORES, SCORES[4]], [*LABELS, LABELS[4]], grid=True)
    assert counted == whole
    assert [(one.rows, one.left_out) for one in counted.inputs] == [(5, 0), (1, 4)]
    none = parquet(tmp_path / "c.parquet", table([[np.nan] * 3], [0]))
    for drop_invalid in (False, True):  # to leave rows out is offered only where some are left
        with pytest.raises(InputError, match=r"no usable row: 1 rows? cannot be used .* is needed\.$"):
            read(none, label="label", drop_invalid=drop_invalid).tally()


def test_huge_scores_are_finite(tmp_path: Path) -> None:
    huge = np.array([[3.4e38, 3.4e38], [3.4e38, -3.4e38]], np.float32)  # their sum is not
    path = parquet(tmp_path / "a.parquet", pa.table({"p_0": huge[:, 0], "p_1": huge[:, 1]}))
    assert read(path).tally() == Tally.from_target(huge)


def test_lists_of_another_length_are_unusable(tmp_path: Path) -> None:
    lists = [[0.5, 0.5], None, [0.2], [0.1, 0.9], [0.3, None], [0.1, 0.2, 0.7]]
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64())):
        content = pa.table({"scores": pa.array(lists, kind), "label": [0, 1, 0, 1, 0, 1]})
        path = parquet(tmp_path / "a.parquet", content)
        with pytest.raises(InputError, match=r"4 rows? cannot be used .* the first is row 1 of"):
            read(path, label="label", scores="scores").tally()
        found, names = read(path, label="label", scores="scores", drop_invalid=1.0).arrays()
        np.testing.assert_allclose(found, [[0.5, 0.5], [0.1, 0.9]])
        assert names.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["feather", "parquet"])
def test_missing_lists_of_fixed_length_are_unusable(kind: str, tmp_path: Path) -> None:
    if kind == "parquet" and int(pa.__version__.split(".")[0]) < 25:
        pytest.skip("Arrow before 25 cannot read such a Parquet file at all")
    fixed = pa.table({"scores": pa.array([None, [0.5, 0.5], [np.nan, 1]], pa.list_(pa.float64(), 2))})
    path = tmp_path / f"a.{kind}"
    (pq.write_table if kind == "parquet" else pa.feather.write_feather)(fixed, path)
    counted = read(path, scores="scores", drop_invalid=1.0).tally()
    assert [(one.rows, one.left_out) for one in counted.inputs] == [(1, 2)]


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
        read(path, scores="scores", classes=classes).tally()


def test_labels_without_a_column_are_never_dropped(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", table(labels=[0, 1, 7, 8, 2]))
    expected = r"2 labels not among the classes, the first is 7 in row 2 of .*a.parquet. The classes are 0, 1, 2"
    for drop in (False, True):
        with pytest.raises(InputError, match=expected):
            read(path, label="label", drop_invalid=drop).tally()


def test_a_label_that_is_no_number_is_no_label(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", table(labels=[0.0, np.nan, 2.0, np.nan, 1.0]))
    with pytest.raises(InputError, match=r"2 rows? cannot be used \(2 with no label\), the first is row 1"):
        read(path, label="label").tally()


@pytest.mark.parametrize("batch", [64, 1 << 20])
def test_only_a_few_groups_are_left_out(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows may be half of the groups. A group that has another row is not left out."""
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", batch)
    scores = np.full((1000, 2), 0.5)
    scores[900:950] = np.nan
    for others, lost in ((np.arange(100), 50), (np.arange(100) // 10, 5), (np.arange(100) % 50, 0)):
        groups = np.append(np.zeros(900, int), 1 + others)
        frame = pa.table({"p_a": scores[:, 0], "p_b": scores[:, 1], "patient": groups})
        if lost:
            n_groups = len(np.unique(groups))
            with pytest.raises(InputError, match=rf"{lost} groups have no row .* of {n_groups} groups, and"):
                read(frame, group="patient", drop_invalid=True).tally()
        drop = lost / len(np.unique(groups)) if lost else True
        assert read(frame, group="patient", drop_invalid=drop).tally().n_target == len(np.unique(groups)) - lost


@pytest.mark.parametrize("group", [None, "patient"])
def test_only_a_few_rows_are_left_out(group: str | None) -> None:
    """With groups it is the share of all rows, not of those that were chosen, and that of the groups."""
    scores = np.full((200, 2), 0.5)
    scores[:20] = np.nan
    frame = pa.table({"p_a": scores[:, 0], "p_b": scores[:, 1], "patient": np.arange(200) // 10})
    said = r"20 rows cannot be used .* 10 % of 200 rows, and at most 5 % may be left out: nothing is promised"
    with pytest.raises(InputError, match=said):
        read(frame, group=group, drop_invalid=True).tally()
    with pytest.raises(InputError, match=r"at most 9\.9 % may be left out"):
        read(frame, group=group, drop_invalid=0.099).tally()
    assert read(frame, group=group, drop_invalid=0.1).tally().n_target == (180 if group is None else 18)
    few = frame.slice(10)
    with pytest.raises(InputError, match=r"5\.26 % of 190 rows"):
        read(few, group=group, drop_invalid=True).tally()
    most = 0.05 if group is None else 1 / 19
    assert read(frame.slice(11), group=group, drop_invalid=most).tally().n_target == (180 if group is None else 18)
    for wrong in (-0.1, 1.5, float("nan"), "yes", None):
        number = isinstance(wrong, float)
        rule = "=SHARE must lie between 0 and 1" if number else " must be True, False or the share"
        with pytest.raises(InputError, match=f"drop_invalid{rule}"):
            read(frame, drop_invalid=wrong)  # type: ignore[arg-type]
