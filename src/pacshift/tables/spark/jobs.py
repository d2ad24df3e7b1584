"""What Spark's workers do with their Arrow batches: count them, look for bad rows, make sets."""

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pacshift.certificate import Certificate
from pacshift.errors import PacshiftError
from pacshift.rows.arrow.batch import ArrowBatch, Layout
from pacshift.rows.arrow.source import Records
from pacshift.rows.base import Labels
from pacshift.rows.faults import Faults
from pacshift.rows.groups import keys_of
from pacshift.tables.sets import sets_batch
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.once import Role

Batches: TypeAlias = Iterator[Any]
KEYS = ("group", "row")
"""Columns of the coin of the group and of the number of the row."""

PACKED = "packed binary"
"""Schema of what a job sends."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What a partition sends: its counts, or the message of the error that stopped it."""

    tally: Tally | None
    n_rows: int
    faults: Faults
    error: str = ""
    digest: NDArray[np.uint64] | None = None
    """Of the usable rows, where they come in groups."""


def counter_of(layout: Layout, options: CountOptions) -> Callable[[Batches], Batches]:
    """A job that counts a partition."""

    def count_partition(batches: Batches) -> Batches:
        counter = Counter(len(layout.classes), options, labelled=layout.label is not None)
        n_rows, faults = 0, Faults()
        try:
            for batch in _batches(batches, layout, options.softmax):
                batch.count(counter)
                faults.add(batch.faults)
                n_rows += batch.n_rows
            yield _pack(Part(Tally.from_counter(counter, layout.classes), n_rows, faults))
        except PacshiftError as error:  # Spark would wrap it into a page of Java
            yield _pack(Part(None, n_rows, faults, str(error)))

    return count_partition


def fault_finder(layout: Layout, *, softmax: bool) -> Callable[[Batches], Batches]:
    """A job that only looks for rows that cannot be used, and counts the others."""

    def find_faults(batches: Batches) -> Batches:
        n_usable, faults, digest = 0, Faults(), np.zeros(3, np.uint64)
        for batch in _batches(batches, layout, softmax):
            if layout.group is None:
                _ = batch.rows
            else:
                digest += keys_of(batch, _role(layout)).digests[0]
            faults.add(batch.faults)
            n_usable += batch.n_rows - batch.faults.n_rows
        yield _pack(Part(None, n_usable, faults, digest=digest))

    return find_faults


def keys_job(layout: Layout, digest: NDArray[np.uint64], *, softmax: bool) -> Callable[[Batches], Batches]:
    """A job that gives the usable rows with the coin of their group and their own number, as signed integers."""

    def add_keys(batches: Batches) -> Batches:
        for batch in _batches(batches, layout, softmax):
            keys = keys_of(batch, _role(layout))
            coins = keys.coins({0: digest}, _role(layout))
            rows, in_order = batch.data.filter(pa.array(keys.kept)), keys.rows ^ np.uint64(1 << 63)
            columns = [*rows.columns, pa.array(coins.view(np.int64)), pa.array(in_order.view(np.int64))]
            yield pa.RecordBatch.from_arrays(columns, names=[*rows.schema.names, *KEYS])

    return add_keys


def predictor_of(
    layout: Layout, certificate: Certificate, columns: list[str], keep: list[str], *, keep_invalid: bool
) -> Callable[[Batches], Batches]:
    """A job that makes the sets of a partition; rows that cannot be used are left out, or have null for a set."""

    def predict_partition(batches: Batches) -> Batches:
        named = (data.rename_columns(columns) for data in batches)
        for batch in _batches(named, layout, certificate.softmax):
            made = sets_batch(certificate, keep, batch, keep_invalid=keep_invalid)
            if made is not None:
                yield made

    return predict_partition


def add_parts(batches: Batches) -> Batches:
    """A job that adds the counts of several partitions."""
    parts = [unpack(value.as_py()) for data in batches for value in data.column(0)]
    if parts:
        yield _pack(add(parts))


def add(parts: Iterable[Part]) -> Part:
    """The sum, or the first part that an error stopped."""
    tallies: list[Tally] = []
    n_rows, faults = 0, Faults()
    for part in parts:
        if part.tally is None:
            return part
        n_rows += part.n_rows
        faults.add(part.faults)
        tallies.append(part.tally)
    return Part(Tally.sum(tallies) if tallies else None, n_rows, faults)


def _batches(batches: Iterable[Any], layout: Layout, softmax: bool) -> Iterator[ArrowBatch]:
    kind: Labels = "none" if layout.label is None else "all"
    first_row = 0
    for data in batches:
        yield ArrowBatch(Records(data, _partition(), first_row), layout, kind, is_logits=softmax)
        first_row += data.num_rows


def _role(layout: Layout) -> Role:
    return "target" if layout.label is None else "source"


def _pack(part: Part) -> Any:
    # Pickled as Spark itself does with everything that goes between its own processes.
    return pa.record_batch({"packed": pa.array([zlib.compress(pickle.dumps(part), 1)], pa.binary())})


def unpack(value: bytes) -> Part:
    """What a job has sent."""
    part: Part = pickle.loads(zlib.decompress(bytes(value)))
    return part


def _partition() -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    return f"partition {0 if context is None else context.partitionId()}"
