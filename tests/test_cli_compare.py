"""``pacshift compare``, ``report`` and ``methods``: every method, with what it promises."""

import json
from pathlib import Path

import pytest

from commands import Data, bad, good
from pacshift import METHODS


@pytest.mark.slow
def test_compare_shows_all_methods(data: Data) -> None:
    document = json.loads(good("compare", data.source, data.target, "--json").stdout)
    assert [row["method"] for row in document["methods"]] == [
        name for name in METHODS if name not in ("ORACLE", "PS-T")
    ]
    assert all(row["error"] is None and 0 < row["size"] <= 3 for row in document["methods"])
    labels = ("compare", data.source, data.labelled, "--target-label", "label")
    document = json.loads(good(*labels, "--weights", "0.33,1,5", "--json").stdout)
    assert [row["method"] for row in document["methods"]] == [name for name in METHODS if name != "PS-T"]
    errors = {row["method"]: row["error"] for row in document["methods"]}
    assert errors["PS-W"] <= 0.1 < errors["PS"]  # the shift goes to the class that is hard to tell
    shown = good(*labels).stdout
    assert "> 0.1" in shown
    assert "target (PAC)" in shown


def test_compare_says_who_refuses(data: Data) -> None:
    assert "no TARGET" in bad("compare", data.source)
    assert "epsilon must lie strictly" in bad("compare", data.source, data.target, "-e", 5)
    result = good("compare", data.source, data.target, "-e", 1e-4)
    assert "(all labels)" in result.stdout
    assert "note: PS-W: " in result.stderr


@pytest.mark.slow
def test_report_is_written(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert good("report", data.certificate, "-o", out).stdout == f"written: {out}\n"
    assert "crow" in out.read_text()


def test_methods_lists_all() -> None:
    shown = good("methods").stdout
    document = json.loads(good("methods", "--json").stdout)
    assert list(document) == list(METHODS)
    assert all(name in shown and document[name]["idea"] for name in METHODS)
    facts = [method() for method in METHODS.values()]
    assert all(method.extra_assumption in shown for method in facts)
    assert all(document[method.name]["any_mix"] == method.any_mix for method in facts)
    assert "on average" in next(line for line in shown.splitlines() if " LWCP " in line)
