"""Work on all cores: results in order, the first error, nothing left running."""

import functools
import os
import re
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import pacshift
from pacshift import parallel
from pacshift.arrays import cached_property
from pacshift.parallel import even_slices, one_blas_thread, run_all


@pytest.mark.parametrize("n_cores", [1, 2, 5])
@pytest.mark.parametrize("n_jobs", [0, 1, 2, 40])
def test_results_come_in_the_order_of_the_jobs(n_jobs: int, n_cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: n_cores)

    def job(place: int) -> int:
        time.sleep(0.001 * (place % 3))
        return place

    assert run_all([partial(job, place) for place in range(n_jobs)]) == list(range(n_jobs))


@pytest.mark.parametrize("n_cores", [1, 2, 5])
def test_the_error_is_that_of_the_first_job_that_fails(n_cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: n_cores)
    done: list[int] = []

    def job(place: int) -> None:
        time.sleep(0.02 if place == 3 else 0.0)  # a later job fails earlier
        if place >= 3:
            raise ValueError(f"job {place}")
        done.append(place)

    with pytest.raises(ValueError, match="job 3"):
        run_all([partial(job, place) for place in range(100)])
    assert sorted(done) == [0, 1, 2]


def test_no_job_starts_after_an_interrupt_and_no_thread_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    started: list[int] = []

    def job(place: int) -> None:
        started.append(place)
        if place == 1:
            raise KeyboardInterrupt
        time.sleep(0.01)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_all([partial(job, place) for place in range(50)])
    assert len(started) <= 4
    assert threading.active_count() == before


def test_slices_are_even_and_cover_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    parts = even_slices(100, 10)
    assert [place for part in parts for place in range(100)[part]] == list(range(100))
    assert len(parts) == 3


def test_small_algebra_has_one_thread_until_the_last_caller_leaves() -> None:
    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    np.linalg.norm(np.eye(2))
    first, second = one_blas_thread(), one_blas_thread()
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("threads of this BLAS cannot be set")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # another thread's call ends first
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


def test_the_first_call_never_waits_for_an_import_in_another_thread() -> None:
    """Locks of interpreter and loader are taken in one order: threadpoolctl before 3.7 hung here every time."""
    code = """
import threading
import numpy
from pacshift import parallel
from pacshift.arrays import cached_property
load = threading.Thread(target=lambda: __import__("scipy.special"))
load.start()
for _ in range(20):
    parallel._libraries.cache_clear()
    with parallel.one_blas_thread():
        pass
load.join()
"""
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_algebra_of_scipy_has_one_thread_even_if_it_is_loaded_later() -> None:
    code = """
import numpy
from threadpoolctl import threadpool_info
from pacshift.parallel import one_blas_thread
with one_blas_thread():
    import scipy.linalg
    print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
"""
    env = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("{1}", "set()")  # set(): threads of this BLAS cannot be seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_is_forked_while_scipy_is_loaded_can_calibrate() -> None:
    """A first call that fails leaves the loading thread behind; a service may fork next."""
    code = """
import os, signal, sys, time
import numpy as np
from pacshift import InputError, calibrate
try:
    calibrate(np.full((10, 2), np.nan), np.zeros(10, int))
except InputError:
    pass
while "scipy" not in sys.modules:
    time.sleep(0.001)
if not os.fork():
    signal.alarm(50)  # instead of waiting for ever
    scores = np.tile([[0.9, 0.1], [0.2, 0.8]], (500, 1))
    calibrate(scores, np.tile([0, 1], 500), scores)
    os._exit(0)
sys.exit(os.wait()[1])
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=100, check=True)


def test_threads_do_not_wait_for_each_others_cached_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 has one lock for all objects of a class."""
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    meet = threading.Barrier(2, timeout=20)

    class Slow:
        @cached_property
        def value(self) -> int:
            return meet.wait()

    assert sorted(run_all([lambda one=one: one.value for one in (Slow(), Slow())])) == [0, 1]  # type: ignore[misc]
    assert isinstance(Slow.value, functools.cached_property)


def test_every_cached_property_is_the_one_without_a_lock() -> None:
    """A child that is forked while another thread computes one of the others waits for ever on Python 3.11."""
    modules = {file.name: file.read_text("utf-8") for file in Path(pacshift.__file__).parent.rglob("*.py")}
    of_python = re.compile(r"functools\.cached_property|from functools import .*cached_property")
    locked = [name for name, text in modules.items() if name != "arrays.py" and of_python.search(text)]
    assert len(modules) > 100
    assert locked == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_is_forked_while_a_tally_is_looked_at_can_look_at_it() -> None:
    code = """
import os, signal, sys, threading
import numpy as np
from pacshift import Tally
from pacshift.tally.cells import Cells
tally = Tally.from_scores(np.tile([[0.9, 0.1], [0.2, 0.8]], (50, 1)), np.tile([0, 1], 50))
inside, done, table = threading.Event(), threading.Event(), Cells.table
def slow(cells, n_classes):
    inside.set()
    done.wait(60)
    return table(cells, n_classes)
Cells.table = slow
thread = threading.Thread(target=lambda: tally.confusion)
thread.start()
inside.wait(60)
Cells.table = table
if not os.fork():
    signal.alarm(10)  # instead of waiting for ever
    os._exit(int(tally.confusion.sum() != 100))
status = os.wait()[1]
done.set()
thread.join()
sys.exit(status != 0)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=100, check=True)
