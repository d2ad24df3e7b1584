"""APS: the PS rule on adaptive scores (Romano, Sesia, Candès 2020), which ignores any shift."""

from dataclasses import dataclass

from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task
from pacshift.methods.ps import PS
from pacshift.tally import Tally


@dataclass(frozen=True)
class APS(Method):
    """PS on APS scores. It has no options.

    The adaptive score of a label depends on the whole row, so the tally must be made with ``score="aps"``
    (or ``"aps-plain"``, ``"raps"``, ``"raps-plain"``). ``calibrate`` does that.

    Examples
    --------
    >>> APS().guarantee, APS().default_score
    ('pac-source', 'aps')
    """

    name = "APS"
    idea = "PS on adaptive scores; ignores the shift"
    guarantee = "pac-source"
    default_score = "aps"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        if tally.score not in ("aps", "aps-plain", "raps", "raps-plain"):
            raise InputError(
                f"method APS needs a tally of adaptive scores, this one holds {tally.score!r} scores. "
                'Make it from the scores with score="aps".'
            )
        return PS().solve(tally, task)
