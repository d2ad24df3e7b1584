"""The state folder: a monitor goes on where it stopped, also when it was killed at the worst moment."""

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates import alter
from hospital import NAMES, USUAL, patients, source_tally
from pacshift import Certificate, InputError, Monitor, Tally
from pacshift.files import writing
from pacshift.files.codec import seal
from pacshift.monitor.periods import CountedRows, Period
from pacshift.monitor.state import State

SOURCE = source_tally(4000)
GOOD: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05, "forever": True, "method": "PS-LW"}


def rows(seed: int, n: int = 600) -> Any:
    return patients(n, USUAL, np.random.default_rng(seed))[0]


def counts(scores: Any) -> Tally:
    return Tally.from_target(scores, classes=NAMES, soft=False)


def deliver(monitor: Monitor, file: Path, parts: dict[str, Any], content: str = "") -> list[str]:
    """Deliver rows of periods in a file, whose bytes have nothing to do with them; what the monitor says."""
    file.write_text(content or str(file))
    found = {name: Period(name, None, None, counts(part)) for name, part in parts.items()}
    rows = CountedRows(found, sum(len(part) for part in parts.values()))
    said: list[str] = []
    monitor.ingest([file], lambda _file, _name: rows, tell=said.append)
    return said


def nothing(_file: Any, _name: Any) -> CountedRows:
    raise AssertionError


def rows_of(monitor: Monitor) -> dict[str, int]:
    return {report.period: report.rows for report in monitor.history}


def is_lock(handle: str, folder: Path) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{handle}") == str(folder / writing.LOCK_NAME)
    except OSError:
        return False


def facts(monitor: Monitor) -> list[Any]:
    return [
        (report.period, report.number, report.rows, report.verdict, report.error, report.size, report.delta)
        for report in monitor.history
    ]


def test_a_monitor_continues_from_its_folder(tmp_path: Path) -> None:
    alone: Any = Monitor(SOURCE, **GOOD)
    for number, name in enumerate(["May", "June", "May"]):
        alone.update(rows(number), name)
        Monitor(SOURCE, **GOOD, state=tmp_path / "watch").update(rows(number), name)  # a new process each time
    resumed: Any = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    assert facts(resumed) == facts(alone)
    assert resumed.certificate.thresholds.tolist() == alone.certificate.thresholds.tolist()
    fresh: Any = resumed.history[0].fresh
    assert fresh.method == "PS-LW"  # the fastest; what is certified does not matter here


def test_files_that_are_no_longer_needed_are_removed(tmp_path: Path) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)
    for seed in range(4):
        monitor.update(rows(seed), "May")
    kinds = sorted(path.suffix for path in tmp_path.iterdir())
    # The lock; manifest, in use, its copy, fresh; one tally.
    assert kinds == ["", ".json", ".json", ".json", ".json", ".tally"]


class Killed(BaseException):
    """Nobody catches it."""


@pytest.mark.slow
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
            assert rows_of(after)["May"] == 600  # rows and report are saved together, so the rows are given again
            after.update(rows(2), "May")
            assert [fact[:4] for fact in facts(after)] == [fact[:4] for fact in facts(expected)]
        else:
            break
    monkeypatch.setattr(os, "replace", plain_replace)
    assert crashes == 3  # tally, certificate and manifest


def test_a_step_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)

    def wrong() -> None:
        with monitor.one_step():
            monitor.update(rows(0), "May")
            monitor.update(rows(0), "June")

    with pytest.raises(InputError, match="counted before"):
        wrong()
    assert (monitor.history, monitor.deliveries) == ((), ())
    assert Monitor(SOURCE, **GOOD, state=tmp_path).history == ()


