"""A minute of the soak: the same parts as ``make soak``, smaller. Any finding fails the test."""

import signal
import sys
from pathlib import Path

import pytest

from commands import all_commands
from soak.damage import damage_files, mutate
from soak.damage import outcome as damage_outcome
from soak.disturb import WRITINGS, fill_disks, interrupt_starts, kill_writers, write_together
from soak.outcome import Outcome, as_text
from soak.states import damage_manifests, kill_runs, run_together

pytestmark = [pytest.mark.soak, pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")]
FIRST = 1_000_000  # other cases than those of the full soak


@pytest.fixture(scope="module", autouse=True)
def _interrupts() -> None:
    """In the background of a shell Ctrl-C is ignored, and commands that are started there inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("soak")


def require_nothing_found(*outcomes: Outcome) -> None:
    for found in outcomes:
        assert found.findings == [], found.what


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "npz", "tally", "json"])
def test_damaged_files(kind: str, folder: Path) -> None:
    found = damage_files(kind, 80, folder, FIRST)
    assert found.counts["refused"] > 30
    require_nothing_found(damage_outcome(found))


def test_signals(folder: Path) -> None:
    require_nothing_found(*kill_writers(2, folder, [WRITINGS[place] for place in (0, 2, 4)]))


def test_full_disks(folder: Path) -> None:
    require_nothing_found(*fill_disks(3, folder))


def test_four_writers(folder: Path) -> None:
    require_nothing_found(write_together(20, folder))


def test_damaged_manifests(folder: Path) -> None:
    require_nothing_found(damage_manifests(150, folder, FIRST))


def test_runs_of_the_monitor_at_once_and_killed(folder: Path) -> None:
    require_nothing_found(run_together(1, folder), kill_runs(1, folder))


def test_ctrl_c_at_the_start() -> None:
    require_nothing_found(interrupt_starts(5))


def test_every_command_that_writes_takes_part() -> None:
    writing = {name for name, command in all_commands().items() if any(p.name == "out" for p in command.params)}
    assert writing | {"reproduce"} == {writing.name.split()[0] for writing in WRITINGS}


def test_a_crash_of_the_process_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness has teeth: the case in which the process died is named, and the others are still run."""
    monkeypatch.setenv("SOAK_CRASH", f"{FIRST + 1}")
    found = damage_files("csv", 3, folder, FIRST)
    assert list(found.findings) == [FIRST + 1]
    assert "| 1 |" in as_text([damage_outcome(found)])


def test_damage_is_the_same_every_time() -> None:
    import numpy as np

    made = [mutate(bytes(range(200)), np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
