"""Scores to counts. One pass over the data makes a tally; tallies add up; every method works on tallies alone."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.errors import InputError
from pacshift.scores.check import ScoreMatrix, check_classes, check_labels, check_rng, check_scores, shorten
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tally.counter import distinct, run_lengths, running_sum, scan, soft_sums, target_bins
from pacshift.tally.file import read, require_sound, write
from pacshift.tally.grid import to_grid


@dataclass(frozen=True, slots=True, eq=False)
class SoftSums:
    """Sums of probabilities in units of ``SOFT_UNIT``: ``source[i, j]`` of class i over rows labelled j."""

    source: IntArray
    target: IntArray

    def __add__(self, other: "SoftSums") -> "SoftSums":
        return SoftSums(self.source + other.source, self.target + other.target)


@dataclass(frozen=True, eq=False)
class Tally:
    """Integer counts of a labelled source, an unlabelled target, or both.

    ``confusion[i, j]`` counts source rows predicted i and labelled j; ``target[i]`` target rows predicted i.
    Class j's distinct true-label scores, ascending, are ``values[starts[j]:starts[j + 1]]`` and occur
    ``counts[...]`` times. ``score`` names the transform that made them; on a ``grid`` they are rounded down.
    ``bins[j, b]`` counts target rows whose plain score of class j lies in bin b (:mod:`pacshift.tally.histogram`).
    """

    classes: tuple[Label, ...]
    score: str
    grid: bool
    confusion: IntArray
    target: IntArray
    values: FloatArray
    counts: IntArray
    starts: IntArray
    soft: SoftSums | None = None
    bins: IntArray | None = None

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        labels: Any,
        *,
        classes: Sequence[Label] | None = None,
        score: str | TransformFunction | Transform = "probability",
        grid: bool = False,
        soft: bool = True,
        rng: Any = None,
    ) -> "Tally":
        """Count a labelled source. ``soft`` keeps the sums that the soft BBSE estimate (PS-R, WCP) needs."""
        checked = check_scores(scores, name="source", classes=classes)
        index = check_labels(labels, checked.classes, n_rows=len(checked), name="source")
        transform = resolve_transform(score)
        predicted, raw = scan(checked, "source", None if transform.function else index)
        picked = transform.true_label(checked, index, check_rng(rng)) if raw is None else raw
        values, counts, starts = distinct(to_grid(picked) if grid else picked, index, len(checked.classes))
        n_classes = len(checked.classes)
        cells = np.bincount(predicted.astype(np.int64) * n_classes + index, minlength=n_classes**2)
        return replace(
            _empty(checked.classes),
            score=transform.name,
            grid=grid,
            confusion=cells.reshape(n_classes, n_classes),
            values=values,
            counts=counts,
            starts=starts,
            soft=_soft(checked, index) if soft else None,
        )

    @classmethod
    def from_target(
        cls, scores: Any, *, classes: Sequence[Label] | None = None, soft: bool = True, bins: bool = True
    ) -> "Tally":
        """Count an unlabelled target. ``bins`` keeps what tells PS-LP which sets are smaller."""
        checked = check_scores(scores, name="target", classes=classes)
        predicted, _ = scan(checked, "target", None)
        counts = np.bincount(predicted, minlength=len(checked.classes))
        return replace(
            _empty(checked.classes),
            target=counts,
            soft=_soft(checked, None) if soft else None,
            bins=target_bins(checked) if bins else None,
        )

    @classmethod
    def sum(cls, tallies: Iterable["Tally"]) -> "Tally":
        """Add many tallies with one merge. The order does not matter, to the last bit."""
        parts = list(tallies)
        if not parts:
            raise InputError("no tallies to add: give at least one.")
        sources = [part for part in parts if part.n_source]
        _require_same(parts, sources)
        grid = any(part.grid for part in sources)
        values, counts, starts = _merge(sources, grid, len(parts[0].classes))
        return Tally(
            classes=parts[0].classes,
            score=sources[0].score if sources else parts[0].score,
            grid=grid,
            confusion=np.sum([part.confusion for part in parts], axis=0),
            target=np.sum([part.target for part in parts], axis=0),
            values=values,
            counts=counts,
            starts=starts,
            soft=_sum_soft(parts),
            bins=_sum_bins(parts),
        )

    def __add__(self, other: "Tally") -> "Tally":
        return Tally.sum([self, other]) if isinstance(other, Tally) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        header = (self.classes, self.score, self.grid) == (other.classes, other.score, other.grid)
        mine, theirs = self._arrays(), other._arrays()
        return (
            header and mine.keys() == theirs.keys() and all(np.array_equal(mine[key], theirs[key]) for key in mine)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal by value, not hashable

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_source(self) -> int:
        return int(self.confusion.sum())

    @property
    def n_target(self) -> int:
        return int(self.target.sum())

    @cached_property
    def class_counts(self) -> IntArray:
        """Source rows of each true label (m_j)."""
        return np.asarray(self.confusion.sum(axis=0))

    @cached_property
    def cumulative(self) -> IntArray:
        """``cumulative[i]`` is the sum of the first i counts."""
        return running_sum(self.counts)

    def positions(self, thresholds: ArrayLike) -> IntArray:
        """For each class the index into ``values`` of its first score not below the class's threshold."""
        cuts = np.broadcast_to(np.asarray(thresholds, float), (self.n_classes,))
        bounds = zip(self.starts[:-1], self.starts[1:], cuts, strict=True)
        return np.array([start + np.searchsorted(self.values[start:end], cut) for start, end, cut in bounds])

    def misses(self, thresholds: ArrayLike) -> IntArray:
        """For each class how many of its true-label scores lie below its threshold."""
        return self.cumulative[self.positions(thresholds)] - self.cumulative[self.starts[:-1]]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        names = ("confusion", "target", "values", "counts", "starts")
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in names}
        if self.soft is not None:
            arrays |= {"soft_source": self.soft.source, "soft_target": self.soft.target}
        if self.bins is not None:
            arrays["bins"] = self.bins
        return arrays

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write counts and nothing else: an .npz of integer and float arrays with a JSON header."""
        write(self._header(), self._arrays(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tally":
        """Read what :meth:`save` wrote; runs no code from the file and refuses what does not add up."""
        header, arrays = read(path)
        try:
            soft = (arrays.pop("soft_source", None), arrays.pop("soft_target", None))
            tally = cls(
                classes=check_classes(header["classes"]),
                score=str(header["score"]),
                grid=header["grid"] is True,
                soft=None if soft[0] is None or soft[1] is None else SoftSums(soft[0], soft[1]),
                **arrays,
            )
            require_sound(tally._arrays(), tally.n_classes)
        except (InputError, TypeError, KeyError, ValueError, IndexError) as error:
            raise InputError(f"{path}: the counts of this tally do not add up ({error}). Make it again.") from None
        return tally

    def _header(self) -> dict[str, Any]:
        return {"classes": self.classes, "score": self.score, "grid": self.grid}


def _empty(classes: tuple[Label, ...]) -> Tally:
    size = len(classes)
    confusion, target, starts = (np.zeros(shape, np.int64) for shape in ((size, size), (size,), (size + 1,)))
    return Tally(classes, "probability", False, confusion, target, np.empty(0), np.empty(0, np.int64), starts)


def _merge(parts: list[Tally], grid: bool, n_classes: int) -> tuple[FloatArray, IntArray, IntArray]:
    if len(parts) == 1 and parts[0].grid == grid:
        return parts[0].values, parts[0].counts, parts[0].starts
    sizes = [np.diff(part.starts) for part in parts]
    label = np.concatenate([np.repeat(np.arange(n_classes), size) for size in sizes] or [np.empty(0, np.int64)])
    values = np.concatenate([part.values for part in parts] or [np.empty(0)])
    values = to_grid(values) if grid else values
    counts = np.concatenate([part.counts for part in parts] or [np.empty(0, np.int64)])
    order = np.lexsort((values, label))
    starts = running_sum(np.bincount(label, minlength=n_classes))
    return run_lengths(values[order], counts[order], starts)


def _soft(scores: ScoreMatrix, index: IntArray | None) -> SoftSums | None:
    sums = soft_sums(scores, index)
    return None if sums is None else SoftSums(*sums)


def _sum_soft(parts: list[Tally]) -> SoftSums | None:
    total = SoftSums(np.zeros_like(parts[0].confusion), np.zeros_like(parts[0].target))
    for part in parts:
        if part.soft is None:
            return None
        total = total + part.soft
    return total


def _sum_bins(parts: list[Tally]) -> IntArray | None:
    """None where some target was counted without."""
    found = [part.bins for part in parts if part.n_target]
    known = [bins for bins in found if bins is not None]
    return np.sum(known, axis=0) if found and len(known) == len(found) else None


def _require_same(parts: list[Tally], sources: list[Tally]) -> None:
    for part in parts:
        if part.classes != parts[0].classes:
            both = f"{shorten(parts[0].classes)} and {shorten(part.classes)}"
            raise InputError(f"tallies of different classes do not add: {both}.")
    scores = sorted({part.score for part in sources})
    if len(scores) > 1:
        raise InputError(f"tallies of different scores do not add: {' and '.join(scores)}.")
