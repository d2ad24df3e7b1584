"""Files that were forged, with seals made again: refused with a message, or read and then used without a crash.

Seeded: the same files every time. The soak runs many more.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from damage import pick
from forge import certificate_bytes, forge, manifest_bytes, sheet_bytes, sheet_document, trial
from pacshift import (
    Certificate,
    InputError,
    LabelSheet,
    Monitor,
    Rows,
    Tally,
    accept,
    calibrate,
    check,
    label_sheet,
    next_labels,
    verify,
)
from pacshift.certificate.file import to_document
from pacshift.monitor.report import write_history
from pacshift.report.build import render_report
from pacshift.report.history import render_history

CLASSES = ("ant", "bee", "cow")
TIMES = [1, pytest.param(50, marks=pytest.mark.soak)]
"""How many times the cases of the default run."""


def rows(n_rows: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])
    scores = np.exp(rng.normal(size=(n_rows, 3)) + 3 * np.eye(3)[labels])
    return np.round(scores / scores.sum(axis=1, keepdims=True), 6), labels


SOURCE, TARGET, FRESH = rows(600, 1), rows(600, 2), rows(200, 3)


def named(labels: Any) -> Any:
    return np.array(CLASSES)[labels]


@cache
def certificates() -> list[dict[str, Any]]:
    """Documents of all kinds of rules and fields."""
    names = named(SOURCE[1])
    rates: dict[str, Any] = {"epsilon": 0.1, "delta": 0.1, "classes": CLASSES, "rng": 0}
    sheet = label_sheet(TARGET[0], budget=120, epsilon=0.1, delta=0.1, rng=0)
    sheet = sheet.with_labels(named(TARGET[1])[sheet.rows])
    options: list[dict[str, Any]] = [
        {"method": "PS"},
        {"method": "PS-W", "class_epsilon": 0.3},
        {"method": "PS-LP", "contamination": 0.01},
        {"method": "PS-LW", "score": "margin"},
        {"method": "PS-T", "labelled": sheet},
    ]
    made = [calibrate(SOURCE[0], names, TARGET[0], **rates, **each) for each in options]
    made[2] = made[2].annotate(model_id="net", note="x", valid_until="2027-01-31")
    grouped = Rows(SOURCE[0], names, groups=np.arange(600) // 2), Rows(TARGET[0], groups=np.arange(600) // 3)
    made.append(calibrate(*grouped, **rates, method="WCP"))
    made[3] = made[3].without_empty_sets()
    made.append(accept(SOURCE[0], names, TARGET[0], error=0.1, delta=0.1, classes=CLASSES, rng=0))
    return [to_document(one.with_set_sizes(TARGET[0])) for one in made]


def explain(certificate: Certificate) -> None:
    for text in (certificate.explain(), certificate.explain(full=True), repr(certificate)):
        assert text
    certificate._repr_html_()


CERTIFICATE_USES: dict[str, Callable[[Certificate], object]] = {
    "explain": explain,
    "sets": lambda made: (made.sets(FRESH[0]), made.labels(FRESH[0])),
    "check": lambda made: check(made, FRESH[0], named(FRESH[1])),
    "verify": lambda made: verify(made, SOURCE[0], named(SOURCE[1]), TARGET[0]),
    "report": render_report,
    "SQL": lambda made: made.to_sql(),
    "predictor": lambda made: made.predictor().labels(FRESH[0][0]),
    "again": lambda made: to_document(made),
}


@pytest.mark.parametrize("times", TIMES)
def test_forged_certificates(times: int, tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    path = tmp_path / "forged.json"
    for case in range(30 * times):
        rng = np.random.default_rng([11, case])
        document = certificates()[case % len(certificates())]
        path.write_bytes(certificate_bytes(forge(document, rng), rng))
        found[trial(lambda: Certificate.load(path), *CERTIFICATE_USES.values())] += 1
    assert min(found["refused"], found["used"]) > 1


@cache
def sheets() -> list[dict[str, Any]]:
    """Documents of sheets: whole, up to a look, before the first one, blank, with gaps, and marked."""
    made = []
    names = named(TARGET[1])
    for looks, n_filled in (((), 120), ((80,), 90), ((80,), 60), ((), 0)):
        sheet = label_sheet(TARGET[0], budget=120, looks=looks, delta=0.1, rng=0, keep={"id": np.arange(600)})
        made.append(sheet.with_labels(names[sheet.rows][:n_filled]))
    sheet = label_sheet(TARGET[0], budget=150, delta=0.1, rng=0)
    sheet = sheet.with_labels(
        [name if place < sheet.n_pilot or place % 3 else None for place, name in enumerate(names[sheet.rows])]
    )
    made += [sheet, next_labels(*ROWS, labelled=sheet, classes=CLASSES).sheet]
    return [sheet_document(one) for one in made]


ROWS = (SOURCE[0], named(SOURCE[1]), TARGET[0])
SHEET_USES: dict[str, Callable[[LabelSheet], object]] = {
    "look at": lambda sheet: (repr(sheet), sheet.looks_in_reach, sheet.cuts(0.1), sheet.label_index(CLASSES)),
    "go on": lambda sheet: next_labels(*ROWS, labelled=sheet, classes=CLASSES),
    "certify": lambda sheet: calibrate(
        *ROWS, labelled=sheet, classes=CLASSES, method="PS-T", epsilon=sheet.epsilon, delta=sheet.delta
    ),
    "sharpen": lambda sheet: calibrate(*ROWS, labelled=sheet, classes=CLASSES, delta=0.1),
}


@pytest.mark.parametrize("times", TIMES)
def test_forged_label_sheets(times: int, tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    path = tmp_path / "forged.csv"
    for case in range(60 * times):
        document = sheets()[case % len(sheets())]
        path.write_bytes(sheet_bytes(forge(document, np.random.default_rng([12, case]))))
        found[trial(lambda: LabelSheet.load(path), *SHEET_USES.values())] += 1
    assert min(found["refused"], found["used"]) > 1


@pytest.mark.parametrize(
    "head",
    [
        {"looks": [2**31, 120]},
        {"looks": [80, 80, 120]},
        {"looks": [0, 120]},
        {"pilot": -1},
        {"pilot": 120},
        {"epsilon": 1},
        {"delta": 0.0},
        {"delta": float("nan")},
    ],
    ids=str,
)
def test_a_sheet_whose_plan_cannot_be_is_refused(head: Mapping[str, Any], tmp_path: Path) -> None:
    document = sheets()[0]
    (tmp_path / "a.csv").write_bytes(sheet_bytes({**document, "head": {**document["head"], **head}}))
    with pytest.raises(InputError, match=r"first line was changed \((looks must increase|epsilon|delta)"):
        LabelSheet.load(tmp_path / "a.csv")


SETTINGS: dict[str, Any] = {"epsilon": 0.2, "delta": 0.2, "method": "PS-LW", "forever": True}


@cache
def counted_source() -> Tally:
    return Tally.from_scores(SOURCE[0], named(SOURCE[1]), classes=CLASSES)


def write_state(folder: Path) -> None:
    """The state of a monitor after three months, of which one was reported twice and one is missing."""
    monitor = Monitor(counted_source(), **SETTINGS, state=folder)
    for number, month in enumerate((1, 2, 4)):
        days: Any = {"start": f"2026-0{month}-01", "end": f"2026-0{month}-28"}
        monitor.update(rows(300, 10 + number)[0], f"2026-0{month}", **days)
    monitor.update(rows(100, 20)[0], "2026-02")


def report_and_adopt(monitor: Monitor) -> None:
    monitor.update(rows(200, 21)[0], "2026-05", start="2026-05-01", end="2026-05-31")
    monitor.update(rows(100, 22)[0], "2026-04")
    monitor.adopt(monitor.history[0].fresh)


def look_at(monitor: Monitor) -> None:
    repr([(report, report.missed, report.alert) for report in monitor.history])
    repr((monitor.deliveries, monitor.open_reports, monitor.gaps()))
    monitor.warnings()
    if monitor.in_use is not None:
        assert monitor.in_use.in_words


def write_tables(monitor: Monitor, folder: Path) -> None:
    for name in ("monitor.prom", "monitor.csv"):
        write_history(monitor.history, folder / name)


@pytest.mark.parametrize("times", TIMES)
def test_forged_states_of_a_monitor(times: int, tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    state = tmp_path / "state"
    write_state(state)
    files = {path.name: path.read_bytes() for path in state.iterdir()}
    documents = {name: json.loads(content) for name, content in files.items() if name.endswith(".json")}
    for case in range(24 * times):
        rng = np.random.default_rng([13, case])
        name = "manifest.json" if case % 4 else pick(rng, documents)
        for path in state.iterdir():
            path.unlink()
        for each, content in (files | {name: manifest_bytes(forge(documents[name], rng), rng)}).items():
            (state / each).write_bytes(content)
        found[
            trial(
                lambda: Monitor(counted_source(), **SETTINGS, state=state),
                look_at,
                partial(write_tables, folder=tmp_path),
                report_and_adopt,
                *([render_history] if case % 3 == 0 else []),
                lambda _: Monitor(counted_source(), **SETTINGS, state=state),
            )
        ] += 1
    assert min(found["refused"], found["used"]) > 1


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("periods", 0, "set_sizes"), [300]),
        (("periods", 0, "set_sizes"), [1, 0, 0, 0]),
        (("n_files",), "6"),
        (("serial",), [3]),
        (("settings",), [0.2]),
        (("periods", 0, "report", "size"), 10**400),
        (("periods", 0, "report", "size"), 1e300),
        (("periods", 0, "report", "error"), [0.0, 1e308]),
        (("periods", 0, "report", "epsilon"), 1.5),
        (("periods", 0, "report", "delta"), 0.0),
        (("periods",), [{}]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_manifest_that_no_monitor_writes_is_refused(way: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    write_state(tmp_path / "state")
    manifest = tmp_path / "state" / "manifest.json"
    document = json.loads(manifest.read_bytes())
    place = document
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = value
    manifest.write_bytes(manifest_bytes(document))
    with pytest.raises(InputError, match="is not the state of a monitor"):
        Monitor(counted_source(), **SETTINGS, state=tmp_path / "state")
