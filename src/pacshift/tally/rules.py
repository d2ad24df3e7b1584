"""What the parts of a file of counts say about each other: types, ranges, order and sums.

Whoever changes a file can compute its checksums again. So loaders ask whether the content could be that of real
rows: ``require_side`` of tallies and certificates, ``ARRAYS`` and ``TALLY`` of tallies. Damage and contradictions
are found; a lie that is consistent cannot be told from counts of other rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.files.codec import Rules, choice
from pacshift.scores.kind import ScoreKind
from pacshift.scores.transforms import TRANSFORMS
from pacshift.tally.cells import Cells, confidence_bin, least_confidence, least_top, n_bins, n_codes, top_bin
from pacshift.tally.grid import BINS, MAX_BINNED_CLASSES, bin_edges, bin_of, next_on_grid, to_grid
from pacshift.tally.inputs import MAX_INPUTS, Grouped, Role
from pacshift.tally.stores import MAX_ROWS, SOFT_UNIT, are_probabilities, sum_by_key

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally

MAX_TOTAL = 2.0**62
"""Counts and sums of probabilities may add up to this: more would come close to overflow."""

_SINGLE = 2.0**-22
"""Numbers that are equal in single precision differ by less, as a share of the larger one."""

_TINY = 2.0**-149
"""Nor can it tell smaller numbers from 0."""

_SOFT_SLACK = SOFT_UNIT + 1e-6
"""By how much a probability may differ from the one in whole units, and a sum of a row from the one on record."""

SCORE = choice(*TRANSFORMS, "custom")
"""What the true-label scores are."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array of a file: its type, its shape by names of lengths, and its smallest entry."""

    type: type
    shape: tuple[str | int, ...]
    least: int | None = 0

    def require(self, array: NDArray[Any], name: str, lengths: dict[str | int, int]) -> None:
        """ValueError where it is another array. A length that is not known yet is learnt here."""
        what = f"{name} must hold {'counts' if self.type is np.int64 else 'finite numbers'}"
        if array.dtype != self.type:
            raise ValueError(f"{what} of type {np.dtype(self.type)}, not {array.dtype}")
        if array.ndim != len(self.shape):
            raise ValueError(f"{what} in {len(self.shape)} dimensions, not {array.ndim}")
        shape = tuple(lengths.setdefault(at, size) for at, size in zip(self.shape, array.shape, strict=True))
        if array.shape != shape:
            raise ValueError(f"{what} of shape {shape}, not {array.shape}")
        if self.least is None:
            if not np.isfinite(array).all():
                raise ValueError(what)
        elif array.min(initial=self.least) < self.least:
            raise ValueError(f"{what} from {self.least} on")
        elif not name.endswith("_codes") and array.sum(dtype=np.float64) > MAX_TOTAL:
            raise ValueError(f"{name} adds up to more than {MAX_TOTAL:g}")


ARRAYS = {
    "values": Array(np.float64, ("scores",), least=None),
    "counts": Array(np.int64, ("scores",), least=1),
    "starts": Array(np.int64, ("classes and end",)),
    "source_codes": Array(np.int64, ("source cells",)),
    "source_counts": Array(np.int64, ("source cells",), least=1),
    "target_codes": Array(np.int64, ("target cells",)),
    "target_counts": Array(np.int64, ("target cells",), least=1),
}
SOFT_ARRAYS = {
    "soft_labels": Array(np.int64, ("labels",)),
    "soft_sums": Array(np.int64, ("labels", "classes")),
    "soft_target": Array(np.int64, ("classes",)),
}
BIN_ARRAYS = {"bins": Array(np.int64, ("classes", BINS))}


def require_arrays(arrays: Mapping[str, NDArray[Any]], n_classes: int) -> None:
    """ValueError unless these are the arrays of a tally, each of its type, shape and range."""
    wanted = ARRAYS | (SOFT_ARRAYS if "soft_labels" in arrays else {}) | (BIN_ARRAYS if "bins" in arrays else {})
    if arrays.keys() != wanted.keys():
        raise ValueError(f"it must hold the arrays {', '.join(wanted)}, not {', '.join(arrays)}")
    lengths: dict[str | int, int] = {"classes": n_classes, "classes and end": n_classes + 1, BINS: BINS}
    for name, array in wanted.items():
        array.require(arrays[name], name, lengths)


