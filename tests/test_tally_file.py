"""Tally files: they bring back the same counts, and what was changed is refused."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pacshift import InputError, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.files.codec import seal
from pacshift.tally.file import checksums
from strategies import are_probabilities, labelled


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(labelled(), st.booleans(), st.booleans(), st.booleans())
def test_files_bring_back_the_same_tally(
    tmp_path: Path, data: tuple[FloatArray, IntArray], grid: bool, soft: bool, bins: bool
) -> None:
    tally = Tally.from_scores(*data, grid=grid, soft=soft) + Tally.from_target(data[0], soft=soft, bins=bins)
    tally.save(tmp_path / "a.tally")
    loaded = Tally.load(tmp_path / "a.tally")
    assert loaded == tally
    assert (loaded.bins is None) == (not bins or not are_probabilities(data[0]))
    assert [path.name for path in tmp_path.iterdir()] == ["a.tally"]


def test_mixed_class_names_survive_a_file(tmp_path: Path) -> None:
    tally = Tally.from_scores(np.eye(4), ["ü", 2, 0.5, True], classes=["ü", 2, 0.5, True])
    tally.save(tmp_path / "a.tally")
    assert list(map(repr, Tally.load(tmp_path / "a.tally").classes)) == ["'ü'", "2", "0.5", "True"]


def rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any], *, sealed: bool = True) -> None:
    """Change header or arrays of a tally file; ``sealed`` as someone could who computes the checksums again."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays.pop("header")))
    change(header, arrays)
    header = seal(header | {"arrays": checksums(arrays)}) if sealed else header
    with open(path, "wb") as out:
        np.savez_compressed(out, header=np.array(json.dumps(header)), **arrays)


TAMPERED: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "newer": (lambda h, a: h.update(version=5), "tally version 5, this pacshift reads 1. Update pacshift"),
    "version true": (lambda h, a: h.update(version=True), "tally version True"),
    "format": (lambda h, a: h.update(format="other"), "is not a tally: it does not say format"),
    "header": (lambda h, a: h["source_kind"].update(low=2.0), "damaged tally: the content does not match its"),
    "count": (lambda h, a: a["source_counts"].__setitem__(0, 99), "the counts do not match their checksums"),
    "type": (lambda h, a: a.update(source_counts=a["source_counts"] * 1.0), "do not match their checksums"),
    "missing": (lambda h, a: a.pop("counts"), "do not match their checksums"),
    "extra": (lambda h, a: a.update(more=np.ones(2)), "do not match their checksums"),
}


