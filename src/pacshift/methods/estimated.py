"""What PS-R and WCP share: importance weights that are estimated from the tally and then trusted."""

from dataclasses import dataclass

from pacshift.arrays import FloatArray
from pacshift.methods.base import Method
from pacshift.tally import Tally
from pacshift.weights.estimate import Estimate, check_estimate, estimate_weights


@dataclass(frozen=True)
class EstimatedWeights(Method):
    """Base of methods that use estimated weights as if they were true."""

    estimate: Estimate = "bbse-soft"

    extra_assumption = "The estimated importance weights are used as if they were the true ones."
    needs_target = True
    needs_soft = True  # even where `estimate` does not use the sums: a fact of the class, and they cost little

    def __post_init__(self) -> None:
        check_estimate(self.estimate)

    def weights(self, tally: Tally) -> FloatArray:
        """One estimated weight q(y)/p(y) per class.

        Parameters
        ----------
        tally : Tally
            Counts of source and target.

        Returns
        -------
        numpy.ndarray of shape (K,)
            The weights.
        """
        return estimate_weights(tally, self.estimate)
