"""APS: the PS rule on adaptive scores (Romano, Sesia, Candès 2020), blind to any shift."""

from dataclasses import dataclass
from typing import ClassVar

from pacshift.errors import InputError
from pacshift.methods.base import Guarantee, Solution, Task
from pacshift.methods.ps import PS
from pacshift.tally import Tally


@dataclass(frozen=True)
class APS:
    """PS on APS scores. They are a function of whole score rows: the tally must have been made of them."""

    name: ClassVar[str] = "APS"
    guarantee: ClassVar[Guarantee] = "pac-source"
    needs_target: ClassVar[bool] = False
    needs_soft: ClassVar[bool] = False
    needs_bins: ClassVar[bool] = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        if tally.score not in ("aps", "aps-plain", "raps", "raps-plain"):
            raise InputError(
                f"method APS needs a tally of adaptive scores, this one holds {tally.score!r} scores. "
                'Make it from the scores with score="aps".'
            )
        return PS().solve(tally, task)
