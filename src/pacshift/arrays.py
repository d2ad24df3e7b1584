"""Short names for the array types that all modules use."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

Label: TypeAlias = str | int | float | bool
"""A class name: any single JSON value, because certificates and tallies are saved with their class names."""
