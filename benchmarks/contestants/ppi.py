"""ppi_py: its interval for one share of a label mix under label shift, once per class."""

import numpy as np
from numpy.typing import NDArray
from ppi_py import ppi_distribution_label_shift_ci

from benchmarks.contestants import MixContestant, Predictions


class LabelShift:
    """``return_counts=False``: the share in the population, not the number in the sample."""

    def intervals(self, given: Predictions) -> NDArray[np.float64]:
        """Lower and upper ends, one row per class."""
        ends = [
            ppi_distribution_label_shift_ci(
                given.labels,
                given.predicted,
                given.target,
                given.n_classes,
                one_class,
                alpha=given.delta,
                return_counts=False,
            )
            for one_class in np.eye(given.n_classes)
        ]
        return np.array(ends, float)


SETTINGS: dict[str, MixContestant] = {"label shift": LabelShift()}