def require_side(
    role: Role, n_rows: int, *, by_class: IntArray | None, kind: ScoreKind | None, grouped: Grouped | None
) -> None:
    """ValueError where a file contradicts itself about a source or a target. What it does not say is None."""
    rules = {
        f"the {role} rows of the classes add up to their number": (
            by_class is None or sum(by_class.tolist()) == n_rows
        ),
        f"no more {role} rows are counted than {role} groups have": grouped is None or grouped.rows >= n_rows,
        f"no more parts of {role} groups are counted than {role} rows": grouped is None or grouped.parts <= n_rows,
        f"{role} scores are those of all {role} rows": kind is None or kind.n_rows == n_rows,
    }
    for rule in (rule for rule, holds in rules.items() if not holds):
        raise ValueError(f"it breaks the rule that {rule}")


def may_be(threshold: float, kind: ScoreKind | None) -> bool:
    """Whether a threshold on plain scores can be one of them, or below all."""
    return kind is None or threshold <= kind.high + _SINGLE * abs(kind.high) + _TINY


def _both(holds: Callable[[Cells, ScoreKind], Any]) -> Callable[["Tally"], bool]:
    """Whether a rule holds of the cells and the kind of scores of each side that has rows."""

    def on_both(tally: "Tally") -> bool:
        sides = (tally.source_cells, tally.source_kind), (tally.target_cells, tally.target_kind)
        return all(bool(holds(cells, kind)) for cells, kind in sides if kind is not None)

    return on_both


def _name_cells(tally: "Tally") -> bool:
    """Codes ascend and are those of cells; without bins every row is in bin 0."""
    return all(
        bool((np.diff(cells.codes) > 0).all())
        and cells.codes.max(initial=-1) < n_codes(tally.n_classes, cells.n_labels, cells.bins)
        and (cells.bins != "none" or not cells.bin.any())
        for cells in (tally.source_cells, tally.target_cells)
    )


def _name_scores(tally: "Tally") -> bool:
    """Starts grow from 0 to the number of scores, which ascend within a class."""
    starts, values = tally.starts, tally.values
    if starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
        return False
    ascends = np.append(np.diff(values) > 0, True)
    ascends[starts[1:][starts[1:] > 0] - 1] = True
    return bool(ascends.all())


def _inputs_have_the_rows(tally: "Tally") -> bool:
    for role, n_rows in (("source", tally.n_source), ("target", tally.n_target)):
        rows = [one.rows for one in tally.inputs if one.role == role]
        known = sum(number for number in rows if number is not None)
        if known > n_rows or (known < n_rows and None not in rows and not tally.n_more_inputs):
            return False
    return True


def _bins_of_tops(values: FloatArray, cells: Cells) -> IntArray:
    """The bin of each top score, as cells have bins."""
    if cells.bins == "none":
        return np.zeros(len(values), np.int64)
    return (confidence_bin(values) if cells.bins == "confidence" else top_bin(values)).astype(np.int64)


def _least_of_bins(cells: Cells, kind: ScoreKind) -> FloatArray:
    """The least top score that the rows of each cell may have, where cells have bins."""
    least = least_confidence(cells.bin) if cells.bins == "confidence" else least_top(cells.bin)
    return np.maximum(least * (1 - _SINGLE * np.sign(least)), kind.least_top)


def _range_fills_bins(cells: Cells, kind: ScoreKind) -> bool:
    """The smallest and the largest top score lie in the first and the last bin that have rows."""
    if cells.bins in ("none", "not counted"):
        return True
    return bool(
        (_bins_of_tops(np.array([kind.least_top, kind.high]), cells) == [cells.bin.min(), cells.bin.max()]).all()
    )


def _sums_fit_range(kind: ScoreKind | None, n_classes: int) -> bool:
    """A row sums to no less than its top score and the smallest scores, to no more than the largest scores."""
    if kind is None or kind.sums is None:
        return True
    least, largest = kind.sums
    others, slack = (n_classes - 1) * kind.low, 1e-5 * (1 + n_classes * max(kind.high, 1.0))
    return (
        kind.least_top + others - slack <= least
        and kind.high + others - slack <= largest <= n_classes * kind.high + slack
    )


def _scores_in_range(tally: "Tally") -> bool:
    """True-label scores lie where scores of this transform can lie."""
    kind, values = tally.source_kind, tally.values
    if kind is None or tally.score == "custom":
        return True
    low, high = kind.low, kind.high
    if tally.score == "margin":
        low, high = low - high, high - low
    elif tally.score != "probability":  # 1 minus what adds up to the sum of the row, and at most .01 per rank
        low, high = -np.inf if kind.sums is None else 1 - kind.sums[1] - 0.01 * tally.n_classes - 1e-5, 1.0
    slack = (_SINGLE + 2.0**-12 * tally.grid) * max(abs(kind.low), abs(kind.high), abs(low)) + _TINY
    return bool(low - slack <= values.min() and values.max() <= high + slack)


