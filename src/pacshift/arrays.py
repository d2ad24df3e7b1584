"""Short names for the types that all modules use: arrays inside, and what users may pass in."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
KeyArray: TypeAlias = NDArray[np.uint64]

Label: TypeAlias = str | int | float | bool
"""A class name: any single JSON value, because certificates and tallies are saved with their class names."""


class Frame(Protocol):
    """A table with named columns, such as those of pandas, polars and Arrow."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""


class SupportsDLPack(Protocol):
    """A tensor of any library that shares its memory by DLPack."""

    def __dlpack__(self) -> Any:
        """The memory."""


ScoresLike: TypeAlias = ArrayLike | Sequence[Any] | Frame | SupportsDLPack
"""A score matrix, one row per example and one column per class: array, tensor, nested lists or frame."""

LabelsLike: TypeAlias = ArrayLike | Sequence[Any] | Frame | SupportsDLPack
"""One label per row: array, tensor, list, series, or a frame with one column."""

RngLike: TypeAlias = int | np.integer[Any] | Sequence[int] | np.random.Generator | None
"""A seed, a generator, or None for fresh randomness."""
