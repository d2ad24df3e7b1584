"""Panels, data sets and twins."""

from pathlib import Path

import numpy as np
import pytest

from pacshift.errors import InputError
from pacshift.experiments.datasets import FILES, load_dataset, load_scores, pack_scores, unpack_scores
from pacshift.experiments.panels import PANELS, STANDARD, VARIANTS, select_panels
from pacshift.experiments.reproduce import at_epsilon, own_panels
from pacshift.experiments.twins import Twin, fit_twin
from pacshift.methods import METHODS


def test_the_panels_are_those_of_the_paper() -> None:
    assert len(PANELS) == len({panel.name for panel in PANELS}) == 21
    assert {panel.dataset for panel in PANELS} == set(FILES) - {"heart-natural"}
    for panel in (*PANELS, *VARIANTS):
        assert np.isclose(sum(panel.source_mix), 1)
        assert np.isclose(sum(panel.target_mix), 1)
        assert len(panel.target_mix) == panel.n_classes
        assert np.isclose(np.array(panel.source_mix) @ panel.weights, 1)
        assert set(panel.methods) <= set(METHODS)
    # 26 figures: a panel each, and one more for each of the 5 figures that add methods to a panel.
    extras = {panel.name: panel.extras for panel in PANELS if panel.extras}
    assert extras == {
        "heart-small-0.1": ("LWCP", "PS-LW", "APS"),
        "heart-large-0.1": ("ORACLE",),
        "cifar10-large-0.1": ("ORACLE",),
    }
    assert STANDARD == ("PS", "PS-C", "PS-R", "PS-W", "WCP", "PS-LP")


def test_panels_are_chosen_by_name_row_or_data_set() -> None:
    assert select_panels(["all"]) == PANELS
    assert select_panels(["heart-natural"]) == VARIANTS
    assert [p.name for p in select_panels(["cifar10"])] == [
        "cifar10-large-0.1", "cifar10-large-0.05", "cifar10-large-0.03", "cifar10-small-0.1",
    ]  # fmt: skip
    assert [p.name for p in select_panels(["agnews-0.1", "heart-large-reversed"])] == [
        "heart-large-reversed-0.03", "agnews-0.1",
    ]  # fmt: skip
    with pytest.raises(InputError, match="heart-medium"):
        select_panels(["heart-medium"])


def test_other_epsilons_keep_each_shift_once() -> None:
    panels = at_epsilon(select_panels(["heart-small", "cifar10-small"]), [0.2, 0.15])
    assert [p.name for p in panels] == [
        "heart-small-0.2", "heart-small-0.15", "cifar10-small-0.2", "cifar10-small-0.15",
    ]  # fmt: skip
    with pytest.raises(InputError, match="epsilon"):
        at_epsilon(PANELS[:1], [1.5])


@pytest.mark.parametrize("name", FILES)
def test_the_package_ships_every_data_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    data = load_dataset(name)
    panel = select_panels([name])[0]
    assert data.n_classes == len(data.class_names) == panel.n_classes
    assert np.allclose(data.probs.sum(axis=1), 1)
    assert np.bincount(data.labels, minlength=data.n_classes).min() >= 400
    assert data.origin == ("shipped" if name in ("heart", "heart-natural", "agnews") else "twin")
    assert ("twin" in data.title) == (data.origin == "twin")
    assert (data.probs.argmax(axis=1) == data.labels).mean() > 0.55


def test_shipped_data_cannot_be_changed_by_a_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    with pytest.raises(ValueError, match="read-only"):
        load_dataset("agnews").probs[0, 0] = 2


def test_packed_scores_keep_order_and_value() -> None:
    probs = np.random.default_rng(0).dirichlet([0.3] * 5, 500)
    again = unpack_scores(pack_scores(probs))
    assert np.allclose(again, probs, rtol=2e-3, atol=1e-28)  # a gap of 64 is the largest that fits
    assert (again.argmax(axis=1) == probs.argmax(axis=1)).all()


