"""ssbc: its small-sample correction of alpha for each class, then the conformal quantile of that class.

``mondrian_conformal_calibrate`` does this for two classes; for more, its documentation names ``ssbc_correct``.
``delta`` is for each class by itself, as documented.
"""

import math
from typing import Any

import numpy as np
from ssbc import ssbc_correct

from benchmarks.contestants import Contestant, Given, NumpyContestant


class ClassWise(NumpyContestant):
    """One threshold per class."""

    def calibrate(self, given: Given) -> Any:
        thresholds = np.empty(given.n_classes)
        for label in range(given.n_classes):
            scores = np.sort(1.0 - given.source[given.labels == label, label])
            corrected = ssbc_correct(given.epsilon, len(scores), given.delta).alpha_corrected
            rank = min(math.ceil((len(scores) + 1) * (1 - corrected)), len(scores))
            thresholds[label] = scores[rank - 1]
        return thresholds

    def sets(self, fitted: Any, scores: Any) -> Any:
        return 1.0 - scores <= fitted


SETTINGS: dict[str, Contestant] = {"class-wise PAC": ClassWise()}
