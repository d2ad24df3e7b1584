"""From rows to what ``certify`` works on: how rows are counted and looked at again, decided in one place.

``calibrate`` decides by what the rows allow, ``verify`` by what the certificate says: the same ``Counting``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from pacshift.certificate import Certificate
from pacshift.certificate.provenance import Counting
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.label_sheet.plan import RowDraw
from pacshift.certification.labelled import require_both_grouped, split_at_random, split_by_sheet
from pacshift.certification.request import Request
from pacshift.certification.trust import one_label_error, points_below
from pacshift.errors import InputError
from pacshift.methods import Method
from pacshift.paths.labelled import CountLabels, LabelledTarget, RowsToPlan
from pacshift.paths.sample import RowSample
from pacshift.rows import fold
from pacshift.rows.base import Matrix, Rows
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally

MAX_ROWS_READ_TWICE = 1_000_000
"""Tables with more rows, source and target together, are not read again: thresholds are then tuned on counts.
About as many rows as are read in a second."""


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What was counted: source and target, the labelled target rows, and rows that can be looked at again.

    ``counts_sizes``: sizes of sets are counted on the target's rows, not on bins. ``samples``: thresholds are
    tuned on samples of rows. ``explains``: after a refusal rows say what labels would bring.
    """

    tally: Tally
    labelled: LabelledTarget | None = None
    transform: Transform | None = None
    source: Rows | None = None
    target: Rows | None = None
    counts_sizes: bool = False
    samples: bool = False
    explains: bool = False

    @property
    def count_labels(self) -> CountLabels | None:
        """Counts mean sizes of sets on the target's rows, where that is to be done."""
        return partial(fold.mean_sizes, self.target) if self.target is not None and self.counts_sizes else None

    @property
    def sample(self) -> Callable[[], RowSample] | None:
        """Reads samples of source and target rows to tune thresholds with, where that is to be done."""
        if self.source is None or self.target is None or not self.samples:
            return None
        return partial(fold.sample, self.source, self.target, self.tally)

    @property
    def to_plan(self) -> Callable[[], RowsToPlan] | None:
        """Reads rows to plan with after a refusal, where there are any to look at."""
        if self.source is None or self.target is None or not self.explains:
            return None
        return partial(fold.plan_after_refusal, self.source, self.target)


def counted_before(tally: Tally, target_labels: object = None, **rows: object) -> Data:
    """Counts that were made elsewhere, with those of labelled target rows. What is about ``rows`` is refused."""
    for name in (name for name, value in rows.items() if value is not None and value is not False):
        raise InputError(f"{name} is about rows, but a tally holds counts alone. Leave it out, or pass rows.")
    if target_labels is None:
        return Data(tally)
    if not isinstance(target_labels, Tally):
        raise InputError(
            "target_labels must be a tally of the labelled target rows, as the first argument is a tally: "
            "Tally.from_scores of them."
        )
    require_both_grouped(tally, target_labels)
    return Data(tally, LabelledTarget.of_tally(target_labels))


def count_rows(
    source: Rows,
    target: Rows | None,
    method: Method,
    request: Request,
    transform: Transform,
    *,
    sheet: LabelSheet | None = None,
    counting: Counting | None = None,
) -> Data:
    """The counts, the labelled rows, and what is looked at again; as the ``counting`` of a certificate says."""
    grid, bins = (None, method.needs_bins) if counting is None else (counting.grid, counting.bins)
    tally = fold.both(source, target, transform, soft=method.needs_soft, bins=bins, grid=grid, hashed=True)
    data = looked_at(source, target, tally, transform, counting)
    request = request.for_classes(tally.classes)
    if sheet is not None:
        if target is None:
            raise InputError("labelled is a sheet of target rows, but target_scores is None. Pass the scores too.")
        return replace(data, labelled=sheet_target(source, target, sheet, request, transform, tally))
    if target is None or target.labels != "some":
        return data
    scores, labels, unlabelled = fold.labelled(target)
    rows, to_plan = ScoreMatrix(scores, tally.classes), fold.to_plan(source, unlabelled)
    return replace(data, labelled=split_at_random(rows, labels, request, to_plan, transform, tally))


def looked_at(
    source: Rows, target: Rows | None, tally: Tally, transform: Transform, counting: Counting | None = None
) -> Data:
    """The counts with rows that are read again: sizes where that is cheap, samples where it is not too dear."""
    if target is None or "never" in (source.again, target.again):
        return Data(tally, transform=transform)
    is_cheap = source.again == target.again == "cheap"
    sizes, samples = is_cheap, is_cheap or tally.n_source + tally.n_target <= MAX_ROWS_READ_TWICE
    if counting is not None:
        sizes, samples = counting.rows, counting.sample
    return Data(
        tally,
        transform=transform,
        source=source,
        target=target,
        counts_sizes=sizes and transform.function is None,
        samples=samples,
        explains=counting is None,
    )


def sheet_scores(target: Rows, sheet: LabelSheet) -> tuple[Matrix, Matrix]:
    """The scores of the sheet's rows, in the order of the sheet, and of a sample of the other rows.

    An InputError if this is another target, or if the sheet's seed draws other rows.
    """
    draw = RowDraw(len(sheet.rows), sheet.seed, len(target.classes))
    found = fold.pick(target, sheet.rows, lambda batch: draw.add(batch.given, batch.kept))
    sheet.require_target(draw, target.numbers, target.described)
    return found


def sheet_target(
    source: Rows | None, target: Rows, sheet: LabelSheet, request: Request, transform: Transform, tally: Tally
) -> LabelledTarget:
    """The target rows of a sheet that are filled in, with rows that are not on it to plan with."""
    scores, others = sheet_scores(target, sheet)
    to_plan = None if source is None else fold.to_plan(source, others)
    return split_by_sheet(sheet, ScoreMatrix(scores, tally.classes), request, to_plan, transform, tally)


def cut_of(certificate: Certificate) -> fold.Cut:
    """What makes the sets of a certificate."""
    return fold.Cut(certificate.thresholds, certificate.own_transform(), certificate.never_empty)


def measured(
    certificate: Certificate, data: Data, method: Method, *, sizes: bool, one_label: bool = True
) -> Certificate:
    """The certificate with the sizes of target sets, and what follows from them, counted in one pass."""
    points = points_below(certificate, data.tally, method) if one_label else []
    if data.target is None or not (sizes or points):
        return certificate
    own = cut_of(certificate)
    cuts = [replace(own, thresholds=point.thresholds) for point in points]
    found = fold.sizes(data.target, [own, *cuts] if sizes else cuts)
    made = replace(certificate, set_sizes=found.pop(0)) if sizes else certificate
    return replace(made, one_label_error=one_label_error(points, found, epsilon=certificate.epsilon))