@pytest.mark.parametrize("relative", [False, True])
def test_a_twin_has_the_confusion_and_scores_it_was_fitted_to(relative: bool) -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 8000)
    # Hard rows and easy rows: the gaps of one row are strongly correlated.
    logits = rng.normal(size=(8000, 4)) + rng.gamma(1.5, 2.0, (8000, 1)) * np.eye(4)[labels]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    twin = Twin.from_arrays(fit_twin(probs, labels, relative=relative).arrays())
    made, made_labels = twin.sample(20_000, np.random.default_rng(2))
    for label in range(4):
        both = probs[labels == label], made[made_labels == label]
        confusion = [np.bincount(rows.argmax(axis=1), minlength=4) / len(rows) for rows in both]
        assert np.abs(confusion[0] - confusion[1]).max() < 0.02
        levels = [0.05, 0.25, 0.5, 0.75, 0.95]
        quantiles = [np.quantile(rows[:, label], levels) for rows in both]
        assert np.abs(quantiles[0] - quantiles[1]).max() < 0.04
    sizes = [[(rows > cut).sum(axis=1).mean() for cut in (0.01, 0.05, 0.2)] for rows in (probs, made)]
    assert np.abs(np.array(sizes[0]) - np.array(sizes[1])).max() < 0.05
    spread = [np.corrcoef(np.log(rows[:, 0]), np.log(rows[:, 1]))[0, 1] for rows in (probs, made)]
    assert abs(spread[0] - spread[1]) < 0.08


def test_twins_are_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from pacshift.experiments import datasets

    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    first = load_dataset("chestxray")
    datasets._packaged.cache_clear()
    second = load_dataset("chestxray")
    assert first is not second
    assert np.array_equal(first.probs, second.probs)
    assert np.array_equal(first.labels, second.labels)


def test_real_scores_take_the_place_of_what_is_shipped(tmp_path: Path) -> None:
    (tmp_path / "heart").mkdir()
    probs = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]], np.float32)
    np.savez(tmp_path / "heart" / "scores.npz", probs=probs, labels=np.array([1, 0, 0], np.int16))
    data = load_dataset("heart", tmp_path)
    assert data.origin == "real"
    assert np.array_equal(data.probs, probs)
    assert data.class_names == ("0", "1")
    assert load_dataset("cifar10", tmp_path).origin == "twin"  # not in the folder


def test_shared_scores_are_found(shared_data: Path) -> None:
    for name in FILES:
        assert load_dataset(name, shared_data).origin == "real"


GOOD = {"probs": np.full((4, 2), 0.5), "labels": np.array([0, 1, 1, 0])}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": None}, "'probs' is missing"),
        ({"labels": None}, "'labels' is missing"),
        ({"probs": np.full(4, 0.5)}, "must be a matrix"),
        ({"probs": np.full((4, 2), "a")}, "numbers"),
        ({"probs": np.array([[0.5, 0.5], [np.nan, 1], [0, 1], [0, 1]])}, "row 1"),
        ({"probs": np.full((0, 2), 0.5), "labels": np.empty(0, int)}, "no rows"),
        ({"labels": np.array([0, 1])}, "one label a row"),
        ({"labels": np.array([0, 1, 2, 0])}, "row 2"),
        ({"labels": np.array([0, 1, -1, 0])}, "row 2"),
        ({"labels": np.array(["0", "1", "x", "0"])}, "row 2"),
        ({"class_names": np.array(["a", "b", "c"])}, "class_names"),
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


@pytest.mark.parametrize(
    ("source", "target", "sizes", "message"),
    [
        ([1, 1], [1, 1, 1], (9, 9, 9), "equally long"),
        ([1, -1], [1, 1], (9, 9, 9), "source mix"),
        ([1, 1], [0, 0], (9, 9, 9), "target mix"),
        ([1, 0], [1, 1], (9, 9, 9), "class 1"),
        ([1, 1], [1, 1], (9, 0, 9), "sample sizes"),
    ],
)
def test_own_panels_refuse_mixes_that_make_no_sense(
    source: list[float], target: list[float], sizes: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        own_panels("mine", source, target, [0.1], sizes)
