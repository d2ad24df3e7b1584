"""What a certificate says about targets of which a part is not label-shifted."""

from dataclasses import dataclass

from pacshift.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """Upper bounds of the target error if a share of the target is not label-shifted at all.

    Whatever the true share is, the bound at that share holds with the certificate's confidence.

    Parameters
    ----------
    contamination : ndarray of float
        Shares η of the target, growing.
    bounds : ndarray of float
        The largest share of the whole target that the sets miss then.

    Examples
    --------
    >>> import numpy as np
    >>> Sensitivity(np.array([0.0, 0.1]), np.array([0.1, 0.19])).bounds
    array([0.1 , 0.19])
    """

    contamination: FloatArray
    bounds: FloatArray
