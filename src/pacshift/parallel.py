"""Work on all cores: NumPy and Arrow release the interpreter lock, so threads are enough."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")


def map_ordered(jobs: Iterable[Callable[[], _Result]]) -> Iterator[_Result]:
    """Results in the order of the jobs; only a few jobs run ahead of the reader, so memory stays bounded."""
    n_workers = cores()
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_workers) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(job))
                if len(waiting) > n_workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def run_all(jobs: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """All results, in order; one job alone runs here, without a thread."""
    return [job() for job in jobs] if len(jobs) == 1 or cores() == 1 else list(map_ordered(jobs))


def cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