def test_a_certificate_that_cannot_be_copied_does_not_make_the_monitor_forget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full after the state was written: the same process goes on from the folder."""
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    with monkeypatch.context() as full:
        full.setattr(State, "_copy_current", lambda *_: (_ for _ in ()).throw(OSError("no space left")))
        with pytest.raises(OSError, match="no space"):
            monitor.update(rows(1), "May")
    monitor.update(rows(2), "June")
    again = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    assert list(rows_of(again)) == list(rows_of(monitor)) == ["May", "June"]
    assert (tmp_path / "watch" / "current.json").exists()


def test_rows_are_known_again_in_any_file_and_order(tmp_path: Path) -> None:
    """A file that was written again with the same rows, or copied to another format, has another SHA-256."""
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    may, copy = tmp_path / "may.csv", tmp_path / "copy.parquet"
    assert deliver(monitor, may, {"May": rows(0)}) == []
    same = rows(0)[::-1]
    said = f"{may} holds rows that were counted before. They are not counted again."
    assert deliver(monitor, may, {"May": same}, "again") == [said]
    assert len(deliver(monitor, copy, {"copy": same}, "copied")) == 1
    again = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    for file, content in ((may, "again"), (copy, "copied")):
        assert deliver(again, file, {"May": rows(7)}, content) == []  # its bytes are known, so it is not read
    third = tmp_path / "third.csv"
    said = f"{third} has the same content as {copy}, which was counted. It is not counted again."
    assert deliver(again, third, {"May": rows(7)}, "copied") == [said]
    assert deliver(again, third, {"May": rows(7)}, "copied") == []
    assert rows_of(again) == {"May": 600}
    assert sum(delivery.rows for delivery in again.deliveries) == 600
    with pytest.raises(InputError, match=r"rows of May were counted before .as May, from .*may\.csv., others"):
        deliver(again, tmp_path / "both.csv", {"May": same, "June": rows(1)})
    with pytest.raises(InputError, match=r"may\.csv was counted before with other content.*replace=True"):
        deliver(again, may, {"May": rows(1)}, "other")


def test_an_update_that_is_repeated_changes_nothing() -> None:
    """A script that was killed after the update, before it could note so, gives the rows again."""
    monitor = Monitor(SOURCE, **GOOD)
    first = monitor.update(rows(0), "May")
    assert monitor.update(rows(0), "May") is first
    assert monitor.update(rows(1), "June").number == 2
    with pytest.raises(InputError, match="counted before, as period 'May', not 'July'"):
        monitor.update(rows(0), "July")
    assert [report.rows for report in monitor.history] == [600, 600]


def test_few_rows_that_look_alike_are_not_taken_for_the_same() -> None:
    monitor = Monitor(SOURCE, **GOOD)
    for name in ("Monday", "Tuesday"):
        monitor.update(rows(0)[:5], name)
    assert [report.rows for report in monitor.history] == [5, 5]


def test_default_names_do_not_meet_given_ones() -> None:
    monitor = Monitor(SOURCE, **GOOD)
    monitor.update(rows(0), "2")
    assert monitor.update(rows(1)).period == "3"
    assert [report.rows for report in monitor.history] == [600, 600]


def test_other_settings_are_refused(tmp_path: Path) -> None:
    Monitor(SOURCE, **GOOD, state=tmp_path).update(rows(0))
    with pytest.raises(InputError, match=r"other settings.*epsilon"):
        Monitor(SOURCE, **(GOOD | {"epsilon": 0.2}), state=tmp_path)
    with pytest.raises(InputError, match=r"other settings.*known_mix"):
        Monitor(SOURCE, **GOOD, known_mix={"covid": (0, 0.5)}, state=tmp_path)
    with pytest.raises(InputError, match=r"was begun with another source.*begin another folder"):
        Monitor(source_tally(4001), **GOOD, state=tmp_path)


def test_rows_cut_into_other_periods_are_known_again(tmp_path: Path) -> None:
    """The same visits in another time zone: the last ones of May lie in June."""
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    whole = rows(0)

    def cut(place: int) -> dict[str, Any]:
        parts = {"May": whole[:place], "June": whole[place:]}
        return {name: part for name, part in parts.items() if len(part)}

    assert deliver(monitor, tmp_path / "utc.parquet", cut(300)) == []
    assert len(deliver(monitor, tmp_path / "tokyo.parquet", cut(250))) == 1
    assert len(deliver(monitor, tmp_path / "one.parquet", cut(600))) == 1
    again = Monitor(SOURCE, **GOOD, state=tmp_path / "watch")
    assert rows_of(again) == {"May": 300, "June": 300}
    with pytest.raises(InputError, match="counted before, as period 'several', not 'July'"):
        again.update(whole, "July")
    again.update(rows(3), "May", replace=True)
    assert deliver(again, tmp_path / "new.parquet", {"July": whole}) == []
    assert rows_of(again) == {"May": 600, "June": 300, "July": 600}


def test_a_folder_is_read_as_it_was_begun(tmp_path: Path) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)
    monitor.ingest([], nothing, reading={"period": "month", "group": None})
    again = Monitor(SOURCE, **GOOD, state=tmp_path)
    again.ingest([], nothing, reading={"period": "month", "group": None})
    with pytest.raises(InputError, match="was begun with period='month' and now there is period='week'"):
        again.ingest([], nothing, reading={"period": "week", "group": None})
    with pytest.raises(InputError, match="was begun with no group= and now there is group='visit'"):
        again.ingest([], nothing, reading={"period": "month", "group": "visit"})


def test_foreign_and_damaged_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.json").write_text("{}")
    with pytest.raises(InputError, match=r"holds 'thesis\.json' but no"):
        Monitor(SOURCE, **GOOD, state=tmp_path)
    assert (tmp_path / "thesis.json").exists()
    folder = tmp_path / "watch"
    Monitor(SOURCE, **GOOD, state=folder).update(rows(0))
    manifest = folder / "manifest.json"
    whole = manifest.read_text()
    forged = whole.replace('"n_reports"', '"n"'), whole.replace(".tally", "9.tally")
    for damaged in ("", "{", "[]", '{"format": "x"}', *forged):
        manifest.write_text(damaged)
        with pytest.raises(InputError):
            Monitor(SOURCE, **GOOD, state=folder)
    manifest.write_text(whole)
    (folder / json.loads(whole)["in_use"]["certificate"]).write_text("{}")
    with pytest.raises(InputError):
        Monitor(SOURCE, **GOOD, state=folder)


def test_every_change_of_the_manifest_is_noticed(tmp_path: Path) -> None:
    Monitor(SOURCE, **GOOD, state=tmp_path).update(rows(0))
    manifest = tmp_path / "manifest.json"
    whole = manifest.read_text()
    for was, now in (('"n_reports": 1', '"n_reports": 0'), ('"rows": 600', '"rows": 601'), ("kept", "Kept")):
        assert was in whole
        manifest.write_text(whole.replace(was, now, 1))
        with pytest.raises(InputError, match="does not match its checksum"):
            Monitor(SOURCE, **GOOD, state=tmp_path)
    manifest.unlink()
    with pytest.raises(InputError, match=r"holds 'current\.json' but no manifest\.json"):
        Monitor(SOURCE, **GOOD, state=tmp_path)  # a new life would spend delta again


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: document.update(n_reports=True), "n_reports: True where a count belongs"),
        (lambda document: document["periods"][0].update(target="../1.2.tally"), "not a file of this folder"),
        (lambda document: document["periods"][0].update(target="in-use.1.json"), "where a Tally belongs"),
    ],
)
def test_a_forged_manifest_reads_no_other_files(change: Any, said: str, tmp_path: Path) -> None:
    Monitor(SOURCE, **GOOD, state=tmp_path).update(rows(0))
    manifest = tmp_path / "manifest.json"
    document = json.loads(manifest.read_text())
    change(document)
    manifest.write_text(json.dumps(seal(document)))
    with pytest.raises(InputError, match=re.escape(said)):
        Monitor(SOURCE, **GOOD, state=tmp_path)


def test_two_monitors_at_once_do_not_forget_each_others_rows(tmp_path: Path) -> None:
    one, other = (Monitor(SOURCE, **GOOD, state=tmp_path) for _ in range(2))
    one.update(rows(0), "May")
    assert other.update(rows(1), "June").number == 2  # it begins with what the first has saved
    one.update(rows(2), "July")
    assert [report.number for report in Monitor(SOURCE, **GOOD, state=tmp_path).history] == [1, 2, 3]


def test_a_folder_in_use_is_waited_for_and_then_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "WAIT_SECONDS", 0.1)
    one, other = (Monitor(SOURCE, **GOOD, state=tmp_path) for _ in range(2))
    with one.exclusive():
        with pytest.raises(InputError, match="in use by another process"):
            other.update(rows(0), "May")
        one.update(rows(1), "May")
    assert other.update(rows(0), "June").number == 2


@pytest.mark.parametrize("kept", [False, True])
def test_threads_that_share_a_monitor_lose_nothing(kept: bool, tmp_path: Path) -> None:
    monitor, n_updates = Monitor(SOURCE, **GOOD, state=tmp_path if kept else None), 16

    def update(place: int) -> int | None:
        if place % 4 == 3:  # fails inside of its step, beside others that succeed
            with pytest.raises(InputError, match="counted before"):
                monitor.update(first, f"copy {place}")
            return None
        return monitor.update(rows(place), f"period {place}").number

    monitor.update(first := rows(100), "first")
    with ThreadPoolExecutor(8) as pool:
        numbers = [number for number in pool.map(update, range(n_updates)) if number is not None]
    assert sorted(numbers) == list(range(2, 2 + n_updates * 3 // 4))  # no two spend one share of delta
    again = Monitor(SOURCE, **GOOD, state=tmp_path) if kept else monitor
    names = {f"period {place}" for place in range(n_updates) if place % 4 != 3}
    assert set(rows_of(again)) == {"first"} | names


def test_a_thread_sees_no_half_step_of_another() -> None:
    monitor = Monitor(SOURCE, **GOOD)
    with monitor.one_step(), ThreadPoolExecutor(1) as pool:
        monitor.update(rows(0), "May")
        assert len(monitor.history) == 1
        assert pool.submit(lambda: monitor.history).result(20) == ()  # nor does it wait
    assert len(monitor.history) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("kept", [False, True])
def test_a_child_that_is_forked_in_a_step_is_not_in_it(kept: bool, tmp_path: Path) -> None:
    code = f"""
