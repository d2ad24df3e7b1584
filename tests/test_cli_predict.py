"""``pacshift predict``: lists of names for every row, or a refusal."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import Data, bad, good, run
from pacshift import Certificate


def test_predict_writes_lists_of_names(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "sets.parquet"
    shown = good("predict", data.certificate, data.target, "--keep", "id", "-o", out).stdout
    assert pa.parquet.read_table(out).column_names == ["id", "set", "set_size"]
    certificate: Any = Certificate.load(data.certificate)
    assert shown.startswith("2,000 sets: ")
    document = json.loads(good("predict", data.certificate, data.target, "-o", out, "-f", "--json").stdout)
    assert document == {
        "sets": str(out), "rows": 2000, "dropped": 0, "invalid": 0, "set_sizes": document["set_sizes"]
    }  # fmt: skip
    assert document["set_sizes"] == certificate.set_sizes.tolist()


def test_several_columns_are_kept(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "sets.parquet"
    with_comma = pa.parquet.read_table(data.target).append_column("city, state", pa.array(["x"] * 2000))
    pa.parquet.write_table(with_comma, tmp_path / "table.parquet")
    for words, kept in (
        (["--keep", "id,p_owl"], ["id", "p_owl"]),
        (["--keep", "id, p_owl"], ["id", "p_owl"]),
        (["-k", "id", "-k", "city, state"], ["id", "city, state"]),
        (["-k", "id,id"], ["id"]),
    ):
        good("predict", data.certificate, tmp_path / "table.parquet", *words, "-o", out, "-f")
        assert pa.parquet.read_table(out).column_names == [*kept, "set", "set_size"]


def test_rows_without_a_set_are_kept_if_asked(data: Data, tmp_path: Path) -> None:
    out, spoilt = tmp_path / "sets.csv", tmp_path / "spoilt.parquet"
    table = pa.parquet.read_table(data.target)
    scores = table.column("p_owl").to_numpy().copy()
    scores[7] = np.nan
    pa.parquet.write_table(table.set_column(table.column_names.index("p_owl"), "p_owl", pa.array(scores)), spoilt)
    words = ["predict", data.certificate, spoilt, "--keep", "id", "-o", out]
    assert "leave them out with --drop-invalid SHARE" in bad(*words)
    assert "--drop-invalid SHARE leaves out" in bad(*words, "--drop-invalid", "0.05", "--keep-invalid")
    assert "allow more: --drop-invalid SHARE." in bad(*words, "--drop-invalid", "0.0001")
    assert "got 2." in bad(*words, "--drop-invalid", "2")
    assert good(*words, "--drop-invalid", "0.0005", "--force").stdout.startswith("1,999 sets: ")
    out.unlink()
    result = good(*words, "--keep-invalid")
    assert result.stdout.startswith("1,999 sets: ")
    assert "note: table: 1 of 2,000 rows have no set: their scores cannot be used." in result.stderr
    lines = out.read_text().splitlines()
    assert (len(lines), lines[8]) == (2001, "107,,")
    document = json.loads(good(*words, "--keep-invalid", "--json", "--force").stdout)
    assert (document["rows"], document["invalid"], sum(document["set_sizes"])) == (2000, 1, 1999)


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_interrupts_and_full_disks_leave_no_half_files(
    problem: BaseException, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise problem

    out = tmp_path / "sets.parquet"
    out.write_text("precious")
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_batch", interrupted)
    result = run("predict", data.certificate, data.target, "-o", out, "--force")
    assert result.exit_code == (130 if isinstance(problem, KeyboardInterrupt) else 2)
    assert out.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]
