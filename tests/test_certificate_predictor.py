"""A predictor answers what ``Certificate.sets`` answers, bit for bit, and refuses what that refuses."""

import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certificates import alter
from pacshift import Certificate, InputError, UninformativeWarning, calibrate
from pacshift.arrays import FloatArray
from score_kinds import MAKERS
from strategies import seeds

N_CLASSES = 5


def logits(n_rows: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).normal(0, 3, (n_rows, N_CLASSES))


@cache
def certificate(made_from: str, score: str, softmax: bool) -> Certificate:
    scores = MAKERS[made_from](logits(400, 0))
    labels = scores.argmax(axis=1)
    labels[::7] = (labels[::7] + 1) % N_CLASSES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        return calibrate(scores, labels, None, method="PS-LW", epsilon=0.3, score=score, softmax=softmax)


CASES = [(kind, "probability", False) for kind in MAKERS]
CASES += [(kind, "margin", False) for kind in ("probabilities", "sigmoids", "logits")]
CASES += [("probabilities", score, False) for score in ("aps", "aps-plain", "raps")]
CASES += [("logits", score, True) for score in ("probability", "margin", "aps")]


def answer(make: Any, scores: Any) -> Any:
    """The sets as a list, or the words of the refusal."""
    try:
        return make(scores).tolist()
    except InputError as refusal:
        return str(refusal)


def damaged(rows: FloatArray, damage: str, rng: np.random.Generator) -> FloatArray:
    rows, place = rows.copy(), (rng.integers(len(rows)), rng.integers(N_CLASSES))
    if damage in ("nan", "inf", "-inf"):
        rows[place] = float(damage)
    elif damage == "all -inf":
        rows[place[0]] = -np.inf
    elif damage == "scaled":
        rows *= rng.choice([1.0005, 1.002, 1.015, 1.05, 1.2])
    elif damage == "negative":
        rows[place] -= rng.choice([1e-9, 5e-4, 2e-3, 0.5])
    elif damage == "rounded":
        rows = rows.round(int(rng.integers(1, 4)))
    return rows


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(CASES),
    st.sampled_from(list(MAKERS)),
    st.integers(1, 9),
    st.sampled_from(["", "", "nan", "inf", "-inf", "all -inf", "scaled", "negative", "rounded"]),
    st.sampled_from([np.float32, np.float64, np.float16]),
    st.booleans(),
    seeds,
)
def test_it_answers_as_the_certificate_does(
    case: tuple[str, str, bool],
    given_kind: str,
    n_rows: int,
    damage: str,
    width: Any,
    never_empty: bool,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    rows = MAKERS[given_kind](logits(n_rows, seed))
    with np.errstate(over="ignore"):
        rows = damaged(rows, damage, rng).astype(width)
    made = alter(certificate(*case), never_empty=never_empty)
    if case[1] == "probability" and np.isfinite(rows).all() and rng.random() < 0.5:  # ties
        made = alter(made, thresholds=rows[rng.integers(n_rows)].astype(float) * rng.choice([1.0, 1.0000001]))
    predictor = made.predictor()
    assert answer(predictor.sets, rows) == answer(made.sets, rows)
    for row in rows:
        one = answer(made.sets, row[None])
        assert answer(predictor.sets, row) == answer(made.sets, row) == (one if isinstance(one, str) else one[0])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CASES), st.integers(1, 9), st.sampled_from([np.float32, np.float64]), seeds)
def test_labels_come_in_the_same_order(case: tuple[str, str, bool], n_rows: int, width: Any, seed: int) -> None:
    rows = MAKERS[case[0]](logits(n_rows, seed)).astype(width)
    made = alter(certificate(*case), thresholds=np.full(N_CLASSES, -1e9))
    assert made.predictor().labels(rows) == made.labels(rows)
    assert made.predictor().labels(rows[0]) == made.labels(rows[:1])[0]


