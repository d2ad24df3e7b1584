"""Which rows of a label sheet can still change a certificate: Lemma 4 of docs/methods/ps-t.md."""

from dataclasses import replace

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.paths.labelled import Family, LabelledTarget

STEPS = 64
"""Steps at which sets are looked at to put rows in order. Any order is valid."""


def list_needed_rows(labelled: LabelledTarget, family: Family, cut: int) -> IntArray:
    """Places among the blank rows whose labels can still change the thresholds (Lemma 4), the most telling first.

    Whatever the labels are, the thresholds lie between those where every blank row counts unless its set is full,
    and those where it counts only if its set is empty. A row matters whose set is not full at the latter and not
    empty at the former.
    """
    blanks = labelled.blanks
    if blanks is None:
        return np.empty(0, np.int64)
    low, high = (family(labelled.test, cut, replace(blanks, hopeful=each)) for each in (False, True))
    if np.array_equal(low, high):
        return np.empty(0, np.int64)
    matters = (blanks.scores < high).any(axis=1) & (blanks.scores >= low).any(axis=1)
    rows = np.flatnonzero(matters)
    return rows[np.argsort(full_until(blanks.scores[rows], low, high), kind="stable")]


def full_until(scores: FloatArray, low: FloatArray, high: FloatArray) -> IntArray:
    """At how many of the steps from ``low`` to ``high`` each row's set is full."""
    ends = [np.clip(one, scores.min(initial=0.0), scores.max(initial=1.0)) for one in (low, high)]
    steps = [ends[0] + part * (ends[1] - ends[0]) for part in np.linspace(0, 1, STEPS)]
    return np.asarray(sum((scores >= cuts).all(axis=1).astype(np.int64) for cuts in steps))
