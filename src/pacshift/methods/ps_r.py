"""PS-R: rejection sampling with estimated weights, their uncertainty ignored."""

from dataclasses import dataclass

from pacshift.methods.base import Solution, Task
from pacshift.methods.estimated import EstimatedWeights
from pacshift.methods.oracle import rejection_solution
from pacshift.tally import Tally


@dataclass(frozen=True)
class PSR(EstimatedWeights):
    """ORACLE's rule with estimated weights. The estimate may be wrong, so nothing is guaranteed.

    Parameters
    ----------
    estimate : {"bbse-soft", "bbse", "mlls"}
        How the importance weights are estimated: from sums of probabilities with a ridge, as the authors of the
        paper do; from counts of predictions; or by maximum likelihood from the same counts.

    Examples
    --------
    >>> PSR().guarantee, PSR(estimate="mlls").estimate
    ('none', 'mlls')
    """

    name = "PS-R"
    idea = "rejection sampling with estimated importance weights"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the thresholds."""
        return rejection_solution(tally, task, self.weights(tally))
