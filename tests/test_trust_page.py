"""The page "When can I trust it?", its proofs and the code speak of the same things."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from pacshift import bounds
from pacshift.assumption import ASSUMPTION_SHARE
from pacshift.certificate.certificate import ONE_LABEL_SHARE
from pacshift.certification import class_miss, delta, one_label, sensitivity
from pacshift.methods import class_wise
from pacshift.paths import labelled

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("trust.md", "methods/trust-proofs.md"))
LEMMAS: dict[int, Any] = {
    1: class_miss.class_miss,
    2: class_wise.capped,
    3: sensitivity.clean_epsilon,
    4: bounds.clean_shares,
    5: sensitivity.sensitivity,
    6: one_label.net_below,
    7: one_label.one_label_error,
}


@pytest.mark.parametrize(("lemma", "function"), LEMMAS.items())
def test_every_lemma_stands_on_the_page_and_in_its_function(lemma: int, function: Any) -> None:
    assert PAGE.count(f"**Lemma {lemma} (") == 1
    assert f"Lemma {lemma}" in (inspect.getdoc(function) or "")


def test_shares_and_grid_are_those_of_the_code() -> None:
    assert f"{ASSUMPTION_SHARE:g}\\,\\delta" in PAGE
    assert f"the limit costs \\({delta.CLASS_EPSILON_SHARE:g}\\,\\delta\\)" in PAGE
    assert f"a million rows need {len(class_miss.band_ranks(10**6)):,}" in PAGE
    assert class_miss.RANK_STEP == 0.5
    assert r"\(\sqrt r/2\) apart" in PAGE
    assert f"Beyond {sensitivity.MAX_REGION_CLASSES} classes" in PAGE
    assert f"\\alpha = {ONE_LABEL_SHARE:g}\\,\\delta" in PAGE
    n_levels = len(one_label.NET_MISSES)
    assert f"one of {n_levels} multiples of" in PAGE
    assert f"{n_levels + 1}^K" in PAGE
    assert labelled.EQUAL_STEPS == 1000
    assert PAGE.count("thousandth") >= 2
