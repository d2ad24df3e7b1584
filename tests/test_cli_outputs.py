"""What commands may write, and what they print: no input is lost, nothing runs in a spreadsheet or a terminal."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import Data, all_commands, bad, columns, good, run

RISKY = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "plain", "-5")

NO_DATA = Data(Path(), np.empty(0), np.empty(0, np.int64))


def overwriting(data: Data, out: Path, read: Path) -> dict[str, list[object]]:
    """Every command that writes a file, with one of its inputs as the output."""
    table, certificate = data.target, data.certificate
    return {
        "calibrate": ["calibrate", read, table, "-m", "PS", "-o", out, "--force"],
        "calibrate target": ["calibrate", data.source, read, "-m", "PS", "-o", out, "--force"],
        "calibrate --labelled": ["calibrate", data.source, table, "--labelled", read, "-o", out, "--force"],
        "calibrate --refusal-page": ["calibrate", data.source, read, "--refusal-page", out, "--force"],
        "accept": ["accept", data.source, read, "-o", out, "--force"],
        "predict": ["predict", certificate, read, "-o", out, "--force"],
        "predict certificate": ["predict", read, table, "-o", out, "--force"],
        "report": ["report", read, "-o", out, "--force"],
        "tally": ["tally", read, "-o", out, "--force"],
        "monitor": ["monitor", read, table, "-o", out, "--force"],
        "monitor target": ["monitor", data.source, read, "-o", out, "--force"],
        "monitor --table": ["monitor", data.source, read, "--table", out, "--force"],
        "label": ["label", read, "--budget", "50", "-o", out, "--force"],
        "plan": ["plan", read, "--target-mix", "crow=1", "-o", out, "--force"],
    }


def same(path: Path) -> Path:
    return path


def soft_link(path: Path) -> Path:
    link = path.with_name(f"soft{path.suffix}")
    link.symlink_to(path)
    return link


def hard_link(path: Path) -> Path:
    link = path.with_name(f"hard{path.suffix}")
    os.link(path, link)
    return link


def writing(data: Data, out: Path) -> dict[str, list[object]]:
    """Every command that writes a file, with inputs that are right."""
    tables: list[object] = [data.source, data.target]
    return {
        "calibrate": ["calibrate", *tables, "-o", out],
        "calibrate --refusal-page": ["calibrate", *tables, "-o", out.with_name("c.json"), "--refusal-page", out],
        "accept": ["accept", *tables, "-o", out],
        "predict": ["predict", data.certificate, data.target, "-o", out.with_suffix(".csv")],
        "report": ["report", data.certificate, "-o", out],
        "tally": ["tally", data.target, "-o", out],
        "monitor": ["monitor", *tables, "-o", out],
        "monitor --table": ["monitor", *tables, "-o", out.with_name("m.html"), "--table", out.with_suffix(".csv")],
        "label": ["label", data.target, "--budget", "50", "-o", out.with_suffix(".csv")],
        "plan": ["plan", data.source, "--target-mix", MIX, "--n-source", "400", "--n-target", "400", "-o", out],
    }


MIX = "crow=0.3,owl=0.3,wren=0.4"
MISTAKES = {
    "calibrate": ["calibrate accept", "--label nothing"],
    "an argument": ["calibrate accept label plan monitor", "--delta 2"],
    "columns": ["calibrate accept tally label monitor plan", "--scores none_*"],
    "labels": ["calibrate accept plan monitor", "--label id"],
    "a promise": ["calibrate", "-m PS --contamination 0.01"],
    "a class": ["calibrate accept", "--known gull=0..0.1"],
    "a score": ["calibrate", "--score cosine"],
    "a column to keep": ["predict", "--keep nothing"],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_input_is_said_before_that_the_output_exists(mistake: str, data: Data, tmp_path: Path) -> None:
    names, more = MISTAKES[mistake]
    for suffix in (".png", ".csv"):
        (tmp_path / f"old{suffix}").write_bytes(b"precious")
    for name in names.split():
        said = bad(*writing(data, tmp_path / "old.png")[name], *more.split())
        assert "exists already" not in said, said


@pytest.mark.parametrize("way", [same, soft_link, hard_link])
@pytest.mark.parametrize("call", overwriting(NO_DATA, Path(), Path()))
def test_an_input_is_not_overwritten(call: str, way: Callable[[Path], Path], data: Data, tmp_path: Path) -> None:
    read = tmp_path / "read.parquet"
    read.write_bytes(data.source.read_bytes())
    out = way(read)
    said = bad(*overwriting(data, out, read)[call])
    assert "is the same file as the input" in said
    assert read.read_bytes() == data.source.read_bytes()


def test_every_command_that_writes_a_file_is_in_the_list_above() -> None:
    found = {name for name, command in all_commands().items() if any(p.name == "out" for p in command.params)}
    found -= {"demo"}  # it fills a folder of its own
    for listed in (overwriting(NO_DATA, Path(), Path()), writing(NO_DATA, Path("x"))):
        assert found == {call.split()[0] for call in listed}


def test_no_command_replaces_a_file_without_being_asked(data: Data, tmp_path: Path) -> None:
    """The scores that took a night to train, for one."""
    old = tmp_path / "old.png"
    for path in (old, old.with_suffix(".csv")):
        path.write_bytes(b"precious")
    for call, words in writing(data, old).items():
        assert "exists already" in bad(*words), call
    report = "report", data.certificate, "-o"
    assert "Choose another name, or overwrite it with --force." in bad(*report, old)
    assert "must name a file in a folder that exists" in bad(*report, tmp_path / "no" / "r.html")
    assert old.read_bytes() == b"precious"


def test_an_output_of_an_earlier_run_is_never_taken_for_the_new_one(data: Data, tmp_path: Path) -> None:
    """A run that fails leaves the old file: the certificate in use is not lost, but it is named."""
    old, still = tmp_path / "old.json", f"{tmp_path / 'old.json'} is still what it was before this run."
    calibrate = ["calibrate", data.source, data.target, "-m", "PS-LW", "-o", old]
    assert "is still" not in good(*calibrate).output
    kept = old.read_bytes()
    assert still in bad(*calibrate, "--force", "--label", "no such column")
    assert "is still" not in bad(*calibrate)  # which says that it exists
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    page, sets = tmp_path / "old.html", tmp_path / "old.parquet"
    for words in (
        ["report", data.certificate, "-o", page],
        ["predict", data.certificate, data.target, "-o", sets],
    ):
        good(*words)
    for words in (["report", broken, "-o", page], ["predict", data.certificate, broken, "-o", sets]):
        assert f"{words[-1]} is still what it was before this run." in bad(*words, "--force")
    shifted = pa.table(columns(np.tile([[0.34, 0.33, 0.33], [0.02, 0.96, 0.02]], (1000, 1))))
    pa.parquet.write_table(shifted, tmp_path / "shifted.parquet")
    calibrate[2] = tmp_path / "shifted.parquet"
    said = bad(*calibrate, "--refusal-page", page, "--force", "--json", code=3)
    assert still in said
    assert f"{page} is still" not in said  # it was written
    assert old.read_bytes() == kept
    calibrate[2] = data.target
    said = good(*calibrate, "--refusal-page", page, "--force").stderr
    assert said == f"note: {page} is still what it was before this run.\n"  # the page of the refusal before
    other = good(*calibrate, "--model-id", "a", "--force").stderr
    assert other == ""
    said = run("predict", old, data.target, "--model-id", "b", "-o", sets, "--force").stderr
    assert f"{sets} is still what it was before this run." in said


def risky_tables(folder: Path) -> Path:
    """A certificate and a table whose class names and ids look like formulas."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, len(RISKY), 400)
    scores = rng.dirichlet(np.ones(len(RISKY)), 400) * 0.2 + 0.8 * np.eye(len(RISKY))[labels]
    columns = {f"p_{name}": scores[:, place] for place, name in enumerate(RISKY)}
    names = np.array(RISKY)[labels]
    content = pa.table({**columns, "label": names, "=id": pa.array(names).dictionary_encode(), "number": -labels})
    pa.parquet.write_table(content, folder / "t.parquet")
    good("calibrate", folder / "t.parquet", "-m", "PS", "-e", "0.2", "-o", folder / "c.json")
    return folder


