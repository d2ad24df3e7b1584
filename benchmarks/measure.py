"""Seconds, cores and memory of a piece of work. Standard library only: every environment can import it."""

import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def seconds_of(work: Callable[[], Any]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Least and largest seconds of ``repeats`` runs after a warm-up."""
    work()
    seconds, _ = run_times(work, repeats, budget=math.inf)
    return min(seconds), max(seconds)


def run_times(work: Callable[[], Any], repeats: int, budget: float) -> tuple[list[float], float]:
    """Seconds of up to ``repeats`` runs, and how many cores were busy; none begins after ``budget`` seconds.

    >>> len(run_times(lambda: None, 3, budget=math.inf)[0]), len(run_times(lambda: None, 3, budget=0.0)[0])
    (3, 1)
    """
    seconds: list[float] = []
    processor = time.process_time()
    while len(seconds) < repeats and (not seconds or sum(seconds) < budget):
        seconds.append(seconds_of(work))
    return seconds, (time.process_time() - processor) / max(sum(seconds), 1e-9)


def temporary_memory(work: Callable[[], Any]) -> int:
    """Largest number of bytes that Python and NumPy allocate on top of what exists already."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def resident_growth(work: Callable[[], Any]) -> tuple[Any, int]:
    """The answer of ``work``, and how many bytes the process grew at its peak while computing it."""
    with suppress(OSError):  # elsewhere than on Linux the peak is that of the whole process so far
        Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS") or peak_memory()
    answer = work()
    return answer, max(peak_memory() - before, 0)


def peak_memory() -> int:
    """Largest number of bytes the process had. ``ru_maxrss`` on Linux starts at what the parent had."""
    found = _status("VmHWM")
    if found or sys.platform == "win32":  # Windows has neither; 0 stands for unknown
        return found
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(field: str) -> int:
    """A field of /proc/self/status in bytes; 0 where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), 0)


def megabytes(size: float) -> str:
    """Bytes for a table.

    >>> megabytes(1.2e9)
    '1,200 MB'
    """
    return f"{size / 1e6:,.0f} MB"
