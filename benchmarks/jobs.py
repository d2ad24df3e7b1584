"""What ``picture`` and ``scale`` run in processes of their own: ``python -m benchmarks.jobs JSON``.

A command of ours, or what a database does with the same Parquet files. The last line printed is the answer.
"""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from benchmarks.measure import peak_memory, seconds_of

STEPS = 4096
"""True-label scores are counted in so many steps."""


def command(job: dict[str, Any]) -> None:
    """A command of ours, with everything that happens before and after it."""
    import pacshift_command

    sys.argv = ["pacshift", *job["words"]]
    try:
        with redirect_stdout(sys.stderr):
            pacshift_command.main()
    except SystemExit as end:
        if end.code not in (None, 0, 3, 4):  # nothing certified, or a promise broken: the work was done
            raise


def bare_scan(job: dict[str, Any]) -> None:
    """Read the columns of the files and do nothing with them."""
    import pyarrow.dataset as ds

    for path in job["paths"]:
        sum(batch.num_rows for batch in ds.dataset(path).scanner().to_batches())


def duckdb_counts(job: dict[str, Any]) -> None:
    """Predicted labels by true label and by the true label's score; of a second table, predicted labels."""
    import duckdb

    scores = ", ".join(f"p_{place}" for place in range(job["n_classes"]))
    predicted = f"list_position([{scores}], greatest({scores})) AS predicted"
    true = f"CAST(floor(list_extract([{scores}], label + 1) * {STEPS}) AS INTEGER) AS true_score"
    columns = f"label, {predicted}, {true}", predicted
    for path, wanted in zip(job["paths"], columns, strict=False):
        scan = f"read_parquet('{path}/*.parquet')"
        duckdb.execute(f"SELECT {wanted}, count(*) FROM {scan} GROUP BY ALL").fetchnumpy()


def polars_counts(job: dict[str, Any]) -> None:
    """The same with Polars' streaming engine."""
    import polars as pl

    scores = pl.concat_list([f"p_{place}" for place in range(job["n_classes"])])
    predicted = scores.list.arg_max().alias("predicted")
    true = (scores.list.get(pl.col("label")) * STEPS).floor().cast(pl.Int32).alias("true_score")
    columns = [pl.col("label"), predicted, true], [predicted]
    for path, wanted in zip(job["paths"], columns, strict=False):
        pl.scan_parquet(f"{path}/*.parquet").group_by(wanted).len().collect(engine="streaming")


def duckdb_sets(job: dict[str, Any]) -> None:
    """Write the sets with the expression that a certificate gives to databases."""
    import duckdb

    scan = f"read_parquet('{job['paths'][0]}/*.parquet')"
    duckdb.sql(f"COPY (SELECT {job['sql']} AS sets FROM {scan}) TO '{job['out']}' (FORMAT parquet)")


def polars_sets(job: dict[str, Any]) -> None:
    """Write the same sets with Polars' streaming engine."""
    import polars as pl

    members = [
        pl.when(pl.col(f"p_{place}") >= threshold).then(pl.lit(str(place)))
        for place, threshold in enumerate(job["thresholds"])
    ]
    rows = pl.scan_parquet(f"{job['paths'][0]}/*.parquet")
    rows.select(sets=pl.concat_list(members).list.drop_nulls()).sink_parquet(job["out"])


def count(job: dict[str, Any]) -> None:
    """Count a table as ``calibrate`` does."""
    from pacshift import read

    read(job["path"], label="label", scores=job["scores"]).tally()


def scan_and_count(job: dict[str, Any]) -> dict[str, float]:
    """Least seconds of both, in turn, so that a busy moment of the machine affects both."""
    works = lambda: bare_scan({"paths": [job["path"]]}), lambda: count(job)
    seconds = [[seconds_of(work) for work in works] for _ in range(job["repeats"])]
    return dict(zip(("scan", "count"), map(min, zip(*seconds, strict=True)), strict=True))


def imports(job: dict[str, Any]) -> None:
    """Load modules and do nothing with them."""
    exec(job["code"])


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, float] | None]] = {
    "command": command,
    "imports": imports,
    "count": count,
    "scan and count": scan_and_count,
    "bare scan": bare_scan,
    "DuckDB counts": duckdb_counts,
    "Polars counts": polars_counts,
    "DuckDB sets": duckdb_sets,
    "Polars sets": polars_sets,
}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    found = KINDS[asked["kind"]](asked) or {}
    print(json.dumps(found | {"peak": peak_memory()}))
