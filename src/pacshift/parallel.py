"""Work on all cores: NumPy and Arrow release the lock, so threads are enough."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")


def map_ordered(jobs: Iterator[Callable[[], _Result]]) -> Iterator[_Result]:
    """Results in order; a few jobs are ahead of the reader, never all of them."""
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


def cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
