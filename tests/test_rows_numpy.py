"""Arrays of NumPy as tables: scores and labels in two files, or archives with any names of arrays."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import bad, good, run
from pacshift import Certificate, InputError, Tally, calibrate, read, write_sets
from pacshift.rows.columns import Columns
from score_tables import LABELS, NAMES, SCORES


def save(path: Path, array: Any) -> str:
    np.save(path, array)
    return str(path)


def test_an_array_and_its_labels_are_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 100)
    scores, labels = save(tmp_path / "s.npy", SCORES), save(tmp_path / "l.npy", LABELS)
    rows = read(scores, label=labels)
    assert rows.tally() == Tally.from_scores(SCORES, LABELS, grid=True)
    assert rows.columns == Columns(("probs",), "labels")  # as in an archive, wherever the file lies
    assert read(scores).tally() == Tally.from_target(SCORES)
    texts = save(tmp_path / "t.npy", np.array(NAMES)[LABELS])
    named = read(scores, label=texts, classes=NAMES).tally()
    assert named == Tally.from_scores(SCORES, np.array(NAMES)[LABELS], classes=NAMES, grid=True)


def test_several_arrays_are_one_table(tmp_path: Path) -> None:
    first, second = save(tmp_path / "a.npy", SCORES[:100]), save(tmp_path / "b.npy", SCORES[100:])
    assert read([first, second]).tally() == Tally.from_target(SCORES)
    with pytest.raises(InputError, match=r"Name the one \.npy file that holds its labels"):
        read([first, second], label=save(tmp_path / "l.npy", LABELS))
    narrow = save(tmp_path / "c.npy", SCORES[:, :2])
    with pytest.raises(InputError, match=r"c\.npy: column 'probs' is .*\[2\], but .*\[3\] in .*a\.npy"):
        read([first, narrow]).tally()


BAD_ARRAYS: dict[str, tuple[Any, str]] = {
    "one dimension": (SCORES[:, 0], r"must hold numbers with one column per class.* shape \(300,\)"),
    "one class": (SCORES[:, :1], "at least 2"),
    "text": (SCORES.astype(str), "must hold numbers"),
    "objects": (SCORES.astype(object), "cannot read"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_what_is_no_matrix_of_scores_is_refused(name: str, tmp_path: Path) -> None:
    array, said = BAD_ARRAYS[name]
    with pytest.raises(InputError, match=said):
        read(save(tmp_path / "a.npy", array)).tally()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x93NUMPY\x01\x00", b"noise" * 100])
def test_damaged_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path / "a.npy")
    whole = Path(save(tmp_path / "b.npy", SCORES))
    whole.write_bytes(whole.read_bytes()[:-8])
    with pytest.raises(InputError, match="cannot read"):
        read(whole)


def test_labels_must_be_a_file_of_as_many_rows(tmp_path: Path) -> None:
    scores = save(tmp_path / "s.npy", SCORES)
    with pytest.raises(InputError, match="one for each of the 300 rows"):
        read(scores, label=save(tmp_path / "l.npy", LABELS[1:]))
    with pytest.raises(InputError, match=r"cannot read .*absent\.npy"):
        read(scores, label=str(tmp_path / "absent.npy"))


def test_the_command_line_names_the_file_of_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(Path("s.npy"), SCORES)
    save(Path("l.npy"), LABELS)
    assert "Name the one .npy file that holds its labels: --label FILE." in bad("tally", "s.npy", "--label", "y")
    good("calibrate", "s.npy", "-m", "PS", "--label", "l.npy", "-o", "c.json")
    provenance = Certificate.load("c.json").provenance
    assert provenance is not None
    assert [one.name for one in provenance.inputs] == ["s.npy"]
    assert "These are the source's rows" in run("check", "c.json", "s.npy", "--label", "l.npy").stdout
    good("predict", "c.json", "s.npy", "-o", "sets.jsonl")
    assert len(Path("sets.jsonl").read_text().splitlines()) == len(SCORES)


def test_a_folder_may_hold_archives_and_an_archive_goes_by_the_order_of_named_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no table in this folder \(looked for [^)]*\.npz\)"):
        read(tmp_path).tally()
    np.save(tmp_path / "features.npy", SCORES)
    (tmp_path / "scores.pt").touch()
    with pytest.raises(InputError, match=r"features.npy' may hold rows, but would not be counted"):
        read(tmp_path).tally()
    with pytest.raises(InputError, match=r"unknown file type.*From torch: np\.save"):
        read(tmp_path / "scores.pt")
    (tmp_path / "features.npy").unlink()
    (tmp_path / "scores.pt").unlink()
    np.savez(tmp_path / "a.npz", probs=SCORES)
    assert read(tmp_path).tally().n_target == len(SCORES)
    named = replace(calibrate(SCORES, LABELS, None, method="PS"), columns=Columns(("p_a", "p_b", "p_c"), "y"))
    with pytest.raises(InputError, match="this table has no column 'p_a'"):
        write_sets(named, tmp_path / "a.npz", tmp_path / "two.parquet")
    for how in ({"scores": "probs"}, {"by_position": True}):
        made = write_sets(named, tmp_path / "a.npz", tmp_path / "two.parquet", overwrite=True, **how)
        assert made.n_rows == len(SCORES)


def test_archives_with_other_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", softmax=SCORES, y=LABELS, probs=SCORES[:, ::-1], labels=2 - LABELS)
    expected = Tally.from_scores(SCORES, LABELS, grid=True)
    rows = read(tmp_path / "a.npz", label="y", scores="softmax")
    assert (rows.tally(), rows.columns) == (expected, Columns(("softmax",), "y"))
    np.savez(tmp_path / "b.npz", softmax=SCORES, y=LABELS)
    assert read(tmp_path / "b.npz", label="y", scores="softmax").tally() == expected
    with pytest.raises(InputError, match=r"must hold numbers 'probs' .* Name the scores: scores=NAME"):
        read(tmp_path / "b.npz", label="label").tally()
    with pytest.raises(InputError, match="no column 'truth'"):
        read(tmp_path / "b.npz", label="truth", scores="softmax").tally()
    with pytest.raises(InputError, match="scores='logits' match no column"):
        read(tmp_path / "a.npz", label="y", scores="logits").tally()
    columns: dict[str, Any] = {f"p_{k}": SCORES[:, k] for k in range(3)}
    np.savez(tmp_path / "c.npz", **columns, y=LABELS)
    assert read(tmp_path / "c.npz", label="y", scores="p_*").tally() == expected


def test_names_in_archives_are_matched_and_not_only_counted(tmp_path: Path) -> None:
    """An archive with the same classes in another order was read in the order of the certificate."""
    turned = [2, 0, 1]
    np.savez(tmp_path / "a.npz", probs=SCORES[:, turned], class_names=np.array(NAMES)[turned])
    assert np.array_equal(read(tmp_path / "a.npz", classes=NAMES).arrays()[0], SCORES)
    tally = read(tmp_path / "a.npz", classes=NAMES).tally()
    assert tally == Tally.from_target(SCORES, classes=NAMES)
    with pytest.raises(InputError, match="no scores for class 'x', 'y', 'z': class_names are 'eel', 'cat', 'dog'"):
        read(tmp_path / "a.npz", classes=["x", "y", "z"])


@pytest.mark.parametrize("dtype", [">f8", ">f4", "<f4", np.longdouble, ">i4"])
def test_any_number_type_and_order(dtype: Any, tmp_path: Path) -> None:
    scores = (SCORES * 8).round().astype(dtype)
    np.savez(tmp_path / "a.npz", probs=scores, labels=LABELS.astype(">i8"), other=np.array(["é"] * 300, ">U1"))
    plain = scores.astype(np.float32 if scores.dtype.itemsize == 4 and scores.dtype.kind == "f" else np.float64)
    found, names = read(tmp_path / "a.npz", label="label").arrays()
    assert np.array_equal(found, plain)
    assert np.array_equal(names, LABELS)
    for one in (scores, np.asfortranarray(scores)):
        assert np.array_equal(read(save(tmp_path / "a.npy", one)).arrays()[0], plain)


BAD_ARCHIVES: dict[str, tuple[dict[str, Any], str]] = {
    "no classes": ({"probs": np.empty((5, 0))}, "'probs' must hold numbers .* at least 2"),
    "one class": ({"probs": np.ones((5, 1))}, "'probs' must hold numbers .* at least 2"),
    "complex": ({"probs": SCORES * 1j}, "'probs' must hold numbers"),
    "text": ({"probs": SCORES.astype(str)}, "'probs' must hold numbers"),
    "a single name": (
        {"probs": SCORES, "class_names": np.array("cat")},
        r"class_names must be a list of names, got shape \(\)",
    ),
    "too few names": ({"probs": SCORES, "class_names": ["a", "b"]}, "holds lists of 3, but 2 classes are named"),
    "a single label": (
        {"probs": SCORES, "labels": np.array(3)},
        r"one for each of the 300 rows of probs; .* of shape \(\)",
    ),
    "nothing": ({}, "must hold numbers 'probs'"),
    "pickle": (
        {"probs": SCORES, "labels": np.array([object()] * 300)},
        "cannot read .*a.npz: Object arrays cannot be loaded",
    ),
    "out of names": (
        {"probs": SCORES, "labels": LABELS + 1, "class_names": NAMES},
        "labels must lie between 0 and 2",
    ),
}


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_bad_archives(case: str, tmp_path: Path) -> None:
    arrays, message = BAD_ARCHIVES[case]
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "a.npz").tally()
