"""Scores of single and of double precision: one rounding between calibration and use changes no set."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import (
    METHODS,
    InputError,
    Population,
    Rows,
    Tally,
    calibrate,
    check,
    label_sheet,
    prevalence,
    read,
    write_sets,
)
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
    asked: dict[str, Any] = {"method": "PS-LW", "score": score, "softmax": softmax}
    made = [calibrate(source.astype(width), labels, None, **asked) for width in WIDTHS]
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


HALVES: dict[str, Any] = {"float16": np.float16} | {
    kind: getattr(ml_dtypes, kind) for kind in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn")
}
TOO_COARSE = r"half precision or less \(.*{}.*\).*astype\(np.float32\).*\.float\(\)"


def uses(scores: Any, labels: Any) -> list[Callable[[], object]]:
    """Every way in for scores in memory: a source, a target, a population, and whatever makes sets."""
    plain = votes(400, 0.4, 20, 1)[0]
    made = calibrate(plain, labels, None, method="PS")
    return [
        lambda: calibrate(scores, labels, None, method="PS"),
        lambda: calibrate(plain, labels, scores, method="PS-W"),
        lambda: prevalence(plain, labels, scores),
        lambda: label_sheet(scores, budget=100),
        lambda: Tally.from_target(scores),
        lambda: Tally.from_scores(scores, labels),
        lambda: Population(scores, labels),
        lambda: check(made, scores, labels),
        lambda: made.sets(scores),
        lambda: made.labels(scores),
        lambda: made.with_set_sizes(scores),
        lambda: made.predictor().sets(scores),
        lambda: made.predictor().labels(scores),
    ]


@pytest.mark.parametrize("half", HALVES)
def test_half_precision_is_refused_where_it_arrives(half: str) -> None:
    scores, labels = votes(400, 0.4, 20, 1)
    halved = scores.astype(HALVES[half])
    for use in [*uses(halved, labels), *uses([list(row) for row in halved], labels)]:
        with pytest.raises(InputError, match=TOO_COARSE.format(half)):
            use()
    for row in (halved[0], list(halved[0]), [scores[0, 0], halved[0, 1]]):
        with pytest.raises(InputError, match=TOO_COARSE.format(half)):
            calibrate(scores, labels, None, method="PS").predictor().sets(row)


class Tensor:
    """As those of torch: whether it can be read depends on its type."""

    def __init__(self, values: Any, kind: str) -> None:
        self.values, self.dtype, self.shape = np.asarray(values, np.float64), kind, values.shape

    def __array__(self, *_args: Any, **_options: Any) -> Any:
        return self.values


ONE_COARSE: dict[str, Callable[[FloatArray], Any]] = {
    "pandas": lambda scores: pd.DataFrame(scores, columns=[0, 1]).astype({1: "float16"}),
    "pandas of Arrow": lambda scores: pd.DataFrame(scores, columns=[0, 1]).astype({1: "halffloat[pyarrow]"}),
    "pandas, sparse": lambda scores: pd.DataFrame(scores, columns=[0, 1]).astype({1: "Sparse[float16]"}),
    "pandas of objects": lambda scores: pd.DataFrame(
        {0: scores[:, 0], 1: [np.float16(one) for one in scores[:, 1]]}
    ),
    "polars": lambda scores: pl.DataFrame({"0": scores[:, 0], "1": pl.Series(scores[:, 1]).cast(pl.Float16)}),
    "polars, lazy": lambda scores: pl.LazyFrame(
        {"0": scores[:, 0], "1": pl.Series(scores[:, 1]).cast(pl.Float16)}
    ),
    "Arrow": lambda scores: pa.table({"0": scores[:, 0], "1": scores[:, 1].astype(np.float16)}),
    "an Arrow batch": lambda scores: pa.record_batch({"0": scores[:, 0], "1": scores[:, 1].astype(np.float16)}),
    "objects": lambda scores: np.array([[one, np.float16(other)] for one, other in scores], object),
    "a list of numbers": lambda scores: [[one, np.float16(other)] for one, other in scores],
    "a list of arrays": lambda scores: [scores[0].astype(np.float16), *scores[1:]],
    "a list of tensors": lambda scores: [*scores[:-1], Tensor(scores[-1], "torch.float16")],
    "torch.float8_e4m3fn": lambda scores: Tensor(scores, "torch.float8_e4m3fn"),
}


@pytest.mark.parametrize("form", ONE_COARSE)
def test_one_column_or_row_of_half_precision_is_refused(form: str) -> None:
    """One such column was let through: of 10 trees' votes 9.6 % were missed at epsilon = 8 %."""
    scores, labels = votes(400, 0.4, 20, 1)
    for use in uses(ONE_COARSE[form](scores), labels):
        with pytest.raises(InputError, match=TOO_COARSE.format("[fF]loat")):
            use()
    if "pandas" in form or "rrow" in form:
        with pytest.raises(InputError, match=r"column '?1'?\b"):
            Tally.from_target(ONE_COARSE[form](scores))


def test_other_columns_of_a_frame_may_be_of_half_precision() -> None:
    scores, labels = votes(400, 0.4, 20, 1)
    made = calibrate(scores, labels, None, method="PS")
    frame = pd.DataFrame(scores, columns=[0, 1])
    assert made.sets(frame.assign(weight=np.float16(70))).equals(made.sets(frame))
    assert made.sets(np.arange(800, dtype=np.float32).reshape(-1, 2) % 2).shape == (400, 2)


