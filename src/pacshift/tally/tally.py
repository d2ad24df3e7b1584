"""Scores to counts. One pass over the data makes a tally; tallies add up; every method works on tallies alone."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pacshift.arrays import Label, LabelsLike, ScoresLike
from pacshift.scores.check import ScoreMatrix, check_flag, check_labels, check_scores, require_plausible
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tally.addition import sum_fields
from pacshift.tally.cells import Cells
from pacshift.tally.counter import Counter, CountOptions, count_matrix
from pacshift.tally.counts import Counts
from pacshift.tally.file import arrays_of, header_of, read_fields, write
from pacshift.tally.grouped import Grouped
from pacshift.tally.groups import one_row_per_group
from pacshift.tally.repeats import require_distinct


@dataclass(frozen=True, eq=False)
class Tally(Counts):
    """Integer counts of a labelled source, an unlabelled target, or both.

    Make one with ``from_scores`` and ``from_target``; tallies of the same classes add up with ``+``.

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
    values, counts, starts : numpy.ndarray
        Class j's distinct true-label scores, ascending, are ``values[starts[j]:starts[j + 1]]``; they occur
        ``counts[...]`` times.
    soft : SoftSums or None
        Sums of probabilities, which only PS-R and WCP use.
    bins : numpy.ndarray or None
        ``bins[j, b]`` counts target rows whose plain score of class j lies in bin b, see ``tally.histogram``.
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
        groups: LabelsLike | None = None,
    ) -> "Tally":
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
        groups : array_like, optional
            Group of each row, such as the patient: one random row of each group is counted.

        Returns
        -------
        Tally
            Counts of the source; its target is empty.

        Raises
        ------
        InputError
            If scores are not a finite matrix, a label is not among the classes, a row has no group, or the
            indexes differ.

        Examples
        --------
        >>> Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], ["no", "yes"], classes=["no", "yes"]).n_source
        2
        """
        checked = check_scores(scores, name="source", classes=classes)
        index = check_labels(labels, checked.classes, n_rows=len(checked), name="source", index=checked.index)
        logits = check_flag(softmax, "softmax")
        grouped = None if groups is None else Grouped(len(checked))
        if groups is not None:
            places = one_row_per_group(groups, checked, index, name="source", softmax=logits)
            checked, index = checked.take(places), index[places]
        options = CountOptions(resolve_transform(score), grid=grid, soft=soft, bins=False, softmax=logits)
        counter = count_matrix(checked, index, options, name="source")
        made = cls.from_counter(counter, checked.classes, grouped)
        if checked.named_by_frame:
            require_plausible(checked, made.class_counts)
        return made

    @classmethod
    def from_target(
        cls,
        scores: ScoresLike | ScoreMatrix,
        *,
        classes: Sequence[Label] | None = None,
        soft: bool = True,
        bins: bool = True,
        groups: LabelsLike | None = None,
        softmax: bool = False,
    ) -> "Tally":
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
        groups : array_like, optional
            Group of each row, such as the patient: one random row of each group is counted.
        softmax : bool, default False
            Whether the scores are logits, of which the softmax is counted.

        Returns
        -------
        Tally
            Counts of the target; its source is empty.

        Raises
        ------
        InputError
            If scores are not a finite matrix, a row has no group, or the indexes differ.

        Examples
        --------
        >>> rows = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]
        >>> Tally.from_target(rows).target.tolist(), Tally.from_target(rows, groups=["ann", "bob", "bob"]).n_target
        ([1, 2], 2)
        """
        checked, logits = check_scores(scores, name="target", classes=classes), check_flag(softmax, "softmax")
        grouped = None if groups is None else Grouped(len(checked))
        if groups is not None:
            checked = checked.take(one_row_per_group(groups, checked, name="target", softmax=logits))
        options = CountOptions(soft=soft, bins=bins, softmax=logits)
        counter = count_matrix(checked, None, options, name="target")
        return cls.from_counter(counter, checked.classes, grouped)

    @classmethod
    def from_counter(cls, counter: Counter, classes: tuple[Label, ...], grouped: Grouped | None = None) -> "Tally":
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
        values, counts, starts = counter.scores.distinct()
        cells, none = counter.cells, Cells.empty(1 if counter.labelled else len(classes))
        return cls(
            classes=classes,
            score=counter.options.transform.name if counter.labelled else "probability",
            grid=counter.labelled and counter.options.grid,
            source_cells=cells if counter.labelled else none,
            target_cells=none if counter.labelled else cells,
            values=values,
            counts=counts,
            starts=starts,
            soft=counter.soft,
            bins=counter.bins,
            source_kind=counter.kind if counter.labelled else None,
            target_kind=None if counter.labelled else counter.kind,
            source_grouped=grouped if counter.labelled else None,
            target_grouped=None if counter.labelled else grouped,
            softmax=counter.options.softmax,
        )

    @classmethod
    def sum(cls, tallies: Iterable["Tally"]) -> "Tally":
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
        return cls(**sum_fields(list(tallies)))

    def __repr__(self) -> str:
        rows = f"{self.n_source:,} source rows, {self.n_target:,} target rows"
        more = (", softmax of logits" if self.softmax else "") + (", on the grid" if self.grid else "")
        one = ", one per group" if self.source_grouped or self.target_grouped else ""
        return f"Tally({self.n_classes} classes, {rows}{one}, score {self.score!r}{more})"

    def __add__(self, other: "Tally") -> "Tally":
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
    def load(cls, path: str | os.PathLike[str]) -> "Tally":
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
        made = cls(**read_fields(path))
        require_distinct([made], [os.fspath(path)])
        return made
