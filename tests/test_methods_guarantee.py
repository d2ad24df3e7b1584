"""What a guarantee means has one home, and its words fit every certificate."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

import pacshift
from certificates import birds
from pacshift import METHODS
from pacshift.methods.guarantee import MEANINGS, Guarantee, promises_target
from pacshift.words.statements import filled

SOURCES = sorted(Path(pacshift.__file__).parent.rglob("*.py"))


def test_every_guarantee_has_a_meaning() -> None:
    assert set(MEANINGS) == set(get_args(Guarantee))
    assert len({meaning.in_short for meaning in MEANINGS.values()}) == 4
    assert len({meaning.title for meaning in MEANINGS.values()}) == 4


@pytest.mark.parametrize("guarantee", MEANINGS)
def test_the_words_are_filled_in(guarantee: Guarantee) -> None:
    meaning = MEANINGS[guarantee]
    for cap, share in product((None, 0.15), (0.0, 0.02)):
        certificate = replace(birds(), guarantee=guarantee, class_epsilon=cap, contamination=share)
        for text in (meaning.one_line, meaning.sentence, meaning.how_sure, meaning.assumption, meaning.caveat):
            said = filled(text, certificate)
            assert "{" not in said
            assert "  " not in said


def test_what_is_promised_about_the_target_can_be_asked_of_guarantees_methods_and_certificates() -> None:
    for method in METHODS.values():
        assert promises_target(method()) == promises_target(method.guarantee)
    assert promises_target(birds())
    assert [guarantee for guarantee in MEANINGS if promises_target(guarantee)] == ["pac-target", "marginal"]
