"""The ways from scores to a certificate: rows, groups, counts, counts of parts, files, label sheets, a monitor."""

import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hunt_laws import NEW_KIND
from benchmarks.hunt_worlds import Sample
from pacshift import (
    Certificate,
    InputError,
    LabelSheet,
    Rows,
    Tally,
    accept,
    calibrate,
    label_sheet,
)
from pacshift.arrays import FloatArray
from pacshift.methods import Method


def certify(
    source: Any,
    labels: Any = None,
    target: Any = None,
    *,
    method: Method,
    epsilon: float,
    groups: Any = None,
    target_groups: Any = None,
    target_labels: Any = None,
    never_empty: bool = False,
    **asked: Any,
) -> Certificate:
    """``calibrate``, or ``accept`` for what accepts or asks."""
    data: tuple[Any, ...] = (source,)
    if not isinstance(source, Tally):
        data = Rows(source, labels, groups=groups), Rows(target, target_labels, groups=target_groups)
    if method.rule.of_labels:
        return accept(*data, error=epsilon, **asked)
    made = calibrate(*data, method=method, epsilon=epsilon, **asked)
    return made.without_empty_sets() if never_empty else made


def _rows(sample: Sample, method: Method, asked: dict[str, Any]) -> Certificate:
    return certify(sample.source, sample.labels, sample.target, method=method, **asked)


def _in_groups(sample: Sample, method: Method, asked: dict[str, Any]) -> Certificate:
    """One row of each group is counted."""
    return _rows(sample, method, asked | _ids(sample))


def _ids(sample: Sample) -> dict[str, Any]:
    return {"groups": sample.groups, "target_groups": sample.target_groups}


def _counted(sample: Sample, method: Method, asked: dict[str, Any], *, grid: bool = False) -> Certificate:
    counting = {"score": asked.get("score", method.default_score), "grid": grid}
    return _from_tally(both_sides(sample, **counting), sample, method, asked, counting)


def _in_parts(sample: Sample, method: Method, asked: dict[str, Any]) -> Certificate:
    """Three sites count for themselves."""
    counting = {"score": asked.get("score", method.default_score)}
    parts = np.array_split(np.arange(len(sample.labels)), 3)
    classes = range(sample.source.shape[1])
    tally = Tally.sum(
        Tally.from_scores(sample.source[part], sample.labels[part], classes=classes, **counting)
        for part in parts
        if len(part)
    )
    return _from_tally(tally + Tally.from_target(sample.target, classes=classes), sample, method, asked, counting)


