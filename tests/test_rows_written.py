"""Sets written to a file are those of memory, in order, or there is no file."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pacshift import Certificate, InputError, Tally, calibrate, write_sets

CLASSES = ("ant", "bee", "cow")
RNG = np.random.default_rng(8)
SCORES = RNG.dirichlet([1, 1, 1], 1000)
LABELS = np.array(CLASSES)[(RNG.random((1000, 1)) > SCORES.cumsum(axis=1)).sum(axis=1).clip(max=2)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 300)


def calibrated(score: str = "probability") -> Certificate:
    tally = Tally.from_scores(SCORES, LABELS, classes=CLASSES, grid=True, score=score)
    return calibrate(tally, epsilon=0.2, delta=0.1, method="PS")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    columns: dict[str, Any] = {f"p_{name}": SCORES[:, place] for place, name in enumerate(CLASSES)}
    pq.write_table(pa.table(columns | {"id": np.arange(1000), "who": LABELS}), tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


def names(sets: Any) -> list[list[str]]:
    return [[name for name, inside in zip(CLASSES, row, strict=True) if inside] for row in sets]


def read_back(path: Path) -> Any:
    if path.suffix == ".csv":
        return pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(strings_can_be_null=True))
    return pq.read_table(path) if path.suffix == ".parquet" else pa.feather.read_table(path)


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "csv"])
def test_sets_are_those_of_memory(kind: str, table: Path, tmp_path: Path) -> None:
    certificate, output = calibrated(), tmp_path / f"sets.{kind}"
    written = write_sets(certificate, table, output, keep=["id", "p_bee", "who"])
    result, expected = read_back(output), names(certificate.sets(SCORES))
    assert result.column_names == ["id", "p_bee", "who", "set", "set_size"]
    assert result["id"].to_pylist() == list(range(1000))
    assert result["p_bee"].to_pylist() == SCORES[:, 1].tolist()
    assert result["who"].to_pylist() == LABELS.tolist()
    shown = [";".join(row) or None for row in expected] if kind == "csv" else expected
    assert [one or None for one in result["set"].to_pylist()] == [one or None for one in shown]
    assert result["set_size"].to_pylist() == [len(row) for row in expected]
    assert (written.n_rows, written.n_dropped) == (1000, 0)
    assert written.set_sizes.tolist() == np.bincount([len(row) for row in expected], minlength=4).tolist()


def test_unusable_rows_leave_no_file_or_are_left_out(tmp_path: Path) -> None:
    scores = SCORES.copy()
    scores[::10, 1] = np.nan
    columns: dict[str, Any] = {f"p_{name}": scores[:, place] for place, name in enumerate(CLASSES)}
    pq.write_table(pa.table(columns | {"id": np.arange(1000)}), tmp_path / "table.parquet")
    certificate, output = calibrated(), tmp_path / "sets.parquet"
    with pytest.raises(InputError, match=r"100 rows? cannot be used"):
        write_sets(certificate, tmp_path / "table.parquet", output)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]  # no draft either
    written = write_sets(certificate, tmp_path / "table.parquet", output, keep=["id"], drop_invalid=1.0)
    assert (written.n_rows, written.n_dropped) == (900, 100)
    kept = pq.read_table(output)["id"].to_numpy()
    assert kept.tolist() == [row for row in range(1000) if row % 10]
    assert pq.read_table(output)["set"].to_pylist() == names(certificate.sets(SCORES[kept]))


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "csv"])
@pytest.mark.parametrize("as_frame", [False, True], ids=["file", "stream"])
def test_rows_without_a_set_can_be_kept_in_their_place(kind: str, as_frame: bool, tmp_path: Path) -> None:
    scores = SCORES.copy()
    scores[::10, 1], scores[:150] = np.inf, np.nan  # the first batch has 100 rows, and none that can be used
    columns: dict[str, Any] = {f"p_{name}": scores[:, place] for place, name in enumerate(CLASSES)}
    content = pa.table(columns | {"id": np.arange(1000)})
    pq.write_table(content, tmp_path / "table.parquet")
    certificate, output = calibrated(), tmp_path / f"sets.{kind}"
    given: Any = content.to_reader(max_chunksize=7) if as_frame else tmp_path / "table.parquet"
    written = write_sets(certificate, given, output, keep=["id"], keep_invalid=True)
    result = read_back(output)
    usable: Any = np.isfinite(scores).all(axis=1)
    whole = names(certificate.sets(SCORES))
    expected = [row if ok else None for row, ok in zip(whole, usable, strict=True)]
    assert result["id"].to_pylist() == list(range(1000))
    assert result["set_size"].to_pylist() == [None if row is None else len(row) for row in expected]
    shown = [None if row is None else ";".join(row) for row in expected] if kind == "csv" else expected
    found = result["set"].to_pylist()
    assert found == shown if kind != "csv" else [one or "" for one in found] == [one or "" for one in shown]
    n_bad = int((~usable).sum())
    assert (written.n_rows, written.n_dropped, written.n_invalid) == (1000, 0, n_bad)
    assert written.set_sizes.sum() == 1000 - n_bad


def test_rows_are_kept_or_left_out_and_some_must_be_usable(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"drop_invalid=True leaves out .* Use one of them"):
        write_sets(calibrated(), table, tmp_path / "sets.csv", drop_invalid=True, keep_invalid=True)
    nothing = pa.table({f"p_{name}": pa.array([None] * 5, pa.float64()) for name in CLASSES})
    with pytest.raises(InputError, match=r"no usable row: 5 rows?"):
        write_sets(calibrated(), nothing, tmp_path / "sets.csv", keep_invalid=True)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]


def test_outputs_and_columns_that_cannot_be(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.parquet, \.feather, \.arrow or \.csv"):
        write_sets(calibrated(), table, tmp_path / "sets.npz")
    with pytest.raises(InputError, match="in a folder that exists"):
        write_sets(calibrated(), table, tmp_path / "nowhere" / "sets.csv")
    with pytest.raises(InputError, match="cannot keep 'age': each must be one column"):
        write_sets(calibrated(), table, tmp_path / "sets.csv", keep=["age"])
    classes = [f"{name};" for name in CLASSES]
    tally = Tally.from_scores(SCORES, np.char.add(LABELS, ";"), classes=classes)
    joined = calibrate(tally, epsilon=0.2, delta=0.1, method="PS")
    with pytest.raises(InputError, match="a class name holds ';'"):
        write_sets(joined, table, tmp_path / "sets.csv")


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_nested_and_encoded_columns_can_be_kept_or_are_refused(kind: str, tmp_path: Path) -> None:
    """Dictionaries that change from batch to batch could not be written as Feather."""
    scores = {f"p_{name}": SCORES[:2, k] for k, name in enumerate(CLASSES)}
    for number, words in enumerate((["a", "b"], ["c", "a"])):
        encoded = pa.array(words).dictionary_encode()
        content = pa.table(scores | {"word": encoded, "many": [[1], [2, 3]], "fields": [{"x": 1}] * 2})
        pa.feather.write_feather(content, tmp_path / f"{number}.feather")
    files, output = [tmp_path / "0.feather", tmp_path / "1.feather"], tmp_path / f"sets.{kind}"
    if kind == "csv":
        with pytest.raises(InputError, match=r"cannot keep 'many', 'fields' in a CSV file, which has no lists"):
            write_sets(calibrated(), files, output, keep=["many", "word", "fields"])
        write_sets(calibrated(), files, output, keep=["word"])
        found = pa.csv.read_csv(output)
    else:
        write_sets(calibrated(), files, output, keep=["word", "many", "fields"])
        found = pq.read_table(output) if kind == "parquet" else pa.feather.read_table(output)
        assert found["many"].to_pylist() == [[1], [2, 3]] * 2
    assert found["word"].to_pylist() == ["a", "b", "c", "a"]


def some(**more: Any) -> Any:
    """Ten rows and other columns."""
    return pa.table({f"p_{name}": SCORES[:10, place] for place, name in enumerate(CLASSES)} | more)
