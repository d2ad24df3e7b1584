"""JSON Lines: what ``predict -o sets.jsonl`` writes can be read by anything that reads JSON."""

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pacshift import Certificate, InputError, calibrate, write_sets

SCORES = np.random.default_rng(0).dirichlet([1, 1], 40)


def certificate() -> Certificate:
    names = ["naïve\n", '"quoted"']
    return calibrate(SCORES, np.array(names)[SCORES.argmax(axis=1)], None, method="PS", classes=names)


def table(tmp_path: Path, **more: Any) -> Path:
    columns = {"p_naïve\n": SCORES[:, 0], 'p_"quoted"': SCORES[:, 1]}
    pq.write_table(pa.table(columns | more), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_one_object_per_row(tmp_path: Path) -> None:
    made, ids = certificate(), np.arange(40)
    write_sets(made, table(tmp_path, id=ids), tmp_path / "sets.jsonl", keep=["id"])
    lines = (tmp_path / "sets.jsonl").read_text(encoding="utf-8").splitlines()
    expected: list[dict[str, Any]] = [
        {"id": number, "set": [name for name, kept in zip(made.classes, row, strict=True) if kept]}
        for number, row in enumerate(made.sets(SCORES))
    ]
    assert [json.loads(line) for line in lines] == [row | {"set_size": len(row["set"])} for row in expected]


def test_every_type_of_column_is_valid_json(tmp_path: Path) -> None:
    def forty(value: Any, kind: Any) -> Any:
        return pa.array([value] * 39 + [None], kind)

    moment = datetime.datetime(2026, 5, 1, 12, 30, tzinfo=datetime.UTC)
    kept = {
        "when": forty(moment, pa.timestamp("ns", "UTC")),
        "day": forty(moment.date(), pa.date32()),
        "price": forty(decimal.Decimal("1.50"), pa.decimal128(9, 2)),
        "ratio": pa.array([np.nan, np.inf, 0.5, *[1.0] * 37]),
        "nested": forty({"a": [1.0, float("nan")], "b": moment}, None),
        "text": forty("two\nlines \u2028 and \U0001f3af", pa.string()),
        "flag": forty(True, pa.bool_()),
        "code": forty("x", pa.string()).dictionary_encode(),
    }
    write_sets(certificate(), table(tmp_path, **kept), tmp_path / "sets.jsonl", keep=list(kept))
    text = (tmp_path / "sets.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line, parse_constant=pytest.fail) for line in text.split("\n")[:-1]]
    assert len(rows) == 40
    assert rows[0]["when"].startswith("2026-05-01 12:30:00")
    assert (rows[0]["day"], rows[0]["price"]) == ("2026-05-01", "1.50")
    assert [row["ratio"] for row in rows[:3]] == [None, None, 0.5]
    assert rows[0]["nested"]["a"] == [1.0, None]
    assert rows[0]["nested"]["b"].startswith("2026-05-01 12:30:00")
    assert (rows[0]["text"], rows[0]["flag"], rows[0]["code"]) == ("two\nlines \u2028 and \U0001f3af", True, "x")
    assert rows[39]["when"] is None is rows[39]["text"]


def test_bytes_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    path = table(tmp_path, raw=[b"x"] * 40)
    with pytest.raises(InputError, match="cannot keep 'raw' in JSON Lines: it holds bytes"):
        write_sets(certificate(), path, tmp_path / "sets.jsonl", keep=["raw"])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.parquet"]
