"""This package."""

import warnings
from typing import Any

from benchmarks.contestants import Contestant, Given, NumpyContestant
from pacshift import METHODS, UninformativeWarning, calibrate


class Ours(NumpyContestant):
    """Both domains in, a certificate out."""

    def __init__(self, method: str) -> None:
        self.method = method

    def calibrate(self, given: Given) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            data = given.source, given.labels, given.target
            return calibrate(*data, epsilon=given.epsilon, delta=given.delta, method=self.method, rng=0)

    def sets(self, fitted: Any, scores: Any) -> Any:
        return fitted.sets(scores)


SETTINGS: dict[str, Contestant] = {name: Ours(name) for name in METHODS}
