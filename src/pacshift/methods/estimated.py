"""Point estimates of the weights from a tally: what PS-R and WCP put in the place of the truth."""

from pacshift.arrays import FloatArray
from pacshift.counting import SOFT_UNIT
from pacshift.errors import InputError
from pacshift.shift.estimate import bbse_soft
from pacshift.tally import Tally


def soft_weights(tally: Tally) -> FloatArray:
    """Soft BBSE with ridge 1/min(m, n), as the paper's authors use it."""
    if tally.soft is None:
        raise InputError(
            "soft BBSE weights need sums of probabilities, which this tally lacks: "
            "make it with soft=True from scores between 0 and 1."
        )
    source = tally.soft.source * (SOFT_UNIT / tally.n_source)
    target = tally.soft.target * (SOFT_UNIT / tally.n_target)
    weights = bbse_soft(source, target, ridge=1 / min(tally.n_source, tally.n_target))
    if not weights.any():
        raise InputError("the estimated weights are all 0: the target's probabilities look like no source class.")
    return weights
