"""The sentences and numbers of the report."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

from certificates import birds, every_shape
from pacshift import Interval, calibrate
from pacshift.methods import Guarantee, MethodFacts
from pacshift.report import numbers, render_report
from pacshift.report import text as report_text
from reports import page_text

SHAPES = every_shape()
pytestmark = pytest.mark.usefixtures("undrawn")


def test_set_sizes_become_cards() -> None:
    certificate = replace(SHAPES["full"], set_sizes=np.array([1, 2, 3, 0, 0, 0]))
    cards = {figure.name: figure.value for figure in numbers.key_figures(certificate)}
    assert cards["labels in a set"] == (2 + 6) / 6
    assert cards["sets with one label"] == 2 / 6
    assert cards["empty sets"] == 1 / 6
    assert cards["classifier’s accuracy"] == certificate.accuracy
    assert "≥ 71.2 %" in render_report(certificate)  # a lower bound is never rounded up


def test_the_curve_is_no_second_guarantee() -> None:
    assert "a picture, not a second guarantee" in " ".join(render_report(SHAPES["full"]).split())


@pytest.mark.parametrize("guarantee", ["pac-target", "pac-source", "marginal", "none"])
def test_an_extra_assumption_stands_beside_the_headline_and_under_the_assumption(guarantee: Any) -> None:
    facts = MethodFacts(extra_assumption="The moon is full.")
    certificate = replace(birds(), method="TOY", guarantee=guarantee, facts=facts)
    assert report_text.headline(certificate).meaning.endswith("Extra assumption: The moon is full.")
    assert report_text.assumption(certificate)[1:] == ["The moon is full."]
    plain = replace(certificate, facts=MethodFacts())
    assert "assumption" not in report_text.headline(plain).meaning
    assert len(report_text.assumption(plain)) == 1


def test_label_shift_is_assumed_only_by_promises_about_the_target() -> None:
    certificate = birds()
    for guarantee, assumes in (("pac-target", True), ("marginal", True), ("pac-source", False), ("none", False)):
        said = replace(certificate, guarantee=guarantee)  # type: ignore[arg-type]
        assert report_text.assumption(said)[0].startswith("Label shift. Within") == assumes
        page = render_report(said)
        assert ("Other equipment, settings or software" in page) == assumes
        assert ("A change that imitates another label mix." in page) == assumes
        assert ("Doubt it when" in page) == (guarantee != "none")


def test_what_the_test_of_label_shift_saw_is_said() -> None:
    certificate = SHAPES["default"]
    found = certificate.assumption
    assert found is not None
    said = report_text.assumption_check(certificate)
    assert found.finding in said
    assert "the test refuses with probability at most 0.5 %" in said
    assert "which is part of the 5 % for which the guarantee may fail" in said
    old = replace(certificate, assumption=None)
    assert "holds no test of label shift" in report_text.assumption_check(old)
    guarantees: tuple[Guarantee, ...] = ("pac-source", "none")
    for guarantee in guarantees:
        untested = report_text.assumption_check(replace(certificate, guarantee=guarantee))
        assert found.finding not in untested
    page = render_report(certificate)
    assert all(str(escape(sentence)) in page for sentence in found.noticeable)


def test_what_else_is_promised_stands_in_the_headline() -> None:
    certificate = replace(SHAPES["default"], class_epsilon=0.15, contamination=0.02)
    headline = report_text.headline(certificate).text
    assert "and misses at most 15 % of every class of the label-shifted part" in headline
    assert "even if up to 2 % of it is not label-shifted at all" in headline
    assert "every class" not in report_text.headline(SHAPES["default"]).text


def test_the_implied_change_is_asked_about_at_the_top() -> None:
    certificate = SHAPES["default"]
    page = " ".join(render_report(certificate).split())
    assert "Can this be?" in page
    assert page.index("Can this be?") < page.index("What it does not say")
    known = replace(certificate, known_mix=Interval(np.array([0, 0.25, 0]), np.array([1.0, 0.5, 1])))
    assert "class &#39;malignant&#39; makes up 25 to 50 %" in render_report(known)


def test_a_promise_for_any_mix_holds_within_every_class() -> None:
    certificate = birds()
    for any_mix in (True, False):
        page = render_report(replace(certificate, facts=MethodFacts(any_mix=any_mix)))
        assert ("holds within every class" in page) == any_mix
        assert ("It is a share of all cases together." in page) != any_mix


def test_a_certificate_by_labels_doubts_the_sample_and_not_label_shift() -> None:
    """What could be wrong with a promise that rests on labelled rows is said, and nothing else."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    scores = np.column_stack([1 - labels, labels]) * 0.4 + rng.dirichlet([1, 1], 600) * 0.6
    made = calibrate(scores[:300], labels[:300], scores[300:], target_labels=labels[300:], method="PS-T")
    text = page_text(render_report(made))
    assert "Labels that are wrong" in text
    assert "another random sample" in text
    for about_label_shift in ("Other equipment", "What no such test can see", "trained on"):
        assert about_label_shift not in text
