"""Every random choice that is made on counts comes from here, and is independent of the counts.

"Coins" of docs/methods/ps-lp-proof.md.

A method that holds rows out or thins them throws coins over counts that lie sorted by score. A fixed stream of
numbers would then always treat the same ranks alike: the rows left over would be fixed order statistics and not
independent draws, and the promise would break (failures up to 16 times δ in the worlds of
benchmarks/results/guarantee.md). So the stream is chosen by the SHA-256 of the counts themselves: it has no
relation to them, and yet the same counts get the same coins, in whatever order and by whatever
engine the rows were counted.
"""

import hashlib
import re
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import KeyArray
from pacshift.scores.transforms import mix_bits

if TYPE_CHECKING:
    from pacshift.tally.inputs import Role
    from pacshift.tally.tally import Tally


def coins(purpose: str, seed: int, *counts: NDArray[Any]) -> np.random.Generator:
    """Random numbers that are as good as independent of ``counts``, and the same for the same counts.

    Different for every ``purpose`` and every ``seed``, so that no two choices share their coins ("Coins" of
    docs/methods/ps-lp-proof.md).

    >>> one, other = np.array([1, 2, 3]), np.array([1, 2, 4])
    >>> [round(coins("example", 0, each).random(), 3) for each in (one, one, other)]
    [0.114, 0.114, 0.283]
    """
    digest = hashlib.sha256(f"pacshift {purpose} {seed}".encode())
    for part in counts:
        # One type on every machine: the same counts are the same bytes.
        little = np.ascontiguousarray(part, "<f8" if part.dtype.kind == "f" else "<i8")
        digest.update(f" {little.dtype.kind}{little.shape} ".encode())
        digest.update(little.data)
    return np.random.default_rng(int.from_bytes(digest.digest(), "big"))


def score_coins(purpose: str, tally: "Tally", seed: int) -> np.random.Generator:
    """The coins for choices among the true-label scores of a tally."""
    return coins(purpose, seed, tally.values, tally.counts, tally.starts)


_BLOCK_NAMES = 1 << 14  # few names at a time: their letters take more than their places in an array
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}", re.ASCII)
_FIRST = [ord(letter) for letter in "-0123456789"]
_MOST_WHOLE = 10**18


def name_hashes(names: Iterable[str]) -> KeyArray:
    """A number of 64 bits for each name of a group: a whole number of up to 18 digits is its own.

    Of any other name it is a sum over its letters, each mixed with its place: for a million names at once, and two
    of them agree about as rarely as random numbers do. ``group_coins`` mixes them with a SHA-256 of all rows.

    >>> name_hashes(["ann", "7", "ann"]) % 1000
    array([91,  7, 91], dtype=uint64)
    """
    parts, rest = [np.empty(0, np.uint64)], iter(names)
    while block := list(islice(rest, _BLOCK_NAMES)):
        ends = np.cumsum([len(name) + 1 for name in block])  # with the zero that ends each of them
        text = "\0".join(block) + "\0"
        letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
        starts = np.append(0, ends[:-1])
        places = np.arange(len(letters)) - np.repeat(starts, ends - starts)
        hashes = mix_bits(np.add.reduceat(mix_bits(letters + (places.astype(np.uint64) << np.uint64(32))), starts))
        for place in np.flatnonzero(np.isin(letters[starts], _FIRST)).tolist():
            if _WHOLE.fullmatch(block[place]):
                hashes[place] = int(block[place]) % 2**64
        parts.append(hashes)
    return np.concatenate(parts)


def number_hashes(numbers: NDArray[np.integer[Any]]) -> KeyArray:
    """Those of names that are whole numbers, without a text of each.

    >>> bool((number_hashes(np.array([7, -12])) == name_hashes(["7", "-12"])).all())
    True
    """
    if len(numbers) and not -_MOST_WHOLE < int(numbers.min()) <= int(numbers.max()) < _MOST_WHOLE:
        return name_hashes(map(str, numbers.tolist()))
    return numbers.astype(np.int64, copy=False).view(np.uint64)


def rows_digest(names: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """How many rows there are, and two sums over what they hold: the same in any order, and adds up over batches.

    ``names`` are the hashes of the rows' groups, ``rows`` their ``row_keys``.
    """
    keys = mix_bits(rows + mix_bits(names))
    return np.array([len(keys), keys.sum(dtype=np.uint64), mix_bits(keys).sum(dtype=np.uint64)], np.uint64)


def group_coins(names: NDArray[np.uint64], digest: NDArray[np.uint64], role: "Role") -> NDArray[np.uint64]:
    """A number of 64 bits for each group, thrown over its name and all rows of its side (docs/methods/groups.md).

    ``names`` are hashes and ``digest`` is the ``rows_digest`` of the side. Different names get different coins.
    There is no seed: a sheet and ``calibrate`` must choose the same rows, and nobody shall try several choices.

    >>> names, digest = name_hashes(["ann", "bob"]), np.array([2, 5, 7], np.uint64)
    >>> [(group_coins(names, digest + np.uint64(more), "source") >> 60).tolist() for more in (0, 1)]
    [[2, 12], [13, 11]]
    """
    key = hashlib.sha256(f"pacshift group {role} ".encode() + digest.astype("<u8").tobytes()).digest()
    first, second = np.frombuffer(key[:16], "<u8").astype(np.uint64)
    return mix_bits(mix_bits(names ^ first) + second)
