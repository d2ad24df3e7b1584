"""``pacshift prevalence``: a table for people, one JSON object for machines, bounds that users know."""

import json

import pytest

from commands import NAMES, Data, bad, good


def test_the_intervals_hold_the_truth_and_are_shown(data: Data) -> None:
    document = json.loads(good("prevalence", data.source, data.target, "--json").stdout)
    truth = dict(zip(NAMES, (0.2, 0.3, 0.5), strict=True))
    assert list(document["classes"]) == list(NAMES)
    for name, row in document["classes"].items():
        low, high = row["share"]
        assert low <= truth[name] <= high
        assert high - low < 0.3
        assert row["source_rows"] > 0
    assert 0.5 < document["accuracy_at_least"] < 1
    shown = good("prevalence", data.source, data.target, "--delta", "0.2").stdout
    assert "share of the target" in shown
    assert "probability at least 80 %" in " ".join(shown.split())


def test_known_bounds_narrow_the_intervals_and_may_be_refuted(data: Data) -> None:
    asked = ("prevalence", data.source, data.target)
    document = json.loads(good(*asked, "--known", "wren=0..0.5", "--json").stdout)
    assert document["classes"]["wren"]["share"][1] <= 0.5 + 1e-9
    assert "known_mix says" in bad(*asked, "--known", "wren=0..0.1", code=3)


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


def test_a_target_is_needed(data: Data) -> None:
    assert "no TARGET" in bad("prevalence", data.source)