def test_csv_does_not_run_in_a_spreadsheet(tmp_path: Path) -> None:
    folder = risky_tables(tmp_path)
    words = ["--keep", "=id", "--keep", "number"]
    good("predict", folder / "c.json", folder / "t.parquet", *words, "-o", folder / "s.csv")
    good("predict", folder / "c.json", folder / "t.parquet", *words, "-o", folder / "s.parquet")
    read = pa.csv.read_csv(folder / "s.csv", parse_options=pa.csv.ParseOptions(newlines_in_values=True))
    assert read.column_names == ["'=id", "number", "set", "set_size"]
    assert set(read["'=id"].to_pylist()) == {name if name in ("plain", "-5") else f"'{name}" for name in RISKY}
    for name in ("'=id", "set"):
        assert not [cell for cell in read[name].to_pylist() if cell and cell[0] in "=+@\t\r"]
    assert min(read["number"].to_pylist()) == 1 - len(RISKY)  # numbers stay numbers
    kept = pa.parquet.read_table(folder / "s.parquet")
    assert set(kept["=id"].to_pylist()) == set(RISKY)  # other formats hold the names as they are


def test_class_names_cannot_speak_to_the_terminal(data: Data, tmp_path: Path) -> None:
    names = ["[red]crow\x07", "\u202eexe.txt", "a\u2066b\x1b[2J"]
    scores = np.tile(np.eye(3) * 0.8 + 0.1, (40, 1))
    columns = {f"p_{name}": scores[:, place] for place, name in enumerate(names)}
    pa.parquet.write_table(pa.table({**columns, "label": np.tile(names, 40)}), tmp_path / "t.parquet")
    call = ["calibrate", tmp_path / "t.parquet", "-m", "PS", "-o", tmp_path / "c.json", "--force"]
    printed = good(*call, "--json").stdout
    assert all(char.isprintable() or char == "\n" for char in printed)
    assert [row["name"] for row in json.loads(printed)["classes"]] == names
    shown = good(*call).output + run("check", tmp_path / "c.json", tmp_path / "t.parquet").output
    shown += bad("check", tmp_path / "c.json", data.labelled)
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert "[red]crow" in shown


def test_what_calibrate_prints_as_json_is_a_certificate(data: Data, tmp_path: Path) -> None:
    printed = good("calibrate", data.source, "-m", "PS", "-o", tmp_path / "c.json", "--json").stdout
    (tmp_path / "printed.json").write_text(printed)
    good("predict", tmp_path / "printed.json", data.target, "-o", tmp_path / "s.parquet")
