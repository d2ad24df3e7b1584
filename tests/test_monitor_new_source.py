"""A new source: labelled rows of a refuted period, and the reports that are compared with them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hospital import NAMES, PANDEMIC, USUAL, patients, source_tally
from pacshift import (
    Certificate,
    InputError,
    LabelSheet,
    Monitor,
    PeriodReport,
    Population,
    Tally,
    calibrate,
    label_sheet,
)
from pacshift.report import render_history

PROMISE: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05}
SCANNER = -9.0
SOURCE_ROWS = patients(9000, USUAL, np.random.default_rng(0))
SOURCE = source_tally(9000)


def month(seed: int, mix: Any = USUAL, n: int = 3000, bias: float = SCANNER) -> tuple[Any, Any]:
    scores, labels = patients(n, mix, np.random.default_rng(seed), bias=bias)
    return scores, np.array(NAMES)[labels]


def labelled(
    scores: Any, truth: Any, budget: int = 600, n: int | None = None, looks: tuple[int, ...] = (300,)
) -> tuple[Tally, Certificate, LabelSheet]:
    sheet = label_sheet(scores, budget=budget, looks=looks, rng=1, **PROMISE)
    used = sheet.rows[:n]
    sheet = sheet.with_labels(truth[used])
    source, labels = SOURCE_ROWS
    names = np.array(NAMES)[labels]
    made = calibrate(source, names, scores, labelled=sheet, method="PS-T", classes=NAMES, **PROMISE)
    return Tally.from_scores(scores[used], truth[used], classes=NAMES, soft=False), made, sheet


def broken_monitor(**options: Any) -> tuple[Monitor, Any, Any]:
    """A monitor after a usual month and one of a new scanner."""
    monitor = Monitor(SOURCE, **PROMISE, **options)
    monitor.update(month(1, bias=0.0)[0], "August")
    scores, truth = month(2)
    assert monitor.update(scores, "September").verdict == "shift-rejected"
    return monitor, scores, truth


@pytest.mark.slow
def test_the_year_goes_on(tmp_path: Path) -> None:
    monitor, scores, truth = broken_monitor(state=tmp_path / "watch")
    rows, made, sheet = labelled(scores, truth)
    monitor.new_source("September", rows, made, sheet=sheet)
    report = monitor.update(month(3, PANDEMIC)[0], "October")
    assert report.verdict != "shift-rejected"
    assert (report.source_number, report.number, report.in_use_number) == (1, 3, 2)
    assert report.prevalence is not None
    assert report.prevalence.contains(PANDEMIC).all()
    assert [each.source_number for each in monitor.history] == [0, 0, 1]
    assert monitor.source == rows
    assert monitor.source_in_words == "600 labelled rows of September"
    assert monitor.in_use is not None
    assert monitor.in_use.in_words.startswith("the certificate by labelled rows of September (PS-T, epsilon 10 %")
    again = Monitor(SOURCE, **PROMISE, state=tmp_path / "watch")  # the first source is what a state is known by
    assert (again.source, again.source_number, again.source_periods) == (rows, 1, ("September",))
    assert again.certificate is not None
    assert again.certificate.thresholds.tolist() == made.thresholds.tolist()
    assert Certificate.load(tmp_path / "watch" / "current.json").method == "PS-T"
    page = render_history(again)
    assert "Compared with <bdi>600 labelled rows of September</bdi>" in page
    assert "At a dotted line the source changes." in page


def test_more_labels_replace_and_the_same_change_nothing() -> None:
    monitor, scores, truth = broken_monitor()
    first, later = labelled(scores, truth, n=300), labelled(scores, truth)
    monitor.new_source("September", *first[:2], sheet=first[2])
    before = monitor._saved
    monitor.new_source("September", *first[:2], sheet=first[2])
    assert monitor._saved is before
    monitor.new_source("September", *later[:2], sheet=later[2])
    assert (monitor.source.n_source, monitor.source_number, monitor.certificate) == (600, 2, later[1])
    with pytest.raises(InputError, match="600 labelled rows of September were given before, these are 300"):
        monitor.new_source("September", *first[:2], sheet=first[2])
    other = labelled(scores, truth, budget=500)
    with pytest.raises(InputError, match="September was labelled with another sheet before"):
        monitor.new_source("September", *other[:2], sheet=other[2])
    assert monitor.source.n_source == 600


def test_earlier_labels_stay_unless_the_period_refutes_them() -> None:
    monitor, scores, truth = broken_monitor()
    monitor.new_source("September", *labelled(scores, truth)[:2])
    scores, truth = month(3)
    assert monitor.update(scores, "October").verdict != "shift-rejected"
    rows, made, _ = labelled(scores, truth)
    monitor.new_source("October", rows, made)  # not refuted: the same scanner, so more rows of it
    assert monitor.source_periods == ("September", "October")
    assert monitor.source.n_source == 1200
    scores, truth = month(4, bias=0.0)
    assert monitor.update(scores, "November").verdict == "shift-rejected"  # the old scanner is back
    monitor.new_source("November", *labelled(scores, truth)[:2])
    assert list(monitor.source_periods) == ["November"]
    assert monitor.source_number == 3
    with pytest.raises(InputError, match="labelled rows of October are no longer the source: a later period"):
        monitor.new_source("October", rows, made)


def test_what_is_refused_changes_nothing() -> None:
    monitor, scores, truth = broken_monitor()
    rows, made, _ = labelled(scores, truth)
    before = monitor._saved
    with pytest.raises(InputError, match=r"no report on a period 'May'.*'August', 'September'"):
        monitor.new_source("May", rows, made)
    with pytest.raises(InputError, match=r"August does not contradict label shift \(kept\)"):
        monitor.new_source("August", rows, made)
    with pytest.raises(InputError, match="counted as the source was"):
        monitor.new_source("September", Tally.from_scores(scores, truth, classes=NAMES[::-1]), made)
    with pytest.raises(InputError, match="4,000 labelled rows of a period of 3,000"):
        monitor.new_source("September", Tally.from_scores(*month(5, n=4000), classes=NAMES), made)
    with pytest.raises(InputError, match="labelled rows"):
        monitor.new_source("September", Tally.from_target(scores, classes=NAMES), made)
    assert monitor._saved is before
    monitor.new_source("September", rows, made)
    with pytest.raises(InputError, match=r"September was labelled before, without a sheet\. How many rows"):
        monitor.new_source("September", Tally.from_scores(scores[:700], truth[:700], classes=NAMES), made)
    for anew in (False, True):
        with pytest.raises(InputError, match="labelled rows of this period are a source now"):
            monitor.update(month(6)[0], "September", replace=anew)


def test_rows_labels_and_certificate_must_be_those_of_the_period() -> None:
    monitor, scores, truth = broken_monitor()
    first, later = labelled(scores, truth, n=300), labelled(scores, truth)
    other, before = month(5, bias=0.0), monitor._saved
    with pytest.raises(InputError, match="the labelled rows are not rows of the period"):
        monitor.new_source("September", Tally.from_scores(other[0][:600], other[1][:600], classes=NAMES), later[1])
    with pytest.raises(InputError, match="not the first 300 of the label sheet, which its last complete look has"):
        monitor.new_source("September", later[0], first[1], sheet=first[2])
    with pytest.raises(InputError, match="must be made by its labels, got one by PS-LP"):
        monitor.new_source("September", later[0], monitor.history[0].fresh, sheet=later[2])  # type: ignore[arg-type]
    for name in ("epsilon", "delta"):
        promise: dict[str, Any] = {name: 0.5}
        weaker = replace(later[1], **promise)
        with pytest.raises(InputError, match=f"the certificate has {name}=0.5, the monitor has {name}=0.[01]"):
            monitor.new_source("September", later[0], weaker, sheet=later[2])
    assert monitor._saved is before
    monitor.new_source("September", *first[:2], sheet=first[2])
    sheet = later[2]
    flipped = np.array(sheet.labels)
    flipped[:300] = np.roll(NAMES, 1)[[NAMES.index(each) for each in flipped[:300]]]
    changed = Tally.from_scores(scores[sheet.rows], flipped, classes=NAMES, soft=False)
    with pytest.raises(InputError, match="Labels that were given cannot be changed"):
        monitor.new_source("September", changed, later[1], sheet=sheet.with_labels(flipped))
    assert monitor.source == first[0]


@pytest.mark.parametrize("forever", [False, True])
def test_a_source_of_several_looks_shares_delta_among_them(forever: bool, tmp_path: Path) -> None:
    """Whoever may stop at either of two looks has two sources to choose from; of two such sheets, four."""
    monitor, scores, truth = broken_monitor(forever=forever, state=tmp_path / "watch")
    one_look = Monitor(SOURCE, forever=forever, **PROMISE)
    rows, made, sheet = labelled(scores, truth)
    for number, each in enumerate((monitor, one_look)):
        if each is one_look:
            each.update(month(1, bias=0.0)[0], "August")
            each.update(scores, "September")
        each.new_source("September", rows, made, sheet=None if number else sheet)
        each.update(month(3)[0], "October")
    (split, whole) = (each.history[-1] for each in (monitor, one_look))
    assert split.delta == pytest.approx(whole.delta / 2)
    assert (split.source_looks, whole.source_looks) == (2, 1)
    assert split.fresh is not None
    assert split.fresh.delta == split.delta
    assert split.error is not None
    assert whole.error is not None
    assert split.error[1] - split.error[0] > whole.error[1] - whole.error[0]  # the band is wider, too
    scores, truth = month(3)
    rows, made, sheet = labelled(scores, truth)
    monitor.new_source("October", rows, made, sheet=sheet)
    again = Monitor(SOURCE, forever=forever, **PROMISE, state=tmp_path / "watch")
    assert (again.source_looks, again.source_place, again.source_number) == (4, 2, 2)
    assert again.history[-1].source_looks == 2


def test_the_way_back_to_the_first_source(tmp_path: Path) -> None:
    """September was an exception: with its labels as the source, October is refuted."""
    monitor, scores, truth = broken_monitor(forever=True, state=tmp_path / "watch")
    rows, made, sheet = labelled(scores, truth)
    monitor.new_source("September", rows, made, sheet=sheet)
    usual = month(3, bias=0.0)[0]
    assert monitor.update(usual, "October").verdict == "shift-rejected"
    monitor.first_source()
    again = Monitor(SOURCE, forever=True, **PROMISE, state=tmp_path / "watch")
    assert (again.source, again.source_number, again.source_place, again.source_looks) == (SOURCE, 0, 0, 1)
    report = again.update(usual, "October", replace=True)
    assert report.verdict != "shift-rejected"
    assert (report.number, report.source_number, report.source_looks) == (4, 0, 1)
    assert report.delta == pytest.approx(0.8 * 0.05 / 20)  # its own share, undivided
    with pytest.raises(InputError, match=r"rows of September are no longer the source.*first source was chosen"):
        again.new_source("September", rows, made, sheet=sheet)
    scores, truth = month(6)
    assert again.update(scores, "November").verdict == "shift-rejected"
    rows, made, sheet = labelled(scores, truth)
    again.new_source("November", rows, made, sheet=sheet)
    assert (again.source_periods, again.source_number, again.source_place) == (("November",), 2, 2)


def is_right(report: PeriodReport, in_use: Certificate, mix: Any, truth: Population) -> bool:
    if report.fresh is None or report.error is None or report.prevalence is None:
        return False
    error, fresh = (truth.error(each.thresholds, mix) for each in (in_use, report.fresh))
    said = {"kept": error <= 0.1, "broken": error > 0.1}.get(report.verdict, True)
    contains = report.error[0] <= error <= report.error[1]
    return bool(said and contains and fresh <= 0.1 and report.prevalence.contains(mix).all())


@pytest.mark.montecarlo
@pytest.mark.parametrize("forever", [False, True])
def test_reports_with_the_new_source_are_right(forever: bool) -> None:
    """After a break that is always seen, two reports per stream, delta 5 %: of 40 streams 2 may be wrong."""
    truth = Population(*patients(60_000, [1 / 3] * 3, np.random.default_rng(77), bias=SCANNER))
    wrong, certified_wrong, informative = np.zeros(2, int), 0, 0
    for stream in range(40):
        monitor = Monitor(SOURCE, forever=forever, **PROMISE)
        scores, labels = month(1000 * stream + 1)
        assert monitor.update(scores, "break").verdict == "shift-rejected"
        rows, made, sheet = labelled(scores, labels, looks=())
        monitor.new_source("break", rows, made, sheet=sheet)
        certified_wrong += truth.error(made.thresholds, USUAL) > 0.1
        for place, mix in enumerate((USUAL, [0.6, 0.3, 0.1])):
            report = monitor.update(month(1000 * stream + 2 + place, mix)[0], f"after {place}")
            wrong[place] += not is_right(report, made, mix, truth)
            informative += report.fresh_size is not None and report.fresh_size < 2.5
    assert (wrong <= 5).all()  # P(Binomial(40, 5 %) > 5) is 1.4 %
    assert certified_wrong <= 5
    assert informative >= 30  # of 80, and not because the sets hold everything


LOOKS = (60, 75, 93, 117, 146, 183, 229, 286, 358, 447, 559, 700)


def uniform_rows(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Scores of the true label are uniform, so a threshold is its own miss rate."""
    labels, own = (rng.random(n) < 0.5).astype(int), rng.random(n)
    sick = np.where(labels == 1, own, 1 - own)
    return np.column_stack([1 - sick, sick]), labels


