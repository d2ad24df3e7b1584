"""Short names for the array types that every module speaks."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

Label: TypeAlias = str | int | float | bool
"""A class name: whatever JSON can hold as one value, so that certificates and tallies can name it."""
