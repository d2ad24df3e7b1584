"""Archives of NumPy as tables, with any names of arrays; a file of a single array is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift import InputError, Tally, calibrate, read, write_sets
from pacshift.rows.columns import Columns
from score_tables import LABELS, NAMES, SCORES


def test_a_folder_may_hold_archives_and_an_archive_goes_by_the_order_of_named_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no table in this folder \(looked for [^)]*\.npz\)"):
        read(tmp_path).tally()
    np.save(tmp_path / "features.npy", SCORES)
    (tmp_path / "scores.pt").touch()
    with pytest.raises(InputError, match=r"features.npy' may hold rows, but would not be counted"):
        read(tmp_path).tally()
    with pytest.raises(InputError, match=r"unknown file type.*np\.savez"):
        read(tmp_path / "scores.pt")
    with pytest.raises(InputError, match=r"unknown file type.*need no file in Python"):
        read(tmp_path / "features.npy")
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
    named = rows.bind(name="source", role="source").columns
    assert (rows.tally(), named) == (expected, Columns(("softmax",), "y"))
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
