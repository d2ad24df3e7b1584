"""The page of a refusal: what was refused, where the target differs, and the ways on."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates import HOSTILE, draw
from pacshift import AssumptionError, calibrate
from pacshift.assumption import Assumption
from pacshift.report import render_refusal, write_refusal
from pacshift.words.findings import LABELS_CERTIFY, OTHER_WAYS
from refused import NAMES, world
from reports import Page, sound_page

LINES = "<img src=x onerror=alert(1)> 'my  target.csv' {{ 7 * 7 }}"


def caught(*args: Any, **options: Any) -> AssumptionError:
    with pytest.raises(AssumptionError) as refusal:
        calibrate(*args, **options)
    return refusal.value


@cache
def refusals() -> dict[str, AssumptionError]:
    """By name: what the page is tried on."""
    source, labels = world(3000, 1, shifted=False)
    target, _ = world(2000, 2, shifted=True)
    names = np.array(NAMES)[labels]
    usual = caught(source, names, target, classes=NAMES)
    rng, even = np.random.default_rng(0), np.full(len(HOSTILE), 1 / len(HOSTILE))
    odd, odd_labels = draw(len(HOSTILE), 4000, even, rng)
    flat = 0.5 * draw(len(HOSTILE), 3000, even, rng)[0] + 0.5 / len(HOSTILE)
    hostile = caught(odd, np.array(HOSTILE, object)[odd_labels], flat, classes=HOSTILE)
    lines = replace(hostile.attempt, draw=LINES, again=LINES)
    everything = {"class_epsilon": 0.3, "contamination": 0.01, "known_mix": {"owl": (0.0, 0.9)}}
    return {
        "usual": usual,
        "hostile": AssumptionError(
            hostile.refusal, hostile.next_steps, hostile.expected_sizes, hostile.assumption, lines
        ),
        "everything": caught(source, names, target, classes=NAMES, method="PS-LW", **everything),
        "small": caught(source, names, 0.2 + 0.4 * target[:200], classes=NAMES, epsilon=0.001),
        "method": AssumptionError(
            usual.refusal, usual.next_steps, usual.expected_sizes, not_refuted(usual.assumption), usual.attempt
        ),
        "bare": AssumptionError("label shift is rejected."),
    }


def not_refuted(tested: Assumption) -> Assumption:
    return replace(tested, refuted=False, finding="No difference was found.")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: render_refusal(error) for name, error in refusals().items()}


SHAPES = ("usual", "hostile", "everything", "small", "method", "bare")


@pytest.mark.parametrize("name", SHAPES)
def test_every_page_is_sound(pages: dict[str, str], name: str) -> None:
    page = sound_page(pages[name])
    assert "Nothing is certified" in page.inside("h2")
    assert "None" not in " ".join(text for _, text in page.texts)


def test_the_page_says_what_the_error_says(pages: dict[str, str]) -> None:
    error, page = refusals()["usual"], Page(pages["usual"])
    assert error.refusal[1:] in " ".join(page.inside("bdi"))
    assert page.inside("code")[:1] == [error.attempt.draw]
    assert error.attempt.again in page.inside("code")
    values = [float(attributes["value"]) for attributes in page.all("data")]
    assert values == [*(size for _, size in error.expected_sizes), 3000, 2000]
    shown = [f"with {count} labels" for count, _ in error.expected_sizes]
    assert [text for text in page.inside("dt") if text.startswith("with ")] == shown
    assert "These sizes are an estimate" in pages["usual"]
    assert set(OTHER_WAYS) <= set(page.inside("li"))
    assert LABELS_CERTIFY in error.next_steps
    assert LABELS_CERTIFY in page.inside("p")
    assert len(page.all("svg")) == 1
    assert "After 100, 200 or 400 labels, certify." in pages["usual"]


def test_what_was_asked_is_shown(pages: dict[str, str]) -> None:
    facts = Page(pages["everything"]).inside("dd")
    assert {"10 %", "5 %", "30 %", "up to 1 % of the target", "were part of the test"} <= set(facts)
    assert "or the stated shares are wrong" in pages["everything"]
    assert "method=&#39;PS-LP&#39;, labelled=" in pages["everything"]
    assert "Allowed to miss of any class" not in pages["usual"]


def test_a_target_that_is_too_small_gets_no_command(pages: dict[str, str]) -> None:
    assert "But the 200 target rows are too few for any promise at epsilon 0.001" in pages["small"]
    assert Page(pages["small"]).all("pre") == []


def test_a_refusal_by_the_method_itself_is_told_from_one_by_the_test(pages: dict[str, str]) -> None:
    said = "The test of label shift saw no difference. The method refused"
    assert said in pages["method"]
    assert said not in pages["usual"]


def test_an_error_without_evidence_has_a_page_too(pages: dict[str, str]) -> None:
    assert "What the test of label shift saw is not recorded here." in pages["bare"]
    assert Page(pages["bare"]).all("svg") == []


def test_names_stay_texts(pages: dict[str, str]) -> None:
    page = Page(pages["hostile"])
    assert LINES in page.inside("code")
    assert "49" not in page.inside("code")
    assert any(text.startswith("'<img src=x") for text in page.inside("text"))


def test_the_file_is_the_page(tmp_path: Path, pages: dict[str, str]) -> None:
    write_refusal(refusals()["usual"], tmp_path / "refused.html")
    assert (tmp_path / "refused.html").read_text(encoding="utf-8") == pages["usual"]
