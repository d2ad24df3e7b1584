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
from pacshift.certificate.file import to_document
from pacshift.methods import MethodFacts
from pacshift.methods.base import facts_of, options_of
from pacshift.report.recipe import recipe
from strategies import drawn_scores, drawn_tally


def test_the_command_makes_the_same_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = make_tables(tmp_path)
    good("calibrate", data.source, data.target, "-m", "APS", "-e", 0.07, "--never-empty", "-o", "first.json")
    made = recipe(Certificate.load("first.json"))
    assert made.place == "On the command line"
    command, report = made.code.replace("\\\n", " ").splitlines()
    words = {"SOURCE": str(data.source), "TARGET": str(data.target), "COLUMN": "label"}
    (tmp_path / "certificate.json").unlink()
    good(*[words.get(word, word) for word in shlex.split(command)[1:]])
    good(*shlex.split(report)[1:])
    again, first = (Certificate.load(name) for name in ("certificate.json", "first.json"))
    assert again.provenance is not None
    assert first.provenance is not None
    assert (again.provenance.command or "").split()[:2] == ["pacshift", "calibrate"]
    same_command = replace(again.provenance, command=first.provenance.command)
    assert to_document(again.changed(provenance=same_command)) == to_document(first)
    assert Path("report.html").exists()


@pytest.mark.parametrize("method", [PSW(worst_case="class", envelope=4.0), PSR(estimate="mlls")], ids=str)
def test_options_that_no_command_has_are_written_in_python(method: Any, tmp_path: Path) -> None:
    tally = drawn_tally(np.random.default_rng(0), 3, 3000, 3.0)
    certificate = calibrate_tally(tally, epsilon=0.1, delta=0.05, method=method, rng=0, never_empty=True)
    made = recipe(certificate)
    assert made.place == "In Python"
    rng = np.random.default_rng(0)
    scores, labels = drawn_scores(rng, 3, 3000, 3.0)
    code = made.code.rpartition("\n")[0]  # without the report
    names: dict[str, Any] = {"source_scores": scores, "source_labels": labels, "target_scores": scores}
    exec(code, names)
    assert names["certificate"].options == certificate.options
    assert names["certificate"].never_empty


@pytest.mark.parametrize("method", METHODS)
def test_every_method_with_its_default_options_has_a_command(method: str) -> None:
    made = METHODS[method]()
    certificate = replace(birds(), method=method, options=options_of(made), facts=facts_of(made))
    code = recipe(certificate).code
    assert f"--method {method}" in code
    assert ("--weights" in code) == made.needs_weights
    assert f"--method {method}" in recipe(replace(certificate, options={})).code  # an old file


def test_functions_and_methods_of_ones_own_are_named_as_such() -> None:
    own = recipe(replace(birds(), method="MOON\n\x1b", facts=MethodFacts(needs_weights=True)))
    assert own.place == "In Python"
    assert "\x1b" not in own.code
    assert "weights=[...]" in own.code
    assert "score=function" in recipe(replace(birds(), score="custom")).code
