"""Were the sets right? Counted over a labelled table of any size."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from pacshift.certificate import Certificate
from pacshift.evaluate import Evaluation, SetCounts
from pacshift.tables.convert import Rows
from pacshift.tables.scan import Progress, Scan
from pacshift.tables.sources import Batch, PathLike


@dataclass(frozen=True, slots=True, eq=False)
class TableEvaluation:
    """The evaluation of a table and how many rows were left out of it."""

    evaluation: Evaluation
    n_dropped: int


def evaluate_table(
    certificate: Certificate,
    paths: PathLike | Sequence[PathLike],
    *,
    label: str,
    scores: str = "p_*",
    drop_invalid: bool = False,
    rng: Any = None,
    progress: Progress | None = None,
) -> TableEvaluation:
    """As :func:`pacshift.evaluate` on the sets of a labelled table; memory does not grow with the rows."""
    scan = Scan(paths, label=label, scores=scores, classes=certificate.classes, rng=rng)

    def count(rows: Rows, _batch: Batch, rng: np.random.Generator) -> SetCounts:
        assert rows.index is not None  # a scan with a label has one
        return SetCounts.of(certificate.sets(rows.scores, rng=rng), rows.index)

    total = reduce(add, scan.map(count, drop_invalid=drop_invalid, progress=progress))
    return TableEvaluation(total.evaluation(), scan.faults.n_rows)
