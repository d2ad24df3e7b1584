"""Tallies: chunks add up to the whole in any order, the grid loses nothing but resolution, files are safe."""

import contextlib
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

from pacshift import InputError, Tally, calibrate_tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.tally.grid import float_to_order, order_to_float, to_grid
from pacshift.tally.histogram import SIZED_CLASSES, count_bins


@st.composite
def labelled(draw: st.DrawFn) -> tuple[FloatArray, IntArray]:
    """Scores with ties, zeros of both signs and labels that leave classes empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, n_classes = draw(st.integers(1, 60)), draw(st.integers(2, 40))
    kind = draw(st.sampled_from(["dirichlet", "coarse", "logits", "huge"]))
    if kind == "dirichlet":
        scores = rng.dirichlet(np.full(n_classes, 0.3), size)
    elif kind == "coarse":
        scores = rng.choice([0.0, -0.0, 0.25, 0.5, 1.0], (size, n_classes))
    else:
        scores = rng.normal(0, 5 if kind == "logits" else 1e150, (size, n_classes))
    labels = rng.integers(0, draw(st.integers(1, n_classes)), size)
    return scores, labels


def is_probability(scores: FloatArray) -> bool:
    """As far as bins care: what is a little above 1 may have been rounded."""
    return bool(scores.min() >= 0 and scores.max() < 1.125)


@settings(deadline=None, max_examples=80)
@given(labelled(), st.booleans(), st.sampled_from(["probability", "margin"]), st.randoms(), st.integers(1, 8))
def test_chunks_in_any_order_add_up_to_the_whole(
    data: tuple[FloatArray, IntArray], grid: bool, score: str, random: Any, n_chunks: int
) -> None:
    scores, labels = data
    whole = Tally.from_scores(scores, labels, grid=grid, score=score) + Tally.from_target(scores[::2])
    place = np.array([random.randrange(n_chunks) for _ in labels])
    chunks = [np.flatnonzero(place == chunk) for chunk in range(n_chunks)]
    parts = [Tally.from_scores(scores[c], labels[c], grid=grid, score=score) for c in chunks if len(c)]
    evens = [c[c % 2 == 0] for c in chunks]
    parts += [Tally.from_target(scores[c]) for c in evens if len(c)]
    random.shuffle(parts)
    assert Tally.sum(parts) == whole
    total = parts[0]
    for part in parts[1:]:
        total = part + total
    assert total == whole


@settings(deadline=None, max_examples=60)
@given(labelled())
def test_counts_are_what_a_loop_counts(data: tuple[FloatArray, IntArray]) -> None:
    scores, labels = data
    tally = Tally.from_scores(scores, labels) + Tally.from_target(scores)
    confusion = np.zeros((tally.n_classes, tally.n_classes), int)
    for row, label in zip(scores, labels, strict=True):
        confusion[row.argmax(), label] += 1
    assert np.array_equal(tally.confusion, confusion)
    assert np.array_equal(tally.target, confusion.sum(axis=1))
    assert np.array_equal(tally.class_counts, np.bincount(labels, minlength=tally.n_classes))
    assert (tally.n_source, tally.n_target) == (len(labels), len(labels))
    own = scores[np.arange(len(labels)), labels]
    for cut in [*own[:5], -np.inf, np.inf]:
        expected = np.bincount(labels[own < cut], minlength=tally.n_classes)
        assert np.array_equal(tally.misses(cut), expected)


@settings(deadline=None, max_examples=60)
@given(labelled())
def test_bins_are_those_of_every_class_by_itself(data: tuple[FloatArray, IntArray]) -> None:
    scores, labels = data
    alone = [count_bins(np.ascontiguousarray(column)[None, :]) for column in scores.T]
    tally = Tally.from_scores(scores, labels) + Tally.from_target(scores)
    assert (tally.bins is not None) == is_probability(scores)
    if tally.bins is not None:
        assert np.array_equal(tally.bins, np.concatenate([part for part in alone if part is not None]))
        assert (tally.bins.sum(axis=1) == len(scores)).all()


def test_a_sum_has_bins_where_every_target_has() -> None:
    scores = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    source, target = Tally.from_scores(scores, [0, 1, 1]), Tally.from_target(scores)
    assert target.bins is not None
    assert source.bins is None
    for parts, times in (([source, target], 1), ([target, source], 1), ([target, source, target], 2)):
        total = Tally.sum(parts).bins  # a source has none to give
        assert total is not None
        assert np.array_equal(total, times * target.bins)
    for lacking in (Tally.from_target(scores, bins=False), Tally.from_target(np.log(scores))):
        assert lacking.bins is None
        for parts in ([target, lacking], [lacking, target], [source, lacking, target]):
            assert Tally.sum(parts).bins is None
    assert (source + source).bins is None


@pytest.mark.parametrize(("n_classes", "kept"), [(SIZED_CLASSES, True), (SIZED_CLASSES + 1, False)])
def test_bins_are_kept_up_to_so_many_classes(n_classes: int, kept: bool) -> None:
    assert (Tally.from_target(np.eye(n_classes)).bins is not None) == kept


@settings(deadline=None, max_examples=60)
@given(labelled())
def test_a_grid_tally_counts_exactly_at_grid_thresholds(data: tuple[FloatArray, IntArray]) -> None:
    exact = Tally.from_scores(*data)
    coarse = Tally.from_scores(*data, grid=True)
    assert np.array_equal(coarse.confusion, exact.confusion)
    assert len(coarse.values) <= len(exact.values)
    for cut in coarse.values[:20]:
        assert np.array_equal(coarse.misses(cut), exact.misses(cut))
    assert exact + coarse == coarse + exact
    assert (exact + coarse).grid


@settings(deadline=None, max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_the_grid_rounds_down_and_keeps_order(one: float, other: float) -> None:
    low, high = sorted([one, other])
    down = to_grid([low, high])
    assert down[0] <= down[1] <= high
    assert down[0] <= low
    assert np.array_equal(to_grid(down), down)
    assert (low >= down[1]) == (down[0] >= down[1])
    assert order_to_float(float_to_order(one)) == one
    assert low == 0 or abs(low - down[0]) <= abs(low) / 2**11 or abs(low) < 1e-300


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(labelled(), st.booleans(), st.booleans(), st.booleans())
def test_files_bring_back_the_same_tally(
    tmp_path: Path, data: tuple[FloatArray, IntArray], grid: bool, soft: bool, bins: bool
) -> None:
    tally = Tally.from_scores(*data, grid=grid, soft=soft) + Tally.from_target(data[0], soft=soft, bins=bins)
    tally.save(tmp_path / "a.tally")
    loaded = Tally.load(tmp_path / "a.tally")
    assert loaded == tally
    assert (loaded.bins is None) == (not bins or not is_probability(data[0]))
    assert [path.name for path in tmp_path.iterdir()] == ["a.tally"]


def test_mixed_class_names_survive_a_file(tmp_path: Path) -> None:
    tally = Tally.from_scores(np.eye(4), ["ü", 2, 0.5, True], classes=["ü", 2, 0.5, True])
    tally.save(tmp_path / "a.tally")
    assert list(map(repr, Tally.load(tmp_path / "a.tally").classes)) == ["'ü'", "2", "0.5", "True"]


def test_equality_looks_at_everything() -> None:
    tally = Tally.from_scores(np.eye(3), [0, 1, 2])
    assert tally == Tally.from_scores(np.eye(3), [0, 1, 2])
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 1])
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 2], soft=False)
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 2], score="margin")
    assert tally != Tally.from_scores(np.eye(3), [0, 1, 2], grid=True)
    assert Tally.from_target(np.eye(3)) != Tally.from_target(np.eye(3), bins=False)
    assert Tally.from_target(np.eye(3), soft=False) != Tally.from_target(np.eye(3) / 2, soft=False)
    assert tally != "tally"
    with pytest.raises(TypeError):
        hash(tally)


def test_tallies_of_different_things_do_not_add() -> None:
    tally = Tally.from_scores(np.eye(2), [0, 1])
    with pytest.raises(InputError, match="tallies of different classes do not add"):
        tally + Tally.from_target(np.eye(2), classes=["a", "b"])
    with pytest.raises(InputError, match="tallies of different scores do not add"):
        tally + Tally.from_scores(np.eye(2), [0, 1], score="margin")
    with pytest.raises(InputError, match="no tallies to add: give at least one"):
        Tally.sum([])
    with pytest.raises(TypeError):
        tally + 1  # type: ignore[operator]


def rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Change header or arrays of a tally file as someone with an editor could."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays.pop("header")))
    change(header, arrays)
    with open(path, "wb") as out:
        np.savez_compressed(out, header=np.array(json.dumps(header)), **arrays)


TAMPERED: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "newer": (lambda h, a: h.update(version=2), "tally version 2, this pacshift reads 1. Update pacshift"),
    "format": (lambda h, a: h.update(format="other"), "tally version None"),
    "classes": (lambda h, a: h.update(classes=["a", "a", "b"]), "do not add up"),
    "fewer classes": (lambda h, a: h.update(classes=["a", "b"]), "do not add up"),
    "classes a number": (lambda h, a: h.update(classes=3), "do not add up"),
    "negative": (lambda h, a: a["confusion"].__setitem__((0, 0), -1), "must hold counts"),
    "more confusion": (lambda h, a: a["confusion"].__setitem__((0, 0), 99), "as many as its examples"),
    "floats": (lambda h, a: a.update(confusion=a["confusion"] * 1.0), "must hold counts"),
    "shape": (lambda h, a: a.update(target=a["target"][:-1]), "must hold counts"),
    "NaN": (lambda h, a: a["values"].__setitem__(0, np.nan), "finite floats"),
    "text values": (lambda h, a: a.update(values=np.array(["a"])), "do not add up"),
    "descending": (lambda h, a: a.update(values=a["values"][::-1].copy()), "must ascend"),
    "zero counts": (lambda h, a: a["counts"].__setitem__(0, 0), "occur at least once"),
    "starts": (lambda h, a: a["starts"].__setitem__(-1, 0), "starts must grow"),
    "overflow": (lambda h, a: a.update(target=np.full(3, 2**61)), "adds up to more than"),
    "missing": (lambda h, a: a.pop("counts"), "do not add up"),
    "extra": (lambda h, a: a.update(more=np.ones(2)), "do not add up"),
    "bins shape": (lambda h, a: a.update(bins=a["bins"][:, 1:]), "bins must hold counts"),
    "bins floats": (lambda h, a: a.update(bins=a["bins"] * 1.0), "bins must hold counts"),
    "bins negative": (lambda h, a: a["bins"].__setitem__((0, slice(2)), [-1, 1]), "bins must hold counts"),
    "bins sum": (lambda h, a: a["bins"].__setitem__((1, 0), 99), "the bins of a class must hold every target row"),
    "bins moved": (lambda h, a: a.update(bins=a["bins"] * [[2], [0], [1]]), "must hold every target row"),
    "bins overflow": (lambda h, a: a["bins"].__setitem__((2, 0), 2**62 + 2**61), "adds up to more than"),
    "soft shape": (lambda h, a: a.update(soft_source=np.zeros(2, int)), "must hold counts"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 30)
    tally = Tally.from_scores(rng.dirichlet(np.ones(3), 30), labels) + Tally.from_target(rng.random((20, 3)))
    tally.save(tmp_path / "a.tally")
    return tmp_path / "a.tally"


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
    for content in (b"", b"PK\3\4", b"text", plain.getvalue(), json.dumps({"format": "pacshift-tally"}).encode()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is not a pacshift tally .*Make one with `pacshift tally`"):
            Tally.load(path)
    with pytest.raises(InputError, match="is not a pacshift tally"):
        Tally.load(tmp_path / "none.tally")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.tally"
    with open(path, "wb") as out:
        np.savez(out, header=np.array([{"format": "pacshift-tally"}], object))
    with pytest.raises(InputError, match=r"is not a pacshift tally .*pickle"):
        Tally.load(path)


def test_cut_and_flipped_files_are_refused_or_harmless(file: Path) -> None:
    content = file.read_bytes()
    tally = Tally.load(file)
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(content[: rng.integers(1, len(content))] if rng.random() < 0.3 else content)
        for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
            damaged[place] = rng.integers(0, 256)
        file.write_bytes(damaged)
        with contextlib.suppress(InputError):  # else bytes that mean nothing were hit: zip checks the rest by CRC
            assert Tally.load(file) == tally


def test_declared_sizes_are_not_believed(file: Path) -> None:
    """An array that claims to be huge ends as an InputError, not in a full memory."""
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (100000000000000,), }"
    array = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("huge.npy", array)
    with pytest.raises(InputError, match="is not a pacshift tally"):
        Tally.load(file)


def test_saving_needs_a_folder(tmp_path: Path) -> None:
    tally = Tally.from_scores(np.eye(2), [0, 1])
    with pytest.raises(InputError, match="cannot write"):
        tally.save(tmp_path / "no" / "a.tally")


def test_methods_ask_for_what_a_tally_lacks() -> None:
    source, target = Tally.from_scores(np.eye(2), [0, 1], soft=False), Tally.from_target(np.eye(2), soft=False)
    with pytest.raises(InputError, match="no source examples: every method needs a labelled source"):
        calibrate_tally(target, epsilon=0.1, delta=0.1, method="PS")
    with pytest.raises(InputError, match="no target examples: method PS-W needs unlabelled target scores"):
        calibrate_tally(source, epsilon=0.1, delta=0.1, method="PS-W")
    with pytest.raises(InputError, match="needs sums of probabilities, which this tally lacks"):
        calibrate_tally(source + target, epsilon=0.1, delta=0.1, method="PS-R")
    with pytest.raises(InputError, match="method APS needs a tally of adaptive scores"):
        calibrate_tally(source, epsilon=0.1, delta=0.1, method="APS")


def test_scores_of_any_size_survive_a_file(tmp_path: Path) -> None:
    tally = Tally.from_scores(np.array([[1e149, -1e149], [2e149, 3e149]]), [0, 1], soft=False)
    tally.save(tmp_path / "huge.tally")
    assert Tally.load(tmp_path / "huge.tally") == tally
