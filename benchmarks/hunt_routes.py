"""The ways from scores to a certificate: rows, groups of rows, counts, counts of parts, and files."""

import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hunt_laws import NEW_KIND, as_logits
from benchmarks.hunt_worlds import Sample
from pacshift import Certificate, InputError, Tally, calibrate, calibrate_tally, label_sheet
from pacshift.arrays import FloatArray
from pacshift.methods import Method
from pacshift.tally.coins import coins


def _rows(sample: Sample, method: Method, asked: dict[str, Any]) -> Certificate:
    logits = bool(asked.get("softmax"))
    source, target = (as_logits(rows) if logits else rows for rows in (sample.source, sample.target))
    return calibrate(source, sample.labels, target, method=method, **asked)


def _in_groups(sample: Sample, method: Method, asked: dict[str, Any]) -> Certificate:
    """Groups of two random rows, of which one each is counted."""
    groups, target_groups = _pairs("source", sample.source), _pairs("target", sample.target)
    by_row = {"labels_per": "row"} if "target_labels" in asked else {}
    return _rows(sample, method, asked | {"groups": groups, "target_groups": target_groups} | by_row)


def _pairs(side: str, rows: FloatArray) -> list[str]:
    """The group of each row. Which rows make a pair has nothing to do with what they hold, or where they stand."""
    order = coins(f"pairs of the {side}", 0, rows).permutation(len(rows))
    return [f"{side} {place // 2}" for place in order]


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

    from pacshift.tables import tally_table

    counting = {"score": asked.get("score", method.default_score), "grid": True}
    columns = {f"p_{label}": sample.source[:, label] for label in range(sample.source.shape[1])}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source.csv"), Path(folder, "target.parquet")
        pyarrow.csv.write_csv(pa.table(columns | {"y": sample.labels}), source)
        pyarrow.parquet.write_table(pa.table({f"p_{k}": row for k, row in enumerate(sample.target.T)}), target)
        tally = tally_table(source, label="y", **counting).tally + tally_table(target, label=None).tally
    return _from_tally(tally, sample, method, asked, counting)


def both_sides(sample: Sample, **counting: Any) -> Tally:
    """Source and target as counts."""
    classes = range(sample.source.shape[1])
    made = Tally.from_scores(sample.source, sample.labels, classes=classes, **counting)
    return made + Tally.from_target(sample.target, classes=classes)


def _from_tally(
    tally: Tally, sample: Sample, method: Method, asked: dict[str, Any], counting: dict[str, Any]
) -> Certificate:
    given = {name: value for name, value in asked.items() if name != "score"}
    labels = given.pop("target_labels", None)
    if labels is not None:
        places = [place for place, label in enumerate(labels) if label is not None]
        known = [labels[place] for place in places]
        classes = range(sample.source.shape[1])
        given["target_labels"] = Tally.from_scores(sample.target[places], known, classes=classes, **counting)
    return calibrate_tally(tally, method=method, **given)


def _by_sheet(sample: Sample, method: Method, asked: dict[str, Any]) -> Certificate:
    """The same number of labels from a sheet with two looks, at either of them; without labels the rows."""
    n_labels = sum(label is not None for label in asked.get("target_labels", ()))
    chance = zlib.crc32(sample.target.tobytes())  # as good as independent of the rows
    rates = {name: asked[name] for name in ("epsilon", "delta")}
    try:
        sheet = label_sheet(sample.target, budget=n_labels, looks=(n_labels // 2,), rng=chance, **rates)
    except InputError:  # too few labels for two looks, or none
        return _rows(sample, method, asked)
    truth = ["?" if label == NEW_KIND else int(label) for label in sample.target_labels[sheet.rows]]
    filled = sheet.with_labels(truth[: sheet.looks[chance % 2]])
    given = {name: value for name, value in asked.items() if name != "target_labels"}
    return calibrate(sample.source, sample.labels, sample.target, method=method, labelled=filled, **given)


ROUTES: dict[str, Callable[[Sample, Method, dict[str, Any]], Certificate]] = {
    "rows": _rows,
    "groups": _in_groups,
    "tally": _counted,
    "grid": lambda sample, method, asked: _counted(sample, method, asked, grid=True),
    "parts": _in_parts,
    "tables": _tables,
    "sheet": _by_sheet,
}
"""A new way is one more entry."""
