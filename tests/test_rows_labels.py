"""Labels of a table are names, whatever type they are stored in, and stay what stands in the file."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pacshift import Certificate, InputError, Tally, read, write_sets
from score_tables import LABELS, SCORES, save, table, unlike_its_columns


@pytest.fixture
def certificate() -> Certificate:
    return unlike_its_columns()


@pytest.mark.parametrize(
    "names", [("NA", "null", "nan"), ("N/A", "true", "1e3"), ("01", "02", "1.0"), ("None", "", "#N/A")]
)
def test_labels_of_a_csv_are_the_text_that_stands_there(names: tuple[str, ...], tmp_path: Path) -> None:
    header = ",".join(f"p_{name}" for name in names)
    rows = [",".join([*map(str, row), names[label]]) for row, label in zip(SCORES, LABELS, strict=True)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([f"{header},label", *rows]) + "\n")
    if "" in names:
        with pytest.raises(InputError, match=rf"{(LABELS == 1).sum()} rows? cannot be used .*with no label"):
            read(path, label="label").tally()
        return
    expected = Tally.from_scores(SCORES, np.array(names)[LABELS], classes=names, grid=True)
    assert read(path, label="label").tally() == expected
    assert [one.left_out for one in read(path, label="label", drop_invalid=True).tally().inputs] == [0]


def test_padded_numbers_are_not_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("p_0,p_1,label\n0.9,0.1,0\n0.2,0.8,01\n")
    with pytest.raises(InputError, match=r"1 label not among .* the first is '01'.*'01' and '1.0' are not 1"):
        read(path, label="label").tally()
    path.write_text("p_0,p_1,label\n0.9,0.1,0\n0.2,0.8,1\n")
    assert read(path, label="label").tally().classes == (0, 1)


def test_kept_columns_keep_their_zeros(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("p_cat,p_dog,p_eel,id,n\n0.9,0.1,0.0,007,1\n0.2,0.8,0.0,010,\n")
    write_sets(certificate, path, tmp_path / "sets.parquet", keep=["id", "n"])
    kept = pq.read_table(tmp_path / "sets.parquet").select(["id", "n"]).to_pylist()
    assert kept == [{"id": "007", "n": 1}, {"id": "010", "n": None}]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_are_the_same_with_codes_in_the_file(kind: Any, certificate: Certificate, tmp_path: Path) -> None:
    """Parquet stores names that repeat as codes; row groups have codes of their own, and nulls have none."""
    names = np.array(["cat", "dog", "eel"], object)[np.arange(300) % 3]
    names[:100] = "eel"  # other names in the first row group
    names[[7, 250]] = None
    scores = np.full((300, 3), [0.6, 0.3, 0.1])
    columns = {f"p_{name}": scores[:, place] for place, name in enumerate(("cat", "dog", "eel"))}
    made = pa.table(columns | {"label": pa.array(names, kind), "site": pa.array(names, kind)})
    tallies, kept = [], []
    for codes in (True, False):
        path = tmp_path / f"{codes}.parquet"
        pq.write_table(made, path, row_group_size=100, use_dictionary=codes)
        tallies.append(read(path, label="label", drop_invalid=True).tally())
        write_sets(certificate, path, tmp_path / f"{codes}_sets.parquet", keep=["site"])
        kept.append(pq.read_table(tmp_path / f"{codes}_sets.parquet").column("site"))
    assert tallies[0] == tallies[1]
    assert [one.left_out for tally in tallies for one in tally.inputs] == [2, 2]
    assert kept[0].type == kept[1].type == kind
    assert kept[0].to_pylist() == kept[1].to_pylist() == names.tolist()


def run_ends(values: Any) -> Any:
    kept = pa.array(list(values))
    kind = pa.run_end_encoded(pa.int32(), kept.type)  # pyarrow 16 wants plain numbers, and so the type
    return pa.RunEndEncodedArray.from_arrays(list(range(1, len(kept) + 1)), kept.to_pylist(), kind)


FINE_LABELS: dict[str, Callable[[], Any]] = {
    "run-end": lambda: run_ends(LABELS),
    "decimal": lambda: pa.array([Decimal(int(label)) for label in LABELS]),
    "large text": lambda: pa.array(LABELS.astype(str).tolist(), pa.large_string()),
    "dictionary": lambda: pa.array(LABELS.astype(str)).dictionary_encode(),
    "float": lambda: pa.array(LABELS.astype(np.float32)),
    "unsigned": lambda: pa.array(LABELS.astype(np.uint8)),
}


@pytest.mark.parametrize("kind", FINE_LABELS)
def test_labels_of_many_types(kind: str, tmp_path: Path) -> None:
    path = save(table(names=range(3), label=FINE_LABELS[kind]()), tmp_path / "a.feather")
    assert read(path, label="label").tally() == Tally.from_scores(SCORES, LABELS, grid=True)


BAD_LABELS: dict[str, Callable[[], Any]] = {
    "list": lambda: pa.array([[int(label)] for label in LABELS]),
    "struct": lambda: pa.array([{"a": int(label)} for label in LABELS]),
    "map": lambda: pa.array([[("a", int(label))] for label in LABELS], pa.map_(pa.string(), pa.int64())),
    "union": lambda: pa.UnionArray.from_sparse(pa.array(np.zeros(300, np.int8)), [pa.array(LABELS)]),
    "run-end list": lambda: run_ends([[int(label)] for label in LABELS]),
    "far timestamp": lambda: pa.array(LABELS + 2**62, pa.timestamp("s")),
    "timestamp": lambda: pa.array([datetime(2024, 1, 1)] * 300),
    "duration": lambda: pa.array(LABELS, pa.duration("s")),
    "bytes": lambda: pa.array([b"0"] * 300),
}


@pytest.mark.parametrize("kind", BAD_LABELS)
@pytest.mark.parametrize("pattern", ["p_*", "*"])
def test_labels_that_are_no_names(kind: str, pattern: str, tmp_path: Path) -> None:
    path = save(table(pattern, range(3), label=BAD_LABELS[kind]()), tmp_path / "a.feather")
    with pytest.raises(InputError, match=r"column 'label' holds .*: labels must be text, numbers or booleans"):
        read(path, label="label").tally()
