"""What holds for every command: usage, silence, safe output, no half files."""

from pathlib import Path
from typing import Any

import pytest

from commands import Data, bad, good
from pacshift import METHODS, Certificate
from pacshift.cli.simulated import run_demo


@pytest.mark.slow
def test_demo_shows_who_keeps_the_word(tmp_path: Path) -> None:
    shown = " ".join(good("demo", "-o", tmp_path / "d").stdout.split())
    assert "Promise (PS-" in shown
    assert "Why PS-LP? PS-LW" in shown
    for name in ("report.html", "demo.png", "certificate.json", "source.parquet", "target.parquet"):
        assert (tmp_path / "d" / name).stat().st_size > 500
    made: Any = Certificate.load(tmp_path / "d" / "certificate.json").provenance
    assert made.command == f"pacshift demo -o {tmp_path / 'd'}"
    tables = [tmp_path / "d" / f"{name}.parquet" for name in ("source", "target", "labelled")]
    good("calibrate", *tables[:2], "-m", "PS-W", "-o", tmp_path / "c.json")
    assert "kept" in good("check", tmp_path / "c.json", tables[2]).stdout
    errors = {row.method: row.error for row in run_demo(None).draws[0]}
    assert list(errors) == [name for name in METHODS if name != "PS-T"]
    assert all((errors[name] or 1) <= 0.1 for name in errors if METHODS[name].guarantee == "pac-target")
    assert (errors["PS"] or 0) > 0.2
    (tmp_path / "file").write_text("")
    assert "cannot make the folder" in bad("demo", "-o", tmp_path / "file")


def test_usage_errors_are_one_line(data: Data) -> None:
    assert "no SOURCE: name a labelled table" in bad("calibrate")
    said = "one SOURCE and one TARGET, got 3 paths. Put the files of each into a folder"
    assert said in bad("calibrate", "a.csv", "b.csv", "c.csv")
    assert "No such option" in bad("calibrate", "--nope")
    assert "No such command 'nope'" in bad("nope")
    assert "there is no command 'calibrat'. Did you mean 'calibrate'?" in bad("calibrat")
    assert "--epsilon" in bad("calibrate", "a.csv", "--epsilon", "much")
    assert "See `" in bad("predict")
    both = data.source, data.target
    assert "unknown method 'PS-X'" in bad("calibrate", *both, "--method", "PS-X")
    assert "delta must lie strictly between 0 and 1, got 2. For 2 %" in bad("calibrate", *both, "--delta", 2)
    assert "epsilon must lie strictly between 0 and 1" in bad("compare", *both, "--epsilon", 0)
    assert "score must be one of" in bad("calibrate", *both, "--score", "x", "-m", "PS")
    assert "no TARGET: method PS-W needs one. Name it after the" in bad("calibrate", data.source, "-m", "PS-W")
    assert "--engine must be arrow, spark or the master" in bad("tally", "a.csv", "--engine", "duck")


def test_unexpected_errors_ask_for_a_report(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(Certificate, "load", broken)
    line = bad("check", data.certificate, data.labelled, code=1)
    assert line == "error: this is a bug in pacshift: RuntimeError: two lines. Please report it.\n"