import os, signal, sys, threading
import numpy as np
from pacshift import Monitor, Tally
scores = np.tile([[0.9, 0.1], [0.2, 0.8]], (200, 1))
source = Tally.from_scores(scores, np.tile([0, 1], 200))
monitor = Monitor(source, epsilon=0.2, delta=0.1, state={str(tmp_path) if kept else None!r})
inside, done = threading.Event(), threading.Event()
def step():
    with monitor.one_step():
        monitor.update(scores[:200], period="May")
        inside.set()
        done.wait(60)
thread = threading.Thread(target=step)
thread.start()
inside.wait(60)
reader, writer = os.pipe()
if not os.fork():
    signal.alarm(30)  # instead of waiting for ever
    os.write(writer, bytes([len(monitor.history)]))
    monitor.update(scores[:100], period="June")
    os.write(writer, bytes([len(monitor.history)]))
    os._exit(0)
assert os.read(reader, 1) == bytes([0])
done.set()
thread.join()
assert os.read(reader, 1) == bytes([{1 + kept}]), "the folder tells what the parent has saved meanwhile"
sys.exit(os.wait()[1] != 0)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=100, check=True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="handles are found in /proc")
def test_a_folder_is_free_after_a_step_although_a_child_was_forked_in_it(tmp_path: Path) -> None:
    """A child has the handle of the lock, too."""
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)
    with monitor.one_step():
        monitor.update(rows(0), "May")
        handle = next(int(name) for name in os.listdir("/proc/self/fd") if is_lock(name, tmp_path))
        of_child = os.dup(handle)
    try:
        assert Monitor(SOURCE, **GOOD, state=tmp_path).update(rows(1), "June").number == 2
    finally:
        os.close(of_child)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda monitor: pickle.loads(pickle.dumps(monitor))])
