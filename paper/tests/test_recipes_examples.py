"""Figure 1: concrete rows, chosen by the stated rule, with the sets that the certificates really give."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift.errors import InputError
from paper.experiments.panels import Panel, mix
from paper.experiments.trial import AS_PUBLISHED, Draw, Experiment, thresholds_of
from paper.recipes import write_examples
from paper.recipes.examples import choose_rows
from paper.recipes.raw import READERS
from paper.tests import raw_data

FACTS = {"model": "a made-up model", "recipe": "small", "seed": 0, "n_fitted": 1, "n_scored": 1, "accuracy": 0.7}


def write_scores(folder: Path, dataset: str, raw: Path, *, ids: bool = True) -> str:
    """Scores of a weak made-up model for all rows of the raw data."""
    data = READERS[dataset](raw)
    rng = np.random.default_rng(0)
    logits = (
        rng.normal(size=(len(data.labels), len(data.class_names))) + 2 * np.eye(len(data.class_names))[data.labels]
    )
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    facts = json.dumps(FACTS | {"dataset": dataset, "data": data.title, "raw": str(raw)})
    arrays: dict[str, Any] = {"row_ids": data.ids} if ids else {}
    path = folder / f"{dataset}-{ids}.npz"
    np.savez(path, probs=probs, labels=data.labels, class_names=np.array(data.class_names), facts=facts, **arrays)
    return str(path)


def panel(n_classes: int) -> Panel:
    target = (60, *[40 / (n_classes - 1)] * (n_classes - 1))
    return Panel("mine", "mine", mix(*[1] * n_classes), mix(*target), 0.1, 2000, 2000, 500, delta=0.05)


@pytest.fixture
def news(tmp_path: Path) -> Path:
    raw_data.write_news_parquet(tmp_path / "news.parquet")
    return tmp_path


def test_texts_labels_and_sets_are_those_of_the_rows(news: Path) -> None:
    scores = write_scores(news, "agnews", news / "news.parquet")
    mine = panel(4)
    page = write_examples(mine, news / "out", n_examples=4, scores_file=scores)
    assert page == news / "out" / "examples-mine-0.1.html"
    text = page.with_suffix(".md").read_text(encoding="utf-8")
    assert "Scores: A made-up model, AG News: real scores" in text
    assert "chosen by a rule, not by hand" in text
    data = READERS["agnews"](news / "news.parquet")
    draw = Draw(Experiment(mine, scores_file=scores), 0)
    rows, missed_from = choose_rows(draw, 4)
    assert missed_from == 4
    assert rows[:4].tolist() == list(dict.fromkeys(draw.test.tolist()))[:4]
    thresholds = {name: thresholds_of(draw, AS_PUBLISHED[name], "probability") for name in ("PS", "PS-W")}
    for row in rows:
        line = next(line for line in text.splitlines() if line.startswith(f"| {row}: {data.content[row]} |"))
        cells = [cell.strip() for cell in line.split("|")[2:-1]]
        assert cells[0] == data.class_names[draw.base.labels[row]]
        inside = draw.base.probs[row] >= thresholds["PS-W"]
        assert cells[3] == (", ".join(np.array(data.class_names)[inside]) or "(empty)")
    missed = rows[missed_from:]
    assert len(missed)
    assert not (draw.base.probs[missed] >= thresholds["PS"])[
        np.arange(len(missed)), draw.base.labels[missed]
    ].any()


def test_images_are_on_the_page_but_not_in_the_markdown(tmp_path: Path) -> None:
    raw_data.write_cifar_folder(tmp_path / "raw")
    scores = write_scores(tmp_path, "cifar10", tmp_path / "raw")
    page = write_examples(panel(10), tmp_path, n_examples=2, scores_file=scores)
    assert page.read_text(encoding="utf-8").count("data:image/png;base64,") >= 2
    assert "base64" not in page.with_suffix(".md").read_text(encoding="utf-8")


def test_image_files_and_answers_are_shown(tmp_path: Path) -> None:
    raw_data.write_chest(tmp_path / "chest")
    page = write_examples(
        panel(6), tmp_path, n_examples=1, scores_file=write_scores(tmp_path, "chestxray", tmp_path / "chest")
    )
    assert "data:image/png;base64," in page.read_text(encoding="utf-8")
    raw_data.write_heart(tmp_path / "heart.csv")
    page = write_examples(
        panel(2), tmp_path, n_examples=1, scores_file=write_scores(tmp_path, "heart", tmp_path / "heart.csv")
    )
    assert "HighBP 1, BMI" in page.read_text(encoding="utf-8") or "HighBP 0, BMI" in page.read_text(
        encoding="utf-8"
    )


def test_images_that_are_not_at_hand_are_passed_over(tmp_path: Path) -> None:
    raw_data.write_chest(tmp_path / "chest")
    scores = write_scores(tmp_path, "chestxray", tmp_path / "chest")
    images = sorted((tmp_path / "chest").rglob("*.png"))
    for image in images[len(images) // 2 :]:
        image.unlink()
    shutil.make_archive(str(tmp_path / "raw" / "chestxray14_some"), "zip", tmp_path / "chest")
    page = write_examples(panel(6), tmp_path, n_examples=2, scores_file=scores, raw=tmp_path / "raw")
    text = page.with_suffix(".md").read_text(encoding="utf-8")
    assert " scored images are at hand; the others are passed over." in text
    assert "data:image/png;base64," in page.read_text(encoding="utf-8")
    (tmp_path / "bad.zip").write_bytes(b"no ZIP")
    with pytest.raises(InputError, match="not a readable ZIP"):
        READERS["chestxray"](tmp_path / "bad.zip")


def test_raw_data_that_do_not_fit_the_scores_are_refused(news: Path) -> None:
    scores = write_scores(news, "agnews", news / "news.parquet")
    raw_data.write_news_parquet(news / "other.parquet", n_train=20, n_test=10)
    with pytest.raises(InputError, match="not in these raw data"):
        write_examples(panel(4), news, n_examples=50, raw=news / "other.parquet", scores_file=scores)
    with pytest.raises(InputError, match="Name their place with raw="):
        write_examples(panel(4), news, raw=news / "absent", scores_file=scores)
    with pytest.raises(InputError, match="do not say which raw rows"):
        write_examples(panel(4), news, scores_file=write_scores(news, "agnews", news / "news.parquet", ids=False))
