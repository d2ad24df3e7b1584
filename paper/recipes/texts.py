"""Texts as hashed words and parts of them: no vocabulary to store, the same numbers on every machine."""

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from paper.recipes.encode import Inputs
from paper.recipes.raw.data import BoolArray

BUCKETS, DROPPED, N_LETTERS = 1 << 18, 0.5, 5
"""The last two were chosen on 6,000 held-out articles of AG News (docs/train.md); the number of buckets is a round
one."""
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