@pytest.mark.parametrize("kept", [False, True])
def test_a_copy_goes_on_by_itself(kept: bool, copied: Any, tmp_path: Path) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path if kept else None)
    monitor.update(rows(0), "May")
    with monitor.one_step():
        other = copied(monitor)
    files = set(os.listdir(tmp_path))
    assert other.update(rows(1), "June").number == 2
    assert set(rows_of(other)) == {"May", "June"}
    assert files <= set(os.listdir(tmp_path))  # it knows which files are written already
    assert (monitor.update(rows(2), "July").number, len(monitor.history)) == (2 + kept, 2 + kept)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="state folder"):
        Monitor(SOURCE, **GOOD, state=tmp_path / "file")


def test_odd_names_of_periods_survive(tmp_path: Path) -> None:
    odd = "../Süd / Mai\n2026" + "x" * 300
    Monitor(SOURCE, **GOOD, state=tmp_path / "a").update(rows(0), odd)
    assert Monitor(SOURCE, **GOOD, state=tmp_path / "a").history[0].period == odd
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_current_is_the_certificate_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)
    assert monitor.current_file is None
    monitor.update(rows(0), "May")
    june: Any = monitor.update(rows(1), "June")
    current = monitor.current_file
    assert current == tmp_path / "current.json"
    monitor.adopt(june.fresh)
    assert monitor.certificate is june.fresh
    assert Certificate.load(current).thresholds.tolist() == june.fresh.thresholds.tolist()
    current.write_text("damaged")
    Monitor(SOURCE, **GOOD, state=tmp_path)
    assert Certificate.load(current).thresholds.tolist() == june.fresh.thresholds.tolist()


