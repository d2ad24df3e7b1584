"""How each kind of file is read: its schema, and its rows a few at a time.

pyarrow.dataset would be less code, but its scanner reads up to a gigabyte ahead of a slow reader. These readers
are asked for a batch and give that batch, so memory stays what a batch needs.
"""

import codecs
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from pacshift.errors import InputError, param
from pacshift.files.reading import read_arrays, require_regular
from pacshift.parallel import cores, map_in_order
from pacshift.rows.arrow.source import Source, readable, readable_file, require_fields
from pacshift.rows.columns import Columns

MAX_GROUP_BYTES = 1 << 25
"""Row groups up to this size (32 MB) are read several at a time."""
_READ_BYTES = 1 << 18
"""Bytes of a column that are read at a time; with 2**16 and 2**20 the same time."""

SCORES, LABELS, CLASSES = "probs", "labels", "class_names"
"""What arrays are called in an archive, unless the user says otherwise."""


class FileSource(Source):
    """Files of one format, whose columns must have the types of the first file."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files, self._schemas = files, dict[str, Any]()
        for file in files:
            require_regular(file)
        self.schema = self._schema(str(files[0]))

    def _schema(self, file: str) -> Any:
        if file not in self._schemas:  # of a CSV it takes a look at the first rows
            with readable_file(file):
                schema = self.schema_of(file)
                list(schema.names)  # decoded once here, where noise that is no text becomes an InputError
            self._schemas[file] = schema
        return self._schemas[file]

    def _read(self, fields: list[Any], rows: int) -> Iterator[tuple[str, Any]]:
        """Every file must have the columns, which is checked before the first row."""
        for file in map(str, self.files):
            require_fields(self._schema(file), fields, file, None if self.has_text_labels else self.files[0])
        for file in map(str, self.files):
            with readable_file(file):
                for batch in self.batches_of(file, fields, rows):
                    yield file, batch

    @abstractmethod
    def schema_of(self, file: str) -> Any:
        """The Arrow schema of a file."""

    @abstractmethod
    def batches_of(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        """The columns ``fields`` in this order, about ``rows`` rows at a time, not validated yet."""


class Parquet(FileSource):
    """Columns are decoded on all cores; where there are too few of them (lists), row groups are.

    Texts that are a few names again and again, as labels are, come as codes. A text for every row would be made
    and then encoded again: a fifth of the time that a source of ten classes takes.
    """

    def schema_of(self, file: str) -> Any:
        return pyarrow.parquet.read_schema(file)

    def count_rows(self) -> int:
        total = 0
        for file in map(str, self.files):
            with readable_file(file):
                total += int(pyarrow.parquet.read_metadata(file).num_rows)
        return total

    def batches_of(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        names = [field.name for field in fields]

        def read_group(metadata: Any, group: int) -> list[Any]:
            with _open_parquet(file, metadata, coded) as reader:
                batches = reader.iter_batches(
                    batch_size=rows, row_groups=[group], columns=names, use_threads=False
                )
                return [batch.select(names) for batch in batches]

        metadata = pyarrow.parquet.read_metadata(file)
        coded = _few_names(metadata, [field.name for field in fields if pa.types.is_string(field.type)])
        with _open_parquet(file, metadata, coded) as reader:
            groups = range(metadata.num_row_groups)
            are_small = all(metadata.row_group(group).total_byte_size <= MAX_GROUP_BYTES for group in groups)
            if len(names) < cores() + 1 and len(groups) > 1 and are_small:
                for batches in map_in_order((partial(read_group, metadata, group) for group in groups), n_ahead=1):
                    yield from batches
            else:
                for batch in reader.iter_batches(batch_size=rows, columns=names, use_threads=True):
                    yield batch.select(names)


def _few_names(metadata: Any, texts: Sequence[str]) -> list[str]:
    """Those of the columns of ``texts`` that take less than 4 bytes per row, the length of a text alone."""
    if not texts or not metadata.num_row_groups:
        return []
    first = metadata.row_group(0)
    columns = [first.column(place) for place in range(first.num_columns)]
    few = {one.path_in_schema for one in columns if one.total_uncompressed_size < 4 * one.num_values}
    return [name for name in texts if name in few]


def _open_parquet(file: str, metadata: Any, coded: list[str]) -> Any:
    """Pages that carry a checksum are compared with it; the columns that are ``coded`` come as codes."""
    # Without pre_buffer=False every byte read would stay in memory until the end of the file, and without a buffer
    # all columns of a row group: 60 MB more where it has 500,000 rows of ten classes, in the same time.
    return pyarrow.parquet.ParquetFile(
        file,
        metadata=metadata,
        read_dictionary=coded,
        pre_buffer=False,
        buffer_size=_READ_BYTES,
        page_checksum_verification=True,
    )


class Feather(FileSource):
    """Arrow IPC files, of which Feather is one."""

    def schema_of(self, file: str) -> Any:
        with pa.OSFile(file) as source:
            return pyarrow.ipc.open_file(source).schema

    def batches_of(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        names = [field.name for field in fields]
        places = [self.schema_of(file).get_field_index(name) for name in names]
        with pa.OSFile(file) as source:  # a memory map would keep every page it has seen
            reader = pyarrow.ipc.open_file(source, options=pyarrow.ipc.IpcReadOptions(included_fields=places))
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number).select(names)


class Csv(FileSource):
    """Texts with a header; types are guessed from the first megabyte. Only empty texts are null.

    Labels are texts: a type guessed from 01, 1.0 or NA would be another name.
    """

    has_text_labels = True

    def schema_of(self, file: str) -> Any:
        with open(file, "rb") as opened:
            header = opened.readline(10_000)
        # Spreadsheets write UTF-16 as "Unicode text", and other separators in many countries. Arrow would complain
        # about columns, or see one with a long name.
        if header[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InputError(f"cannot read {file}: it is in UTF-16, and CSV is read in UTF-8. Save it in UTF-8.")
        separator = max(b";", b"\t", key=header.count)
        if separator in header and b"," not in header:
            raise InputError(
                f"cannot read {file}: its columns are separated by {'tabs' if separator != b';' else repr(';')}, "
                "and CSV is read with commas. Save it with commas, and with points in numbers."
            )
        with pyarrow.csv.open_csv(file) as reader:
            schema = reader.schema
        names = list(schema.names)
        whole = [field.name for field in schema if field.type == pa.int64() and names.count(field.name) == 1]
        if whole:
            with _open_csv(file, dict.fromkeys(whole, pa.string())) as reader:
                first = reader.read_next_batch()
            for name in whole:  # 007 would lose its zeros if it were read as a number
                if pc.any(pc.match_substring_regex(first.column(name), r"^[+-]?0[0-9]|^\+")).as_py():
                    schema = schema.set(names.index(name), pa.field(name, pa.string()))
        return schema

    def _fields(self, scores: Sequence[str], labels: Sequence[str], others: Sequence[str]) -> list[Any]:
        """CSV has no types: what looks like a number in one file may be a text in the next."""
        # A column of 0 and 1 looks like integers until 0.5 comes.
        kinds_asked = dict.fromkeys(scores, pa.float64()) | dict.fromkeys(labels, pa.string())
        fields = [pa.field(name, kind) for name, kind in kinds_asked.items()]
        schemas = [self._schema(str(file)) for file in self.files] if others else []
        for name in others:
            kinds = {schema.field(name).type for schema in schemas if name in schema.names} - {pa.null()}
            mixed = pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()
            fields.append(pa.field(name, kinds.pop() if len(kinds) == 1 else mixed))
        return fields

    def batches_of(self, file: str, fields: Sequence[Any], rows: int) -> Iterator[Any]:
        for field in fields:
            if pa.types.is_binary(field.type):  # so Arrow calls what is not UTF-8
                raise UnicodeError(f"column {field.name!r} is not in UTF-8")
        with _open_csv(file, {field.name: field.type for field in fields}) as reader:
            for batch in reader:
                for place, field in enumerate(batch.schema):
                    if pa.types.is_string(field.type):
                        # NA, null and nan are texts like any other; an empty cell says that nothing is there.
                        column = batch.column(place)
                        kept = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
                        batch = batch.set_column(place, field.name, kept)
                yield batch


def _open_csv(file: str, types: dict[str, pa.DataType]) -> Any:
    options = pyarrow.csv.ConvertOptions(column_types=types, include_columns=list(types))
    return pyarrow.csv.open_csv(file, convert_options=options)


class Npz(Source):
    """Archives of NumPy, never unpickled: ``probs`` (n, K), ``labels`` (n,) and ``class_names`` (K,).

    Scores and labels may have other names, which the user then gives. Labels are class names or, where they are
    whole numbers and the names are texts, positions in ``class_names``. Archives are unpacked one at a time:
    memory holds the largest of them.
    """

    usual = Columns((SCORES,), LABELS)

    def __init__(self, files: Sequence[Path], *, scores: str | None = None, label: str | None = None) -> None:
        self.files, self._scores, self._label = files, scores, label
        table, self.class_names = self._table(files[0])
        self.schema, self.n_rows = table.schema, len(table) if len(files) == 1 else None

    def _read(self, fields: list[Any], rows: int) -> Iterator[tuple[str, Any]]:
        for file in self.files:
            table, class_names = self._table(file)
            if class_names not in (None, self.class_names):
                raise InputError(f"{file}: its class_names differ from those of {self.files[0]}.")
            require_fields(table.schema, fields, str(file), self.files[0])
            for batch in table.select([field.name for field in fields]).to_batches(max_chunksize=rows):
                yield str(file), batch

    def _table(self, file: Path) -> tuple[Any, list[Any] | None]:
        """Every array with one entry or one list of numbers per row; and the names of the classes."""
        with readable(file, "It must be an .npz of plain arrays: np.savez(file, probs=..., labels=...)."):
            arrays = read_arrays(file)
        names = arrays.pop(CLASSES, None)
        if names is not None and names.ndim != 1:
            raise InputError(f"{file}: class_names must be a list of names, got shape {names.shape}.")
        # The scores that were asked for, or the usual ones; else the labels tell how many rows there are.
        scores = next((name for name in (self._scores, SCORES) if name in arrays), None)
        labels = next((name for name in (self._label, LABELS) if name in arrays and arrays[name].ndim), None)
        main = scores or labels
        if main is None:
            raise InputError(
                f"{file}: it must hold numbers {self._scores or SCORES!r} in a matrix; it holds "
                f"{ {name: array.shape for name, array in arrays.items()} }. Name the scores: "
                f"{param('scores=NAME')}."
            )
        matrix = arrays[main]
        if main == scores and (matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or matrix.shape[1] < 2):
            raise InputError(
                f"{file}: {main!r} must hold numbers with one column per class, at least "
                f"2; it holds {matrix.dtype} of shape {matrix.shape}."
            )
        columns, n_rows = dict[str, Any](), len(matrix)
        for name, array in arrays.items():
            is_label = name in (LABELS, self._label)
            is_one = array.shape == (n_rows,) and array.dtype.kind in "fiubU"
            if is_label and not is_one:
                raise InputError(
                    f"{file}: {name!r} must be text, numbers or booleans, one for each of the {n_rows:,} rows of "
                    f"{main}; it holds {array.dtype} of shape {array.shape}."
                )
            if is_label and names is not None and array.dtype.kind in "iu" and names.dtype.kind == "U":
                if n_rows and not 0 <= array.min() <= array.max() < len(names):
                    raise InputError(
                        f"{file}: labels must lie between 0 and {len(names) - 1}, one number for each class name."
                    )
                codes = pa.array(array.astype(np.int64))
                columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(names.tolist()))
            elif is_one or (
                array.ndim == 2 and len(array) == n_rows and array.shape[1] and array.dtype.kind in "fiu"
            ):
                columns[name] = _column(array)
        return pa.table(columns), None if names is None else names.tolist()


def _column(array: Any) -> Any:
    """An array as an Arrow column, which knows neither foreign byte orders nor long doubles."""
    plain = array.astype(np.float64) if array.dtype.kind == "f" and array.dtype.itemsize > 8 else array
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    if plain.ndim == 1:
        return pa.array(plain)
    return pa.FixedSizeListArray.from_arrays(pa.array(plain.ravel()), plain.shape[1])


FORMATS: dict[str, type[FileSource] | type[Npz]] = {
    ".parquet": Parquet,
    ".feather": Feather,
    ".arrow": Feather,
    ".csv": Csv,
    ".npz": Npz,
}
