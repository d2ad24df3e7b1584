"""``python -m paper train`` as a whole: from tiny raw data to a scores file, and on through the other commands."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import commands
from pacshift.errors import InputError
from paper.__main__ import app
from paper.experiments.datasets import load_scores
from paper.recipes import train
from paper.tests import raw_data

good, bad = partial(commands.good, program=app), partial(commands.bad, program=app)

NEEDS_TORCH = "torch is not installed: make train-test runs these tests"


@pytest.fixture
def torch() -> None:
    pytest.importorskip("torch", reason=NEEDS_TORCH)


@pytest.fixture
def news(tmp_path: Path) -> Path:
    raw_data.write_news_csv(tmp_path, n_train=3000, n_test=600)
    return tmp_path


@pytest.mark.usefixtures("torch")
def test_from_raw_data_to_sets(news: Path) -> None:
    """Train small, reproduce, then calibrate and check with the same scores."""
    scores = news / "scores" / "agnews" / "scores.npz"
    told = good("train", "agnews", "--data", news, "-o", scores, "--device", "cpu").stdout
    assert "hashed n-grams, AG News: fitted on 2,100 rows, scored 1,500 others" in told
    assert "on the official test rows" in told

    out = news / "out"
    options = ["--trials", "2", "--methods", "PS,PS-LP", "--workers", "1", "-o", out, "--data", scores.parents[1]]
    shown = good("reproduce", "agnews-0.05", *options, "--examples", "2").stdout
    assert "scores: Hashed n-grams, AG News: real scores (recipe small, seed 0, 2,100 rows fitted" in shown
    assert "Hashed n-grams, AG News" in (out / "summary.md").read_text(encoding="utf-8")
    assert "Hashed n-grams, AG News" in (out / "index.html").read_text(encoding="utf-8")
    assert "PS-W, before the shift" in (out / "examples-agnews-0.05.html").read_text(encoding="utf-8")

    certificate = news / "certificate.json"
    half = write_halves(scores, news)
    commands.good("calibrate", half["source"], half["target"], "-e", "0.1", "-d", "0.05", "-o", certificate)
    commands.good("check", certificate, half["target"])


def write_halves(scores: Path, folder: Path) -> dict[str, Path]:
    data = load_scores(scores)
    paths = {}
    for name, rows in (("source", slice(0, None, 2)), ("target", slice(1, None, 2))):
        paths[name] = folder / f"{name}.npz"
        np.savez(paths[name], probs=data.probs[rows], labels=data.labels[rows])
    return paths


@pytest.mark.usefixtures("torch")
def test_the_file_says_how_it_was_made_and_holds_no_fitted_row(news: Path) -> None:
    found = train("agnews", news, news / "scores.npz", seed=3, device="cpu")
    data: Any = load_scores(found.path)
    facts = data.facts
    expected = {"recipe": "small", "seed": 3, "model": "hashed n-grams", "data": "AG News"}
    assert expected.items() <= facts.items()
    assert facts["n_fitted"] == found.n_fitted == 2100
    assert facts["n_scored"] == found.n_scored == len(data.labels) == 1500
    assert facts["accuracy"] == pytest.approx(found.accuracy, abs=1e-4)
    assert (data.probs.argmax(axis=1) == data.labels).mean() == pytest.approx(found.accuracy)
    assert found.accuracy > 0.9
    torch_module = pytest.importorskip("torch")
    fitted = torch_module.load(news / "scores.checkpoint.pt", weights_only=True)["fitted_ids"]
    assert not set(fitted) & set(data.row_ids.tolist())
    assert set(range(3000, 3600)) <= set(data.row_ids.tolist())  # all official test rows
    again = load_scores(train("agnews", news, news / "again.npz", seed=3, device="cpu").path)
    assert np.array_equal(again.probs, data.probs)


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", ["heart", "heart-natural"])
def test_heart(tmp_path: Path, name: str) -> None:
    labels = raw_data.write_heart(tmp_path / "survey.csv", n_rows=2000)
    found = train(name, tmp_path / "survey.csv", tmp_path / "scores.npz", device="cpu")
    data = load_scores(found.path)
    assert found.n_fitted == {"heart": 360, "heart-natural": 473}[name]  # healthy rows are left out
    assert np.isnan(found.test_accuracy)
    assert data.facts["auc"] == pytest.approx(found.auc, abs=1e-4)
    assert found.auc > 0.7
    assert data.facts["test_accuracy"] is None
    assert found.accuracy > max(labels.mean(), 1 - labels.mean())


@pytest.mark.usefixtures("torch")
def test_cifar_with_broken_images(tmp_path: Path) -> None:
    raw_data.write_cifar_folder(tmp_path / "raw", n_train=6, n_test=2)
    (tmp_path / "raw" / "train" / "frog" / "0003.png").write_bytes(b"broken")
    result = good("train", "cifar10", "--data", tmp_path / "raw", "-o", tmp_path / "scores.npz", "--device", "cpu")
    assert "1 unreadable image left out: " in result.stderr
    assert "frog/0003.png" in result.stderr
    data = load_scores(tmp_path / "scores.npz")
    assert data.title == "Slim ConvNet, CIFAR-10 PNG folder"
    assert len(data.labels) == 79 - 47


@pytest.mark.usefixtures("torch")
def test_chest_is_split_by_patient_from_training_to_trials(tmp_path: Path) -> None:
    raw_data.write_chest(tmp_path / "raw", n_patients=20)
    arguments = ["--recipe", "paper", "--weights", "random", "--pixels", "32", "--batch", "32", "--device", "cpu"]
    out = tmp_path / "scores.npz"
    shown = good("train", "chestxray", "--data", tmp_path / "raw", "-o", out, *arguments, "--json").stdout
    assert json.loads(shown)["model"] == "DenseNet-121, ChestX-ray14, one finding out of six"
    data: Any = load_scores(out)
    assert data.row_ids is not None
    patients = {str(row_id)[:8] for row_id in data.row_ids}
    assert len(patients) == len(set(data.groups.tolist())) == 10
    assert data.facts["weights"] == "random"


@pytest.mark.usefixtures("torch")
def test_entity13_with_frozen_features(tmp_path: Path) -> None:
    raw_data.write_entity13(tmp_path / "raw")
    found = train(
        "entity13", tmp_path / "raw", tmp_path / "scores.npz", weights="random", pixels=32, device="cpu", limit=60
    )
    assert found.model.startswith("frozen EfficientNet-Lite0 with a linear layer, Entity-13")
    assert load_scores(found.path).n_classes == 3


@pytest.mark.usefixtures("torch")
def test_a_finished_run_is_not_trained_again(news: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = train("agnews", news, news / "scores.npz", device="cpu", limit=400)
    stages: list[str] = []
    again = train(
        "agnews",
        news,
        news / "scores.npz",
        device="cpu",
        limit=400,
        resume=True,
        report=lambda w, _: stages.append(w),
    )
    assert (again.path, again.accuracy) == (first.path, first.accuracy)
    assert set(stages) == {"score"}
    with pytest.raises(InputError, match="belongs to another run"):
        train("agnews", news, news / "scores.npz", device="cpu", limit=400, resume=True, seed=1)


@pytest.mark.usefixtures("torch")
def test_own_weights_cannot_score_what_they_were_fitted_on(tmp_path: Path) -> None:
    import torch

    raw_data.write_chest(tmp_path, n_patients=20)
    torch.save({"dataset": "chestxray", "fitted_ids": ["00000001_000.png"]}, tmp_path / "earlier.pt")

    def refused(seed: int) -> str:
        with pytest.raises(InputError) as found:
            train(
                "chestxray",
                tmp_path,
                tmp_path / "scores.npz",
                recipe="paper",
                weights=str(tmp_path / "earlier.pt"),
                seed=seed,
                device="cpu",
            )
        return str(found.value)

    # Whether patient 1 is scored depends on the seed; where it is not, the empty weights are the next problem.
    answers = {
        ("Use the seed and the limit" in text, "weights are missing" in text) for text in map(refused, range(6))
    }
    assert answers == {(True, False), (False, True)}


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["agnews", "--recipe", "paper"], "--weights must name a folder with a pretrained ELECTRA"),
        (["cifar10", "--recipe", "paper"], "no such folder"),
        (["agnews", "--batch", "0"], "batch must be at least 1"),
        (["agnews", "--limit", "0"], "limit must be at least 1"),
        (["agnews", "--seed", "-1"], "seed must not be negative"),
        (["agnews", "--device", "tpu"], "device must be auto, cpu or cuda"),
    ],
)
def test_bad_requests_with_torch(news: Path, words: list[str], message: str) -> None:
    data = news if words[0] == "agnews" else news / "absent"
    assert message in bad("train", *words, "--data", data, "-o", news / "scores.npz")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mnist"], "data set 'mnist' has no recipe"),
        (["chestxray"], "chestxray has no recipe 'small'. Use: paper."),
        (["agnews", "--recipe", "large"], "recipe must be paper or small"),
    ],
)
def test_bad_requests(tmp_path: Path, words: list[str], message: str) -> None:
    assert message in bad("train", *words, "--data", tmp_path, "-o", tmp_path / "scores.npz")


def test_an_output_that_is_no_scores_file_is_refused(tmp_path: Path) -> None:
    message = bad("train", "agnews", "--data", tmp_path, "-o", tmp_path / "scores.csv")
    assert "must end in .npz" in message


def test_without_torch_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "torch" or "recipes.fitting" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    message = bad("train", "agnews", "--data", tmp_path, "-o", tmp_path / "scores.npz")
    assert "error: training needs torch. Install it, in your checkout of pacshift: pip install " in message


def test_an_input_or_an_earlier_file_is_not_overwritten(tmp_path: Path) -> None:
    raw, old = tmp_path / "raw.npz", tmp_path / "old.npz"
    raw.write_bytes(b"raw")
    old.write_bytes(b"a night of training")
    assert "is the same file as the input" in bad("train", "heart", "--data", raw, "-o", raw, "--force")
    assert "exists already" in bad("train", "heart", "--data", raw, "-o", old)
    assert old.read_bytes() == b"a night of training"