def test_equal_probabilities_of_different_logits_stay_in_the_order_of_columns() -> None:
    made = alter(certificate("logits", "probability", True), thresholds=np.zeros(N_CLASSES))
    row = np.array([1.0, 50.0, 2.0, 50.0 + 1e-15, 1.0])
    assert made.predictor().labels(row) == made.labels(row[None])[0] == [1, 3, 2, 0, 4]


def test_a_usual_row_does_not_go_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is what makes it fast, and no test measures time."""
    usual = ("probabilities", "sigmoids", "logits")
    usable = ((certificate(kind, "probability", False), MAKERS[kind](logits(50, 3))) for kind in usual)
    prepared = [(made.predictor(), scores) for made, scores in usable]
    prepared.append((certificate("logits", "probability", True).predictor(), logits(50, 3)))
    monkeypatch.setattr(Certificate, "sets", None)
    for predictor, rows in prepared:
        for row in rows[(rows > 0).any(axis=1)]:  # logits that are all negative could be logarithms
            predictor.sets(row)
            predictor.sets(row.astype(np.float32))
            predictor.sets(row.tolist())
        assert predictor.sets(rows[-2:]).shape == (2, N_CLASSES)


def test_other_containers_and_shapes() -> None:
    made = certificate("probabilities", "probability", False)
    predictor, rows = made.predictor(), MAKERS["probabilities"](logits(3, 1))
    expected = made.sets(rows)
    assert predictor.sets(rows.tolist()).tolist() == expected.tolist()
    assert predictor.sets(tuple(rows[0].tolist())).tolist() == expected[0].tolist()
    frame = pd.DataFrame(rows)[[4, 3, 2, 1, 0]]
    assert predictor.sets(frame).tolist() == expected.tolist()
    assert predictor.labels(frame) == predictor.labels(rows) == made.labels(rows)
    many = MAKERS["probabilities"](logits(500, 1))
    assert np.array_equal(predictor.sets(many), made.sets(many))
    for wrong in (rows[:, :4], rows[None], rows[:0]):
        with pytest.raises(InputError):
            predictor.sets(wrong)


@pytest.mark.parametrize("use", [lambda made: made.sets, lambda made: made.predictor().sets])
def test_one_dimension_is_one_row(use: Any) -> None:
    made = certificate("probabilities", "probability", False)
    row = MAKERS["probabilities"](logits(1, 1))[0]
    expected = made.sets(row[None])[0].tolist()
    named = pd.Series(row[::-1], index=range(N_CLASSES)[::-1])
    for one in (row, row.tolist(), tuple(row), pd.Series(row), named, row.astype(np.longdouble)):
        assert use(made)(one).tolist() == expected
    with pytest.raises(InputError, match=r"for each of the 5 classes, got 4 numbers\. Pass several rows as"):
        use(made)(row[:4])
    with pytest.raises(InputError, match="no score column for '4'"):
        use(made)(pd.Series(row[:4]))
    with pytest.raises(InputError, match="NaN or infinite"):
        use(made)([float("nan"), *row[1:].tolist()])


def test_a_series_of_a_frame_with_other_columns_is_read_by_name() -> None:
    made = certificate("probabilities", "probability", False)
    frame = pd.DataFrame(MAKERS["probabilities"](logits(3, 1))).assign(name=["a", "b", "c"])
    assert made.sets(frame.iloc[1]).tolist() == made.sets(frame).iloc[1].tolist()


def test_a_score_of_your_own_is_given_once() -> None:
    scores = MAKERS["probabilities"](logits(400, 0))
    made = calibrate(scores, scores.argmax(axis=1), None, method="PS", score=np.sqrt)
    loaded = replace(made, transform=None)
    with pytest.raises(InputError, match="pass it as score="):
        loaded.predictor()
    predictor = loaded.predictor(score=np.sqrt)
    assert predictor.sets(scores[0]).tolist() == made.sets(scores[:1])[0].tolist()
    assert np.array_equal(predictor.sets(scores), made.sets(scores))
