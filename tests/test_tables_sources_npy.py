"""Arrays of NumPy as tables: scores in one file, labels in a second one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import bad, good, run
from pacshift import Certificate, InputError, Tally, calibrate
from pacshift.rows.columns import Columns
from pacshift.tables import read_table, tally_table, write_sets
from score_tables import LABELS, NAMES, SCORES


def save(path: Path, array: Any) -> str:
    np.save(path, array)
    return str(path)


def test_an_array_and_its_labels_are_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 100)
    scores, labels = save(tmp_path / "s.npy", SCORES), save(tmp_path / "l.npy", LABELS)
    counted = tally_table(scores, label=labels)
    assert counted.tally == Tally.from_scores(SCORES, LABELS, grid=True)
    assert counted.columns == Columns(("probs",), "labels")  # as in an archive, wherever the file lies
    assert tally_table(scores, label=None).tally == Tally.from_target(SCORES)
    texts = save(tmp_path / "t.npy", np.array(NAMES)[LABELS])
    named = tally_table(scores, label=texts, classes=NAMES).tally
    assert named == Tally.from_scores(SCORES, np.array(NAMES)[LABELS], classes=NAMES, grid=True)


def test_several_arrays_are_one_table(tmp_path: Path) -> None:
    first, second = save(tmp_path / "a.npy", SCORES[:100]), save(tmp_path / "b.npy", SCORES[100:])
    assert tally_table([first, second], label=None).tally == Tally.from_target(SCORES)
    labels = save(tmp_path / "l.npy", LABELS)
    with pytest.raises(InputError, match="can hold the labels of one array of scores, got 2"):
        tally_table([first, second], label=labels)
    narrow = save(tmp_path / "c.npy", SCORES[:, :2])
    with pytest.raises(InputError, match=r"c\.npy: 2 columns, but 3 in .*a\.npy"):
        tally_table([first, narrow], label=None)


@pytest.mark.parametrize("dtype", [">f8", ">f4", np.longdouble, ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_number_type_and_order(dtype: Any, order: Any, tmp_path: Path) -> None:
    scores = np.asarray((SCORES * 8).round().astype(dtype), order=order)
    found = read_table(save(tmp_path / "a.npy", scores)).scores
    assert np.array_equal(found, scores.astype(np.float64))


def test_a_column_is_called_as_the_certificate_remembers_it(tmp_path: Path) -> None:
    made = replace(calibrate(SCORES, LABELS, None, method="PS"), columns=Columns(("logits",), "y"))
    written = write_sets(made, save(tmp_path / "a.npy", SCORES), tmp_path / "sets.parquet")
    assert written.n_rows == len(SCORES)


def test_columns_with_names_are_matched_by_position_only_if_asked(tmp_path: Path) -> None:
    made = replace(calibrate(SCORES, LABELS, None, method="PS"), columns=Columns(("p_a", "p_b", "p_c"), "y"))
    path = save(tmp_path / "a.npy", SCORES)
    with pytest.raises(InputError, match="this table has no column 'p_a'"):
        write_sets(made, path, tmp_path / "sets.parquet")
    assert write_sets(made, path, tmp_path / "sets.parquet", by_position=True).n_rows == len(SCORES)


BAD: dict[str, tuple[Any, str]] = {
    "one dimension": (SCORES[:, 0], r"must hold numbers with one row per example .* shape \(300,\)"),
    "one class": (SCORES[:, :1], "at least 2"),
    "text": (SCORES.astype(str), "must hold numbers"),
    "objects": (SCORES.astype(object), "cannot read"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_matrix_of_scores_is_refused(name: str, tmp_path: Path) -> None:
    array, said = BAD[name]
    with pytest.raises(InputError, match=said):
        tally_table(save(tmp_path / "a.npy", array), label=None)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x93NUMPY\x01\x00", b"noise" * 100])
def test_damaged_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match="cannot read"):
        tally_table(tmp_path / "a.npy", label=None)
    whole = Path(save(tmp_path / "b.npy", SCORES))
    whole.write_bytes(whole.read_bytes()[:-8])
    with pytest.raises(InputError, match="cannot read"):
        tally_table(whole, label=None)


def test_labels_must_be_a_file_of_as_many_rows(tmp_path: Path) -> None:
    scores = save(tmp_path / "s.npy", SCORES)
    with pytest.raises(InputError, match=r"an \.npy file holds scores alone.*label=FILE"):
        tally_table(scores, label="label")
    with pytest.raises(InputError, match="one for each of the 300 rows"):
        tally_table(scores, label=save(tmp_path / "l.npy", LABELS[1:]))
    with pytest.raises(InputError, match=r"cannot read .*absent\.npy"):
        tally_table(scores, label=str(tmp_path / "absent.npy"))


def test_a_folder_is_not_searched_for_arrays(tmp_path: Path) -> None:
    save(tmp_path / "features.npy", SCORES)
    with pytest.raises(InputError, match=r"no table in this folder \(looked for [^)]*\.npz\)"):
        tally_table(tmp_path, label=None)
    np.savez(tmp_path / "a.npz", probs=SCORES)
    assert tally_table(tmp_path, label=None).n_rows == len(SCORES)


def test_the_command_line_names_the_file_of_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(Path("s.npy"), SCORES)
    save(Path("l.npy"), LABELS)
    assert "Name the .npy file that holds their labels: --label FILE." in bad("tally", "s.npy", "--label", "y")
    good("calibrate", "s.npy", "-m", "PS", "--label", "l.npy", "-o", "c.json")
    provenance = Certificate.load("c.json").provenance
    assert provenance is not None
    assert [one.name for one in provenance.inputs] == ["s.npy"]
    assert "These are the source's rows" in run("check", "c.json", "s.npy", "--label", "l.npy").stdout
    good("predict", "c.json", "s.npy", "-o", "sets.jsonl")
    assert len(Path("sets.jsonl").read_text().splitlines()) == len(SCORES)
