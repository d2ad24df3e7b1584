"""Label sheets of tables: the same as of arrays, whatever the format."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pacshift import InputError, LabelSheet, label_sheet, read
from pacshift.labels.labelled import sheet_scores
from pacshift.rows.arrow.find import ReadOptions
from pacshift.rows.arrow.table import read_rows
from score_tables import NAMES, SCORES, save, table

EXACT = np.round(SCORES * 1024) / 1024  # the same numbers as text, as float32 and as float64


def whole(**others: Any) -> Any:
    return table(scores=EXACT, id=np.arange(300) + 7, **others)


def test_several_files_are_one_table(tmp_path: Path) -> None:
    first, second = save(whole()[:100], tmp_path / "b.csv"), save(whole()[100:], tmp_path / "a.csv")
    sheet = label_sheet(read([first, second]), budget=50, rng=1, keep=["id"])
    assert sheet.target_sha256 == label_sheet(EXACT, budget=50).target_sha256
    assert sheet.kept["id"] == tuple(str(row + 7) for row in sheet.rows)
    assert label_sheet(read([second, first]), budget=50, rng=1).target_sha256 != sheet.target_sha256


def broken() -> Any:
    scores = EXACT.copy()
    scores[::10, 0] = np.nan
    return table(scores=scores, id=np.arange(300) + 7)


def test_rows_that_are_left_out_keep_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 60)
    path = save(broken(), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"30 rows? cannot be used .* drop_invalid=True"):
        label_sheet(read(path), budget=50)
    rows = read(path, drop_invalid=1.0)
    made = label_sheet(rows, budget=270, rng=0, keep=["id"])
    assert rows.bind(name="target", role="target").last_scan.faults.n_rows == 30
    assert made.n_target == 300
    assert sorted(made.rows.tolist()) == [row for row in range(300) if row % 10]
    assert made.kept["id"] == tuple(str(row + 7) for row in made.rows)
    with pytest.raises(InputError, match="271 rows to label, but the target has 270 usable rows"):
        label_sheet(read(path, drop_invalid=1.0), budget=271)
    same = save(whole().filter(pa.array(np.arange(300) % 10 > 0)), tmp_path / "usable.parquet")
    with pytest.raises(
        InputError, match=r"of 300 rows; .*usable\.parquet has 270\)"
    ):  # row numbers would be other ones
        sheet_scores(read_rows(same, ReadOptions()), made)


@pytest.mark.parametrize("drop", [False, True])
def test_scores_of_rows_whose_labels_come_back(drop: bool, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 60)
    path = save(broken() if drop else whole(), tmp_path / "t.parquet")
    sheet = label_sheet(read(path, drop_invalid=float(drop)), budget=60, rng=2)
    turned = read_rows(
        path, ReadOptions(classes=NAMES[::-1], drop_invalid=float(drop))
    )  # in the order of the source
    found, others = sheet_scores(turned, sheet)
    assert np.array_equal(found, EXACT[sheet.rows][:, ::-1])
    drawn, rest = {tuple(row) for row in found}, {tuple(row) for row in others}
    assert len(rest) == (210 if drop else 240)  # every other row that is usable, and none of the sheet's
    assert not drawn & rest


def test_another_table_is_refused_by_name(tmp_path: Path) -> None:
    sheet = label_sheet(read(save(whole(), tmp_path / "april.parquet")), budget=60)
    other = save(whole().take(pa.array(range(299, -1, -1))), tmp_path / "may.parquet")
    with pytest.raises(InputError, match=r"may\.parquet has other scores or another order"):
        sheet_scores(read_rows(other, ReadOptions()), sheet)
    fewer = save(whole()[:299], tmp_path / "fewer.parquet")
    with pytest.raises(InputError, match=r"of 300 rows; .*fewer\.parquet has 299\)"):
        sheet_scores(read_rows(fewer, ReadOptions()), sheet)


@pytest.mark.parametrize("drop", [False, True])
def test_rows_that_the_seed_does_not_draw_are_refused(drop: bool, tmp_path: Path) -> None:
    path = save(broken() if drop else whole(), tmp_path / "t.parquet")
    sheet = label_sheet(read(path, drop_invalid=float(drop)), budget=60, rng=2)
    for forged in (replace(sheet, rows=np.sort(sheet.rows)), replace(sheet, seed=3)):
        with pytest.raises(InputError, match=rf"its seed {forged.seed} draws from .*t\.parquet"):
            sheet_scores(read_rows(path, ReadOptions(drop_invalid=float(drop))), forged)


def test_kept_columns_are_texts(tmp_path: Path) -> None:
    others = {
        "text": pa.array(["=1+1", None, "a\nb"] * 100).dictionary_encode(),
        "when": pa.array([0, 1, None] * 100, pa.date32()),
        "some": pa.array([[1, 2]] * 300),
    }
    sheet = label_sheet(read(whole(**others)), budget=300, keep=["text", "when", "some", "p_cat"])
    assert set(sheet.kept["text"]) == {"=1+1", "", "a\nb"}
    assert set(sheet.kept["when"]) == {"1970-01-01", "1970-01-02", ""}
    assert set(sheet.kept["some"]) == {"[1, 2]"}
    assert [float(text) for text in sheet.kept["p_cat"]] == EXACT[sheet.rows, 0].tolist()
    sheet.save(tmp_path / "s.csv")
    assert LabelSheet.load(tmp_path / "s.csv").kept == sheet.kept


@pytest.mark.parametrize("column", ["nope", "label", "row"])
def test_columns_that_cannot_be_kept(column: str) -> None:
    with pytest.raises(InputError, match=f"cannot keep '{column}': each must be one column of the table"):
        label_sheet(read(whole(label=["x"] * 300, row=range(300))), budget=50, keep=[column])


def test_a_class_called_as_the_mark_is_refused() -> None:
    with pytest.raises(InputError, match="a class is called"):
        label_sheet(read(table(names=("?", "a", "b"))), budget=50)
