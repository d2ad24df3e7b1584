"""The curve of set sizes over numbers of rows, and the rows on it that give a wanted size."""

import math

import numpy as np

from pacshift.errors import InputError
from pacshift.planning.curve import Curve
from pacshift.planning.request import Question
from pacshift.planning.simulate import Simulator

MIN_ROWS = 100
"""Fewest rows that are tried. A round number: below log(1/δ)/ε, about 30 by default, nothing can be certified."""
MAX_SEARCHED_VALUES = 4_000_000
"""Rows times classes up to which wanted sizes are looked for: 32 MB of scores. A round number."""
FAR_ENOUGH = 0.93
"""A size below this part of the wanted one is clearly smaller. Wider than the noise of a few draws; not
measured."""
CURVE_SPAN = 4.0
"""A curve around given rows goes from a quarter to four times as many: what one might still change. A round
number."""


def find_curve(question: Question, simulator: Simulator, limit: int) -> Curve:
    """Along the rows that are looked for, or around the source rows that are given."""
    effort, n_classes = simulator.effort, len(simulator.pilot.classes)
    if question.size is None:
        centre = question.n_source or 0
        first, last = max(MIN_ROWS, int(centre / CURVE_SPAN)), min(limit, int(centre * CURVE_SPAN))
    else:
        first, last = max(MIN_ROWS, 10 * n_classes), MAX_SEARCHED_VALUES // n_classes
    curve = Curve.empty()
    for n_rows in np.unique(np.geomspace(first, max(last, first), effort.points).astype(np.int64)).tolist():
        curve = curve.with_point(n_rows, simulator.sizes(*question.rows(n_rows), effort.draws))
        if question.size is not None and _is_past(curve, question.size):
            break  # more rows only cost more time
    return curve


def _is_past(curve: Curve, size: float) -> bool:
    """Whether the wanted size was reached clearly, or at two points."""
    return bool(curve.sizes[-1] < FAR_ENOUGH * size or np.count_nonzero(curve.sizes <= size) >= 2)


def refined(curve: Curve, size: float, question: Question, simulator: Simulator) -> Curve:
    """The curve with more draws where it reaches the wanted size."""
    for _ in range(simulator.effort.refinements):
        needed = curve.rows_for(size)
        if math.isinf(needed):
            break
        n_rows = round(needed)
        curve = curve.with_point(n_rows, simulator.sizes(*question.rows(n_rows), simulator.effort.final_draws))
    return curve


def needed_rows(curve: Curve, size: float, question: Question) -> int:
    needed = curve.rows_for(size)
    if math.isinf(needed):
        rows = f"{int(curve.rows[-1]):,} {'source' if question.found == 'n_source' else 'target'} rows"
        raise InputError(
            f"a mean size of {size:g} cannot be reached: {rows} still give {curve.sizes[-1]:.3f}. "
            "Ask for larger sets, add rows of the other kind, allow a larger epsilon, or use a better classifier."
        )
    digits = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return int(math.ceil(needed / digits) * digits)  # two digits: the simulation does not know more
