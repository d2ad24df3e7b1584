"""Work on all cores: NumPy and Arrow release the interpreter lock, so threads are enough."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from itertools import pairwise
from threading import RLock
from typing import Any, TypeVar

from pacshift.arrays import scipy

_Result = TypeVar("_Result")


def map_in_order(jobs: Iterable[Callable[[], _Result]], *, n_ahead: int | None = None) -> Iterator[_Result]:
    """Results in the order of the jobs; only a few jobs run ahead of the reader, so memory stays bounded."""
    n_workers = cores()
    max_waiting = n_workers + 1 if n_ahead is None else n_ahead
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_workers) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(copy_context().run, job))
                if len(waiting) > max_waiting:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def run_all(jobs: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """All results, in order, or the error of the first job that fails.

    This thread works as well: one thread less to start, and none that only waits.
    """
    n_workers = min(cores(), len(jobs))
    if n_workers <= 1:
        return [job() for job in jobs]
    waiting = deque(enumerate(jobs))
    results: dict[int, _Result] = {}
    errors: dict[int, BaseException] = {}

    def work() -> None:
        while waiting and not errors:
            try:
                place, job = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                results[place] = job()
            except BaseException as error:
                errors[place] = error

    with ThreadPoolExecutor(n_workers - 1) as pool:
        for _ in range(n_workers - 1):
            pool.submit(copy_context().run, work)
        try:
            work()
        finally:
            waiting.clear()  # after Ctrl-C there are some left
    if errors:
        raise errors[min(errors)]  # jobs are taken in order, so that all before it were done
    return [results[place] for place in range(len(jobs))]


def in_background(job: Callable[[], _Result]) -> "Future[_Result]":
    """The future result of a job that is done in a thread, beside what comes next."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(copy_context().run, job)
    finally:
        pool.shutdown(wait=False)


def even_slices(size: int, least: int) -> list[slice]:
    """``range(size)`` in as many even parts as there are cores, fewer where they would be shorter than ``least``.

    >>> even_slices(10, 20)
    [slice(0, 10, None)]
    """
    n_parts = max(1, min(cores(), size // max(least, 1)))
    ends = [size * part // n_parts for part in range(n_parts + 1)]
    return [slice(start, end) for start, end in pairwise(ends)]


def cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _libraries() -> Any:
    """The libraries of this process that have threads; to look for them takes some milliseconds.

    SciPy has a BLAS of its own, which is only found once it is loaded. Without it the search for corrections of
    100 classes takes five times as long. While another thread loads SciPy, this one waits.
    """
    from threadpoolctl import ThreadpoolController

    _ = scipy.special
    return ThreadpoolController()


class _Blas:
    """How many callers want one thread, and what gives the other threads back."""

    lock = RLock()
    n_inside = 0
    limits: Any = None


if hasattr(os, "register_at_fork"):  # as for SciPy, whose lock is taken inside of this one, here and at forks
    os.register_at_fork(
        before=_Blas.lock.acquire, after_in_parent=_Blas.lock.release, after_in_child=_Blas.lock.release
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Inside, NumPy's algebra works on one thread; what is outside gets its threads back when the last one leaves.

    Our matrices have a few dozen rows. On two threads of BLAS a QR of 400 x 50 numbers takes eighty times as long
    beside another process, because the threads wait for each other.
    """
    with _Blas.lock:
        if not _Blas.n_inside:
            _Blas.limits = _libraries().limit(limits=1, user_api="blas")
        _Blas.n_inside += 1
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.n_inside -= 1
            if not _Blas.n_inside:
                _Blas.limits.restore_original_limits()
