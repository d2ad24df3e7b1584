"""Source and target rows in memory, checked once: counted for every method, and looked at again by some."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label, LabelsLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.answers import Data
from pacshift.certification.few_labels import split_labels
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.label_sheet.plan import RowDraw
from pacshift.certification.labelled import split_at_random, split_by_sheet
from pacshift.certification.request import Request
from pacshift.errors import InputError
from pacshift.files.writing import PathLike
from pacshift.paths.labelled import LabelledTarget, RowsToPlan
from pacshift.paths.sample import RowSample
from pacshift.rows.sets import labels_at, sizes_at
from pacshift.scores.check import ScoreMatrix, check_flag, check_labels, check_scores, require_plausible
from pacshift.scores.frames import require_same_index
from pacshift.scores.transforms import Transform, to_probabilities
from pacshift.tally import Tally

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A labelled source and, if there is one, an unlabelled target; probabilities if ``softmax`` was asked for."""

    source: ScoreMatrix
    labels: LabelsLike
    target: ScoreMatrix | None
    softmax: bool
    given_target: ScoreMatrix | None
    """The target as it was given, before the softmax, by which a label sheet knows it."""

    @classmethod
    def check(
        cls,
        source_scores: ScoresLike | ScoreMatrix,
        source_labels: LabelsLike,
        target_scores: ScoresLike | ScoreMatrix | None,
        *,
        classes: Sequence[Label] | None,
        softmax: bool,
    ) -> "Rows":
        """The rows, or an InputError that says what is wrong with the scores. Labels are checked when counted."""
        source, target = check_scores(source_scores, name="source", classes=classes), None
        if target_scores is not None:
            target = check_scores(target_scores, name="target", classes=source.classes)
        given = target
        if check_flag(softmax, "softmax"):
            _require_plausible_logits(source, source_labels)
            source = to_probabilities(source, name="source")
            target = None if target is None else to_probabilities(target, name="target")
        return cls(source, source_labels, target, bool(softmax), given)

    def tally(self, transform: Transform, *, soft: bool, bins: bool) -> Tally:
        """The counts of source and target."""
        source = self.source_tally(transform, soft=soft)
        return source if self.target is None else source + self.target_tally(soft=soft, bins=bins)

    def source_tally(self, transform: Transform, *, soft: bool) -> Tally:
        """The counts of the source."""
        start = perf_counter()
        made = Tally.from_scores(self.source, self.labels, classes=self.source.classes, score=transform, soft=soft)
        made = replace(made, softmax=self.softmax)
        logger.info("counted %d source rows in %.2f s", made.n_source, perf_counter() - start)
        return made

    def target_tally(self, *, soft: bool, bins: bool) -> Tally:
        """The counts of the target."""
        assert self.target is not None  # only called with a target
        start = perf_counter()
        made = Tally.from_target(self.target, classes=self.target.classes, soft=soft, bins=bins)
        made = replace(made, softmax=self.softmax)
        logger.info("counted %d target rows in %.2f s", made.n_target, perf_counter() - start)
        return made

    def labelled_target(
        self, labels: LabelsLike | None, transform: Transform, request: Request, tally: Tally
    ) -> LabelledTarget | None:
        """The target rows that have labels, and rows without to plan with."""
        if labels is None:
            return None
        if self.target is None:
            raise InputError(
                "target_labels are labels of target rows, but target_scores is None. Pass the scores too."
            )
        places, known = split_labels(labels, self.target.classes, len(self.target))
        require_same_index(self.target.index, labels, "target_labels")
        rows = replace(self.target, values=self.target.values[places], index=None)
        index = check_labels(known, rows.classes, n_rows=len(rows), name="target_labels")
        unlabelled = np.ones(len(self.target), bool)
        unlabelled[places] = False
        to_plan = self.rows_to_plan(np.flatnonzero(unlabelled))
        return split_at_random(rows, index, request, to_plan, transform, tally)

    def sheet_target(
        self,
        labelled: LabelSheet | PathLike,
        transform: Transform,
        request: Request,
        tally: Tally,
        numbers: IntArray | None = None,
    ) -> LabelledTarget:
        """The target rows of a label sheet that are filled in, and rows that are not on it to plan with.

        ``numbers`` are the rows' numbers in the target, where one of each group is left.
        """
        sheet = labelled if isinstance(labelled, LabelSheet) else LabelSheet.load(labelled)
        if self.target is None or self.given_target is None:
            raise InputError("labelled is a sheet of target rows, but target_scores is None. Pass the scores too.")
        draw = RowDraw(len(sheet.rows), sheet.seed, len(self.target.classes))
        draw.add(self.given_target.values)
        sheet.require_target(draw, numbers)
        places = sheet.rows if numbers is None else np.searchsorted(numbers, sheet.rows)
        others = np.ones(len(self.target), bool)
        others[places] = False
        to_plan = self.rows_to_plan(np.flatnonzero(others))
        rows = replace(self.target, values=self.target.values[places], index=None)
        return split_by_sheet(sheet, rows, request, to_plan, transform, tally)

    @property
    def source_columns(self) -> IntArray:
        """The column of each source row's label."""
        source = self.source
        return check_labels(self.labels, source.classes, n_rows=len(source), name="source", index=source.index)

    def data(
        self,
        tally: Tally,
        transform: Transform,
        labelled: LabelledTarget | None = None,
    ) -> Data:
        """The counts with the rows at hand, on which sizes are counted where scores are compared as they are."""
        counts_sizes = self.target is not None and transform.function is None
        return Data(
            tally,
            labelled,
            transform,
            self.mean_sizes if counts_sizes else None,
            None if self.target is None else self.rows_to_plan,
            None if self.target is None else self.sample,
        )

    def sample(self) -> RowSample:
        """Samples of source and target to tune thresholds with."""
        assert self.target is not None  # only called with a target
        return RowSample.of(self.source.values, self.source_columns, self.target.values)

    def rows_to_plan(self, unlabelled: IntArray | None = None) -> RowsToPlan:
        """Samples of source and target; of target rows at the places ``unlabelled``, if not of all."""
        assert self.target is not None  # only called with a target
        return RowsToPlan.of(self.source.values, self.source_columns, self.target.values, unlabelled)

    def mean_sizes(self, cuts: Sequence[FloatArray]) -> list[float]:
        """Mean set sizes on the target for several vectors of thresholds, in one pass over the rows."""
        assert self.target is not None  # only called with a target
        return [total / len(self.target) for total in labels_at(self.target, cuts)]

    def set_sizes(self, certificates: Sequence[Certificate]) -> list[IntArray]:
        """How many target sets of each certificate hold 0, 1, ..., K labels; only their thresholds differ."""
        assert self.target is not None  # only called with a target
        one = certificates[0]
        assert one.transform is not None  # certify keeps it
        cuts = [each.thresholds for each in certificates]
        return sizes_at(self.target, cuts, one.transform, never_empty=one.never_empty)


def _require_plausible_logits(source: ScoreMatrix, labels: LabelsLike) -> None:
    """Look for columns such as ``id`` before the softmax, after which every column looks like a class."""
    if source.named_by_frame:
        index = check_labels(labels, source.classes, n_rows=len(source), name="source", index=source.index)
        require_plausible(source, np.bincount(index, minlength=len(source.classes)))
