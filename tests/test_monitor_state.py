"""The state folder: a monitor goes on where it stopped, also when it was killed at the worst moment."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hospital import USUAL, patients, source_tally
from pacshift import InputError, Monitor
from pacshift.monitor.periods import Counted
from pacshift.monitor.state import Delivery, StateFolder

SOURCE = source_tally(4000)
GOOD: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05, "forever": True, "method": "PS-LW"}


def rows(seed: int, n: int = 600) -> Any:
    return patients(n, USUAL, np.random.default_rng(seed))[0]


def facts(monitor: Monitor) -> list[Any]:
    return [
        (report.period, report.number, report.rows, report.verdict, report.error, report.size, report.delta)
        for report in monitor.history
    ]


def test_a_monitor_continues_from_its_folder(tmp_path: Path) -> None:
    alone = Monitor(SOURCE, **GOOD)
    for number, name in enumerate(["May", "June", "May"]):
        alone.update(rows(number), name)
        Monitor(SOURCE, **GOOD, state=tmp_path / "watch").update(rows(number), name)  # a new process each time
    resumed = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    assert facts(resumed) == facts(alone)
    assert resumed.certificate is not None
    assert alone.certificate is not None
    assert resumed.certificate.thresholds.tolist() == alone.certificate.thresholds.tolist()
    fresh = resumed.history[0].fresh
    assert fresh is not None
    assert fresh.method == "PS-LW"  # the fastest; what is certified does not matter here


def test_files_that_are_no_longer_needed_are_removed(tmp_path: Path) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)
    for seed in range(4):
        monitor.update(rows(seed), "May")
    kinds = sorted(path.suffix for path in tmp_path.iterdir())
    assert kinds == [".json", ".json", ".json", ".tally"]  # manifest, in use, fresh; one tally


class Killed(BaseException):
    """Nobody catches it."""


def test_killed_at_any_moment_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rename of the third update fails once; the folder then is as before or as after it."""
    plain_replace = os.replace
    expected = Monitor(SOURCE, **GOOD)
    for seed, name in enumerate(["May", "June", "May"]):
        expected.update(rows(seed), name)
    crashes = 0
    for moment in range(20):
        folder = tmp_path / str(moment)
        before = Monitor(SOURCE, **GOOD, state=folder)
        before.update(rows(0), "May")
        before.update(rows(1), "June")
        left = moment

        def dying(source: Any, target: Any) -> None:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            plain_replace(source, target)

        monkeypatch.setattr(os, "replace", dying)
        try:
            before.update(rows(2), "May")
        except Killed:
            crashes += 1
            monkeypatch.setattr(os, "replace", plain_replace)
            after = Monitor(SOURCE, **GOOD, state=folder)
            counted = after._saved.periods["May"].target.n_target
            assert counted == 600  # rows and report are saved together, so the rows are given again
            after.update(rows(2), "May")
            assert [fact[:4] for fact in facts(after)] == [fact[:4] for fact in facts(expected)]
        else:
            break
    monkeypatch.setattr(os, "replace", plain_replace)
    assert crashes == 3  # tally, certificate and manifest


def test_an_update_writes_the_state_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = StateFolder.write

    def watched(folder: StateFolder, saved: Any) -> None:
        written.append(saved.n_reports)
        write(folder, saved)

    monkeypatch.setattr(StateFolder, "write", watched)
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)
    monitor.update(rows(0), "May")
    monitor.update(rows(1), "June")
    assert written == [1, 2]
    assert [report.empty is not None for report in monitor.history] == [True, True]


def test_a_step_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)

    def wrong() -> None:
        with monitor.one_step():
            monitor.add({"May": Counted(monitor.count(rows(0)))})
            monitor.report("June")

    with pytest.raises(KeyError):
        wrong()
    assert monitor.waiting == ()
    assert Monitor(SOURCE, **GOOD, state=tmp_path).waiting == ()


def test_a_file_is_counted_once() -> None:
    monitor = Monitor(SOURCE, **GOOD)
    monitor.add({"May": Counted(monitor.count(rows(0)))}, Delivery("may.csv", "abc", 600))
    assert monitor.has_counted("copy.csv", "abc")
    assert not monitor.has_counted("june.csv", "def")
    with pytest.raises(InputError, match=r"may\.csv was counted before with other content"):
        monitor.has_counted("may.csv", "def")


def test_other_settings_are_refused(tmp_path: Path) -> None:
    Monitor(SOURCE, **GOOD, state=tmp_path).update(rows(0))
    with pytest.raises(InputError, match=r"other settings.*epsilon"):
        Monitor(SOURCE, **(GOOD | {"epsilon": 0.2}), state=tmp_path)
    with pytest.raises(InputError, match=r"other settings.*known_mix"):
        Monitor(SOURCE, **GOOD, known_mix={"covid": (0, 0.5)}, state=tmp_path)
    with pytest.raises(InputError, match=r"other settings.*source"):
        Monitor(source_tally(4001), **GOOD, state=tmp_path)


def test_foreign_and_damaged_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.json").write_text("{}")
    with pytest.raises(InputError, match=r"holds 'thesis\.json' but no"):
        Monitor(SOURCE, **GOOD, state=tmp_path)
    assert (tmp_path / "thesis.json").exists()
    folder = tmp_path / "watch"
    Monitor(SOURCE, **GOOD, state=folder).update(rows(0))
    manifest = folder / "manifest.json"
    whole = manifest.read_text()
    for damaged in (
        "",
        "{",
        "[]",
        '{"format": "x"}',
        whole.replace('"n_reports"', '"n"'),
        whole.replace("1.tally", "9.tally"),
    ):
        manifest.write_text(damaged)
        with pytest.raises(InputError):
            Monitor(SOURCE, **GOOD, state=folder)
    manifest.write_text(whole)
    (folder / json.loads(whole)["in_use"]).write_text("{}")
    with pytest.raises(InputError):
        Monitor(SOURCE, **GOOD, state=folder)


def test_two_monitors_at_once_do_not_forget_each_others_rows(tmp_path: Path) -> None:
    one, other = (Monitor(SOURCE, **GOOD, state=tmp_path) for _ in range(2))
    one.update(rows(0), "May")
    with pytest.raises(InputError, match="changed by another process"):
        other.update(rows(1), "June")
    assert Monitor(SOURCE, **GOOD, state=tmp_path).history[0].rows == 600


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="state folder"):
        Monitor(SOURCE, **GOOD, state=tmp_path / "file")


def test_odd_names_of_periods_survive(tmp_path: Path) -> None:
    odd = "../Süd / Mai\n2026" + "x" * 300
    Monitor(SOURCE, **GOOD, state=tmp_path / "a").update(rows(0), odd)
    assert Monitor(SOURCE, **GOOD, state=tmp_path / "a").history[0].period == odd
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
