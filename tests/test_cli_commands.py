"""How commands are read: names in any spelling, aliases, help without noise."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import Data, all_commands, bad, good
from pacshift import METHODS
from pacshift.cli.options import METHOD_NAMES, PANELS, SCORE_NAMES
from pacshift.scores.transforms import TRANSFORMS


def test_errors_say_which_table(data: Data, tmp_path: Path) -> None:
    table = pq.read_table(data.target)
    renamed = table.rename_columns([name.replace("p_", "q_") for name in table.column_names])
    pq.write_table(renamed, tmp_path / "q.parquet")
    said = bad("calibrate", data.source, tmp_path / "q.parquet", "-o", tmp_path / "c.json")
    assert said.startswith("error: target: the scores were read from the columns 'p_crow', 'p_owl', 'p_wren'")
    assert "Rename its columns. An array in the order" in said  # --scores are those of the source
    assert "of the classes needs --by-position." in said


def test_by_position_from_source_to_check(data: Data, tmp_path: Path) -> None:
    """Other class names than columns: only in the order that was asked for, and remembered by column name."""
    call = ("calibrate", data.source, data.target, "-m", "PS-W", "--classes", "a,b,c", "-o", tmp_path / "c.json")
    labels = {"crow": "a", "owl": "b", "wren": "c"}
    table = pq.read_table(data.source)
    marked = table.set_column(4, "label", pa.array([labels[name] for name in table["label"].to_pylist()]))
    pq.write_table(marked, tmp_path / "marked.parquet")
    call = (*call[:1], tmp_path / "marked.parquet", *call[2:])
    assert "order with --by-position." in bad(*call)
    good(*call, "--by-position")
    target = pq.read_table(data.target)
    pq.write_table(target.select(target.column_names[::-1]), tmp_path / "turned.parquet")
    good("predict", tmp_path / "c.json", tmp_path / "turned.parquet", "-o", tmp_path / "sets.parquet")
    good("predict", data.certificate, data.target, "-o", tmp_path / "expected.parquet")
    sets = pq.read_table(tmp_path / "expected.parquet")["set"].to_pylist()
    expected = [[labels[name] for name in row] for row in sets]
    assert pq.read_table(tmp_path / "sets.parquet")["set"].to_pylist() == expected


@pytest.mark.parametrize("command", ["report", "predict", "check"])
def test_a_certificate_that_is_not_there_is_named_first(command: str, data: Data, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("exists already")
    words: list[Any] = [command, tmp_path / "nope.json", *([] if command == "report" else [data.labelled])]
    words += [] if command == "check" else ["-o", out]
    assert bad(*words).startswith(f"error: cannot read {tmp_path / 'nope.json'}: No such file")


def test_every_option_is_in_a_panel() -> None:
    for name, command in all_commands().items():
        options = [param for param in command.get_params(command.context_class(command)) if not is_argument(param)]
        panels = [PANELS.index(option.rich_help_panel) for option in options]
        assert panels == sorted(panels), name
        assert [option for option in options if not option.help] == []


def is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def test_help_lists_every_method_and_score() -> None:
    assert list(METHODS) == METHOD_NAMES
    assert list(TRANSFORMS) == SCORE_NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", *all_commands()])
def test_help_needs_no_numpy(name: str) -> None:
    code = "import sys, pacshift_command as p\ntry: p.main()\nfinally: print('numpy' in sys.modules)"
    words = [sys.executable, "-c", code, *name.split(), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