def _scores_fit_cells(tally: "Tally") -> bool:
    """Rows that are predicted right have their top score; others at most that, and what their sum leaves."""
    cells, kind = tally.source_cells, tally.source_kind
    if kind is None or tally.score not in ("probability", "margin") or cells.bins == "not counted":
        return True
    labels, right = cells.labels, cells.predicted == cells.labels
    label = np.repeat(np.arange(tally.n_classes), np.diff(tally.starts))
    if tally.score == "margin":  # of the top label it is not negative, of others not positive
        ahead = np.bincount(labels, cells.counts * right, tally.n_classes)
        above, below = (
            np.bincount(label, tally.counts * some, tally.n_classes)
            for some in (tally.values > 0, tally.values < 0)
        )
        return bool((above <= ahead).all() and (below <= tally.class_counts - ahead).all())
    label *= n_bins(cells.bins)
    score_bins, most = _bins_of_tops(tally.values, cells), cells.bin
    if kind.sums is not None and cells.bins != "none":
        others = (tally.n_classes - 2) * min(kind.low, 0.0)
        left = kind.sums[1] + 1e-5 * (1 + kind.sums[1]) - others - _least_of_bins(cells, kind)
        most = np.where(right, most, np.minimum(most, _bins_of_tops(left, cells)))
    keys = labels * n_bins(cells.bins) + most
    _, more = sum_by_key(np.append(label + score_bins, keys), np.append(tally.counts, -cells.counts))
    keys_of_scores, counts = label + score_bins, tally.counts
    if tally.grid:  # a score may have been in the next bin before it was rounded
        before = _bins_of_tops(next_on_grid(tally.values), cells)
        keys_of_scores = np.append(keys_of_scores, (label + before)[before > score_bins])
        counts = np.append(counts, counts[before > score_bins])
    _, rest = sum_by_key(np.append(keys_of_scores, keys[right]), np.append(counts, -cells.counts[right]))
    return bool((np.cumsum(more) >= 0).all() and (rest >= 0).all())


def _bins_are_of_kind(cells: Cells, kind: ScoreKind) -> bool:
    return cells.bins == "not counted" or (cells.bins == "confidence") == are_probabilities(kind.low, kind.high)


def _soft_fit(tally: "Tally") -> bool:
    """Sums of probabilities agree with their number, their range, the sums of rows, cells and scores."""
    soft = tally.soft
    if soft is None:
        return True
    of_source = soft.sums, tally.class_counts[soft.labels], soft.labels, tally.source_cells, tally.source_kind
    of_target = (
        soft.target[None],
        np.array([tally.n_target]),
        np.zeros(1, int),
        tally.target_cells,
        tally.target_kind,
    )
    if not (_sums_fit(*of_source) and _sums_fit(*of_target)):
        return False
    if tally.score != "probability" or not tally.n_source:
        return True
    summed = soft.sums[np.arange(len(soft.labels)), soft.labels] * SOFT_UNIT
    weighed = np.append(0.0, np.cumsum(tally.values * tally.counts))[tally.starts]
    known, slack = np.diff(weighed)[soft.labels], of_source[1] * _SOFT_SLACK + 1e-12 * weighed[-1]
    return bool((known <= summed + slack).all() and (summed <= known * (1 + 2.0**-12 * tally.grid) + slack).all())


def _sums_fit(units: IntArray, rows: IntArray, labels: IntArray, cells: Cells, kind: ScoreKind | None) -> bool:
    """Whether so many ``rows`` of each of the ``labels`` can have these soft sums."""
    if kind is None:
        return not units.any()
    if cells.bins != "confidence":
        return False
    place, slack = np.searchsorted(labels, cells.labels), rows * _SOFT_SLACK
    keys = place * units.shape[1] + cells.predicted
    tops = np.bincount(keys, cells.counts * _least_of_bins(cells, kind), minlength=units.size)[keys]
    fits = (tops <= units.ravel()[keys] * SOFT_UNIT + slack[place]).all()
    least, most, of_rows = (fold(axis=1) * SOFT_UNIT for fold in (units.min, units.max, units.sum))
    fits &= ((rows * kind.low - slack <= least) & (most <= rows * kind.high + slack)).all()
    if kind.sums is not None:
        slack *= units.shape[1]
        ends = rows * kind.sums[0] - slack, rows * kind.sums[1] + slack
        fits &= ((ends[0] <= of_rows) & (of_rows <= ends[1])).all()
    return bool(fits)


