"""A small version of the scale benchmark, so that it cannot rot, and the page it writes to."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import scale, scale_jobs


def test_a_part_runs_small_and_leaves_the_page_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scale.main(["--small", "--page", str(tmp_path / "page.md"), "files"])
    printed = capsys.readouterr().out
    assert "| files of 20,000 rows in all | bare scan | count | ratio |" in printed
    assert "by `python -m benchmarks.scale files`" in printed
    assert not (tmp_path / "page.md").exists()


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        scale.main(["--small", "colums"])
    assert "parts must be among rows, classes, files, workers, cost" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["rows", "classes", "files", "workers", "cost"])
def test_the_page_has_the_markers_of_every_part(part: str) -> None:
    text = scale.PAGE.read_text(encoding="utf-8")
    assert text.count(f"<!-- {part}:begin -->") == text.count(f"<!-- {part}:end -->") == 1


@pytest.mark.parametrize(
    ("n_classes", "columns"), [(3, ["p_0", "p_1", "p_2", "label"]), (101, ["scores", "label"])]
)
def test_generated_tables_have_the_rows_asked_for(n_classes: int, columns: list[str], tmp_path: Path) -> None:
    table = pq.read_table(scale_jobs.generate(tmp_path / "table", 100, n_classes, files=3))
    assert table.column_names == columns
    assert table.num_rows == 100


@pytest.mark.parametrize("kind", ["speed", "memory", "size"])
def test_jobs_answer_with_positive_numbers(kind: str, tmp_path: Path) -> None:
    path = scale_jobs.generate(tmp_path / "table", 500, 3)
    assert all(value > 0 for value in scale_jobs.work({"kind": kind, "path": str(path), "repeats": 1}).values())
