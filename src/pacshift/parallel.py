"""Work on all cores: NumPy and Arrow release the interpreter lock, so threads are enough."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

_Result = TypeVar("_Result")


def map_ordered(jobs: Iterable[Callable[[], _Result]], *, n_ahead: int | None = None) -> Iterator[_Result]:
    """Results in the order of the jobs; only a few jobs run ahead of the reader, so memory stays bounded."""
    n_workers = cores()
    max_waiting = n_workers + 1 if n_ahead is None else n_ahead
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_workers) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(job))
                if len(waiting) > max_waiting:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def run_all(jobs: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """All results, in order. The first of a few jobs runs here: a thread less to start."""
    n_cores = cores()
    if len(jobs) <= 1 or n_cores == 1:
        return [job() for job in jobs]
    if len(jobs) > n_cores:
        return list(map_ordered(jobs))
    with ThreadPoolExecutor(len(jobs) - 1) as pool:
        others = [pool.submit(job) for job in jobs[1:]]
        return [jobs[0](), *(other.result() for other in others)]


def in_background(job: Callable[[], _Result]) -> "Future[_Result]":
    """The future result of a job that is done in a thread, beside what comes next."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(job)
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
