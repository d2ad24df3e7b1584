"""``--engine spark``: the same counts, made on a cluster."""

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pacshift.errors import InputError, PacshiftError
from pacshift.rows.arrow.find import Asked, find_layout
from pacshift.rows.arrow.table import table_input
from pacshift.rows.base import Again, Batch, FileRows, Rows, Watch
from pacshift.rows.columns import Columns
from pacshift.rows.faults import Faults
from pacshift.tables.count import TableTally
from pacshift.tally import Tally
from pacshift.tally.counter import CountOptions
from pacshift.tally.once import Role


def cluster_rows(
    master: str | None,
    paths: Sequence[Path],
    *,
    name: str,
    role: Role,
    watch: Watch,
    columns: Columns | None = None,
    **asked: Any,
) -> "ClusterRows":
    """Files that every worker can see; without ``master`` on this machine's cores."""
    from pyspark.sql import SparkSession

    from pacshift.tables.spark.frames import SparkSource, read_frame, without_vectors

    place = master or "local[*]"
    if place.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need the environment of this process
    quiet: dict[str, Any] = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with _in_words(place):
        builder = SparkSession.builder.appName("pacshift").master(place).config(map=quiet)
        text = [column for column in (asked["label"], asked["group"]) if column is not None]
        frame = read_frame(builder.getOrCreate(), list(paths), text=text)
        scores = asked["scores"]
        wanted = Asked(asked["label"], scores, asked["classes"], asked["by_position"], columns, asked["group"])
        layout = find_layout(SparkSource(without_vectors(frame, scores, columns)), wanted)
    return ClusterRows(
        name=name,
        role=role,
        classes=layout.classes,
        labels="none" if layout.label is None else "all",
        softmax=asked["softmax"],
        drop_invalid=asked["drop_invalid"],
        grid=True,
        columns=layout.remembered,
        watch=watch,
        place=place,
        paths=paths,
        frame=frame,
        asked={**asked, "columns": columns},
    )


@dataclass(eq=False, kw_only=True, repr=False)
class ClusterRows(Rows):
    """Files on a cluster, which counts them. There may be too many rows to read them here."""

    place: str
    paths: Sequence[Path]
    frame: Any
    asked: dict[str, Any] = field(default_factory=dict)
    again: Again = "never"

    def batches(self, keep: Sequence[str] = ()) -> Iterator[Batch]:
        raise InputError("--labelled does not work with --engine spark. Leave out one of them.")

    def unlabelled(self) -> "ClusterRows":
        return self  # a target is opened without labels

    def count(self, options: CountOptions, *, hashed: bool = False) -> Tally:
        from pacshift.tables.spark import tally_frame

        how: dict[str, Any] = {"soft": options.soft, "bins": options.bins, "score": options.transform}
        with self.watch(self, "counting"):
            with _in_words(self.place):
                counted = with_names(tally_frame(self.frame, **self.asked, **how), self.paths)
            faults = Faults(counted.n_dropped, Counter(dict(counted.dropped_why)))
            n_rows = counted.n_usable + counted.n_dropped
            self.last.files = {"": FileRows(n_rows, counted.n_rows, faults)}
        return counted.tally


@contextmanager
def _in_words(place: str) -> Iterator[None]:
    """What fails on a cluster, in a line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Spark's own about pandas
            yield
    except PacshiftError:
        raise
    except Exception as error:
        raise InputError(
            f"Spark at {place} failed: {_first(str(error))}. Is Java there and --master right?"
        ) from None


def with_names(counted: TableTally, paths: Sequence[Path]) -> TableTally:
    """The counts with the names of the paths. Only the cluster may be able to read them: there is no SHA-256."""
    inputs = [table_input(counted.columns, path, None, None, None, None) for path in paths]
    in_all = counted.n_usable + counted.n_dropped
    known = replace(inputs[0], left_out=counted.n_dropped, left_out_why=counted.dropped_why, rows_read=in_all)
    if len(inputs) == 1:
        inputs = [replace(known, rows=counted.n_rows)]
    elif counted.n_dropped:  # from which of the paths, only the cluster knows
        inputs.append(replace(known, name=f"all {len(paths)} paths together"))
    return replace(counted, tally=replace(counted.tally, inputs=tuple(inputs)))


def _first(text: str) -> str:
    """The line that says it: Java's errors are pages long."""
    named = re.search(r"^\S*(?:Error|Exception): (.+)$", text, re.MULTILINE)
    return named.group(0) if named else (text.strip().splitlines() or ["no reason given"])[0].rstrip(".")
