"""What kind of numbers scores are: read off ranges and sums of rows, and added up in any order."""

import json
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacshift import Tally
from pacshift.files.codec import from_json, to_json
from pacshift.scores.kind import BYTES, LOGS, OTHER, PERCENTAGES, PROBABILITIES, UNIT, ScoreKind, kind_of_all
from score_kinds import MAKERS, softmax

MATRICES = st.builds(
    lambda kind, seed, rows: MAKERS[kind](np.random.default_rng(seed).normal(size=(rows, 3)) * 2),
    st.sampled_from(sorted(MAKERS)),
    st.integers(0, 9),
    st.integers(1, 5),
)
KINDS = MATRICES.map(lambda rows: Tally.from_target(rows).target_kind)


@pytest.mark.parametrize("n_classes", [2, 10, 300])
def test_six_kinds_are_told_apart(n_classes: int) -> None:
    logits = np.random.default_rng(0).normal(size=(500, n_classes)) * 3
    probabilities = softmax(logits)
    cases = [
        (probabilities, PROBABILITIES),
        (softmax(logits).astype(np.float16).astype(np.float32), PROBABILITIES),
        (probabilities.round(4), PROBABILITIES),
        (np.eye(n_classes)[logits.argmax(axis=1)], PROBABILITIES),
        (1 / (1 + np.exp(-logits)), UNIT),
        (np.where(probabilities == probabilities.max(axis=1, keepdims=True), probabilities, 0.0), UNIT),
        (100 * probabilities, PERCENTAGES),
        ((100 * probabilities).round(2), PERCENTAGES),
        (np.log(probabilities), LOGS),
        (np.log(probabilities).astype(np.float32).round(3), LOGS),
        (np.round(255 / (1 + np.exp(-logits))), BYTES),
        (logits, OTHER),
        (-(logits**2), OTHER),
        (1000 * probabilities, OTHER),
    ]
    for scores, kind in cases:
        assert ScoreKind.of_rows(scores).name == kind
        counted = Tally.from_target(scores).target_kind
        assert counted is not None
        assert counted.name == kind
        assert (counted.low, counted.high) == (scores.min(), scores.max())
        assert counted.least_top == scores.max(axis=1).min()


def test_a_few_odd_rows_do_not_change_the_kind() -> None:
    scores = softmax(np.random.default_rng(0).normal(size=(500, 4)))
    for factor in (1, 100):
        odd = scores.copy() * factor
        odd[7:10] = 0.0
        assert ScoreKind.of_rows(odd).name == ScoreKind.of_rows(scores * factor).name
    assert not ScoreKind.of_rows(odd / 100).sums_to_one


@given(st.lists(KINDS, min_size=1, max_size=6), st.randoms())
def test_kinds_add_up_in_any_order(kinds: list[ScoreKind], random: Random) -> None:
    shuffled = list(kinds)
    random.shuffle(shuffled)
    assert kind_of_all(kinds) == kind_of_all(shuffled)
    pairs = [kind_of_all(kinds[start : start + 2]) for start in range(0, len(kinds), 2)]
    assert kind_of_all(pairs) == kind_of_all(kinds)
    assert kind_of_all([*kinds, None]) is None
    assert kind_of_all([]) is None


@pytest.mark.parametrize("n_classes", [2, 9, 40])
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_parts_of_a_tally_have_the_kind_of_the_whole(kind: str, n_classes: int, tmp_path: object) -> None:
    scores = MAKERS[kind](np.random.default_rng(1).normal(size=(1000, n_classes)) * 3)
    whole = Tally.from_target(scores)
    for step in (7, 130):
        parts = Tally.sum(Tally.from_target(scores[start : start + step]) for start in range(0, 1000, step))
        assert parts.target_kind == whole.target_kind
    path = f"{tmp_path}/a.tally"
    whole.save(path)
    assert Tally.load(path) == whole


@given(KINDS)
def test_kinds_come_back_from_files(kind: ScoreKind) -> None:
    for one in (kind, kind.with_tops((0.5, 2.0))):
        assert from_json(ScoreKind, json.loads(json.dumps(to_json(one)))) == one


def test_kinds_of_files_are_checked() -> None:
    kind = ScoreKind(-3.0, 9.0, 0.4, False)
    said = to_json(kind)
    assert from_json(ScoreKind, said) == kind
    for bad in ([0.0, 1.0, 0.4, True], {"low": 0.0}, said | {"tops": [1.0]}, said | {"sums_to_one": 1}, "text", 5):
        with pytest.raises((ValueError, KeyError, TypeError)):
            from_json(ScoreKind, bad)


def test_rows_that_are_not_finite_are_left_to_the_counter() -> None:
    assert ScoreKind.of_rows(np.full((3, 2), np.nan)).name == UNIT
    assert ScoreKind.of_rows(np.array([[0.2, 0.8], [np.inf, 0.0]])).name == PROBABILITIES
