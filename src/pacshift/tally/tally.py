"""Scores to counts. One pass over the data makes a tally; tallies add up; every method works on tallies alone.

The counts of chunks, files, partitions, months or hospitals make those of all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray, IntArray, Label, LabelsLike, ScoresLike, cached_property, running_sum
from pacshift.errors import InputError, param
from pacshift.scores.check import ScoreMatrix, check_flag, check_labels, check_scores, require_plausible
from pacshift.scores.kind import ScoreKind, kind_of_all
from pacshift.scores.names import shorten, text_of
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform, to_probabilities
from pacshift.tally.cells import Cells, typical_tops
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.file import arrays_of, header_of, read, write
from pacshift.tally.grid import to_grid
from pacshift.tally.inputs import Grouped, Input, merge_inputs
from pacshift.tally.rules import MAX_TOTAL
from pacshift.tally.same_rows import require_distinct
from pacshift.tally.stores import Distinct, RawScores, SoftSums, run_lengths

HALVED_TOGETHER = 60
"""Above this many classes thresholds are looked up for all classes at once. With 1,000 classes of 200 scores that
takes 0.15 ms instead of 1.3 ms; with 10 classes one search after the other is quicker."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Integer counts of a labelled source, an unlabelled target, or both.

    Make one with ``from_scores`` and ``from_target``, of rows in groups with ``Rows(..., groups=groups).tally()``.
    Tallies of the same classes add up with ``+``.

    Parameters
    ----------
    classes : tuple
        Class names, in the order of the score columns.
    score : str
        Name of the transform that made the true-label scores.
    grid : bool
        Whether true-label scores are rounded down to 12 bits of mantissa.
    source_cells, target_cells : Cells
        Rows by predicted label and confidence bin, of the source also by true label. Only filled cells are kept.
    scores : Distinct or RawScores
        True-label scores. Class j's distinct ones, ascending, are ``values[starts[j]:starts[j + 1]]``; they occur
        ``counts[...]`` times. For a method that needs no predicted labels they are sorted when one asks for them.
    soft : SoftSums or None
        Sums of probabilities, which only PS-R and WCP use.
    bins : numpy.ndarray or None
        ``bins[j, b]`` counts target rows whose plain score of class j lies in bin b, see ``tally.grid``.
    source_kind, target_kind : ScoreKind or None
        Range of the scores, and whether rows sum to 1; None without rows.
    inputs : tuple of Input
        Files that were counted, with rows, columns and SHA-256. Tallies of the same counts are equal, wherever the
        rows came from.
    n_more_inputs : int
        How many more files there were: a sum lists up to 200.
    source_grouped, target_grouped : Grouped or None
        If one random row of each group was counted: how many rows there were in all.
    softmax : bool
        Whether the rows were logits, of which the softmax was counted. Certificates remember it.

    Examples
    --------
    >>> source = Tally.from_scores([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1])
    >>> target = Tally.from_target([[0.3, 0.7], [0.1, 0.9]])
    >>> both = source + target
    >>> both.confusion.tolist(), both.target.tolist(), both.class_counts.tolist()
    ([[1, 1], [0, 1]], [0, 2], [1, 2])
    """

    classes: tuple[Label, ...]
    score: str
    grid: bool
    source_cells: Cells
    target_cells: Cells
    scores: Distinct | RawScores
    soft: SoftSums | None = None
    bins: IntArray | None = None
    source_kind: ScoreKind | None = None
    target_kind: ScoreKind | None = None
    inputs: tuple[Input, ...] = ()
    n_more_inputs: int = 0
    source_grouped: Grouped | None = None
    target_grouped: Grouped | None = None
    softmax: bool = False

    def __post_init__(self) -> None:
        """Counts cannot be written to through the tally. Views, because arrays may be large."""
        if self.bins is not None:
            view = self.bins.view()
            view.flags.writeable = False
            object.__setattr__(self, "bins", view)

    @classmethod
    def from_scores(
        cls,
        scores: ScoresLike | ScoreMatrix,
        labels: LabelsLike,
        *,
        classes: Sequence[Label] | None = None,
        score: str | TransformFunction | Transform = "probability",
        grid: bool = False,
        soft: bool = True,
        softmax: bool = False,
    ) -> Tally:
        """Count a labelled source.

        Parameters
        ----------
        scores : array_like or frame
            One row per example, one column per class.
        labels : array_like
            True label of each row, matched to ``classes`` by value. If scores and labels have a pandas index, it
            must be the same.
        classes : sequence, optional
            Names of the columns. Default: the column names of a frame, else 0 to K-1.
        score : str or callable, default "probability"
            Transform of the scores that thresholds are compared with.
        grid : bool, default False
            Round true-label scores down to 12 bits of mantissa: less memory, the same guarantee.
        soft : bool, default True
            Keep sums of probabilities, which only PS-R and WCP use.
        softmax : bool, default False
            Whether the scores are logits, of which the softmax is counted.

        Returns
        -------
        Tally
            Counts of the source; its target is empty.

        Raises
        ------
        InputError
            If scores are not a finite matrix, a label is not among the classes, or the indexes differ.

        Examples
        --------
        >>> Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], ["no", "yes"], classes=["no", "yes"]).n_source
        2
        """
        checked = check_scores(scores, name="source", classes=classes)
        index = check_labels(labels, checked.classes, n_rows=len(checked), name="source", index=checked.index)
        options = CountOptions(resolve_transform(score), grid=grid, soft=soft, bins=False)
        tally = cls._of_matrix(checked, index, options, softmax=softmax)
        if checked.named_by_frame:
            require_plausible(checked, tally.class_counts)
        return tally

    @classmethod
    def from_target(
        cls,
        scores: ScoresLike | ScoreMatrix,
        *,
        classes: Sequence[Label] | None = None,
        soft: bool = True,
        bins: bool = True,
        softmax: bool = False,
    ) -> Tally:
        """Count an unlabelled target.

        Parameters
        ----------
        scores : array_like or frame
            One row per example, one column per class.
        classes : sequence, optional
            Names of the columns. Default: the column names of a frame, else 0 to K-1.
        soft : bool, default True
            Keep sums of probabilities, which only PS-R and WCP use.
        bins : bool, default True
            Keep scores in coarse bins, by which PS-LP finds the smallest sets.
        softmax : bool, default False
            Whether the scores are logits, of which the softmax is counted.

        Returns
        -------
        Tally
            Counts of the target; its source is empty.

        Raises
        ------
        InputError
            If scores are not a finite matrix.

        Examples
        --------
        >>> Tally.from_target([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]).target.tolist()
        [1, 2]
        """
        checked = check_scores(scores, name="target", classes=classes)
        return cls._of_matrix(checked, None, CountOptions(soft=soft, bins=bins), softmax=softmax)

    @classmethod
    def _of_matrix(
        cls, scores: ScoreMatrix, labels: IntArray | None, options: CountOptions, *, softmax: bool
    ) -> Tally:
        name, is_logits = "target" if labels is None else "source", check_flag(softmax, "softmax")
        counter = Counter(len(scores.classes), options, labelled=labels is not None)
        ready = to_probabilities(scores, name=name) if is_logits else scores
        counter.count_matrix(ready, labels, name=name)
        return replace(cls.from_counter(counter, scores.classes), softmax=is_logits)

    @classmethod
    def from_counter(cls, counter: Counter, classes: tuple[Label, ...], grouped: Grouped | None = None) -> Tally:
        """Make a tally of the counts that any engine has gathered.

        Parameters
        ----------
        counter : Counter
            Counts of a source or of a target.
        classes : tuple
            Class names, in the order of the score columns.
        grouped : Grouped, optional
            What is known of the rows if one of each group was counted.

        Returns
        -------
        Tally
            The other side is empty.
        """
        options, store = counter.options, counter.scores
        scores = store if isinstance(store, RawScores) else store.distinct()
        none = Cells.empty(len(classes)), Cells.empty(1)
        tally = cls(classes, "probability", False, *none, scores, counter.soft)
        cells, kind = counter.cells, counter.kind
        if kind is not None and not options.predicted:
            least_top = kind.low if cells.bins == "not counted" else kind.least_top
            kind = replace(kind, tops=typical_tops(cells), least_top=least_top)
            cells = cells.forget_predictions()
        if not counter.labelled:
            return replace(tally, bins=counter.bins, target_cells=cells, target_kind=kind, target_grouped=grouped)
        tally = replace(tally, score=options.transform.name, grid=options.grid)
        return replace(tally, source_cells=cells, source_kind=kind, source_grouped=grouped)

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """Add many tallies with one merge. The order does not matter, to the last bit.

        Parameters
        ----------
        tallies : iterable of Tally
            At least one, all of the same classes and (of sources) the same score.

        Returns
        -------
        Tally
            On the grid where one of the sources is.

        Raises
        ------
        InputError
            If there is none, classes or scores differ, two tallies were counted from the same rows, as their
            ``inputs`` tell, or only some of them hold one row per group.

        Examples
        --------
        >>> part = Tally.from_target([[0.9, 0.1]])
        >>> Tally.sum([part, part, part]).n_target
        3
        """
        parts = list(tallies)
        _require_addable(parts)
        require_distinct(parts)
        sources = [part for part in parts if part.n_source]
        targets = [part for part in parts if part.n_target]
        filled, grid = sources or parts[:1], any(part.grid for part in sources)
        soft = [part.soft for part in parts if part.soft is not None]
        bins = [part.bins for part in targets if part.bins is not None]
        inputs, n_more = merge_inputs(parts)
        return cls(
            classes=parts[0].classes,
            score=filled[0].score,
            grid=grid,
            source_cells=Cells.sum([part.source_cells for part in parts]),
            target_cells=Cells.sum([part.target_cells for part in parts]),
            scores=_merge_scores(filled, grid),
            soft=reduce(SoftSums.__add__, soft) if len(soft) == len(parts) else None,
            bins=np.sum(bins, axis=0) if targets and len(bins) == len(targets) else None,
            source_kind=kind_of_all(part.source_kind for part in sources),
            target_kind=kind_of_all(part.target_kind for part in targets),
            inputs=inputs,
            n_more_inputs=n_more,
            source_grouped=_sum_groups("source", [part.source_grouped for part in sources]),
            target_grouped=_sum_groups("target", [part.target_grouped for part in targets]),
            softmax=parts[0].softmax,
        )

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.classes)

    @property
    def n_source(self) -> int:
        """Labelled source rows, m."""
        return self.source_cells.n_rows

    @property
    def n_target(self) -> int:
        """Unlabelled target rows, n."""
        return self.target_cells.n_rows

    @property
    def values(self) -> FloatArray:
        """The distinct true-label scores of each class, ascending, class after class."""
        return self._distinct.values

    @property
    def counts(self) -> IntArray:
        """How often each of the ``values`` occurs."""
        return self._distinct.counts

    @property
    def starts(self) -> IntArray:
        """Where each class starts among the ``values``, and where the last one ends."""
        return self._distinct.starts

    def with_counts(self, counts: IntArray) -> Tally:
        """The same scores with other counts.

        Parameters
        ----------
        counts : numpy.ndarray
            One per entry of ``values``.

        Returns
        -------
        Tally
        """
        return replace(self, scores=replace(self._distinct, counts=counts))

    @property
    def raw(self) -> RawScores | None:
        """The scores where nobody has sorted them yet."""
        return self.scores if isinstance(self.scores, RawScores) else None

    @cached_property
    def _distinct(self) -> Distinct:
        return self.scores.distinct() if isinstance(self.scores, RawScores) else self.scores

    @cached_property
    def full_source_kind(self) -> ScoreKind | None:
        """``source_kind`` with what the cells say about top scores, for comparisons."""
        return _with_tops(self.source_kind, self.source_cells)

    @cached_property
    def full_target_kind(self) -> ScoreKind | None:
        """``target_kind`` with what the cells say about top scores, for comparisons."""
        return _with_tops(self.target_kind, self.target_cells)

    @cached_property
    def confusion(self) -> IntArray:
        """``confusion[i, j]`` counts source rows predicted i and labelled j; dense, K × K."""
        return self.source_cells.table(self.n_classes)

    @cached_property
    def target(self) -> IntArray:
        """``target[i]`` counts target rows predicted i."""
        return self.target_cells.table(self.n_classes)[:, 0]

    @cached_property
    def class_counts(self) -> IntArray:
        """Source rows of each true label, m_j."""
        return self.source_cells.label_counts()

    @cached_property
    def cumulative(self) -> IntArray:
        """``cumulative[i]`` is the sum of the first i counts."""
        return running_sum(self.counts)

    def positions(self, thresholds: ArrayLike) -> IntArray:
        """For each class, the index into ``values`` of its first score not below its threshold.

        Parameters
        ----------
        thresholds : float or array_like of shape (K,)
            One threshold, or one per class.

        Returns
        -------
        numpy.ndarray of shape (K,)
            Indices.
        """
        cuts = np.broadcast_to(np.asarray(thresholds, float), (self.n_classes,))
        if self.n_classes > HALVED_TOGETHER:
            return _halved_together(self.values, self.starts, cuts)
        places = self.starts[:-1].copy()
        for label in np.flatnonzero(np.diff(self.starts)).tolist():
            places[label] += np.searchsorted(self.values[self.starts[label] : self.starts[label + 1]], cuts[label])
        return places

    def misses(self, thresholds: ArrayLike) -> IntArray:
        """For each class, how many of its true-label scores lie below its threshold.

        Parameters
        ----------
        thresholds : float or array_like of shape (K,)
            One threshold, or one per class.

        Returns
        -------
        numpy.ndarray of shape (K,)
            Counts.

        Examples
        --------
        >>> from pacshift import Tally
        >>> Tally.from_scores([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1]).misses(0.5).tolist()
        [0, 1]
        """
        if self.raw is not None:
            return self.raw.misses(np.broadcast_to(np.asarray(thresholds, float), (self.n_classes,)))
        return self.cumulative[self.positions(thresholds)] - self.cumulative[self.starts[:-1]]

    def __repr__(self) -> str:
        rows = f"{self.n_source:,} source rows, {self.n_target:,} target rows"
        more = (", softmax of logits" if self.softmax else "") + (", on the grid" if self.grid else "")
        how = ", one per group" if self.source_grouped or self.target_grouped else ""
        how += ", predicted labels not counted" if self.source_cells.bins == "not counted" else ""
        return f"Tally({self.n_classes} classes, {rows}{how}, score {self.score!r}{more})"

    def __add__(self, other: Tally) -> Tally:
        return Tally.sum([self, other]) if isinstance(other, Tally) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        mine, theirs = arrays_of(self), arrays_of(other)
        same_header = header_of(self) == header_of(other) and mine.keys() == theirs.keys()
        return same_header and all(np.array_equal(mine[key], theirs[key]) for key in mine)

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal by value, not hashable

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts, and where they come from: an .npz of integer and float arrays with a JSON header.

        Parameters
        ----------
        path : path-like
            The file appears when it is complete, or not at all.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tally:
        """Read what ``save`` wrote; runs no code from the file.

        Parameters
        ----------
        path : path-like
            A tally file.

        Returns
        -------
        Tally
            Equal to the one that was saved.

        Raises
        ------
        InputError
            If the file is not a tally, its counts do not add up, or it says that a file was counted twice.
        """
        tally = read(path, cls)
        require_distinct([tally], [os.fspath(path)])
        return tally


def _with_tops(kind: ScoreKind | None, cells: Cells) -> ScoreKind | None:
    if kind is None or cells.bins == "not counted":  # then it has what was seen while counting
        return kind
    return replace(kind, tops=typical_tops(cells))


def _halved_together(values: FloatArray, starts: IntArray, cuts: FloatArray) -> IntArray:
    """For each class the first of its ascending scores that is not below its cut, as ``searchsorted`` finds it."""
    low, high = starts[:-1].copy(), starts[1:].copy()
    for _ in range(int((high - low).max()).bit_length()):
        middle = (low + high) // 2
        left = low < high
        below = left & ~(values[np.minimum(middle, len(values) - 1)] >= cuts)  # NaN is above all scores
        low = np.where(below, middle + 1, low)
        high = np.where(left & ~below, middle, high)
    return low


def _require_addable(parts: Sequence[Any]) -> None:
    """Refuse what is no tally, sums that would overflow, and tallies of different classes or scores."""
    if not parts:
        raise InputError("no tallies to add: give at least one.")
    for part in parts:
        if not isinstance(part, Tally):
            raise InputError(f"only tallies can be added, got {part!r}. Load files with Tally.load first.")
    soft = [one for part in parts if part.soft is not None for one in (part.soft.sums, part.soft.target)]
    if sum(float(sums.sum(dtype=np.float64)) for sums in soft) > MAX_TOTAL:
        raise InputError(
            "the sums of probabilities of the tallies do not fit into 64 bits. Count without them: soft=False. "
            "Only PS-R and WCP use them."
        )
    for part in parts:
        if list(map(text_of, part.classes)) != list(map(text_of, parts[0].classes)):
            both = f"{shorten(parts[0].classes)} and {shorten(part.classes)}"
            raise InputError(
                f"tallies of different classes do not add: {both}. Count them all with the same "
                f"{param('classes=')}, in one order."
            )
    scores = sorted({part.score for part in parts if part.n_source})
    if len(scores) > 1:
        raise InputError(f"tallies of different scores do not add: {' and '.join(scores)}.")
    if len({part.softmax for part in parts}) > 1:
        raise InputError(
            "tallies of logits, of which the softmax was counted, and of scores as they are do not add. Count "
            f"all of them from logits with {param('softmax=True')}, or all from the model's probabilities without "
            "it."
        )


def _merge_scores(parts: Sequence[Tally], grid: bool) -> Distinct | RawScores:
    """The true-label scores of all parts, on the grid where one of them is."""
    if len(parts) == 1 and parts[0].grid == grid:
        return parts[0].scores
    n_classes = parts[0].n_classes
    label = np.concatenate([np.repeat(np.arange(n_classes), np.diff(part.starts)) for part in parts])
    values, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "counts"))
    values = to_grid(values) if grid else values
    order = np.lexsort((values, label))
    starts = running_sum(np.bincount(label, minlength=n_classes))
    return run_lengths(values[order], counts[order], starts)


def _sum_groups(side: str, parts: Sequence[Grouped | None]) -> Grouped | None:
    """What is known of the groups of a sum; rows and groups are not the same kind of draws."""
    known = [part for part in parts if part is not None]
    if known and len(known) < len(parts):
        raise InputError(
            f"{len(known)} of {len(parts)} {side} tallies hold one row per group, the others every row: the sum "
            f"would be a sample of neither. Count all of them with {param('groups=')}, or none."
        )
    return reduce(Grouped.__add__, known) if known else None
