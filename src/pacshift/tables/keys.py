"""A column that identifies rows: which rows of a file were counted before. Only hashes of it are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from pacshift.arrays import BoolArray, IntArray, KeyArray
from pacshift.errors import InputError
from pacshift.rows.arrow.source import Records, without_codes
from pacshift.tables.reader import TableReader

HASH_BYTES = 8
"""Two of 100 million rows share a hash with a probability of about 0.03 %."""


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """The hash of each row's key in a file, and which rows are to be counted.

    ``owner`` is the place in ``periods`` of the one that a row was counted in before, -1 if it was not.
    """

    hashes: KeyArray
    is_new: BoolArray
    owner: IntArray
    periods: Sequence[str]
    n_known: int
    n_missing: int

    def of(self, batch: Records, kept: BoolArray | None) -> tuple[KeyArray, BoolArray, IntArray]:
        """Hashes of the usable rows of a batch, which of them are new, and where the others were counted."""
        rows = slice(batch.first_row, batch.first_row + batch.data.num_rows)
        found = self.hashes[rows], self.is_new[rows], self.owner[rows]
        return found if kept is None else (found[0][kept], found[1][kept], found[2][kept])


def read_keys(reader: TableReader, column: str, known: Mapping[str, KeyArray], *, drop_invalid: bool) -> RowKeys:
    """The keys of a file: a row is new if no period of ``known`` has its key and no earlier row had it."""
    parts: list[Any] = []
    for batch in reader.source.batches([], 1, (), [column]):
        batch.require_sound()
        parts.append(_hashes(batch.data.column(0), column, batch.file))
    hashes = np.concatenate([hashes for hashes, _ in parts])
    missing = np.concatenate([missing for _, missing in parts])
    n_missing = int(missing.sum())
    if n_missing and not drop_invalid:
        raise InputError(
            f"{n_missing} row(s) have no key in column {column!r}. Fill them in, or leave the rows out with "
            "drop_invalid=True."
        )
    is_first = np.zeros(len(hashes), np.bool_)
    is_first[np.unique(hashes, return_index=True)[1]] = True
    is_first &= ~missing
    owner = np.full(len(hashes), -1)
    for place, keys in enumerate(known.values()):
        owner[is_first & np.isin(hashes, keys)] = place
    is_new = is_first & (owner < 0)
    n_known = len(hashes) - n_missing - int(is_new.sum())
    return RowKeys(hashes, is_new, owner, list(known), n_known, n_missing)


def _hashes(values: Any, name: str, file: str) -> tuple[KeyArray, BoolArray]:
    """A hash of the text of each value, so that 7 in Parquet and 7 in CSV are one key; and where there is none."""
    values = without_codes(values)
    try:
        texts = values.cast(pa.string()).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"{file}: column {name!r} holds {values.type}, which cannot be a key. Name a column of texts or "
            "numbers."
        ) from None
    hashes = (int.from_bytes(blake2b((text or "").encode(), digest_size=HASH_BYTES).digest()) for text in texts)
    return np.fromiter(hashes, np.uint64, len(texts)), np.array([not text for text in texts], np.bool_)