def test_bfloat16_of_torch_is_told_from_what_cannot_be_read() -> None:
    class Unreadable:
        def __array__(self, *_args: Any, **_options: Any) -> Any:
            raise TypeError("Got unsupported ScalarType BFloat16")

    with pytest.raises(InputError, match=TOO_COARSE.format("bfloat16")):
        Tally.from_target(Unreadable())


@pytest.mark.parametrize(
    "form", ["columns", "one column", "lists", "npz", "feather", "second file", "pandas", "polars"]
)
def test_tables_of_half_precision_are_refused(form: str, tmp_path: Path) -> None:
    plain, labels = votes(400, 0.4, 20, 1)
    scores = plain.astype(np.float16)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), 2)
    one = pa.table({"p_0": plain[:, 0], "p_1": scores[:, 1], "label": labels})
    table: Any = tmp_path / f"a.{form if form in ('npz', 'feather') else 'parquet'}"
    if form == "npz":
        np.savez(table, probs=scores, labels=labels)
    elif form == "feather":
        pa.feather.write_feather(one, table)
    elif form in ("pandas", "polars"):
        table = one.to_pandas() if form == "pandas" else pl.DataFrame(one)
    elif form == "second file":
        pq.write_table(pa.table({"p_0": plain[:, 0], "p_1": plain[:, 1], "label": labels}), table)
        pq.write_table(one, tmp_path / "b.parquet")
        table = tmp_path
    else:
        both = {"p_0": scores[:, 0], "p_1": scores[:, 1], "label": labels}
        content = one if form == "one column" else {"scores": lists, "label": labels} if form == "lists" else both
        pq.write_table(pa.table(content), table)
    named: dict[str, Any] = {"scores": "scores", "classes": [0, 1]} if form == "lists" else {}
    said = "agree: cast one of them" if form == "second file" else r"half precision.*np\.float32"
    made, sets = calibrate(plain, labels, None, method="PS"), tmp_path.parent / "sets.csv"
    label = "labels" if form == "npz" else "label"
    for use in (
        lambda: read(table, **named).tally(),
        lambda: read(table, label=label, **named).tally(),
        lambda: write_sets(made, table, sets, scores=named.get("scores")),
    ):
        with pytest.raises(InputError, match=said):
            use()


@pytest.mark.parametrize("shift", [0, 1])
def test_scores_near_the_end_of_single_precision_make_sets(shift: int) -> None:
    scores, labels = votes(2000, 0.4, 20, 1)
    scores = (scores - shift) * 3.3e38
    made = calibrate(scores, labels, scores, method="PS-LW")
    single, double = (made.sets(scores.astype(width)) for width in WIDTHS)
    assert np.array_equal(single, double)
    assert single.mean() < 1


@pytest.mark.parametrize("large", [3.5e38, 1e300, -1e300])
def test_scores_beyond_single_precision_are_refused_wherever_they_come_in(large: float, tmp_path: Path) -> None:
    """They calibrated, and their sets were then refused."""
    plain, labels = votes(2000, 0.4, 20, 1)
    bad, table = plain.copy(), tmp_path / "a.parquet"
    bad[[70, 71], 1] = large
    made = calibrate(plain, labels, None, method="PS")
    for use in (
        lambda: calibrate(bad, labels, None, method="PS"),
        lambda: Tally.from_scores(bad, labels),
        lambda: calibrate(plain, labels, bad, method="PS-W"),
        lambda: calibrate(plain, labels, Rows(bad, groups=np.arange(2000)), method="PS-W"),
        lambda: label_sheet(bad, budget=100),
        lambda: Population(bad, labels),
    ):
        with pytest.raises(InputError, match=r"2 rows have scores beyond single precision \(3.4e\+38\).* row 70"):
            use()
    pq.write_table(pa.table({"p_0": bad[:, 0], "p_1": bad[:, 1], "label": labels}), table)
    with pytest.raises(InputError, match=r"2 with scores beyond single precision .3.4e38.*, the first is row 70"):
        read(table, label="label").tally()
    assert read(table, label="label", drop_invalid=True).tally().n_source == 1998
    huge = calibrate(plain * 3.3e38, labels, None, method="PS")
    if large > 0:  # a label with a score of -1e300 is in no set, as with -inf
        usual = plain * 3.3e38
        usual[[70, 71], 1] = large
        for make in (huge.sets, huge.labels, huge.with_set_sizes, huge.predictor().sets):
            with pytest.raises(InputError, match=r"2 rows have scores beyond single precision"):
                make(usual)
        with pytest.raises(InputError, match=r"1 row has scores beyond single precision"):
            huge.predictor().sets(usual[70])
    with pytest.raises(InputError, match="probabilities"):
        made.sets(bad)


def test_counts_alone_give_the_same_cuts() -> None:
    source, labels = votes(3000, 0.4, 20, 1)
    for grid in (False, True):
        tallies = (Tally.from_scores(source.astype(width), labels, grid=grid) for width in WIDTHS)
        made = [calibrate(tally, method="PS-LW") for tally in tallies]
        assert np.array_equal(made[0].sets(source), made[1].sets(source.astype(np.float32)))