def _bins_fit(tally: "Tally") -> bool:
    """The bins of each class hold every target row, and agree with the range, the cells and the soft sums."""
    bins, cells, kind = tally.bins, tally.target_cells, tally.target_kind
    if bins is None:
        return True
    if kind is None or tally.n_classes > MAX_BINNED_CLASSES or (bins.sum(axis=1) != tally.n_target).any():
        return False
    filled, edges = np.flatnonzero(bins.sum(axis=0)), bin_edges()
    ends = bin_of(np.array([kind.low, kind.high, kind.high * (1 + _SINGLE)]))
    if kind.low < 0 or filled[0] != ends[0] or not ends[1] <= filled[-1] <= ends[2]:
        return False
    if tally.soft is not None:
        sums, slack = tally.soft.target * SOFT_UNIT, tally.n_target * _SOFT_SLACK
        if (bins @ edges[:-1] > sums + slack).any() or (bins @ edges[1:] < sums - slack).any():
            return False
    if cells.bins != "confidence":
        return True
    reached = np.zeros((tally.n_classes, n_bins(cells.bins)), np.int64)
    np.add.at(reached, (cells.predicted, cells.bin), cells.counts)
    levels = least_confidence(np.arange(n_bins(cells.bins)))
    return _tops_fit_bins(_at_least(reached)[:, 1:], _at_least(bins), levels[1:], edges[:-1])


def _at_least(counts: IntArray) -> IntArray:
    return np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]


def _tops_fit_bins(tops: IntArray, scores: IntArray, levels: FloatArray, edges: FloatArray) -> bool:
    """Each top score is a score of the label that is predicted, and no score is above the top one of its row."""
    below = np.searchsorted(edges, levels * (1 - _SINGLE), side="right") - 1
    above = np.searchsorted(edges, levels, side="left")
    fits: BoolArray = (tops <= scores[:, below]).all() & (scores[:, above] <= tops.sum(axis=0)).all()
    return bool(fits)


TALLY: Rules = {
    "codes ascend and name cells": _name_cells,
    "starts grow and the scores of a class ascend": _name_scores,
    f"a side has at most {MAX_ROWS:,} rows": lambda tally: max(tally.n_source, tally.n_target) <= MAX_ROWS,
    "a side with rows, and no other, has a kind of scores": lambda tally: all(
        (kind is None) == (n_rows == 0)
        for kind, n_rows in ((tally.source_kind, tally.n_source), (tally.target_kind, tally.n_target))
    ),
    "only a side with rows has groups": lambda tally: (
        (tally.source_grouped is None or tally.n_source) and (tally.target_grouped is None or tally.n_target)
    ),
    "a class has as many scores as rows": lambda tally: np.array_equal(
        np.diff(tally.cumulative[tally.starts]), tally.class_counts
    ),
    "inputs have as many rows as were counted": _inputs_have_the_rows,
    "more inputs are only counted where many are listed": lambda tally: (
        not tally.n_more_inputs or len(tally.inputs) >= MAX_INPUTS
    ),
    "scores on the grid are on it": lambda tally: (
        not tally.grid or np.array_equal(to_grid(tally.values), tally.values)
    ),
    "the range of typical top scores is left to the cells": _both(
        lambda cells, kind: kind.tops is None or cells.bins == "not counted"
    ),
    "cells have the bins of their kind of scores": _both(_bins_are_of_kind),
    "the smallest and the largest top score lie in the outer bins": _both(_range_fills_bins),
    "sums of rows fit the range of the scores": lambda tally: (
        _sums_fit_range(tally.source_kind, tally.n_classes) and _sums_fit_range(tally.target_kind, tally.n_classes)
    ),
    "true-label scores lie in the range of the scores": _scores_in_range,
    "true-label scores fit the top scores": _scores_fit_cells,
    "soft sums are those of the labels that occur": lambda tally: (
        tally.soft is None or np.array_equal(tally.soft.labels, np.flatnonzero(tally.class_counts))
    ),
    "soft sums fit rows, range, cells and scores": _soft_fit,
    "the target's bins fit rows, range, cells and soft sums": _bins_fit,
}
"""In this order: later rules rely on earlier ones."""
