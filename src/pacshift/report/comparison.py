"""One line of "methods compared": what `pacshift compare` prints and the report shows."""

from dataclasses import dataclass

from pacshift.methods import Guarantee


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A method on the same data. ``size`` and ``empty`` are means over the target's sets, None where refused.

    ``error`` is the share of target labels missed, where labels are known. ``note`` says why a method refused,
    or why its sets hold all labels.
    """

    method: str
    guarantee: Guarantee
    size: float | None
    empty: float | None = None
    error: float | None = None
    trivial: bool = False
    note: str = ""
