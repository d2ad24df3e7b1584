"""The page of a monitor: its numbers, its pictures, its words; test_report_browser.py looks at it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from certificates import HOSTILE, alter, draw
from hospital import PANDEMIC, USUAL, patients, source_tally
from pacshift import InputError, Interval, Monitor, Tally, calibrate
from pacshift.certification.request import Request
from pacshift.monitor.verdict import judge
from pacshift.report import render_history
from pacshift.report.history import error_over_time
from pacshift.words.verdicts import word_of


def year() -> Monitor:
    source = source_tally(20_000)
    old = calibrate(source, epsilon=0.06, delta=0.05, method="PS")
    monitor = Monitor(source, epsilon=0.1, delta=0.05, certificate=old)
    for name, mix, bias in (("April", USUAL, 0.0), ("May", PANDEMIC, 0.0), ("September", USUAL, -9.0)):
        monitor.update(patients(3000, mix, np.random.default_rng(1), bias=bias)[0], name)
    return monitor


def hostile() -> Monitor:
    """Odd class names and many periods with odd names: copies of one report, since only the page is looked at."""
    rng = np.random.default_rng(0)
    mix = np.full(len(HOSTILE), 1 / len(HOSTILE))
    scores, labels = draw(len(HOSTILE), 4000, mix, rng)
    source = Tally.from_scores(scores, np.array(HOSTILE, object)[labels], classes=HOSTILE, soft=False)
    monitor = Monitor(source, epsilon=0.2, delta=0.05, forever=True)
    report = monitor.update(draw(len(HOSTILE), 1200, mix, rng)[0], "first")
    (period,) = monitor._saved.periods.values()
    names = [*HOSTILE, *map(str, range(20))]
    copies = {name: replace(period, name=name, report=replace(report, period=name)) for name in names}
    monitor._state.saved = replace(monitor._saved, periods=copies)
    return monitor


MONITORS = {"year": year, "hostile year": hostile}


@pytest.fixture(scope="module")
def monitors() -> dict[str, Monitor]:
    return {name: make() for name, make in MONITORS.items()}


def test_the_page_says_what_the_reports_say(monitors: dict[str, Monitor]) -> None:
    page = render_history(monitors["year"])
    for report in monitors["year"].history:
        assert (
            f'<bdi>{report.period}</bdi></th>\n<td role="cell" data-column="promise">{word_of(report.verdict)}'
            in page
        )
    assert "Each report holds with confidence 95 % by itself" in page
    assert "nothing is promised for this period" in page
    assert "past and future, hold together with confidence 95 %" in render_history(monitors["hostile year"])


def test_bounds_are_rounded_outward(monitors: dict[str, Monitor]) -> None:
    page = render_history(monitors["year"])
    shown = re.findall(r'data-column="missed">([\d.]+) to ([\d.]+) %', page)
    errors = [report.error for report in monitors["year"].history if report.error is not None]
    for (low, high), (lower, upper) in zip(shown, errors, strict=True):
        assert float(low) <= 100 * lower <= float(low) * 1.011
        assert float(high) / 1.011 <= 100 * upper <= float(high)


def test_a_refuted_period_is_not_drawn_at_any_height(monitors: dict[str, Monitor]) -> None:
    """A cross on the line of epsilon reads as "missed exactly 10 %"."""
    figure = Figure()
    error_over_time(monitors["year"].history, figure)
    (ax,) = figure.axes
    assert [line.get_label() for line in ax.lines] == ["allowed"]
    (patch,) = ax.patches
    assert patch.get_label() == "label shift rejected: not known"
    low, high = patch.get_transform().transform(patch.get_path().vertices)[[0, 2], 1]
    assert [low, high] == pytest.approx(ax.transAxes.transform([(0, 0), (0, 1)])[:, 1], abs=1)


def test_periods_without_rows_keep_their_place() -> None:
    source = source_tally(2000)
    monitor = Monitor(source, epsilon=0.1, delta=0.05, method="PS-LW")
    for seed, month in enumerate((1, 2, 6)):
        start, end = f"2026-{month:02d}-01", f"2026-{month:02d}-{28 if month == 2 else 30 + month % 2}"
        rows = patients(400, USUAL, np.random.default_rng(seed))[0]
        monitor.update(rows, start[:7], start=start, end=end)
    figure = Figure()
    error_over_time(monitor.history, figure)
    (ax,) = figure.axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2026-01", "2026-02", "2026-06"]
    assert ax.get_xticks().tolist() == [0, 1, 5]
    assert ax.get_xlim() == (-0.6, 5.6)
    page = render_history(monitor)
    assert "<p>No rows: <bdi>2026-03 to 2026-05 (3 periods)</bdi>.</p>" in page
    assert (
        page.index("<bdi>2026-02</bdi></th>")
        < page.index("(3 periods)</bdi></th>")
        < page.index("<bdi>2026-06</bdi></th>")
    )


def test_an_interval_is_rounded_the_same_everywhere() -> None:
    """Close to what is allowed it needs more digits, in the finding and in the table."""
    monitor = year()
    (name, period), *_ = monitor._saved.periods.items()
    assert period.report is not None
    close = (0.100041234, 0.138612345)
    report = replace(period.report, error=close, verdict="broken")
    monitor._state.saved = replace(monitor._saved, periods={name: replace(period, report=report)})
    shown = report.missed
    assert shown == "10.004 to 13.862 %"
    assert f'data-column="missed">{shown}</td>' in render_history(monitor)
    assert report.fresh is not None
    wide = alter(report.fresh, thresholds=report.fresh.thresholds + 0.01)
    neither = judge(report.fresh, wide, Interval(np.full(3, 0.0737153), np.full(3, 0.1152778)), Request(0.1, 0.05))
    assert "7.37 to 11.6 % are missed; 10 % are allowed." in neither.text


def test_the_page_says_what_else_was_asked_for_and_what_is_wrong_with_the_certificate() -> None:
    source = source_tally(9000)
    old = calibrate(source, epsilon=0.06, delta=0.05, method="PS").annotate(model_id="net 3")
    monitor = Monitor(source, certificate=old, class_epsilon=0.4, contamination=0.02, model_id="net 4")
    monitor.update(patients(1000, USUAL, np.random.default_rng(1))[0], "April")
    page = render_history(monitor)
    limits = "At most 40 % of any one class outside the share that may break label shift may be missed. Up to 2 %"
    assert limits in " ".join(page.split())
    assert "is for model &#39;net 3&#39;" in page


def test_a_monitor_that_never_certified_has_a_page() -> None:
    monitor = Monitor(source_tally(20_000), epsilon=0.1, delta=0.05)
    monitor.update(patients(20_000, USUAL, np.random.default_rng(1), bias=-9.0)[0], "September")
    page = render_history(monitor)
    assert "September: label shift" not in page  # the name stands in an element of its own
    assert "No period has an interval" in page


def test_without_a_report_there_is_no_page() -> None:
    with pytest.raises(InputError, match="reported on no period yet"):
        render_history(Monitor(source_tally(2000)))
