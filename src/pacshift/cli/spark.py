"""``--engine spark``: the same counts, made on a cluster."""

import os
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pacshift.errors import InputError, PacshiftError
from pacshift.tables.count import TableTally, table_input


def tally_with_spark(master: str | None, paths: Sequence[Path], **options: Any) -> TableTally:
    """Count files that every worker can see; without ``master`` on this machine's cores."""
    from pyspark.sql import SparkSession

    from pacshift.tables.spark import read_frame, tally_frame

    place = master or "local[*]"
    if place.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need the environment of this process
    quiet: dict[str, Any] = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Spark's own about pandas
            builder = SparkSession.builder.appName("pacshift").master(place).config(map=quiet)
            text = [name for name in (options["label"], options.get("group")) if name is not None]
            frame = read_frame(builder.getOrCreate(), list(paths), text=text)
            return with_names(tally_frame(frame, **options), paths)
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
