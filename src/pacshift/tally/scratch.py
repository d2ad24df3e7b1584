"""Memory that a thread uses again for its next block: fresh memory costs more than the counting done in it."""

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_own = threading.local()


def scratch(use: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array whose contents last until this thread asks for memory of the same ``use`` again."""
    size = math.prod(shape)
    arrays: dict[tuple[str, DTypeLike], NDArray[Any]] = vars(_own).setdefault("arrays", {})
    held = arrays.get((use, dtype))
    if held is None or len(held) < size:
        held = arrays[use, dtype] = np.empty(size, dtype)
    return held[:size].reshape(shape)


def scratch_like(use: str, block: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """As ``scratch``, in the shape and layout of a block."""
    if block.flags.c_contiguous:
        return scratch(use, block.shape, dtype)
    return scratch(use, block.shape[::-1], dtype).T
