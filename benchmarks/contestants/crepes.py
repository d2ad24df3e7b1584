"""crepes: WrapClassifier around a learner that hands back stored probabilities; hinge scores, its default.

Sets without smoothing: its documentation calls smoothing slower and of minor effect.
"""

from typing import Any

import numpy as np
from crepes import WrapClassifier
from numpy.typing import NDArray

from benchmarks.contestants import Contestant, Given, NumpyContestant


class Stored:
    """The features of a row are its probabilities."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)

    def predict_proba(self, scores: Any) -> Any:
        return scores


class Wrapped(NumpyContestant):
    """``class_cond``: Mondrian, one category per class."""

    def __init__(self, class_cond: bool) -> None:
        self.class_cond = class_cond

    def calibrate(self, given: Given) -> Any:
        wrapped = WrapClassifier(Stored(given.n_classes))
        wrapped.calibrate(given.source, given.labels, class_cond=self.class_cond)
        return wrapped, 1 - given.epsilon

    def sets(self, fitted: Any, scores: Any) -> Any:
        wrapped, confidence = fitted
        return wrapped.predict_set(scores, labels=False, confidence=confidence, smoothing=False)

    def matrix(self, fitted: Any, scores: Any) -> NDArray[Any]:
        """Its sets cut every class at one score; asking it for whole populations would take hours.

        The cut is found by asking it about made-up rows, then checked against what it says on real ones.
        """
        n_classes = scores.shape[1]
        low, high = np.zeros(n_classes), np.ones(n_classes)
        high = np.where(self.sets(fitted, low[None])[0] > 0, low, high)
        for _ in range(40):  # down to 1e-12
            middle = (low + high) / 2
            inside = self.sets(fitted, middle[None])[0] > 0
            low, high = np.where(inside, low, middle), np.where(inside, middle, high)
        answer: NDArray[Any] = scores >= high
        if not np.array_equal(answer[:20], self.sets(fitted, scores[:20]) > 0):
            raise RuntimeError("crepes does not cut every class at one score")
        return answer


SETTINGS: dict[str, Contestant] = {"plain": Wrapped(False), "class-conditional": Wrapped(True)}
