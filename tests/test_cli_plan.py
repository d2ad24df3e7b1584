"""The command ``plan``."""

import json
from pathlib import Path

import pytest

from commands import bad, good, make_tables
from pacshift import Tally

QUICK = ("--method", "PS-LW", "--target-mix", "crow=0.2,owl=0.3,wren=0.5")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tables(tmp_path_factory.mktemp("plan")).folder


@pytest.mark.slow
def test_a_size_and_a_picture(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    made = json.loads(
        good(
            "plan", "source.parquet", *QUICK, "--n-source", 4000, "--n-target", 900, "--json", "-o", "p.png"
        ).stdout
    )
    assert made["found"] == "size"
    assert made["interval"][0] < made["size"] < made["interval"][1]
    assert set(made["class_rows"]) == {"crow", "owl", "wren"}
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    shown = good("plan", "source.parquet", *QUICK, "--n-target", 900, "--size", made["size"], "-o", "p.svg").stdout
    assert "Needed source rows" in shown
    assert "written: p.svg" in shown


def test_a_tally_as_pilot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    good("tally", "source.parquet", "--label", "label", "-o", "s.tally")
    good("tally", "target.parquet", "-o", "t.tally")
    (Tally.load("s.tally") + Tally.load("t.tally")).save("both.tally")
    made = json.loads(
        good("plan", "both.tally", "-m", "PS-LW", "--n-source", 2000, "--n-target", 900, "--json").stdout
    )
    assert 0.5 < made["size"] < 3


def test_bad_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    start = ("plan", "source.parquet", "-m", "PS-LW", "--n-target", 900)
    assert "--target-mix is missing" in bad(*start, "--n-source", 2000)
    assert "got 'crow'" in bad(*start, "--n-source", 2000, "--target-mix", "crow")
    assert "'cat' is not a class" in bad(*start, "--n-source", 2000, "--target-mix", "cat=1")
    assert "names class 'owl' twice" in bad(*start, "--n-source", 2000, "--target-mix", "owl=1,owl=2")
    assert "got 1 of them" in bad(*start, *QUICK[2:])
    assert "unknown kind of picture" in bad(*start, *QUICK[2:], "--n-source", 500, "-o", "plan.txt")
