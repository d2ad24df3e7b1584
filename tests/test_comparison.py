"""Methods side by side in memory: the rows are counted once, and every number is that of calibrate."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flat import flat
from pacshift import METHODS, PSW, Comparison, InputError, Oracle, Population, Rows, calibrate, compare, evaluate
from pacshift.assumption import check_assumption
from pacshift.comparison import ComparisonRow

POPULATION = Population.synthetic(["cat", "dog", "owl"], strength=4, rng=0)
SOURCE, LABELS = POPULATION.draw([0.6, 0.3, 0.1], 2000, rng=1)
TARGET, TRUTH = POPULATION.draw([0.2, 0.3, 0.5], 2000, rng=2)
CLASSES = ["cat", "dog", "owl"]


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compare(SOURCE, LABELS, Rows(TARGET, TRUTH), classes=CLASSES, rng=3)


def test_every_method_has_the_row_that_calibrate_and_evaluate_give(compared: Comparison) -> None:
    assert [row.method for row in compared.rows] == [name for name in METHODS if name not in ("ORACLE", "PS-T")]
    for row, made in zip(compared.rows, compared.certificates, strict=True):
        alone = calibrate(SOURCE, LABELS, TARGET, method=row.method, classes=CLASSES, rng=3)
        assert made is not None
        assert np.array_equal(made.thresholds, alone.thresholds), row.method
        assert made.explain() == alone.explain()
        found = evaluate(alone.sets(TARGET), TRUTH, classes=CLASSES)
        assert (row.size, row.empty) == (found.size, found.empty)
        assert row.error == pytest.approx(found.error)
        assert row.guarantee == METHODS[row.method].guarantee


def test_a_table_for_people_and_one_for_programs(compared: Comparison) -> None:
    assert repr(compared).splitlines()[1].startswith("PS-LP   target ")
    frame = compared.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == list(compared.columns)
    assert compared.columns == ("method", "promise", "labels per set", "empty sets", "error")
    assert frame["labels per set"].tolist() == [row.size for row in compared.rows]
    assert len(compared) == len(frame) == len(compared.rows)
    assert compared._repr_html_().count("<tr>") == 1 + len(compared)


def test_without_labels_there_is_no_error() -> None:
    found = compare(SOURCE, LABELS, TARGET, classes=CLASSES, methods=["PS-LW"])
    assert found.columns == ("method", "promise", "labels per set", "empty sets")
    assert found.rows[0].error is None
    assert "error" not in repr(found)


def test_a_method_that_refuses_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    hazy = (0.34 + 0.3 * TARGET) / (0.34 * TARGET.shape[1] + 0.3)  # not label shift
    asked = []
    monkeypatch.setattr(
        "pacshift.certification.certify.check_assumption",
        lambda tally, **options: asked.append(options) or check_assumption(tally, **options),  # type: ignore[func-returns-value]
    )
    found = compare(SOURCE, LABELS, hazy, classes=CLASSES, methods=["PS-LP", "PS", "PS-LW"])
    assert len(asked) == 1  # all methods share the test
    assert found.rows[2].size is None
    assert found.rows[0].size is None
    assert found.certificates[0] is None
    assert found.rows[1].size is not None
    assert "refused" in repr(found)
    assert "PS-LP: refused: label shift is rejected" in repr(found)
    assert np.isnan(found.to_pandas()["labels per set"][0])


def test_all_labels_are_marked() -> None:
    found = compare(SOURCE[:8], LABELS[:8], TARGET, classes=CLASSES, methods=["PS"])
    assert found.rows[0].trivial
    assert "3.000 (all labels)" in repr(found)


def test_weights_methods_and_limits() -> None:
    oracle = compare(SOURCE, LABELS, TARGET, classes=CLASSES, methods=[Oracle(weights=[1 / 3, 1, 5])])
    assert oracle.rows[0].method == "ORACLE"
    assert oracle.rows[0].size is not None
    both = [PSW(), PSW(intervals="elimination")]
    variants = compare(SOURCE, LABELS, TARGET, classes=CLASSES, methods=both, rng=0)
    first, second = variants.certificates
    assert first is not None
    assert second is not None
    assert first.options != second.options
    limited = compare(SOURCE, LABELS, TARGET, classes=CLASSES, methods=["PS-LW", "PS"], class_epsilon=0.2)
    assert [made.limits is None for made in limited.certificates if made is not None] == [False, True]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 2}, "epsilon must lie strictly between 0 and 1"),
        ({"delta": 0}, "delta must lie strictly between 0 and 1"),
        ({"contamination": 0.5}, "contamination must be below epsilon"),
        ({"methods": []}, "methods is empty"),
        ({"methods": ["PS-X"]}, "unknown method 'PS-X'"),
        ({"target_labels": ["cat"]}, r"target labels must have one entry per target row \(2,000\)"),
        ({"score": "apps"}, "score must be one of"),
    ],
)
def test_bad_requests_are_refused_at_once(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        flat(compare, SOURCE, LABELS, TARGET, classes=CLASSES, **wrong)
    with pytest.raises(InputError, match="there is no target"):
        compare(SOURCE, LABELS, None, classes=CLASSES)


def test_names_of_methods_are_escaped() -> None:
    row = ComparisonRow("<b>", "none", size=1.0, empty=0.0)
    page = Comparison((row, replace(row, note="<i>")), (None, None), 0.1, 0.05)._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page
