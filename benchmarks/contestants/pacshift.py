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
            rates: dict[str, float] = {"epsilon": given.epsilon, "delta": given.delta}
            return calibrate(given.source, given.labels, given.target, method=self.method, rng=0, **rates)

    def sets(self, fitted: Any, scores: Any) -> Any:
        return fitted.sets(scores)


SETTINGS: dict[str, Contestant] = {name: Ours(name) for name in METHODS}