def _tables(sample: Sample, method: Method, asked: dict[str, Any]) -> Certificate:
    """The same from a CSV and a Parquet file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from pacshift import read

    counting = {"score": asked.get("score", method.default_score), "grid": True}
    columns = {f"p_{label}": sample.source[:, label] for label in range(sample.source.shape[1])}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source.csv"), Path(folder, "target.parquet")
        pyarrow.csv.write_csv(pa.table(columns | {"y": sample.labels}), source)
        pyarrow.parquet.write_table(pa.table({f"p_{k}": row for k, row in enumerate(sample.target.T)}), target)
        tally = read(source, label="y").tally(**counting) + read(target).tally()
    return _from_tally(tally, sample, method, asked, counting)


def both_sides(sample: Sample, *, in_groups: bool = False, **counting: Any) -> Tally:
    """Source and target as counts."""
    classes = range(sample.source.shape[1])
    ids = (sample.groups, sample.target_groups) if in_groups else (None, None)
    made = Rows(sample.source, sample.labels, classes=classes, groups=ids[0]).tally(**counting)
    return made + Rows(sample.target, classes=classes, groups=ids[1]).tally()


def _from_tally(
    tally: Tally, sample: Sample, method: Method, asked: dict[str, Any], counting: dict[str, Any]
) -> Certificate:
    given = {name: value for name, value in asked.items() if name != "score"}
    labels = given.pop("target_labels", None)
    if labels is not None:
        places = [place for place, label in enumerate(labels) if label is not None]
        known = [labels[place] for place in places]
        classes = range(sample.source.shape[1])
        given["labelled"] = Tally.from_scores(sample.target[places], known, classes=classes, **counting)
    return certify(tally, method=method, **given)


Stop = Callable[[Sequence[Callable[[], Certificate]], Sample], Certificate]
"""When somebody stops: the certificate that is kept of those that the looks of a sheet give."""


def _at_any(looks: Sequence[Callable[[], Certificate]], sample: Sample) -> Certificate:
    """A look that has nothing to do with the labels."""
    return looks[_chance(sample.target) % len(looks)]()


def _at_largest(looks: Sequence[Callable[[], Certificate]], sample: Sample) -> Certificate:
    """The look with the largest thresholds: the smallest sets."""
    return max((make() for make in looks), key=lambda made: float(np.exp(made.thresholds).mean()))


def _at_first_small(looks: Sequence[Callable[[], Certificate]], sample: Sample) -> Certificate:
    """The first look with small sets, as the sheet advises."""
    *early, last = looks
    sets = (made for made in (make() for make in early) if made.sets(sample.target).sum(axis=1).mean() < 1.2)
    return next(sets, None) or last()


def _by_sheet(
    sample: Sample, method: Method, asked: dict[str, Any], *, stop: Stop = _at_any, lazy: bool = False
) -> Certificate:
    """The same number of labels from a sheet with looks; without labels the groups.

    Somebody ``lazy`` leaves out, of the whole sheet, every second row whose label has not the top score.
    """
    given: dict[str, Any] = {name: value for name, value in asked.items() if name != "target_labels"}
    given |= _ids(sample)
    filled = _filled(sample.target, sample.target_labels, asked, groups=sample.target_groups)
    if filled is None:
        return _in_groups(sample, method, asked)
    if lazy:
        sheet = filled[-1]
        top = [str(label) for label in sample.target[sheet.rows].argmax(axis=1)]
        asked_for = [
            label if place < sheet.n_pilot or label == top[place] or place % 2 else None
            for place, label in enumerate(sheet.labels)
        ]
        filled = [sheet.with_labels(asked_for)]
    return stop(
        [
            partial(certify, sample.source, sample.labels, sample.target, method=method, labelled=one, **given)
            for one in filled
        ],
        sample,
    )


def _filled(
    target: FloatArray, truth: Any, asked: dict[str, Any], *, groups: Any = None
) -> list[LabelSheet] | None:
    """A sheet for as many labels as are asked for, filled in up to each of its looks; None if they are too few."""
    n_labels = sum(label is not None for label in asked.get("target_labels", ()))
    rates: dict[str, Any] = {"epsilon": asked["epsilon"], "delta": asked["delta"], "rng": _chance(target)}
    for looks in (3, 2):
        early = sorted({n_labels * number // looks for number in range(1, looks)})
        try:
            sheet = label_sheet(Rows(target, groups=groups), budget=n_labels, looks=early, **rates)
        except InputError:  # too few labels for so many looks, or none
            continue
        named = ["?" if label == NEW_KIND else int(label) for label in truth[sheet.rows]]
        return [sheet.with_labels(named[:look]) for look in sheet.looks]
    return None


def _chance(rows: FloatArray) -> int:
    """A number that is as good as independent of what the rows are."""
    return zlib.crc32(rows.tobytes())


ROUTES: dict[str, Callable[[Sample, Method, dict[str, Any]], Certificate]] = {
    "rows": _rows,
    "groups": _in_groups,
    "tally": _counted,
    "grid": lambda sample, method, asked: _counted(sample, method, asked, grid=True),
    "parts": _in_parts,
    "tables": _tables,
    "sheet": _by_sheet,
    "sheet, largest thresholds": partial(_by_sheet, stop=_at_largest),
    "sheet, first small sets": partial(_by_sheet, stop=_at_first_small),
    "sheet, left blank": partial(_by_sheet, lazy=True),
}
"""A new way is one more entry."""

WITH_GROUPS = ("groups", "sheet", "sheet, largest thresholds", "sheet, first small sets", "sheet, left blank")
"""Ways on which rows may come in groups."""
