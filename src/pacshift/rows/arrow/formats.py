"""How each kind of file is read: its schema, its length, and its rows a few at a time.

pyarrow.dataset would be less code, but its scanner reads up to a gigabyte ahead of a slow reader. These readers
are asked for a batch and give that batch, so memory stays what a batch needs.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from pacshift.errors import InputError
from pacshift.parallel import cores, map_ordered
from pacshift.rows.arrow.source import cut

MAX_GROUP_BYTES = 1 << 25
"""Row groups up to this size (32 MB) are read several at a time."""


class Format(Protocol):
    """What a kind of file can be asked."""

    name: str

    def schema(self, file: str) -> Any:
        """The Arrow schema of a file."""

    def count_rows(self, file: str) -> int | None:
        """Rows of a file, or None where only reading it would tell."""

    def batches(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        """The columns ``fields`` in this order, at most ``rows`` rows at a time, not validated yet."""


class Parquet:
    """Columns are decoded on all cores; where there are too few of them (lists), row groups are."""

    name = "parquet"

    def schema(self, file: str) -> Any:
        return pyarrow.parquet.read_schema(file)

    def count_rows(self, file: str) -> int | None:
        return int(pyarrow.parquet.read_metadata(file).num_rows)

    def batches(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        names = [field.name for field in fields]
        # Without pre_buffer=False every byte read would stay in memory until the end of the file.
        with _open_parquet(file) as reader:
            if len(names) < cores() + 1 and _has_small_groups(reader.metadata):
                jobs = (
                    partial(_read_group, file, reader.metadata, group, names, rows)
                    for group in range(reader.num_row_groups)
                )
                for batches in map_ordered(jobs, n_ahead=1):
                    yield from batches
            else:
                for batch in reader.iter_batches(batch_size=rows, columns=names, use_threads=True):
                    yield batch.select(names)


def _has_small_groups(metadata: Any) -> bool:
    """Whether several row groups may be in memory at once."""
    groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
    return metadata.num_row_groups > 1 and all(group.total_byte_size <= MAX_GROUP_BYTES for group in groups)


def _read_group(file: str, metadata: Any, group: int, names: list[str], rows: int) -> list[Any]:
    with _open_parquet(file, metadata=metadata) as reader:
        batches = reader.iter_batches(batch_size=rows, row_groups=[group], columns=names, use_threads=False)
        return [batch.select(names) for batch in batches]


def _open_parquet(file: str, **options: Any) -> Any:
    """Pages that carry a checksum are compared with it."""
    return pyarrow.parquet.ParquetFile(file, pre_buffer=False, page_checksum_verification=True, **options)


class Feather:
    """Arrow IPC files, of which Feather is one."""

    name = "feather"

    def schema(self, file: str) -> Any:
        with pa.OSFile(file) as source:
            return pyarrow.ipc.open_file(source).schema

    def count_rows(self, file: str) -> int | None:
        import pyarrow.dataset  # it loads pandas: 0.4 s and 50 MB

        return int(pyarrow.dataset.dataset(file, format="ipc").count_rows())

    def batches(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        names = [field.name for field in fields]
        places = [self.schema(file).get_field_index(name) for name in names]
        with pa.OSFile(file) as source:  # a memory map would keep every page it has seen
            reader = pyarrow.ipc.open_file(source, options=pyarrow.ipc.IpcReadOptions(included_fields=places))
            for number in range(reader.num_record_batches):
                yield from cut(reader.get_batch(number).select(names), rows)


class Csv:
    """Texts with a header; types are guessed from the first megabyte. Only empty texts are null."""

    name = "csv"

    def schema(self, file: str) -> Any:
        _refuse_utf16(file)
        _refuse_other_separators(file)
        with pyarrow.csv.open_csv(file) as reader:
            schema = reader.schema
        try:
            list(schema.names)
        except UnicodeDecodeError:
            raise _not_utf8(file, "the names of its columns are") from None
        whole = [
            field.name for field in schema if field.type == pa.int64() and schema.names.count(field.name) == 1
        ]
        for name in _padded(file, whole):
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
        return schema

    def count_rows(self, file: str) -> int | None:
        return None

    def batches(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        for field in fields:
            if pa.types.is_binary(field.type):  # so Arrow calls what is not UTF-8
                raise _not_utf8(file, f"column {field.name!r} is")
        options = pyarrow.csv.ConvertOptions(
            column_types={field.name: field.type for field in fields},
            include_columns=[field.name for field in fields],
        )
        with self._utf8_expected(file), pyarrow.csv.open_csv(file, convert_options=options) as reader:
            for text in reader:
                yield from cut(_without_empty_texts(text), rows)

    @contextmanager
    def _utf8_expected(self, file: str) -> Iterator[None]:
        """Arrow names a column by its number where text is not UTF-8; say it in words."""
        try:
            yield
        except pa.ArrowInvalid as error:
            if "UTF8" not in str(error):
                raise
            found = re.search(r"column #(\d+)", str(error))
            what = "some text is" if found is None else f"column {self.schema(file).names[int(found[1])]!r} is"
            raise _not_utf8(file, what) from None


def _refuse_utf16(file: str) -> None:
    """Spreadsheets write it as "Unicode text", and Arrow would complain about columns."""
    with open(file, "rb") as opened:
        if opened.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InputError(f"cannot read {file}: it is in UTF-16, and CSV is read in UTF-8. Save it in UTF-8.")


def _refuse_other_separators(file: str) -> None:
    """Spreadsheets of many countries write them, and Arrow would see one column with a long name."""
    with open(file, "rb") as opened:
        header = opened.readline(10_000).decode(errors="replace")
    found = max(";\t", key=header.count)
    if found in header and "," not in header:
        name = "tabs" if found == "\t" else repr(found)
        raise InputError(
            f"cannot read {file}: its columns are separated by {name}, and CSV is read with commas. Save it with "
            "commas, and with points in numbers."
        )


def _not_utf8(file: str, what: str) -> InputError:
    return InputError(f"cannot read {file}: {what} not in UTF-8. Save the file in UTF-8.")


def _padded(file: str, columns: Sequence[str]) -> list[str]:
    """Columns that begin with numbers such as 007, which would lose their zeros if they were read as numbers."""
    types = dict.fromkeys(columns, pa.string())
    options = pyarrow.csv.ConvertOptions(column_types=types, include_columns=list(columns))
    if not columns:
        return []
    with pyarrow.csv.open_csv(file, convert_options=options) as reader:
        for batch in reader:
            padded = [pc.match_substring_regex(column, r"^[+-]?0[0-9]|^\+") for column in batch.columns]
            return [name for name, found in zip(columns, padded, strict=True) if pc.any(found).as_py()]
    return []


def _without_empty_texts(batch: Any) -> Any:
    """NA, null and nan are texts like any other; an empty cell says that nothing is there."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_string(field.type):
            column = batch.column(place)
            kept = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            batch = batch.set_column(place, field.name, kept)
    return batch


FORMATS: dict[str, Format] = {".parquet": Parquet(), ".feather": Feather(), ".arrow": Feather(), ".csv": Csv()}
