"""MAPIE: SplitConformalClassifier around a fitted estimator, here one that hands back stored probabilities."""

from typing import Any

import numpy as np
from mapie.classification import SplitConformalClassifier
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks.contestants import Contestant, Given, NumpyContestant


class Stored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # MAPIE's environment has no stubs
    """The features of a row are its probabilities."""

    def __init__(self, n_classes: int = 2) -> None:
        self.n_classes = n_classes

    @property
    def classes_(self) -> NDArray[Any]:
        return np.arange(self.n_classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, scores: Any, labels: Any) -> "Stored":
        return self

    def predict_proba(self, scores: Any) -> Any:
        return scores

    def predict(self, scores: Any) -> Any:
        return scores.argmax(axis=1)


class Split(NumpyContestant):
    """prefit=True, one confidence level, everything else as it comes."""

    def __init__(self, conformity_score: str) -> None:
        self.conformity_score = conformity_score

    def calibrate(self, given: Given) -> Any:
        model = SplitConformalClassifier(
            Stored(given.n_classes),
            confidence_level=1 - given.epsilon,
            conformity_score=self.conformity_score,
            prefit=True,
            random_state=0,
        )
        return model.conformalize(given.source, given.labels)

    def sets(self, fitted: Any, scores: Any) -> Any:
        return fitted.predict_set(scores)[1][:, :, 0]


SETTINGS: dict[str, Contestant] = {"LAC": Split("lac"), "APS": Split("aps")}
