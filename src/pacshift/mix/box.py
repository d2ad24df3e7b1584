"""Boxes around a region of label mixes: a quick one from one row at a time, and an exact one by programs.

Used by the section "The region" of the proof page (docs/methods/ps-lp-proof.md).
"""

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import ROUNDING, Interval
from pacshift.mix.programs import MixProgram

QUICK_BOX_ROUNDS = 6
"""How often a quick box is computed from the one before. With 2 or 15 nothing changes."""

MIN_ENTRY = 1e-6
"""Smaller entries of a row are not divided by: the room for rounding would grow beyond use."""


def quick_box(rows: FloatArray, limits: FloatArray) -> Interval:
    """Step "Sums": a box around the region from one row at a time, what the other classes leave for each class.

    Row a·t <= b. As t sums to 1, the same number may be subtracted from all entries of a and from b. With entries
    u >= 0 it says u_j t_j <= b - sum of u_k lower_k over the others, with entries d <= 0 likewise by upper_k.
    """
    least, most = rows.min(axis=1), rows.max(axis=1)
    up, down = rows - least[:, None], rows - most[:, None]
    lower, upper = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    for _ in range(QUICK_BOX_ROUNDS):
        room = (limits - least - up @ lower)[:, None] + up * lower + ROUNDING
        ends = np.divide(room, up, out=np.ones_like(up), where=up > MIN_ENTRY)
        upper = np.clip(ends.min(axis=0), 0.0, upper)
        room = (limits - most - down @ upper)[:, None] + down * upper + ROUNDING
        ends = np.divide(room, down, out=np.zeros_like(down), where=down < -MIN_ENTRY)
        lower = np.minimum(np.clip(ends.max(axis=0), lower, 1.0), upper)
    return Interval(lower, upper)


def exact_box(rows: FloatArray, limits: FloatArray) -> Interval:
    """Step "Sums": the bounding box of a region, by two linear programs per class.

    Where a region is a point, rounding can put a lower end above its upper one: then the upper one is raised.
    """
    program = MixProgram(rows, limits)
    units = np.eye(rows.shape[1])
    lower: FloatArray = np.clip([-program.largest(-unit) for unit in units], 0.0, 1.0)
    return Interval(lower, np.clip([program.largest(unit) for unit in units], lower, 1.0))
