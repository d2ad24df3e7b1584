"""Score files: those of the package, of a folder, and bad ones."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift.errors import InputError
from pacshift.simulate.population import unpack_scores
from paper.experiments.datasets import FILES, load_dataset, load_scores
from paper.experiments.panels import select_panels
from paper.recipes.catalogue import find_recipe
from paper.ship_scores import pack_scores

GOOD = {"probs": np.full((4, 2), 0.5), "labels": np.array([0, 1, 1, 0])}
SHIPPED = ("heart", "heart-natural", "agnews", "cifar10")


@pytest.mark.parametrize("name", FILES)
def test_the_package_ships_every_data_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    data = load_dataset(name)
    panel = select_panels([name])[0]
    assert data.n_classes == len(data.class_names) == panel.n_classes
    assert np.allclose(data.probs.sum(axis=1), 1)
    assert np.bincount(data.labels, minlength=data.n_classes).min() >= 400
    assert data.origin == ("shipped" if name in SHIPPED else "twin")
    assert ("twin" in data.title) == (data.origin == "twin")
    assert (data.probs.argmax(axis=1) == data.labels).mean() > 0.55


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scores_say_how_they_were_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    data: Any = load_dataset(name)
    facts = data.facts
    assert facts["dataset"] == name
    assert facts["recipe"] == "small"
    assert facts["settings"] == asdict(
        find_recipe(name, "small").settings
    )  # as `python -m paper train` would make them now
    assert facts["n_scored"] == len(data.labels)
    assert facts["accuracy"] == pytest.approx((data.probs.argmax(axis=1) == data.labels).mean(), abs=1e-3)
    assert len(set(data.row_ids.tolist())) == len(data.labels)
    assert "raw" not in facts  # a place on the machine of whoever trained it
    assert data.title.lower() == f"{facts['model']}, {facts['data']}".lower()
    assert data.title[0].isupper()
    assert f"recipe small, seed {facts['seed']}" in data.story


def test_shipped_data_cannot_be_changed_by_a_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    with pytest.raises(ValueError, match="read-only"):
        load_dataset("agnews").probs[0, 0] = 2


def test_packed_scores_keep_order_and_value() -> None:
    probs = np.random.default_rng(0).dirichlet([0.3] * 5, 500)
    again = unpack_scores(pack_scores(probs))
    assert np.allclose(again, probs, rtol=2e-3, atol=1e-28)  # a gap of 64 is the largest that fits
    assert (again.argmax(axis=1) == probs.argmax(axis=1)).all()


def test_real_scores_take_the_place_of_what_is_shipped(tmp_path: Path) -> None:
    (tmp_path / "heart").mkdir()
    probs = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]], np.float32)
    np.savez(tmp_path / "heart" / "scores_natural.npz", probs=probs, labels=np.array([1, 0, 0], np.int16))
    data = load_dataset("heart-natural", tmp_path)
    assert data.origin == "real"
    assert np.array_equal(data.probs, probs)
    assert data.class_names == ("0", "1")
    assert data.facts == {}
    assert load_dataset("chestxray", tmp_path).origin == "twin"  # not in the folder


@pytest.mark.parametrize(
    ("made_for", "remedy"),
    [("heart", "Move it to heart/scores_rebalanced.npz."), ("survey", "Move it to a file of its own.")],
)
def test_scores_of_another_model_are_refused(tmp_path: Path, made_for: str, remedy: str) -> None:
    """Both heart models fit every heart panel, so nothing else would notice a file in the wrong place."""
    facts = {"model": "MLP", "data": "BRFSS", "recipe": "small", "seed": 0, "n_fitted": 9, "n_scored": 4}
    (tmp_path / "heart").mkdir()
    text = json.dumps({**facts, "accuracy": 0.5, "dataset": made_for})
    np.savez(tmp_path / "heart" / "scores_natural.npz", allow_pickle=False, facts=np.array(text), **GOOD)
    with pytest.raises(InputError, match=f"'heart-natural' are expected.*'{made_for}'. {remedy}"):
        load_dataset("heart-natural", tmp_path)


def test_shared_scores_are_found(shared_data: Path) -> None:
    for name in set(FILES) - {"heart"}:
        assert load_dataset(name, shared_data).origin == "real"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": None}, "'probs' is missing"),
        ({"labels": None}, "'labels' is missing"),
        ({"probs": np.full(4, 0.5)}, "one column per class"),
        ({"probs": np.full((4, 2), "a")}, "numbers"),
        ({"probs": np.array([[0.5, 0.5], [np.nan, 1], [0, 1], [0, 1]])}, "row 1"),
        ({"probs": np.full((0, 2), 0.5), "labels": np.empty(0, int)}, "no rows"),
        ({"labels": np.array([0, 1])}, "one label per row"),
        ({"labels": np.array([0, 1, 2, 0])}, "row 2"),
        ({"labels": np.array([0, 1, -1, 0])}, "row 2"),
        ({"labels": np.array(["0", "1", "x", "0"])}, "row 2"),
        ({"class_names": np.array(["a", "b", "c"])}, "class_names"),
        ({"row_ids": np.arange(3)}, r"row_ids has shape \(3,\)"),
        ({"groups": np.zeros((4, 1))}, r"groups has shape \(4, 1\)"),
        ({"facts": np.array("no JSON")}, "'facts' must be JSON"),
        ({"facts": np.array('{"model": "mine"}')}, "'facts' must be JSON"),
        ({"facts": np.array("[1, 2]")}, "'facts' must be JSON"),
    ],
)
def test_a_bad_scores_file_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    arrays = {key: value for key, value in (GOOD | change).items() if value is not None}
    np.savez(tmp_path / "scores.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        load_scores(tmp_path / "scores.npz")


def test_files_that_are_no_npz_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 cut off")
    np.savez(tmp_path / "pickle.npz", probs=np.array([{"a": 1}], dtype=object), labels=np.array([0]))
    np.save(tmp_path / "one.npy", np.zeros(3))
    for name in ("text.npz", "broken.npz", "pickle.npz", "one.npy", "absent.npz"):
        with pytest.raises(InputError, match=name):
            load_scores(tmp_path / name)


def test_a_folder_without_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no score file"):
        load_dataset("heart", tmp_path)
    with pytest.raises(InputError, match="unknown"):
        load_dataset("mnist")


def test_images_of_one_patient_of_chestxray_stay_together(tmp_path: Path) -> None:
    images = np.array(["00000013_005.png", "00000032_001.png", "00000013_026.png", "00000032_002.png"])
    for more, expected in (
        ({"image": images}, [0, 1, 0, 1]),
        ({"image": images, "groups": np.arange(4)}, [0, 1, 2, 3]),
        ({"image": np.array(list("abcd"))}, None),
    ):
        arrays: dict[str, Any] = {"probs": np.full((4, 2), 0.5), "labels": np.array([0, 1, 0, 1]), **more}
        np.savez(tmp_path / "chest.npz", **arrays)
        found = load_scores(tmp_path / "chest.npz").groups
        assert (None if found is None else found.tolist()) == expected
