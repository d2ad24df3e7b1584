"""From rows to the arrays that a network reads. Changes at random (crops, mirrors) only with an ``rng``."""

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from paper.recipes.raw import BoolArray, ImageReader, Pixels

Inputs = tuple[NDArray[Any], ...]
Colour = tuple[float, ...]


class Encoder(Protocol):
    """Turns some rows into the inputs of a network."""

    broken: dict[str, str]
    """Files that could not be read, with the reason."""

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """The inputs of those rows that can be read, and for each row whether it can."""
        ...


class AnswerEncoder:
    """Survey answers, standardised by the mean and spread of the fitted rows."""

    def __init__(self, answers: FloatArray, fitted: IntArray) -> None:
        self.broken: dict[str, str] = {}
        spread = answers[fitted].std(axis=0)
        scaled = (answers - answers[fitted].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self._answers = scaled.astype(np.float32)

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """One standardised answer per column."""
        return (self._answers[rows],), np.ones(len(rows), bool)


class PixelEncoder:
    """Small images held in memory; at random: mirrored, shifted by up to two pixels."""

    PAD = 2

    def __init__(self, pixels: Pixels, fitted: IntArray, *, mean: Colour = (), spread: Colour = ()) -> None:
        self.broken: dict[str, str] = {}
        self._pixels = pixels
        sample = pixels[fitted[:: max(1, len(fitted) // 5000)]].astype(np.float64) / 255
        own_mean, own_spread = sample.mean(axis=(0, 1, 2)), np.maximum(sample.std(axis=(0, 1, 2)), 1e-6)
        self._mean = np.asarray(mean or own_mean, np.float32)
        self._spread = np.asarray(spread or own_spread, np.float32)

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """Images x 3 x height x width, standardised."""
        images = (self._pixels[rows].astype(np.float32) / np.float32(255) - self._mean) / self._spread
        if rng is not None:
            images = shift_and_mirror(images, self.PAD, rng)
        return (np.ascontiguousarray(images.transpose(0, 3, 1, 2)),), np.ones(len(rows), bool)


def shift_and_mirror(images: NDArray[np.float32], pad: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Each image moved by up to ``pad`` pixels (edges reflected), half of them mirrored."""
    n_images, height, width = images.shape[:3]
    padded = np.pad(images, ((0, 0), (pad, pad), (pad, pad), (0, 0)), mode="reflect")
    top = rng.integers(0, 2 * pad + 1, (n_images, 1)) + np.arange(height)
    left = rng.integers(0, 2 * pad + 1, (n_images, 1)) + np.arange(width)
    mirrored = rng.random(n_images) < 0.5
    left[mirrored] = left[mirrored, ::-1]
    return np.asarray(padded[np.arange(n_images)[:, None, None], top[:, :, None], left[:, None, :]])


class FileEncoder:
    """Image files decoded when they are needed, scaled as the network expects; at random: mirrored."""

    def __init__(self, paths: Sequence[str], size: int, *, mean: Colour, spread: Colour) -> None:
        self._paths = paths
        self._reader = ImageReader(size=size, shorter_side=round(size * 8 / 7))
        self.broken = self._reader.broken
        self._mean, self._spread = np.array(mean, np.float32), np.array(spread, np.float32)

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """Images x 3 x size x size of the files that can be read."""
        found = [self._reader.read(Path(self._paths[row])) for row in rows]
        is_good = np.array([image is not None for image in found], bool)
        mirrored = np.zeros(len(rows), bool) if rng is None else rng.random(len(rows)) < 0.5
        images = [
            image[:, ::-1] if flip else image
            for image, flip in zip(found, mirrored, strict=True)
            if image is not None
        ]
        if not images:
            return (np.zeros((0, 3, 1, 1), np.float32),), is_good
        scaled = (np.stack(images).astype(np.float32) / np.float32(255) - self._mean) / self._spread
        return (np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)),), is_good


# Texts as hashed words and parts of them: no vocabulary to store, the same numbers on every machine.

BUCKETS, DROPPED, N_LETTERS = 1 << 18, 0.5, 5
"""The last two were chosen on 6,000 held-out articles of AG News (paper/train.md); the number of buckets is
a round one."""
WORD = re.compile(r"[a-z]+|[0-9]+")
MARKUP = re.compile(r"&?(?:lt|gt|amp|quot|nbsp|#39|#36);|<[^>]*>|\\")
"""What web pages left behind in the articles."""


def terms_of(text: str) -> list[str]:
    """Words in lower case, each with its successor, and the first letters of each.

    >>> terms_of("Oil prices UP")
    ['oil', 'prices', 'up', 'oil prices', 'prices up', '#oil', '#price', '#up']
    """
    words = WORD.findall(MARKUP.sub(" ", text).lower())
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    return words + pairs + [f"#{word[:N_LETTERS]}" for word in words]


def buckets_of(text: str) -> IntArray:
    """The distinct buckets of a text, sorted; an empty text has bucket 0."""
    hashed = {zlib.crc32(term.encode()) % BUCKETS for term in terms_of(text)}
    return np.array(sorted(hashed) or [0], np.int64)


def _drop_some(buckets: IntArray, rng: np.random.Generator) -> IntArray:
    """A random half of the buckets, at least one: otherwise a linear model would learn the rows by heart."""
    kept = buckets[rng.random(len(buckets)) >= DROPPED]
    return kept if len(kept) else buckets[:1]


class TextEncoder:
    """Each text as its buckets and their weights: rare ones weigh more, long texts as much as short ones."""

    def __init__(self, texts: Sequence[str], fitted: IntArray) -> None:
        self.broken: dict[str, str] = {}
        self._buckets = [buckets_of(text) for text in texts]
        counts = np.zeros(BUCKETS)
        for row in fitted:
            counts[self._buckets[row]] += 1
        # A bucket that no fitted row has would only add noise.
        self._rarity: FloatArray = np.where(counts > 0, np.log((1 + len(fitted)) / (1 + counts)) + 1, 0.0)

    def encode(self, rows: IntArray, rng: np.random.Generator | None) -> tuple[Inputs, BoolArray]:
        """Buckets one after the other, where each text begins, and the weights."""
        found = [self._buckets[row] for row in rows]
        if rng is not None:
            found = [_drop_some(buckets, rng) for buckets in found]
        sizes = np.array([len(buckets) for buckets in found])
        starts = np.concatenate([[0], sizes.cumsum()[:-1]])
        buckets = np.concatenate(found)
        weights = self._rarity[buckets]
        norms = np.sqrt(np.maximum(np.add.reduceat(weights**2, starts), 1e-12))
        weights = (weights / np.repeat(norms, sizes)).astype(np.float32)
        return (buckets, starts.astype(np.int64), weights), np.ones(len(rows), bool)
