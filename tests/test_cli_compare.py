"""``pacshift compare``, ``methods``, ``report``, ``prevalence`` and ``plan``: what is shown, what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from commands import NAMES, Data, bad, good
from pacshift import METHODS, prevalence, read
from pacshift.cli.plan import mix_of_table


@pytest.mark.slow
def test_compare_shows_all_methods(data: Data) -> None:
    document = json.loads(good("compare", data.source, data.target, "--json").stdout)
    others = [name for name in METHODS if name not in ("ORACLE", "PS-T")]
    assert [row["method"] for row in document["methods"]] == others
    assert all(row["error"] is None and 0 < row["size"] <= 3 for row in document["methods"])
    labels = ("compare", data.source, data.labelled, "--target-label", "label")
    document = json.loads(good(*labels, "--json").stdout)
    errors = {row["method"]: row["error"] for row in document["methods"]}
    assert errors["PS-W"] <= 0.1 < errors["PS"]  # the shift goes to the class that is hard to tell
    shown = good(*labels).stdout
    assert "> 0.1" in shown
    assert re.search(r"│ PS-LP +│ target +│", shown)


def test_compare_says_who_refuses(data: Data) -> None:
    assert "no TARGET" in bad("compare", data.source)
    assert "epsilon must lie strictly" in bad("compare", data.source, data.target, "-e", 5)
    result = good("compare", data.source, data.target, "-e", 1e-4)
    assert "(all labels)" in result.stdout
    assert "note: PS-W: " in result.stderr


@pytest.mark.slow
def test_report_is_written(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    assert good("report", data.certificate, "-o", out).stdout == f"Written: {out}\n"
    assert "crow" in out.read_text()


def test_methods_lists_all() -> None:
    shown = good("methods").stdout
    assert all(name in shown and method().extra_assumption in shown for name, method in METHODS.items())
    assert "on average" in next(line for line in shown.splitlines() if " LWCP " in line)


def test_the_intervals_hold_the_truth_and_are_shown(data: Data) -> None:
    document = json.loads(good("prevalence", data.source, data.target, "--json").stdout)
    truth = (0.2, 0.3, 0.5)
    assert document["classes"] == list(NAMES)
    for (low, high), share in zip(document["mix"], truth, strict=True):
        assert low <= share <= high
        assert high - low < 0.3
    assert min(document["class_counts"]) > 0
    assert 0.5 < document["accuracy"] < 1
    shown = good("prevalence", data.source, data.target, "--delta", "0.2").stdout
    assert "weight" in shown
    assert "confidence 80 %" in " ".join(shown.split())


def test_known_bounds_narrow_the_intervals_and_may_be_refuted(data: Data) -> None:
    assert "no TARGET" in bad("prevalence", data.source)
    asked = ("prevalence", data.source, data.target)
    document = json.loads(good(*asked, "--known", "wren=0..0.5", "--json").stdout)
    assert document["mix"][NAMES.index("wren")][1] <= 0.5 + 1e-9
    assert "but you said at most" in bad(*asked, "--known", "wren=0..0.1", code=3)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("wren", "CLASS=LOW..HIGH"),
        ("wren=0.5", "CLASS=LOW..HIGH"),
        ("wren=0-0.3", "--known takes CLASS=LOW..HIGH"),
        ("emu=0..1", "'emu' is not a class"),
        ("owl=1..0", "low <="),
    ],
)
def test_bounds_that_cannot_be_read_are_refused(data: Data, known: str, message: str) -> None:
    assert message in bad("prevalence", data.source, data.target, "--known", known)


QUICK = ("--method", "PS-LW", "--target-mix", "crow=0.2,owl=0.3,wren=0.5")


@pytest.mark.slow
def test_a_plan_has_a_size_and_a_picture(data: Data, tmp_path: Path) -> None:
    asked = ("plan", data.source, *QUICK, "--n-target", 900)
    made = json.loads(good(*asked, "--n-source", 4000, "--json", "-o", tmp_path / "p.png").stdout)
    assert made["solved_for"] == "size"
    assert made["interval"][0] < made["size"] < made["interval"][1]
    assert made["classes"] == list(NAMES)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    shown = good(*asked, "--size", made["size"], "-o", tmp_path / "p.svg").stdout
    assert "Needed source rows" in shown
    assert f"Written: {tmp_path / 'p.svg'}" in shown


def test_plans_that_cannot_be_made(data: Data) -> None:
    start = ("plan", data.source, "-m", "PS-LW", "--n-target", 900)
    assert "--target-mix is missing" in bad(*start, "--n-source", 2000)
    assert "got 'crow'" in bad(*start, "--n-source", 2000, "--target-mix", "crow")
    assert "'cat' is not a class" in bad(*start, "--n-source", 2000, "--target-mix", "cat=1")
    assert "names class 'owl' twice" in bad(*start, "--n-source", 2000, "--target-mix", "owl=1,owl=2")
    assert "got 1 of them" in bad(*start, *QUICK[2:])
    assert "b.tally is a tally, which has no rows" in bad("plan", "b.tally", *QUICK[2:], "--n-source", 500)
    assert "unknown kind of picture" in bad(*start, *QUICK[2:], "--n-source", 500, "-o", "plan.txt")


def test_a_plan_reads_the_mix_off_a_table_that_is_like_the_target(data: Data) -> None:
    rows = read(data.source, label="label")
    bound = rows.bind(name="source", role="source")
    bounds = prevalence(rows, read(data.target, like=rows)).mix
    counted = mix_of_table(data.source, bound, "label", None)
    assert list(counted.values()) == (rows.tally().class_counts / len(data.labels)).tolist()
    estimated = np.array(list(mix_of_table(data.target, bound, "nothing", None).values()))
    assert estimated.sum() == pytest.approx(1)
    assert (bounds.lower - 0.02 <= estimated).all()
    assert (estimated <= bounds.upper + 0.02).all()
    asked = ("plan", data.source, "--n-source", "900", "--n-target", "900", "-m", "PS-LW")
    assert "labels per set" in good(*asked, "--target-mix", data.target).stdout