def test_an_adopted_certificate_is_used_until_there_is_another_choice(tmp_path: Path) -> None:
    """The nightly script starts with the same certificate every night."""
    fresh: Any = Monitor(SOURCE, **GOOD).update(rows(0)).fresh
    first = alter(fresh, thresholds=fresh.thresholds / 2)

    def start(certificate: Certificate) -> Monitor:
        return Monitor(SOURCE, **GOOD, state=tmp_path, certificate=certificate)

    monitor: Any = start(first)
    assert monitor.in_use.in_words.startswith("the certificate that was given (PS-LW, epsilon 10 %, made 20")
    may = monitor.update(rows(1), "May")
    assert may.fresh is not None
    monitor.adopt(may.fresh)
    again: Any = start(first).in_use
    assert (again.number, again.choice, again.period) == (2, "adopted", "May")
    assert again.in_words.startswith("the new certificate of May, adopted (PS-LW")
    other = alter(first, thresholds=first.thresholds / 4)
    given: Any = start(other).in_use
    assert (given.number, given.choice, given.period) == (3, "given", None)
    assert start(may.fresh).in_use.number == 4  # type: ignore[union-attr]
    assert start(first).in_use.number == 5  # type: ignore[union-attr]


def test_a_period_is_counted_anew_and_pays_again(tmp_path: Path) -> None:
    monitor = Monitor(SOURCE, **GOOD, state=tmp_path)
    monitor.update(rows(0), "May")
    june = monitor.update(rows(1), "June")
    again = monitor.update(rows(2), "May", replace=True)  # as many rows as before, but others
    assert (again.number, again.rows) == (3, 600)
    assert again.delta < june.delta
    assert [report.period for report in Monitor(SOURCE, **GOOD, state=tmp_path).history] == ["May", "June"]
    assert monitor.update(rows(0), "April").rows == 600  # these rows no longer count in May
    with pytest.raises(InputError, match="no period 'March' to replace"):
        monitor.update(rows(3), "March", replace=True)
