"""The monitor: verdicts, late rows, shares of delta, certificates that are adopted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from certificates import alter
from hospital import NAMES, PANDEMIC, USUAL, patients, source_tally
from pacshift import InputError, Interval, Monitor, Tally, calibrate, read
from pacshift.arrays import FloatArray
from pacshift.certification.request import Request
from pacshift.monitor.verdict import judge

SOURCE = source_tally(20_000)


def month(mix: list[float], seed: int, n: int = 3000, bias: float = 0.0) -> FloatArray:
    return patients(n, mix, np.random.default_rng(seed), bias=bias)[0]


def test_a_year_in_short() -> None:
    old = calibrate(SOURCE, epsilon=0.06, delta=0.05, method="PS")
    monitor = Monitor(SOURCE, epsilon=0.1, delta=0.05, certificate=old)
    usual: Any = monitor.update(month(USUAL, 1), "April", start="2026-04-01", end="2026-04-30")
    shifted: Any = monitor.update(month(PANDEMIC, 2), "May", start="2026-05-01")
    scanner = monitor.update(month(USUAL, 3, bias=-9.0), "September", start="2026-09-01")
    assert [report.verdict for report in (usual, shifted, scanner)] == ["kept", "broken", "shift-rejected"]
    assert [report.alert for report in monitor.history] == [False, True, True]
    assert usual.error[1] <= 0.1
    assert shifted.error[0] > 0.1
    assert shifted.prevalence.contains(PANDEMIC).all()
    assert shifted.weights is not None
    assert shifted.accuracy is not None
    assert (scanner.fresh, scanner.error, scanner.prevalence) == (None, None, None)
    assert scanner.finding[:1].isupper()


def test_the_first_fresh_certificate_is_used_until_another_is_adopted() -> None:
    monitor = Monitor(SOURCE, epsilon=0.1, delta=0.05)
    assert monitor.certificate is None
    first = monitor.update(month(USUAL, 1))
    assert first.verdict == "kept"
    assert monitor.certificate is first.fresh
    second = monitor.update(month(PANDEMIC, 2))
    assert (first.period, second.period) == ("1", "2")
    assert monitor.certificate is first.fresh
    monitor.adopt(second.fresh)
    assert monitor.certificate is second.fresh
    assert monitor.history == (first, second)  # reports stay as they were


def read_frame(columns: dict[str, Any]) -> Any:
    return read(pd.DataFrame(columns), scores=",".join(columns))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, read_frame])
def test_frames_are_counted_as_arrays_are(frame: Any) -> None:
    rows = month(USUAL, 1)
    columns = dict(zip(NAMES, rows.T, strict=True))
    old = calibrate(SOURCE, method="PS")
    first, second = (Monitor(SOURCE, certificate=old).update(given) for given in (rows, frame(columns)))
    assert (first.size, first.empty, first.error) == (second.size, second.empty, second.error)
    assert len(repr(second)) < 1000  # its certificate is named, not listed


def test_sizes_are_counted_on_rows_and_estimated_from_counts() -> None:
    """Before there is a certificate there are no sets to count, and a tally has no rows."""
    rows, old = month(USUAL, 1), calibrate(SOURCE, epsilon=0.1, delta=0.05, method="PS")
    counted = Monitor(SOURCE, certificate=old).update(rows)
    sets = old.sets(rows)
    assert counted.size == pytest.approx(sets.sum(axis=1).mean())
    assert counted.empty == pytest.approx((~sets.any(axis=1)).mean())
    estimated = Monitor(SOURCE, certificate=old).update(Tally.from_target(rows, classes=NAMES))
    assert estimated.size == pytest.approx(counted.size, rel=0.03)
    assert counted.fresh_size == estimated.fresh_size
    first = Monitor(SOURCE).update(rows)
    assert first.size == first.fresh_size
    assert estimated.empty is first.empty is None


def test_late_rows_are_added_to_their_period_and_pay_again() -> None:
    rows = month(USUAL, 1)
    old = calibrate(SOURCE, method="PS")
    monitor = Monitor(SOURCE, epsilon=0.1, delta=0.05, forever=True, certificate=old)
    early = monitor.update(rows[:2000], "May")
    other = monitor.update(month(USUAL, 2), "June")
    late: Any = monitor.update(rows[2000:], "May")
    assert [early.number, other.number, late.number] == [1, 2, 3]
    assert (early.rows, late.rows) == (2000, 3000)
    assert [report.period for report in monitor.history] == ["May", "June"]
    together = Monitor(SOURCE, epsilon=0.1, delta=0.05, forever=True, certificate=old)
    for seed in (2, 3):
        together.update(month(USUAL, seed))
    whole: Any = together.update(rows, "May")  # the third report, so the same share of delta
    assert late.fresh.thresholds.tolist() == whole.fresh.thresholds.tolist()
    assert late.size == pytest.approx(whole.size)
    assert monitor.update(month(USUAL, 4), "July").number == 4


def test_sizes_under_two_certificates_are_not_mixed() -> None:
    rows = month(USUAL, 1)
    monitor = Monitor(SOURCE, epsilon=0.1, delta=0.05, certificate=calibrate(SOURCE, method="PS"))
    first = monitor.update(rows[:2000], "May")
    assert first.fresh is not None
    assert first.empty is not None
    monitor.adopt(alter(first.fresh, thresholds=first.fresh.thresholds / 2))
    late = monitor.update(rows[2000:], "May")
    assert late.empty is None
    assert late.size is not None
    assert first.size is not None
    assert late.size > first.size


def test_periods_are_in_the_order_of_time() -> None:
    monitor = Monitor(SOURCE, epsilon=0.1, delta=0.05)
    for name, start in (("June", "2026-06-01"), ("April", "2026-04-01"), ("May", "2026-05-01")):
        monitor.update(month(USUAL, int(start[5:7]), n=400), name, start=start)
    assert [report.period for report in monitor.history] == ["April", "May", "June"]


def test_a_certificate_that_fills_empty_sets_is_never_called_broken() -> None:
    plain = calibrate(SOURCE, epsilon=0.1, delta=0.05, method="PS")
    old = plain.without_empty_sets()
    report: Any = Monitor(SOURCE, epsilon=0.1, delta=0.05, certificate=old).update(month(PANDEMIC, 2))
    assert report.verdict == "not-proven"
    assert report.error[0] == 0
    limited = Monitor(SOURCE, epsilon=0.1, delta=0.05, certificate=old, class_epsilon=0.15)
    assert limited.update(month(PANDEMIC, 2)).verdict == "not-proven"
    strict = Monitor(SOURCE, epsilon=0.1, delta=0.05, certificate=plain, class_epsilon=0.15)
    assert strict.update(month(PANDEMIC, 2)).verdict == "broken"


def test_methods_without_bounds_of_the_mix_use_every_mix() -> None:
    old = calibrate(SOURCE, epsilon=0.1, delta=0.05, method="PS-LW")
    report = Monitor(SOURCE, epsilon=0.1, delta=0.05, method="PS-LW", certificate=old).update(month(PANDEMIC, 2))
    assert report.prevalence is None
    assert report.error is not None
    assert report.error[0] < 0.1 < report.error[1]


def test_what_is_known_about_the_mix_can_refute() -> None:
    """A pandemic is label shift, but not if you are sure that covid stays below 30 %."""
    sure = Monitor(SOURCE, epsilon=0.1, delta=0.05, known_mix={"covid": (0, 0.3)})
    assert sure.update(month(USUAL, 1)).verdict == "kept"
    assert sure.update(month(PANDEMIC, 2)).verdict == "shift-rejected"
    with pytest.raises(InputError, match="known_mix"):
        Monitor(SOURCE, epsilon=0.1, delta=0.05, known_mix={"flu": (0, 0.3)})


def test_a_limit_per_class_has_a_say_in_the_verdict() -> None:
    certificate: Any = Monitor(SOURCE, epsilon=0.1, delta=0.05).update(month(USUAL, 1)).fresh
    higher = alter(certificate, thresholds=certificate.thresholds + 0.01)  # so that Lemma 1 does not apply
    missed = Interval(np.array([0.0, 0.0, 0.25]), np.array([0.01, 0.01, 0.5]))  # the third class is rare

    def verdict(limit: float | None, in_use: Any = higher) -> str:
        return judge(certificate, in_use, missed, Request(0.1, 0.05, limit)).verdict

    assert [verdict(limit) for limit in (None, 0.5, 0.4, 0.2)] == ["kept", "kept", "not-proven", "broken"]
    assert verdict(0.4, certificate) == "kept"  # the fresh certificate keeps the limit, so lower thresholds do
    # Bounds above epsilon, thresholds below fresh ones: some event failed, and an alarm is the safe answer.
    missed = Interval(np.full(3, 0.4), np.full(3, 0.5))
    assert verdict(None, certificate) == "broken"


def test_the_promise_reaches_the_fresh_certificate() -> None:
    promise: dict[str, Any] = {"class_epsilon": 0.4, "contamination": 0.02, "model_id": "net 3"}
    monitor = Monitor(SOURCE, epsilon=0.1, delta=0.05, **promise)
    fresh: Any = monitor.update(month(USUAL, 1)).fresh
    assert (fresh.limits.tolist(), fresh.contamination) == ([0.4] * 3, 0.02)
    assert fresh.provenance.model_id == "net 3"
    assert monitor.warnings() == []
    other = Monitor(SOURCE, epsilon=0.1, delta=0.05, certificate=fresh, model_id="net 4")
    assert "net 3" in other.warnings()[0]
    wrong: dict[str, Any] = {"class_epsilon": 2, "contamination": 0.5, "model_id": ""}
    for name, value in wrong.items():
        with pytest.raises(InputError, match=name):
            Monitor(SOURCE, epsilon=0.1, delta=0.05, **{name: value})


def test_rows_of_another_kind_are_not_added() -> None:
    """Logits would make every later report on the period fail."""
    monitor = Monitor(SOURCE, epsilon=0.1, delta=0.05)
    with pytest.raises(InputError, match="softmax"):
        monitor.update(np.log(month(USUAL, 1)) + 3, "May")
    assert monitor.history == ()
    assert monitor.update(month(USUAL, 1), "May").rows == 3000


def test_bad_input_is_named() -> None:
    target = Tally.from_target(month(USUAL, 1), classes=NAMES)
    good: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05}
    with pytest.raises(InputError, match="a tally without labelled rows"):
        Monitor(target, **good)
    with pytest.raises(InputError, match="labelled rows only"):
        Monitor(SOURCE + target, **good)
    with pytest.raises(InputError, match="got list"):
        Monitor([1, 2], **good)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs a method with a promise about the target"):
        Monitor(SOURCE, method="WCP", **good)
    with pytest.raises(InputError, match="epsilon"):
        Monitor(SOURCE, epsilon=1.5, delta=0.05)
    monitor = Monitor(SOURCE, **good)
    with pytest.raises(InputError, match="unlabelled rows"):
        monitor.update(SOURCE)
    with pytest.raises(InputError, match="same classes"):
        monitor.update(Tally.from_target([[0.1, 0.9]]))
    refuted = monitor.update(month(USUAL, 3, bias=-9.0))
    with pytest.raises(InputError, match="label shift was rejected in that period"):
        monitor.adopt(refuted.fresh)
    two = calibrate(Tally.from_scores([[0.9, 0.1], [0.1, 0.9]] * 50, [0, 1] * 50), method="PS", **good)
    with pytest.raises(InputError, match="the certificate has classes=0, 1, but the source classes='healthy'"):
        monitor.adopt(two)
    with pytest.raises(InputError, match="has softmax=True, but the source softmax=False"):
        monitor.adopt(replace(calibrate(SOURCE, method="PS", **good), softmax=True))
    with pytest.raises(InputError, match="score"):
        Monitor(SOURCE, certificate=replace(calibrate(SOURCE, method="PS", **good), score="margin"), **good)
