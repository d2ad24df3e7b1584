"""``pacshift predict``: lists of names for every row, or a refusal."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import NAMES, Data, bad, good, make_tables, run
from pacshift import Certificate


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_tables(tmp_path_factory.mktemp("tables"))


def test_predict_writes_lists_of_names(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "sets.parquet"
    shown = good("predict", data.certificate, data.target, "--keep", "id", "-o", out).stdout
    table = pa.parquet.read_table(out)
    assert table.column_names == ["id", "set", "set_size"]
    certificate = Certificate.load(data.certificate)
    target = pa.parquet.read_table(data.target)
    sets = certificate.sets(np.column_stack([target.column(f"p_{name}").to_numpy() for name in NAMES]))
    assert table.column("id").to_pylist() == list(range(100, 2100))
    assert table.column("set").to_pylist() == [[NAMES[place] for place in np.flatnonzero(row)] for row in sets]
    assert table.column("set_size").to_pylist() == sets.sum(axis=1).tolist()
    assert shown.startswith("2,000 sets, ")
    document = json.loads(good("predict", data.certificate, data.target, "-o", out, "-f", "--json").stdout)
    assert document == {"sets": str(out), "rows": 2000, "dropped": 0, "set_sizes": document["set_sizes"]}
    assert certificate.set_sizes is not None
    assert document["set_sizes"] == certificate.set_sizes.tolist()


def test_predict_refuses(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "sets.parquet"
    assert "cannot keep 'nope'" in bad("predict", data.certificate, data.target, "-k", "nope", "-o", out)
    assert "its name must end in" in bad("predict", data.certificate, data.target, "-o", tmp_path / "sets.xlsx")
    assert "is not a certificate" in bad("predict", data.source, data.target, "-o", out)
    assert "no such file" in bad("predict", data.certificate, tmp_path / "none.csv", "-o", out)
    assert not list(tmp_path.iterdir())


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