def put(name: str, place: Any, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    """Write a value into an array."""
    return lambda h, a: a[name].__setitem__(place, value)


def swap(name: str, first: Any, second: Any) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    """Swap two entries of an array."""

    def change(_: Any, arrays: dict[str, Any]) -> None:
        array = arrays[name]
        array[first], array[second] = array[second].copy(), array[first].copy()

    return change


def move(name: str, size: int = 1) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    """Add to the first entry what the second one loses."""
    return lambda h, a: a[name].__setitem__(slice(2), a[name][:2] + np.array([size, -size]))


FORGED: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "kind in part": (lambda h, a: h["source_kind"].pop("low"), "it lacks 'low' in source_kind"),
    "kind upside down": (lambda h, a: h["source_kind"].update(low=2.0), "between the smallest and the largest"),
    "no kind": (lambda h, a: h.update(source_kind=None), "a side with rows, and no other, has a kind"),
    "sums of more rows": (
        lambda h, a: h["source_kind"].update(n_rows=99, n_sum_to_one=99),
        "scores are those of all source rows",
    ),
    "sums too small": (
        lambda h, a: h["target_kind"].update(sums=[0.01, 1.0], n_sum_to_one=1),
        "sums of rows fit the range",
    ),
    "not to one": (lambda h, a: h["source_kind"].update(n_sum_to_one=0), "all rows sum to 1 where"),
    "no sums": (lambda h, a: h["source_kind"].update(n_sum_to_one=0, sums=None), "rows have sums where"),
    "larger scores": (lambda h, a: h["source_kind"].update(high=1.0005), "the smallest and the largest top score"),
    "inputs text": (lambda h, a: h.update(inputs="a.parquet"), "where a list belongs"),
    "inputs role": (lambda h, a: h["inputs"][0].update(role="other"), "where one of source, target belongs"),
    "inputs of more rows": (lambda h, a: h["inputs"][0].update(rows=31, rows_read=31), "inputs have as many rows"),
    "more inputs": (lambda h, a: h.update(n_more_inputs=-1), "n_more_inputs: -1 where a count belongs"),
    "fewer inputs": (lambda h, a: h.update(n_more_inputs=3), "more inputs are only counted where"),
    "bins unheard of": (lambda h, a: h.update(source_bins="yes"), "source_bins: 'yes' where one of"),
    "score unheard of": (lambda h, a: h.update(score="x"), "score: 'x' where one of"),
    "classes": (lambda h, a: h.update(classes=["a", "a", "b"]), "class names must differ"),
    "one class more": (
        lambda h, a: h.update(classes=["a", "b", "c", "d"]),
        "starts must hold counts of shape (5,)",
    ),
    "no bins": (lambda h, a: h.update(source_bins="none"), "codes ascend and name cells"),
    "other bins": (lambda h, a: h.update(source_bins="top scores"), "bins of their kind of scores"),
    "bins unknown": (lambda h, a: h.pop("target_bins"), "it lacks 'target_bins'"),
    "groups of fewer rows": (
        lambda h, a: h.update(source_grouped={"rows": 29, "parts": 1, "shared": 0}),
        "no more source rows are counted than",
    ),
    "groups of no part": (
        lambda h, a: h.update(source_grouped={"rows": 30, "parts": 0, "shared": 0}),
        "every part of grouped rows has a row",
    ),
    "grid": (lambda h, a: h.update(grid=True), "scores on the grid are on it"),
    "negative": (put("source_counts", 0, -1), "source_counts must hold counts from 1 on"),
    "negative code": (put("source_codes", 0, -1), "source_codes must hold counts from 0 on"),
    "empty cell": (put("target_counts", 0, 0), "target_counts must hold counts from 1 on"),
    "more rows": (put("source_counts", 0, 99), "a class has as many scores as rows"),
    "floats": (lambda h, a: a.update(source_counts=a["source_counts"] * 1.0), "must hold counts of type int64"),
    "other bytes": (lambda h, a: a.update(counts=a["counts"].astype(">i8")), "must hold counts of type int64"),
    "shape": (lambda h, a: a.update(target_counts=a["target_counts"][:-1]), "must hold counts of shape"),
    "no dimension": (lambda h, a: a.update(source_codes=np.array(5)), "in 1 dimensions, not 0"),
    "same cell twice": (swap("source_codes", 0, 1), "codes ascend and name cells"),
    "cell of no class": (put("source_codes", -1, 3 * 13 * 3), "codes ascend and name cells"),
    "NaN": (put("values", 0, np.nan), "values must hold finite numbers"),
    "descending": (lambda h, a: a.update(values=a["values"][::-1].copy()), "the scores of a class ascend"),
    "all alike": (lambda h, a: a.update(values=np.full_like(a["values"], 0.999)), "the scores of a class ascend"),
    "zero counts": (put("counts", 0, 0), "counts must hold counts from 1 on"),
    "starts": (put("starts", -1, 0), "starts grow"),
    "start beyond": (put("starts", 1, 2**40), "starts grow"),
    "overflow": (put("target_counts", slice(3), 2**61), "adds up to more than"),
    "missing": (lambda h, a: a.pop("counts"), "it must hold the arrays"),
    "extra": (lambda h, a: a.update(more=np.ones(2)), "it must hold the arrays"),
    "scores of logits": (lambda h, a: a.update(values=a["values"] + 2), "lie in the range of the scores"),
    "scores too small": (lambda h, a: a.update(values=a["values"] - 1), "lie in the range of the scores"),
    "no misses": (
        lambda h, a: a.update(values=np.concatenate([np.linspace(0.7, 0.8, n) for n in np.diff(a["starts"])])),
        "true-label scores fit the top scores",
    ),
    "scores for bins": (
        lambda h, a: a.update(values=np.concatenate([np.linspace(0.1, 0.2, n) for n in np.diff(a["starts"])])),
        "true-label scores fit the top scores",
    ),
    "bins sum": (put("bins", (1, 0), 99), "the target's bins fit"),
    "bins turned": (lambda h, a: a.update(bins=a["bins"][:, ::-1].copy()), "the target's bins fit"),
    "bins of others": (lambda h, a: a.update(bins=a["bins"][::-1].copy()), "the target's bins fit"),
    "soft shape": (lambda h, a: a.update(soft_sums=np.zeros(2, int)), "must hold counts in 2 dimensions"),
    "soft labels": (put("soft_labels", 0, 1), "soft sums are those of the labels that occur"),
    "soft in part": (lambda h, a: [a.pop("soft_labels"), a.pop("soft_sums")], "it must hold the arrays"),
    "soft of others": (lambda h, a: a.update(soft_sums=a["soft_sums"][::-1].copy()), "soft sums fit"),
    "soft moved": (move("soft_target", 2**30), "bins fit rows, range, cells and soft sums"),
    "soft too large": (lambda h, a: a.update(soft_target=a["soft_target"] * 2), "soft sums fit"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 30)
    scores, target = rng.dirichlet(np.ones(3), 30), rng.dirichlet([4.0, 2.0, 1.0], 20)
    tally = Tally.from_scores(scores, labels) + Tally.from_target(target)
    tally.save(tmp_path / "a.tally")
    return tmp_path / "a.tally"


@pytest.mark.parametrize("name", [b"bins.npy", b"soft_target.npy"])
def test_a_damaged_name_does_not_lose_an_array(name: bytes, file: Path) -> None:
    """The checksums of a zip do not cover the names in it."""
    content = file.read_bytes()
    assert content.count(name) == 2  # before the array and in the directory
    file.write_bytes(content.replace(name, b"x" + name[1:]))
    with pytest.raises(InputError, match="do not match their checksums"):
        Tally.load(file)


@pytest.mark.parametrize("case", TAMPERED)
def test_tampered_files_are_refused(case: str, file: Path) -> None:
    change, message = TAMPERED[case]
    rewrite(file, change, sealed=False)
    with pytest.raises(InputError) as caught:
        Tally.load(file)
    assert message in str(caught.value)


@pytest.mark.parametrize("case", FORGED)
def test_counts_that_contradict_each_other_are_refused(case: str, file: Path) -> None:
    """Also where the checksums were computed again."""
    change, message = FORGED[case]
    rewrite(file, change)
    with pytest.raises(InputError, match=f"{re.escape(str(file))}: damaged tally: ") as caught:
        Tally.load(file)
    assert message in str(caught.value)


def test_margins_have_the_sign_of_the_prediction(file: Path) -> None:
    rng = np.random.default_rng(0)
    Tally.from_scores(rng.dirichlet(np.ones(3), 30), rng.integers(0, 3, 30), score="margin").save(file)
    Tally.load(file)

    def spread(_header: Any, arrays: Any) -> None:
        arrays["values"] = np.concatenate([np.linspace(0.1, 0.4, n) for n in np.diff(arrays["starts"])])

    rewrite(file, spread)
    with pytest.raises(InputError, match="true-label scores fit the top scores"):
        Tally.load(file)


def test_a_consistent_lie_is_read(file: Path) -> None:
    """Counts of other rows with the same scores, such as those of classes with other names."""
    before = Tally.load(file)
    rewrite(file, lambda h, a: h.update(classes=["b", "a", "c"]))
    assert np.array_equal(Tally.load(file).confusion, before.confusion)


def test_what_is_no_tally_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.tally"
    plain = io.BytesIO()
    np.save(plain, np.eye(2))
    for content in (b"PK\3\4", b"text", plain.getvalue(), json.dumps({"format": "pacshift-tally"}).encode()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is not a pacshift tally .*Make one with `pacshift tally`"):
            Tally.load(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="the file is empty"):
        Tally.load(path)
    with pytest.raises(InputError, match=r"cannot read .*none.tally: No such file"):
        Tally.load(tmp_path / "none.tally")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.tally"
    with open(path, "wb") as out:
        np.savez(out, header=np.array([{"format": "pacshift-tally"}], object))
    with pytest.raises(InputError, match=r"is not a pacshift tally .*pickle"):
        Tally.load(path)


def test_declared_sizes_are_not_believed(file: Path) -> None:
    """An array that claims to be huge ends as an InputError, not in a full memory."""
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (100000000000000,), }"
    array = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("huge.npy", array)
    with pytest.raises(InputError, match="is not a pacshift tally"):
        Tally.load(file)
