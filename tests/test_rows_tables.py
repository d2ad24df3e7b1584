"""However a table is stored and cut into files and batches, its counts are those of memory, bit for bit."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pacshift import InputError, Tally, read
from pacshift.arrays import FloatArray, IntArray
from pacshift.parallel import cores, map_in_order
from pacshift.rows.arrow import formats
from pacshift.rows.arrow.find import class_names
from pacshift.tally import stores

SAVE: dict[str, Callable[[Any, Path], Any]] = {
    "parquet": pq.write_table,
    "feather": pa.feather.write_feather,
    "csv": pa.csv.write_csv,
}


def simulate(n_rows: int, n_classes: int, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Probabilities with ties, exact zeros and ones, and very small ones."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    logits = rng.normal(scale=rng.choice([0.0, 1.0, 40.0], (n_rows, 1)), size=(n_rows, n_classes))
    logits[np.arange(n_rows), labels] += 2
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True), labels


def as_table(scores: NDArray[Any], **columns: Any) -> Any:
    return pa.table({f"p_{place}": column for place, column in enumerate(scores.T)} | columns)


def save(table: Any, path: Path) -> Path:
    SAVE[path.suffix[1:]](table, path)
    return path


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["parquet", "feather", "csv"]),
    st.lists(st.integers(0, 300), max_size=4),
    st.integers(1, 900),
)
def test_files_and_batches_change_nothing(seed: int, kind: str, cuts: list[int], batch_values: int) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = simulate(300, int(rng.integers(2, 6)), seed)
    pieces = [piece for piece in np.split(np.arange(300), sorted(cuts)) if len(piece) or kind != "csv"]
    table = as_table(scores, label=labels)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", batch_values)
        patch.setattr(stores, "MAX_PENDING_KEYS", 50)
        for number, piece in enumerate(pieces):
            save(table.take(pa.array(piece, pa.int64())), Path(folder, f"{rng.integers(1000)}_{number}.{kind}"))
        whole = read(folder, label="label").tally()
        assert whole == Tally.from_scores(scores, labels, grid=True)
        assert read(folder).tally() == Tally.from_target(scores)


def test_flags_are_names_of_classes(tmp_path: Path) -> None:
    scores, labels = simulate(400, 2)
    flags = pa.table({"p_False": scores[:, 0], "p_True": scores[:, 1], "label": labels.astype(bool)})
    expected = Tally.from_scores(scores, np.array(["False", "True"])[labels], classes=["False", "True"], grid=True)
    assert read(save(flags, tmp_path / "flags.parquet"), label="label").tally() == expected


def test_class_names_come_from_the_star() -> None:
    assert class_names(["p_10", "p_2"], "p_*") == (10, 2)
    assert class_names(["p_a", "p_2"], "p_*") == ("a", "2")
    assert class_names(["a.score", "b.score"], "*.score") == ("a", "b")
    assert class_names(["p_1", "p_01"], "p_*") == ("1", "01")
    assert class_names(["p_1", "q_1"], "?_1") == ("p_1", "q_1")


def test_numbered_columns_are_ordered_by_number_and_named_ones_by_place(tmp_path: Path) -> None:
    scores, _ = simulate(50, 12)
    shuffled = np.random.default_rng(1).permutation(12)
    path = save(as_table(scores).select([f"p_{place}" for place in shuffled]), tmp_path / "table.parquet")
    assert read(path).tally() == Tally.from_target(scores)
    assert read(path, classes=range(11, -1, -1)).tally().classes == tuple(range(11, -1, -1))
    loaded = read(path, classes=["3", "1"] + [str(place) for place in range(12) if place not in (1, 3)])
    np.testing.assert_array_equal(loaded.arrays()[0][:, :2], scores[:, [3, 1]])
    named = save(pa.table({"p_b": scores[:, 0], "p_a": scores[:, 1]}), tmp_path / "named.parquet")
    assert read(named).tally().classes == ("b", "a")


def test_progress_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 300)
    scores, labels = simulate(1000, 3)
    reported: list[tuple[int, int | None]] = []
    for kind, total in (("parquet", 1000), ("csv", None)):
        path = save(as_table(scores, label=labels), tmp_path / f"table.{kind}")
        read(path, label="label", progress=lambda done, of: reported.append((done, of))).tally()
        assert reported[-1] == (1000, total)
    assert reported[0] == (100, 1000)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_memory_holds_but_a_few_batches(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 20_000)
    scores, labels = simulate(100_000, 10)
    path, table = tmp_path / f"table.{kind}", as_table(scores, label=labels)
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=4000)
    else:
        pa.feather.write_feather(table, path, chunksize=4000)
    held = pa.total_allocated_bytes()
    seen: list[int] = []
    monkeypatch.setattr("pacshift.rows.arrow.table.MAX_KEPT_BYTES", 0)
    read(path, label="label", progress=lambda *_: seen.append(pa.total_allocated_bytes() - held)).tally()
    assert len(seen) >= 10
    assert max(seen) < table.nbytes / 2


def test_only_a_few_jobs_run_ahead_of_the_reader() -> None:
    asked: list[int] = []

    def jobs() -> Iterator[Callable[[], int]]:
        for number in range(100):
            asked.append(number)
            yield lambda number=number: number  # type: ignore[misc]

    for result in map_in_order(jobs()):
        assert len(asked) - result <= cores() + 3
    assert asked == list(range(100))


def test_folders_are_read_without_what_others_leave_there(tmp_path: Path) -> None:
    scores, labels = simulate(100, 3)
    table = as_table(scores, label=labels)
    (tmp_path / "part=1").mkdir()
    save(table.slice(0, 60), tmp_path / "part=1" / "a.parquet")
    save(table.slice(60), tmp_path / "b.parquet")
    for litter in ("_SUCCESS", ".b.parquet.crc", "_metadata.parquet", "Thumbs.db", "desktop.ini", "notes.txt"):
        (tmp_path / litter).write_text("no table")
    with pytest.warns(UserWarning, match=r"left out, because these are no tables: '[^,]*notes\.txt'\.$") as caught:
        rows = read(tmp_path, label="label")
    assert caught[0].filename == __file__
    assert rows.tally() == Tally.from_scores(scores, labels, grid=True)


def csv_files(folder: Path, texts: Sequence[str]) -> list[Path]:
    paths = [folder / f"{number}.csv" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text("p_0,p_1,label\n" + text)
    return paths


def test_csv_types_are_those_of_all_files_together(tmp_path: Path) -> None:
    paths = csv_files(tmp_path, ["1,0,0\n0,1,1\n", "0.25,0.75,1\n"])
    expected = Tally.from_scores([[1, 0], [0, 1], [0.25, 0.75]], [0, 1, 1], grid=True)
    assert read(paths, label="label").tally() == expected
    with pytest.raises(InputError, match=r"1 label not among the classes, the first is 'cat' in row 0 of .*1.csv"):
        read(csv_files(tmp_path, ["1,0,0\n", "0.5,0.5,cat\n"]), label="label").tally()


@pytest.mark.parametrize("max_bytes", [0, 1 << 25])
def test_groups_of_lists_are_read_in_order(max_bytes: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(formats, "MAX_GROUP_BYTES", max_bytes)
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 100)
    scores, labels = simulate(500, 4)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), 4)
    pq.write_table(pa.table({"scores": lists, "label": labels}), tmp_path / "table.parquet", row_group_size=60)
    found, names = read(tmp_path / "table.parquet", label="label", scores="scores").arrays()
    assert read(tmp_path / "table.parquet", scores="scores").arrays()[1] is None
    assert np.array_equal(found, scores)
    assert np.array_equal(names, labels)
