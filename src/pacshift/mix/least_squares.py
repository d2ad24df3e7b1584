"""Least squares with unknowns that are not negative."""

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray


def nonnegative_least_squares(matrix: FloatArray, wanted: FloatArray) -> FloatArray:
    """The x >= 0 that brings ``matrix @ x`` closest to ``wanted``.

    Where the solution without the limit keeps it, ``scipy.optimize`` need not be loaded, which takes 0.13 s.
    SciPy's ``nnls`` is exact, but some versions give up on nearly dependent columns. ``lsq_linear`` then comes
    close.

    >>> nonnegative_least_squares(np.eye(2), np.array([3.0, -1.0]))
    array([3., 0.])
    """
    free = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    if (free >= 0).all():
        return np.asarray(free)
    try:
        found, _ = scipy.optimize.nnls(matrix, wanted)
    except RuntimeError:
        found = scipy.optimize.lsq_linear(matrix, wanted, bounds=(0, np.inf)).x
    return np.asarray(found)
