"""Scores of single and of double precision: one rounding between calibration and use changes no set."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import METHODS, InputError, Tally, calibrate, read
from pacshift.arrays import FloatArray, IntArray
from pacshift.rows.sets import exact_cuts
from pacshift.tally.grid import fits_single, single_cuts

WIDTHS = [np.float32, np.float64]


def votes(n: int, sick: float, trees: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Shares of the votes of a few trees: all scores lie on a few numbers, most of which need rounding."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < sick).astype(int)
    yes = rng.binomial(trees, rng.beta(np.where(labels, 5, 2), np.where(labels, 2, 5)))
    return np.column_stack([(trees - yes) / trees, yes / trees]), labels


def missed(sets: Any, labels: IntArray) -> float:
    return 1 - float(sets[np.arange(len(labels)), labels].mean())


@settings(max_examples=300, deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False) | st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(-2, 2),
)
def test_a_cut_says_the_same_of_a_score_and_of_its_rounding(threshold: float, steps: float) -> None:
    cut = float(single_cuts([threshold])[0])
    assert cut <= threshold
    assert single_cuts([cut])[0] == cut
    if not fits_single(np.array([threshold]))[0]:
        assert cut == threshold
        return
    single = np.float32(threshold)
    with np.errstate(over="ignore"):
        spacing = float(single) - float(np.nextafter(single, np.float32(-np.inf)))
    near = threshold + steps * spacing
    for score in (threshold, near, cut, np.nextafter(cut, -np.inf), (cut + near) / 2):
        with np.errstate(over="ignore", under="ignore"):
            rounded = np.float32(score)
        assert (score >= cut) == (rounded >= exact_cuts(np.array([cut]), np.dtype(np.float32)))
        if score >= threshold or rounded >= threshold:
            assert score >= cut


@pytest.mark.parametrize("method", ["PS", "PS-LW", "PS-C", "PS-W", "PS-LP"])
@pytest.mark.parametrize(("trees", "epsilon"), [(20, 0.1), (10, 0.03)])
@pytest.mark.parametrize("made_in", WIDTHS)
def test_votes_are_missed_as_often_in_either_type(method: str, trees: int, epsilon: float, made_in: Any) -> None:
    (source, labels), (target, _) = votes(6000, 0.4, trees, 1), votes(6000, 0.6, trees, 2)
    fresh, truth = votes(20000, 0.6, trees, 3)
    made = calibrate(source.astype(made_in), labels, target.astype(made_in), epsilon=epsilon, method=method)
    single, double = (made.sets(fresh.astype(width)) for width in WIDTHS)
    assert np.array_equal(single, double)
    assert not made.trivial
    if METHODS[method].guarantee == "pac-target":
        assert missed(double, truth) <= epsilon
    for row in fresh[:50]:
        assert np.array_equal(made.predictor().sets(row.astype(np.float32)), made.predictor().sets(row))
    mixed = calibrate(source, labels, target.astype(np.float32), epsilon=epsilon, method=method)
    assert str(mixed.predicted_counts) == str(made.predicted_counts)  # None where the method needs none
    assert METHODS[method].guarantee != "pac-target" or missed(mixed.sets(fresh), truth) <= epsilon


@pytest.mark.parametrize("score", ["margin", "aps", "raps", "raps-plain"])
@pytest.mark.parametrize("softmax", [False, True])
def test_transforms_and_softmax_see_scores_of_single_precision(score: str, softmax: bool) -> None:
    (source, labels), (fresh, _) = votes(3000, 0.4, 20, 1), votes(3000, 0.6, 20, 3)
    if softmax:
        source, fresh = np.log(source + 0.01), np.log(fresh + 0.01)
    made = [
        calibrate(source.astype(width), labels, None, method="PS-LW", score=score, softmax=softmax)
        for width in WIDTHS
    ]
    assert np.array_equal(made[0].thresholds, made[1].thresholds)
    assert np.array_equal(made[0].sets(fresh), made[0].sets(fresh.astype(np.float32)))


def test_what_ties_in_single_precision_has_one_predicted_label() -> None:
    third = 0.1 + 0.2
    rows = np.array([[0.3, third, 1 - 0.3 - third]] * 9)
    assert rows[0].argmax() == 2 or rows[0, 1] > rows[0, 0]
    for n_classes in (3, 20):
        wide = np.column_stack([rows, np.zeros((9, n_classes - 3))])
        assert np.array_equal(Tally.from_target(wide).target, Tally.from_target(wide.astype(np.float32)).target)


def test_tiny_thresholds_stay_and_refuse_single_precision() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000)
    small = 10.0 ** -rng.uniform(50, 60, 2000)
    scores = np.where(np.eye(2)[labels] == 1, small[:, None], 1 - small[:, None])
    made = calibrate(scores, labels, None, method="PS-LW")
    assert 0 < made.thresholds.min() < 1e-50
    assert made.sets(scores)[np.arange(2000), labels].mean() < 1
    with pytest.raises(InputError, match="double precision"):
        made.sets(scores.astype(np.float32))
    with pytest.raises(InputError, match="double precision"):
        made.predictor().sets(scores[0].astype(np.float32))


HALVES: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("half", HALVES)
def test_half_precision_is_refused_where_it_arrives(half: str, tmp_path: Path) -> None:
    scores, labels = votes(400, 0.4, 20, 1)
    halved = scores.astype(HALVES[half])
    made = calibrate(scores, labels, None, method="PS")
    for use in (
        lambda: calibrate(halved, labels, None, method="PS"),
        lambda: made.sets(halved),
        lambda: made.predictor().sets(halved[0]),
        lambda: Tally.from_target(halved),
    ):
        with pytest.raises(InputError, match=rf"half precision \({half}\).*astype\(np.float32\).*\.float\(\)"):
            use()


def test_bfloat16_of_torch_is_told_from_what_cannot_be_read() -> None:
    class Tensor:
        def __array__(self, *_args: Any, **_options: Any) -> Any:
            raise TypeError("Got unsupported ScalarType BFloat16")

    with pytest.raises(InputError, match=r"half precision \(bfloat16\).*\.float\(\)"):
        Tally.from_target(Tensor())


@pytest.mark.parametrize("form", ["columns", "lists", "npz"])
def test_tables_of_half_precision_are_refused(form: str, tmp_path: Path) -> None:
    scores = votes(400, 0.4, 20, 1)[0].astype(np.float16)
    path = tmp_path / f"a.{'npz' if form == 'npz' else 'parquet'}"
    if form == "npz":
        np.savez(path, probs=scores)
    else:
        lists = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), 2)
        columns = {"p_0": scores[:, 0], "p_1": scores[:, 1]}
        pq.write_table(pa.table({"scores": lists} if form == "lists" else columns), path)
    named: dict[str, Any] = {"scores": "scores", "classes": [0, 1]} if form == "lists" else {}
    with pytest.raises(InputError, match=r"half precision.*np\.float32"):
        read(path, **named).tally()


def test_counts_alone_give_the_same_cuts() -> None:
    source, labels = votes(3000, 0.4, 20, 1)
    for grid in (False, True):
        made = [
            calibrate(Tally.from_scores(source.astype(width), labels, grid=grid), method="PS-LW")
            for width in WIDTHS
        ]
        assert np.array_equal(made[0].sets(source), made[1].sets(source.astype(np.float32)))
