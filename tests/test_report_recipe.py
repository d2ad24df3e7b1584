"""How to make a certificate again: what the page tells to run does make it."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates import birds
from commands import good, make_tables
from pacshift import METHODS, PSR, PSW, Certificate, calibrate_tally
from pacshift.certificate.columns import Columns
from pacshift.certificate.file import to_document
from pacshift.methods import MethodFacts
from pacshift.methods.base import facts_of, options_of
from pacshift.report.recipe import recipe
from strategies import drawn_scores, drawn_tally


def test_the_page_names_the_command_that_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = make_tables(tmp_path)
    options = ["-m", "APS", "-e", "0.07", "--never-empty", "-o", "my file.json"]
    good("calibrate", data.source.name, data.target.name, *options)
    made = recipe(Certificate.load("my file.json"))
    assert made.file == "my file.json"
    command, report = made.code.replace("\\\n", " ").splitlines()
    assert shlex.split(command) == ["pacshift", "calibrate", data.source.name, data.target.name, *options]
    assert shlex.split(report) == ["pacshift", "report", "my file.json", "-o", "report.html"]


def test_the_command_makes_the_same_certificate_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = make_tables(tmp_path)
    good("calibrate", data.source, data.target, "-m", "APS", "-e", 0.07, "--seed", 3, "-o", "first.json")
    first = Certificate.load("first.json")
    Path("first.json").unlink()
    for line in recipe(first).code.replace("\\\n", " ").splitlines():
        good(*shlex.split(line)[1:])
    again = Certificate.load("first.json")
    assert again.provenance is not None
    assert first.provenance is not None
    same_time = replace(again.provenance, created=first.provenance.created)
    assert to_document(again.changed(provenance=same_time)) == to_document(first)
    assert Path("report.html").exists()


def test_a_recorded_command_that_is_no_command_is_shown_as_it_is() -> None:
    certificate = birds()
    assert certificate.provenance is not None
    for command in ("pacshift calibrate 'open", "pacshift demo -o d"):
        made = recipe(replace(certificate, provenance=replace(certificate.provenance, command=command)))
        assert made.code == command


@pytest.mark.parametrize("method", [PSW(worst_case="class", envelope=4.0), PSR(estimate="mlls")], ids=str)
def test_options_that_no_command_has_are_written_in_python(method: Any, tmp_path: Path) -> None:
    tally = drawn_tally(np.random.default_rng(0), 3, 3000, 3.0)
    certificate = calibrate_tally(tally, epsilon=0.1, delta=0.05, method=method, rng=7, never_empty=True)
    made = recipe(certificate)
    assert made.place == "In Python"
    rng = np.random.default_rng(0)
    scores, labels = drawn_scores(rng, 3, 3000, 3.0)
    code = made.code.rpartition("\n")[0]  # without the report
    names: dict[str, Any] = {"source_scores": scores, "source_labels": labels, "target_scores": scores}
    exec(code, names)
    assert names["certificate"].options == certificate.options
    assert names["certificate"].never_empty
    assert "rng=7," in made.code


@pytest.mark.parametrize("method", METHODS)
def test_old_files_that_name_no_command_get_one(method: str) -> None:
    made = METHODS[method]()
    old = replace(birds(), method=method, options=options_of(made), facts=facts_of(made), provenance=None)
    assert f"--method {method}" in recipe(old).code
    assert ("--weights" in recipe(old).code) == made.needs_weights
    assert f"--method {method}" in recipe(replace(old, options={})).code
    columns = Columns(("p_crow", "p_owl", "p_wren"), "the bird")
    assert "--label 'the bird'" in recipe(replace(old, columns=columns)).code


def test_functions_and_methods_of_ones_own_are_named_as_such() -> None:
    own = recipe(replace(birds(), method="MOON\n\x1b", facts=MethodFacts(needs_weights=True)))
    assert own.place == "In Python"
    assert "\x1b" not in own.code
    assert "weights=[...]" in own.code
    assert "score=function" in recipe(replace(birds(), score="custom")).code
