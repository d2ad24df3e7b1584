"""Seconds, cores and memory of a piece of work. Standard library only: every environment can import it."""

import math
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Least and largest seconds of ``repeats`` runs after a warm-up."""
    work()
    seconds, _ = run_times(work, repeats, budget=math.inf)
    return min(seconds), max(seconds)


def run_times(work: Callable[[], Any], repeats: int, budget: float) -> tuple[list[float], float]:
    """Seconds of up to ``repeats`` runs, none begun after ``budget`` seconds in all; how many cores were busy."""
    seconds: list[float] = []
    processor = time.process_time()
    while len(seconds) < repeats and (not seconds or sum(seconds) < budget):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds, (time.process_time() - processor) / max(sum(seconds), 1e-9)


def temporary_memory(work: Callable[[], Any]) -> int:
    """Largest number of bytes that Python and NumPy allocate on top of what is there."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def resident_growth(work: Callable[[], Any]) -> tuple[Any, int]:
    """The answer of ``work`` and how many bytes the process grew at its peak while making it."""
    _reset_peak()
    before = _status("VmRSS") or _peak()
    answer = work()
    return answer, max(_peak() - before, 0)


def _reset_peak() -> None:
    with suppress(OSError):  # elsewhere than on Linux the peak is that of the whole process so far
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(field: str) -> int:
    """A field of /proc/self/status in bytes; 0 where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), 0)
