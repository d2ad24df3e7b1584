"""puncc: its IdPredictor takes predictions made elsewhere, train=False."""

from itertools import chain
from typing import Any

import numpy as np
from deel.puncc.api.prediction import IdPredictor
from deel.puncc.classification import APS, LAC, RAPS, ClasswiseLAC
from numpy.typing import NDArray

from benchmarks.contestants import Contestant, Given, NumpyContestant


class Split(NumpyContestant):
    """One of its procedures; options beyond the defaults are named in SETTINGS."""

    def __init__(self, procedure: Any, **options: float) -> None:
        self.procedure, self.options = procedure, options

    def calibrate(self, given: Given) -> Any:
        model = self.procedure(IdPredictor(), train=False, **self.options)
        model.fit(X_calib=given.source, y_calib=given.labels)
        return model, given.epsilon

    def sets(self, fitted: Any, scores: Any) -> Any:
        model, epsilon = fitted
        return model.predict(scores, alpha=epsilon)[1]

    def matrix(self, fitted: Any, scores: Any) -> NDArray[Any]:
        """From one list of labels per row."""
        lists = self.sets(fitted, scores)
        answer = np.zeros(scores.shape, np.bool_)
        rows = np.repeat(np.arange(len(lists)), [len(labels) for labels in lists])
        answer[rows, np.fromiter(chain.from_iterable(lists), np.int64, len(rows))] = True
        return answer


SETTINGS: dict[str, Contestant] = {
    "LAC": Split(LAC),
    "class-conditional LAC": Split(ClasswiseLAC),
    "APS": Split(APS),
    "RAPS": Split(RAPS, lambd=0.01, k_reg=5),  # the constants of the RAPS paper; its default is APS
}