@pytest.mark.montecarlo
@pytest.mark.filterwarnings("ignore")
def test_stopping_by_the_labels_is_paid_for() -> None:
    """Of twelve looks the one is used whose source promises the smallest sets. Lemma 5 allows 18 of 100."""
    rng = np.random.default_rng(7)
    promise: dict[str, Any] = {"epsilon": 0.1, "delta": 0.2}
    old_labels = (rng.random(1000) < 0.5).astype(int)
    sick = rng.beta(np.where(old_labels == 1, 8, 1), np.where(old_labels == 1, 1, 8))
    old = np.column_stack([1 - sick, sick])
    undivided, wrong = 0, 0
    for stream in range(100):
        rng = np.random.default_rng(stream)
        scores, truth = uniform_rows(800, rng)
        sheet = label_sheet(scores, budget=LOOKS[-1], looks=LOOKS[:-1], rng=stream, **promise)
        sources = {look: Tally.from_scores(scores[sheet.rows[:look]], truth[sheet.rows[:look]]) for look in LOOKS}
        hoped = {
            look: calibrate(rows, method="PS-LW", epsilon=0.1, delta=0.8 * 0.2).thresholds.max()
            for look, rows in sources.items()
        }
        look = max(LOOKS, key=hoped.__getitem__)
        filled = sheet.with_labels(truth[sheet.rows[:look]])
        made = calibrate(old, old_labels, scores, labelled=filled, method="PS-T", **promise)
        monitor = Monitor(Tally.from_scores(old, old_labels), method="PS-LW", **promise)
        assert monitor.update(scores, "break").verdict == "shift-rejected"
        monitor.new_source("break", sources[look], made, sheet=filled)
        fresh = monitor.update(uniform_rows(500, rng)[0], "later").fresh
        assert fresh is not None
        undivided += hoped[look] > 0.1
        wrong += fresh.thresholds.max() > 0.1
    assert undivided > 28  # P(Binomial(100, 18 %) > 28) is 0.4 %; it is 34
    assert wrong <= 28
