"""Tallies add up: the counts of chunks, files, partitions, months or hospitals make those of all of them."""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from pacshift.scores.kind import kind_of_all
from pacshift.scores.names import shorten, text_of
from pacshift.tally.cells import Cells
from pacshift.tally.grid import to_grid
from pacshift.tally.grouped import Grouped
from pacshift.tally.inputs import merged
from pacshift.tally.repeats import require_distinct
from pacshift.tally.soft import SoftSums
from pacshift.tally.stores import Distinct, run_lengths, running_sum

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally


MAX_TOTAL = 1 << 62
"""Counts and sums of probabilities may add up to this: more would come close to overflow."""


def sum_fields(parts: Sequence["Tally"]) -> dict[str, Any]:
    """The fields of the sum of ``parts``, with one merge. The order does not matter, to the last bit."""
    _require_tallies(parts)
    sources = [part for part in parts if part.n_source]
    _require_same(parts, sources)
    require_distinct(parts)
    filled = sources or parts[:1]
    grid = any(part.grid for part in sources)
    values, counts, starts = _merge(filled, grid, len(parts[0].classes))
    inputs, n_more = merged(parts)
    return {
        "classes": parts[0].classes,
        "score": filled[0].score,
        "grid": grid,
        "source_cells": Cells.sum([part.source_cells for part in parts]),
        "target_cells": Cells.sum([part.target_cells for part in parts]),
        "values": values,
        "counts": counts,
        "starts": starts,
        "soft": _sum_soft(parts),
        "bins": _sum_bins(parts),
        "source_kind": kind_of_all(part.source_kind for part in sources),
        "target_kind": kind_of_all(part.target_kind for part in parts if part.n_target),
        "inputs": inputs,
        "n_more_inputs": n_more,
        "source_grouped": _sum_grouped("source", [part.source_grouped for part in sources]),
        "target_grouped": _sum_grouped("target", [part.target_grouped for part in parts if part.n_target]),
        "softmax": parts[0].softmax,
    }


def _sum_grouped(side: str, parts: Sequence[Grouped | None]) -> Grouped | None:
    """What is known of the groups of a sum; rows and groups are not the same kind of draws."""
    known = [part for part in parts if part is not None]
    if known and len(known) < len(parts):
        raise InputError(
            f"{len(known)} of {len(parts)} {side} tallies hold one row per group, the others every row: the sum "
            "would be a sample of neither. Count all of them with groups=, or none."
        )
    return reduce(Grouped.__add__, known) if known else None


def _merge(parts: Sequence["Tally"], grid: bool, n_classes: int) -> Distinct:
    """The true-label scores of all parts, on the grid where one of them is."""
    if len(parts) == 1 and parts[0].grid == grid:
        return parts[0].values, parts[0].counts, parts[0].starts
    sizes = [np.diff(part.starts) for part in parts]
    label = np.concatenate([np.repeat(np.arange(n_classes), size) for size in sizes])
    values, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "counts"))
    values = to_grid(values) if grid else values
    order = np.lexsort((values, label))
    starts = running_sum(np.bincount(label, minlength=n_classes))
    return run_lengths(values[order], counts[order], starts)


def _sum_soft(parts: Sequence["Tally"]) -> SoftSums | None:
    """None where some part was counted without."""
    known = [part.soft for part in parts if part.soft is not None]
    return reduce(SoftSums.__add__, known) if len(known) == len(parts) else None


def _sum_bins(parts: Sequence["Tally"]) -> IntArray | None:
    """None where some target was counted without."""
    found = [part.bins for part in parts if part.n_target]
    known = [bins for bins in found if bins is not None]
    return np.sum(known, axis=0) if found and len(known) == len(found) else None


def _require_tallies(parts: Sequence[Any]) -> None:
    if not parts:
        raise InputError("no tallies to add: give at least one.")
    for part in parts:
        if not (hasattr(part, "source_cells") and hasattr(part, "target_cells")):
            raise InputError(f"only tallies can be added, got {part!r}. Load files with Tally.load first.")
    rows = max(sum(part.n_source for part in parts), sum(part.n_target for part in parts))
    if rows > MAX_TOTAL:
        raise InputError(
            f"the tallies hold {rows:,} rows in all, more than fit into 64 bits. Is one of them damaged?"
        )
    if sum(_soft_total(part) for part in parts) > MAX_TOTAL:
        raise InputError(
            "the sums of probabilities of the tallies do not fit into 64 bits. Count without them: soft=False. "
            "Only PS-R and WCP use them."
        )


def _soft_total(part: "Tally") -> float:
    soft = part.soft
    return 0.0 if soft is None else float(soft.sums.sum(dtype=np.float64) + soft.target.sum(dtype=np.float64))


def _require_same(parts: Sequence["Tally"], sources: Sequence["Tally"]) -> None:
    for part in parts:
        if list(map(text_of, part.classes)) != list(map(text_of, parts[0].classes)):
            both = f"{shorten(parts[0].classes)} and {shorten(part.classes)}"
            raise InputError(
                f"tallies of different classes do not add: {both}. Count them all with the same classes=, "
                "in one order."
            )
    scores = sorted({part.score for part in sources})
    if len(scores) > 1:
        raise InputError(f"tallies of different scores do not add: {' and '.join(scores)}.")
    if len({part.softmax for part in parts}) > 1:
        raise InputError(
            "tallies of logits, of which the softmax was counted, and of scores as they are do not add. Count all "
            "of them from logits with softmax=True, or all from the model's probabilities without it."
        )
