"""Tally files: they bring back the same counts, and what was changed is refused."""

import io
import json
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


def rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Change header or arrays of a tally file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays.pop("header")))
    change(header, arrays)
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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 30)
    tally = Tally.from_scores(rng.dirichlet(np.ones(3), 30), labels) + Tally.from_target(rng.random((20, 3)))
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
    rewrite(file, change)
    with pytest.raises(InputError) as caught:
        Tally.load(file)
    assert message in str(caught.value)


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
