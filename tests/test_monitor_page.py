"""The page "Monitor" and the code speak of the same things."""

import importlib
import re
from pathlib import Path

import pytest

from pacshift import Monitor, Tally
from pacshift.certification.class_miss import class_miss
from pacshift.monitor import verdict
from pacshift.report import render_history
from pacshift.report.history import NO_FEEDBACK

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "methods" / "monitor.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(?:pacshift\.)?monitor\.(\w+)\.(\w+)`", PAGE)))


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_code_named_on_the_page_exists(module: str, name: str) -> None:
    found = getattr(importlib.import_module(f"pacshift.monitor.{module}"), name)
    assert found.__doc__


def test_each_lemma_is_named_by_its_function() -> None:
    functions = {1: verdict.lies_below, 2: class_miss, 3: verdict.error_bounds}
    for number, function in functions.items():
        assert f"Lemma {number}" in (function.__doc__ or "")
        assert f"## Lemma {number}" in PAGE
    assert "Shares of δ" in (verdict.__doc__ or "")
    assert "The verdict" in (verdict.judge.__doc__ or "")


def test_the_assumption_is_said_wherever_the_promise_is() -> None:
    rule = "sizes and label mixes of periods must not depend on the source or on earlier reports"
    assert "**Assumption: no feedback.**" in PAGE
    assert rule in " ".join((Monitor.__doc__ or "").split())
    assert rule.replace("must", "do") in NO_FEEDBACK
    source = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200)
    for forever in (False, True):
        monitor = Monitor(source, epsilon=0.2, delta=0.1, forever=forever)
        monitor.update([[0.9, 0.1], [0.2, 0.8]] * 200)
        assert NO_FEEDBACK in render_history(monitor)


def test_the_lemmas_without_the_assumption_are_tested() -> None:
    tests = (Path(__file__).parent / "test_monitor_montecarlo.py").read_text(encoding="utf-8")
    for number in (4, 5):
        assert f"**Lemma {number} " in PAGE
        assert f"Lemma {number}" in tests


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert verdict.SOURCE_SHARE == 0.1
    assert rf"{verdict.NEW_SOURCES_SHARE:g}\,\delta / (s(s+1))" in PAGE
    spent = verdict.SOURCE_SHARE + verdict.NEW_SOURCES_SHARE + 1.1 * verdict.FRESH_SHARE
    assert spent == pytest.approx(1)
    assert rf"{verdict.FRESH_SHARE:g}\,\delta" in PAGE
    assert verdict.report_delta(1.0, 3, forever=True) == pytest.approx(0.8 / 12)
    assert rf"{verdict.SOURCE_SHARE + 1.1 * verdict.FRESH_SHARE:g}\,\delta" in PAGE
