"""TorchCP: calculate_threshold and predict_with_logits; score_type="identity", since probabilities are given.

Its package imports torchsort, which only one of its training losses uses and which often cannot be built: where
it is missing an empty module takes its place.
"""

import sys
import types
import warnings
from typing import Any

from numpy.typing import NDArray

from benchmarks.contestants import Contestant, Given

try:
    import torchsort  # noqa: F401
except ImportError:
    sys.modules["torchsort"] = types.ModuleType("torchsort")
    sys.modules["torchsort"].soft_rank = sys.modules["torchsort"].soft_sort = None  # type: ignore[attr-defined]

import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torchcp.classification.predictor import ClassConditionalPredictor, SplitPredictor
    from torchcp.classification.score import APS, LAC


torch.manual_seed(0)


class Split:
    """A predictor with a score function."""

    def __init__(self, predictor: Any, score: Any) -> None:
        self.predictor, self.score = predictor, score

    def load(self, array: NDArray[Any]) -> Any:
        return torch.from_numpy(array)

    def calibrate(self, given: Given) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of an argument that is not passed
            fitted = self.predictor(score_function=self.score(score_type="identity"))
        fitted.calculate_threshold(given.source, given.labels, alpha=given.epsilon)
        return fitted

    def sets(self, fitted: Any, scores: Any) -> Any:
        return fitted.predict_with_logits(scores)

    def matrix(self, fitted: Any, scores: Any) -> NDArray[Any]:
        answer: NDArray[Any] = self.sets(fitted, scores).numpy() > 0
        return answer


SETTINGS: dict[str, Contestant] = {
    "LAC": Split(SplitPredictor, LAC),
    "class-conditional LAC": Split(ClassConditionalPredictor, LAC),
    "APS": Split(SplitPredictor, APS),
}
