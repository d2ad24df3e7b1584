"""What kind of numbers scores are: read off a few rows, added up, and never mixed up."""

import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacshift import InputError, Tally
from pacshift.scores.kind import OTHER, PROBABILITIES, UNIT, ScoreKind, kind_of_all, require_same_kind

ENDS = st.floats(-5, 5)
KINDS = st.builds(
    lambda ends, sums: ScoreKind(min(ends), max(ends), sorted(ends)[1], sums),
    st.tuples(ENDS, ENDS, ENDS),
    st.booleans(),
)


def softmax(logits: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    odds = np.exp(logits)
    return np.asarray((odds / odds.sum(axis=1, keepdims=True)).astype(dtype))


@pytest.mark.parametrize("n_classes", [2, 10, 300])
def test_three_kinds_are_told_apart(n_classes: int) -> None:
    logits = np.random.default_rng(0).normal(size=(500, n_classes)) * 3
    cases = [
        (softmax(logits), PROBABILITIES),
        (softmax(logits, np.float16).astype(np.float32), PROBABILITIES),
        (softmax(logits).round(4), PROBABILITIES),
        (1 / (1 + np.exp(-logits)), UNIT),
        (logits, OTHER),
        (100 * softmax(logits), OTHER),
    ]
    for scores, kind in cases:
        assert ScoreKind.of_rows(scores).name == kind
        counted = Tally.from_target(scores).target_kind
        assert counted is not None
        assert counted.name == kind
        assert (counted.low, counted.high) == (scores.min(), scores.max())
        assert counted.least_top == scores.max(axis=1).min()


@given(st.lists(KINDS, min_size=1, max_size=6), st.randoms())
def test_kinds_add_up_in_any_order(kinds: list[ScoreKind], random: Random) -> None:
    shuffled = list(kinds)
    random.shuffle(shuffled)
    assert kind_of_all(kinds) == kind_of_all(shuffled)
    assert kind_of_all([*kinds, None]) is None
    assert kind_of_all([]) is None


def test_parts_of_a_tally_have_the_kind_of_the_whole(tmp_path_factory: pytest.TempPathFactory) -> None:
    scores = softmax(np.random.default_rng(1).normal(size=(1000, 4)))
    whole = Tally.from_target(scores)
    parts = Tally.sum(Tally.from_target(scores[start : start + 130]) for start in range(0, 1000, 130))
    assert parts == whole
    path = tmp_path_factory.mktemp("tally") / "a.tally"
    whole.save(path)
    assert Tally.load(path).target_kind == whole.target_kind


def test_only_plain_mistakes_are_errors() -> None:
    kinds = {
        PROBABILITIES: ScoreKind(0.0, 1.0, 0.4, True),
        UNIT: ScoreKind(0.0, 1.0, 0.4, False),
        OTHER: ScoreKind(-3.0, 9.0, 0.4, False),
        "a little beyond 1": ScoreKind(0.0, 1.2, 0.4, False),
    }
    wrong = {(PROBABILITIES, OTHER), (UNIT, OTHER), (OTHER, PROBABILITIES), (PROBABILITIES, "a little beyond 1")}
    wrong |= {("a little beyond 1", PROBABILITIES)}
    for made_from, given_ in itertools.product(kinds, repeat=2):
        if (made_from, given_) in wrong:
            with pytest.raises(InputError, match="Thresholds of one kind of scores mean nothing for another"):
                require_same_kind(kinds[made_from], kinds[given_], name="scores", n_rows=8)
        else:
            require_same_kind(kinds[made_from], kinds[given_], name="scores", n_rows=8)
    require_same_kind(None, kinds[OTHER], name="scores", n_rows=8)
    require_same_kind(kinds[OTHER], None, name="scores", n_rows=8)
    require_same_kind(kinds[OTHER], kinds[PROBABILITIES], name="scores", n_rows=7)  # may be chance


def test_rows_that_are_not_finite_are_left_to_the_counter() -> None:
    assert ScoreKind.of_rows(np.full((3, 2), np.nan)).name == UNIT
    assert ScoreKind.of_rows(np.array([[0.2, 0.8], [np.inf, 0.0]])).name == PROBABILITIES
