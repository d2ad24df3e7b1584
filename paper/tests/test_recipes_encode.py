"""Encoders: what a network sees; random changes only while fitting, and the same for the same generator."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paper.recipes.catalogue import RECIPES, Settings, find_recipe
from paper.recipes.encode import (
    BUCKETS,
    AnswerEncoder,
    FileEncoder,
    PixelEncoder,
    TextEncoder,
    buckets_of,
    shift_and_mirror,
)
from paper.tests import raw_data


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_answers_are_standardised_by_the_fitted_rows_alone() -> None:
    answers = np.column_stack([np.arange(10.0), np.full(10, 3.0)])
    ((made,), is_good) = AnswerEncoder(answers, np.arange(5)).encode(np.arange(10), None)
    assert made[:5, 0].mean() == pytest.approx(0, abs=1e-6)
    assert made[:5, 0].std() == pytest.approx(1, abs=1e-6)
    assert (made[:, 1] == 0).all()  # an answer that never changes
    assert is_good.all()
    others = np.where(np.arange(10)[:, None] < 5, answers, 1000.0)
    ((changed,), _) = AnswerEncoder(others, np.arange(5)).encode(np.arange(5), None)
    assert np.array_equal(made[:5], changed)


def test_images_change_at_random_only_with_a_generator() -> None:
    pixels = np.stack([raw_data.painted(label, rng()) for label in range(6)])
    encoder = PixelEncoder(pixels, np.arange(6))
    rows = np.arange(6)
    plain, again, one, same, other = (
        encoder.encode(rows, use)[0][0] for use in (None, None, rng(1), rng(1), rng(2))
    )
    assert plain.shape == (6, 3, 32, 32)
    assert np.array_equal(plain, again)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, plain)
    assert plain.mean(axis=(0, 2, 3)) == pytest.approx(np.zeros(3), abs=1e-4)


def test_shifts_and_mirrors_move_pixels_without_inventing_any() -> None:
    images = rng().random((40, 8, 8, 3)).astype(np.float32)
    moved = shift_and_mirror(images, 0, rng(1))
    is_same = np.array([np.array_equal(a, b) for a, b in zip(images, moved, strict=True)])
    is_mirrored = np.array([np.array_equal(a[:, ::-1], b) for a, b in zip(images, moved, strict=True)])
    assert (is_same ^ is_mirrored).all()
    assert 10 < is_mirrored.sum() < 30
    shifted = shift_and_mirror(images, 2, rng(1))
    assert all(set(b.ravel()) <= set(a.ravel()) for a, b in zip(images, shifted, strict=True))


def test_broken_files_are_skipped_and_noted(tmp_path: Path) -> None:
    raw_data.write_images(tmp_path, ("a",), 3, ".png", size=40)
    paths = sorted(map(str, tmp_path.rglob("*.png")))
    Path(paths[1]).write_bytes(b"no image")
    encoder = FileEncoder(paths, 28, mean=(0.5,) * 3, spread=(0.5,) * 3)
    ((images,), is_good) = encoder.encode(np.arange(3), None)
    assert images.shape == (2, 3, 28, 28)
    assert is_good.tolist() == [True, False, True]
    assert list(encoder.broken) == [paths[1]]
    ((none,), nothing_good) = encoder.encode(np.array([1]), None)
    assert len(none) == 0
    assert not nothing_good.any()


def test_texts_are_hashed_alike_everywhere() -> None:
    assert 1290905746 % BUCKETS in buckets_of("oil")  # the CRC-32 of "oil"
    assert len(buckets_of("oil")) == 2  # the word and its first letters
    assert buckets_of("").tolist() == [0]
    encoder = TextEncoder(["oil price", "oil oil", "goal", ""], np.array([0, 1, 2]))
    (buckets, starts, weights), _ = encoder.encode(np.arange(4), None)
    assert starts.tolist() == [0, 5, 8, 10]
    norms = np.sqrt(np.add.reduceat(weights**2, starts))
    assert norms == pytest.approx([1, 1, 1, 0])
    oil = np.isin(buckets[:5], buckets_of("oil"))
    assert oil.sum() == 2
    assert weights[:5][oil].max() < weights[:5][~oil].min()  # two of three texts have it


def test_words_are_dropped_only_while_fitting() -> None:
    texts = [" ".join(f"word{number}" for number in range(50))] * 2
    encoder = TextEncoder(texts, np.array([0]))
    whole = len(encoder.encode(np.array([1]), None)[0][0])
    fewer = len(encoder.encode(np.array([1]), rng())[0][0])
    assert 0.3 * whole < fewer < 0.7 * whole


def test_the_papers_values() -> None:
    """Section 4, "Predictive models"."""
    heart, news, cifar, entity, chest = (
        find_recipe(name, "paper").settings for name in ("heart", "agnews", "cifar10", "entity13", "chestxray")
    )
    natural = find_recipe("heart-natural", "paper").settings
    sgd = natural.optimiser, natural.rate, natural.momentum, natural.batch, natural.epochs
    assert sgd == ("sgd", 0.03, 0.9, 64, 30)
    assert natural == Settings(epochs=30, batch=64, rate=0.03)  # no more than that: no decay, no schedule
    assert find_recipe("cifar10", "paper").needs_weights.startswith("a ResNet-50")
    assert (find_recipe("heart", "paper").hidden, find_recipe("heart-natural", "paper").hidden) == (14, 64)
    assert heart == replace(natural, rate=0.003)  # as the authors' code has it
    assert (news.optimiser, news.rate, news.epochs) == ("adamw", 1e-5, 1)
    assert (cifar.rate, cifar.epochs) == (0.01, 56)
    assert (entity.rate, entity.epochs) == (0.01, 13)
    assert (chest.rate, chest.epochs) == (3e-4, 2)
    assert all(recipe.ours for recipe in RECIPES)
