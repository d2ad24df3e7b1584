"""How the command line reads SOURCE and TARGET: each once, as long as the rows fit into memory."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import Data, bad, good
from pacshift.rows.arrow.formats import FileSource


@pytest.mark.parametrize("fits", [True, False])
def test_tables_are_read_once_or_if_they_are_large_again(
    fits: bool, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.table.MAX_KEPT_BYTES", 1 << 26 if fits else 0)
    opened: list[str] = []
    batches = FileSource.batches

    def watched(source: FileSource, *layout: Any) -> Any:
        if layout[0]:  # not one batch of a column that looks like an id
            opened.append(source.files[0].name)
        return batches(source, *layout)

    monkeypatch.setattr(FileSource, "batches", watched)
    good("calibrate", data.source, data.target, "-o", tmp_path / "c.json")
    # Large ones: counted, rows sampled in another pass, and sizes of sets counted to choose and to tell them.
    both = ["source.parquet", "target.parquet"]
    assert opened == (both if fits else [*both, *both, "target.parquet", "target.parquet"])
    opened.clear()
    shown = good("compare", data.source, data.labelled, "--target-label", "label", "--json").stdout
    # The labelled target once more: whether its rows are those of the source.
    assert sorted(opened) == ["labelled.parquet"] * (1 if fits else 5) + ["source.parquet"] * (1 if fits else 3)
    monkeypatch.setattr("pacshift.rows.arrow.table.MAX_KEPT_BYTES", 1 << 26)
    again = good("compare", data.source, data.labelled, "--target-label", "label", "--json").stdout
    assert json.loads(shown) == json.loads(again)


def test_what_is_wrong_with_both_tables_is_said_at_once(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.source)
    called = [f"{name[2:]}_prob" if name[:2] == "p_" else name for name in table.column_names]
    pa.parquet.write_table(table.rename_columns(called), tmp_path / "s.parquet")
    words = "calibrate", tmp_path / "s.parquet", data.target, "-o", tmp_path / "c.json", "--scores"
    said = bad(*words, "crow_prob,owl_prob,wren_prob")
    assert "source: 3,000 labels not among the classes" in said
    assert "And target: the scores were read from the columns 'crow_prob'" in said
    assert "name its score columns with" not in said  # --scores are those of the source
    good(*words, "crow_prob,owl_prob,wren_prob", "--classes", "crow,owl,wren")
    good(*words, "*_prob", "--force")
