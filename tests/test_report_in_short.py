"""The first paragraph of a report: true to the certificate, and readable without symbols or options."""

import re
from dataclasses import replace

import pytest

from certificates import every_shape
from pacshift.report import render_report
from pacshift.report.in_short import PROMISES, RANDOM_SAMPLE, SAME_CASES, SAME_POPULATION, in_short
from pacshift.words.numbers import all_but, given

CERTIFICATES = every_shape()
pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.mark.parametrize("shape", CERTIFICATES)
def test_neither_greek_letters_nor_options(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    text = in_short(certificate)
    assert not re.search(r"[Ͱ-Ͽ]|--|\w=|_|`|epsilon|delta", text)
    assert "{" not in text
    assert certificate.method not in text
    assert len(text) < 1200


@pytest.mark.parametrize("shape", CERTIFICATES)
def test_it_says_what_is_promised_what_breaks_it_and_until_when(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    text = in_short(certificate)
    if certificate.trivial:
        assert f"holds all {len(certificate.classes)} labels" in text
        return
    says_share = f"at least {all_but(certificate.epsilon)}" in text
    assert says_share == (certificate.guarantee != "none")
    says_chance = f"false is at most {given(certificate.delta)}" in text
    assert says_chance == (certificate.guarantee in ("pac-target", "pac-source"))
    breaks = {reason for reason in (SAME_CASES, RANDOM_SAMPLE, SAME_POPULATION) if reason in text}
    on_target = certificate.guarantee in ("pac-target", "marginal")
    shifted = SAME_CASES if certificate.facts.assumes_label_shift else RANDOM_SAMPLE
    assert breaks == ({shifted} if on_target else {SAME_POPULATION} if certificate.guarantee != "none" else set())
    assert ("No last day was set" in text) == (certificate.guarantee != "none")


def test_shapes_of_every_guarantee_were_looked_at() -> None:
    assert {certificate.guarantee for certificate in CERTIFICATES.values() if not certificate.trivial} == set(
        PROMISES
    )


def test_the_last_day_and_the_limits_are_said() -> None:
    certificate = next(
        one
        for one in CERTIFICATES.values()
        if one.guarantee == "pac-target" and one.provenance and not one.trivial
    )
    dated = certificate.changed(provenance=replace(certificate.provenance, valid_until="2027-01-31"))
    assert "It may be used until 2027-01-31, or until the population or the classifier changes" in in_short(dated)
    spared = in_short(certificate.changed(contamination=0.02))
    assert "even if up to 2 % of these cases are of any other kind" in spared
    assert "and misses at most 15 % of every class" in in_short(certificate.changed(class_epsilon=0.15))
    assert "were not tested for such changes" in in_short(certificate.changed(assumption=None))


def test_it_stands_above_everything_else_on_the_page() -> None:
    certificate = CERTIFICATES["default"]
    page = render_report(certificate)
    place = page.index("<strong>In short.</strong>")
    assert place < page.index("<nav") < page.index('id="guarantee"')
    assert in_short(certificate)[:60] in page
