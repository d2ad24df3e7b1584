"""A rule: what is done with scores at thresholds. Prediction sets, or accept the top label or ask a person.

The two classes hold all that differs between them below the words: who is in a set, what an error is, among which
rows it is counted. What a rule says stands in ``words.rules``; how thresholds are found, in ``methods``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pacshift.acceptance.tops import TopScoreTable, reaches_threshold, top_labels
from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.evaluation import EvaluationCounts
from pacshift.rows.sets import add_top, block_sizes, exact_cuts
from pacshift.tally import Tally

Scores: TypeAlias = NDArray[np.floating[Any]]
MakeSets: TypeAlias = Callable[[Scores, Scores, BoolArray | None], BoolArray]
"""From transformed scores, of a row or of a block, and the scores as they came, to the sets, made where they shall
stand."""

CountSizes: TypeAlias = Callable[[Scores, Scores], IntArray]
"""From the same to counts of sets with 0, 1, ..., K labels."""

Part = TypeVar("Part", covariant=True)


class Writer(Protocol[Part]):
    """Who writes a rule in another language, such as SQL or ONNX: one word for each rule."""

    def sets(self, rule: "SetRule") -> Part:
        """The labels whose scores reach their thresholds."""
        ...

    def accept_or_ask(self, rule: "AcceptRule") -> Part:
        """The top label alone where it is accepted, every label elsewhere."""
        ...


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """Thresholds, one per class, and what is done with them."""

    thresholds: FloatArray
    never_empty = False
    kind: ClassVar[str]
    """What files call the rule."""
    verb: ClassVar[str]
    """The function, and the command, that makes certificates of it."""
    limit_name: ClassVar[str]
    """The parameter that limits the errors of each class, or label."""
    of_labels: ClassVar[bool]
    """Whether errors are counted by the label that is named, and not by the true one."""
    may_grow: ClassVar[bool]
    """Whether rounding that only adds labels keeps the promise; else the sets must be equal everywhere."""

    @property
    @abstractmethod
    def never_errs(self) -> BoolArray:
        """Labels about which the rule is never wrong, because it says nothing about them."""

    @property
    def trivial(self) -> bool:
        """Whether every set holds all labels, which is always right but never informative."""
        return bool(self.never_errs.all())

    def fill_empty_sets(self) -> "Rule":
        """The rule that puts the top label into sets that would hold none."""
        return self

    @abstractmethod
    def maker(self, dtype: np.dtype[Any], n_rows: int = 1) -> MakeSets:
        """What makes sets of scores of this type, at most so many rows at once; one row may be a vector."""

    def size_counter(self, dtype: np.dtype[Any], n_rows: int = 1) -> CountSizes:
        """What counts the sizes of these sets."""
        make = self.maker(dtype, n_rows)
        return lambda block, raw: np.bincount(make(block, raw, None).sum(axis=1), minlength=block.shape[1] + 1)

    def sizes_in(self, tally: Tally) -> IntArray | None:
        """How many sets of the target hold 0, 1, ..., K labels, where its counts tell."""
        return None

    @abstractmethod
    def judge(self, counts: EvaluationCounts) -> tuple[IntArray, IntArray]:
        """The errors that the promise is about, and the rows that could be one, by the class of the limits."""

    @abstractmethod
    def written(self, writer: Writer[Part]) -> Part:
        """The rule in another language."""


@dataclass(frozen=True, eq=False)
class SetRule(Rule):
    """Prediction sets: a label is in the set where its score is at least its threshold.

    An error is a set without the true label, and is counted among all rows, by true label. ``never_empty`` puts
    the top label into sets that would hold none.
    """

    never_empty: bool = False
    kind = "sets"
    verb = "calibrate"
    of_labels = False
    limit_name = "class_epsilon"
    may_grow = True

    @property
    def never_errs(self) -> BoolArray:
        return np.isneginf(self.thresholds)

    def fill_empty_sets(self) -> "SetRule":
        return replace(self, never_empty=True)

    def maker(self, dtype: np.dtype[Any], n_rows: int = 1) -> MakeSets:
        cuts = exact_cuts(self.thresholds, dtype)
        if cuts.ndim and n_rows > 1:  # matrices of equal shape compare twice as fast as a matrix and a row
            cuts = np.tile(cuts, (n_rows, 1))

        def make(block: Scores, raw: Scores, out: BoolArray | None) -> BoolArray:
            reached: BoolArray = np.greater_equal(block, cuts[: len(block)] if cuts.ndim == 2 else cuts, out)
            return add_top(reached, raw) if self.never_empty else reached

        return make

    def size_counter(self, dtype: np.dtype[Any], n_rows: int = 1) -> CountSizes:
        cuts = exact_cuts(self.thresholds, dtype)

        def count(block: Scores, raw: Scores) -> IntArray:
            counts = np.bincount(block_sizes(block, cuts), minlength=block.shape[1] + 1)
            if self.never_empty:
                counts[1], counts[0] = counts[1] + counts[0], 0
            return counts

        return count

    def judge(self, counts: EvaluationCounts) -> tuple[IntArray, IntArray]:
        return counts.misses, counts.rows

    def written(self, writer: Writer[Part]) -> Part:
        return writer.sets(self)


@dataclass(frozen=True, eq=False)
class AcceptRule(Rule):
    """The top label alone where its score is at least its threshold; else every label, and a person is asked.

    An error is an accepted label that is wrong, and is counted among what is accepted, by accepted label.
    """

    kind = "accept"
    verb = "accept"
    of_labels = True
    limit_name = "label_error"
    may_grow = False

    @property
    def never_errs(self) -> BoolArray:
        return np.isposinf(self.thresholds)

    def maker(self, dtype: np.dtype[Any], n_rows: int = 1) -> MakeSets:
        def make(block: Scores, raw: Scores, out: BoolArray | None) -> BoolArray:
            sets = np.empty(block.shape, np.bool_) if out is None else out
            rows, table = np.atleast_2d(block), np.atleast_2d(sets)
            label, top = top_labels(rows)
            table[:] = ~reaches_threshold(label, top, self.thresholds)[:, None]
            table[np.arange(len(label)), label] = True
            return sets

        return make

    def sizes_in(self, tally: Tally) -> IntArray | None:
        target = TopScoreTable.of_cells(tally.target_cells, tally.target_kind)
        n_asked, n_accepted = (
            target.tables(self.thresholds[None], 1)[0, :, 0].reshape(-1, 2).sum(axis=0).astype(int)
        )
        return np.array([0, n_accepted, *[0] * (tally.n_classes - 2), n_asked])

    def judge(self, counts: EvaluationCounts) -> tuple[IntArray, IntArray]:
        return counts.alone_misses, counts.alone  # given how many are accepted, binomial (accept.md, Lemma 5)

    def written(self, writer: Writer[Part]) -> Part:
        return writer.accept_or_ask(self)


RULES: Mapping[str, type[Rule]] = MappingProxyType({rule.kind: rule for rule in (SetRule, AcceptRule)})
