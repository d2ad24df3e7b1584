"""Which rows these are: one SHA-256 of their scores, however they are stored."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Fingerprint:
    """The SHA-256 of rows of scores that come in blocks, in their order.

    Every column has a hash of its own, of float64 numbers, so that float32 in Parquet and float64 in memory agree;
    the SHA-256 of the sorted hashes of the columns is the fingerprint. So a table whose columns stand in another
    order has the same: which column belongs to which class is told by names, and not known before there is a
    source.

    >>> rows = np.array([[0.25, 0.75], [1.0, 0.0]])
    >>> whole, parts = Fingerprint(2), Fingerprint(2)
    >>> whole.add(rows)
    >>> for block in (rows[:1, ::-1], rows[1:, ::-1].astype(np.float32)):
    ...     parts.add(block)
    >>> whole.hexdigest() == parts.hexdigest()
    True
    """

    def __init__(self, n_classes: int) -> None:
        self._columns = [hashlib.sha256() for _ in range(n_classes)]

    def add(self, scores: NDArray[np.floating[Any]]) -> None:
        """The next rows."""
        for digest, column in zip(self._columns, scores.T, strict=True):
            digest.update((column.astype("<f8") + 0.0).data)  # -0.0 and 0.0 are one number

    def hexdigest(self) -> str:
        """The fingerprint of all rows so far."""
        columns = sorted(digest.digest() for digest in self._columns)
        return hashlib.sha256(b"".join(columns)).hexdigest()
