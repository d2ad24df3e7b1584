"""What every part of the lab shares: the request, progress on the error stream, goals beside what was measured."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

from benchmarks.peers import Stage, full_stage, home_stage

Say: TypeAlias = Callable[[str], None]
Blocks: TypeAlias = Iterator[tuple[str, str]]
"""Markers of the documentation with the Markdown that belongs between them."""

CALIBRATE_GOALS = {"PS": 0.6, "PS-W": 0.7, "PS-LP": 1.0}
"""Largest ratio to the floor at a million rows of 10 classes: argmax of both matrices and one sort."""
SETS_GOAL = 1.3
"""Largest ratio of the sets to the bare comparison."""
COUNT_GOAL = 0.6
"""Smallest throughput of counting a table, relative to a bare scan."""
MEMORY_GOAL = 350
"""Largest peak memory in megabytes, however many rows a table has."""

_Setting = TypeVar("_Setting")


def progress() -> Say:
    """Print one line per step to the error stream, with the seconds since the start."""
    start = time.monotonic()
    return lambda line: print(f"[{time.monotonic() - start:6.0f} s] {line}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Lab:
    """What the command line asked for."""

    small: bool = False
    """Small sizes and no peers: a quick look at whether everything runs."""
    write: bool = False
    """Put tables and figures into the documentation."""
    trials: int | None = None
    rounds: int = 1
    panels: str = ""
    data: str | None = None
    out: Path = Path("out")
    say: Say = field(default_factory=progress)

    def choose(self, full: _Setting, small: _Setting) -> _Setting:
        """The setting of a full or of a small run."""
        return small if self.small else full

    @cached_property
    def stage(self) -> Stage:
        """The libraries that are compared; in a small run only this package."""
        return home_stage() if self.small else full_stage(self.say)


def at_most(ratio: float, limit: float) -> str:
    """A goal and whether the ratio meets it.

    >>> at_most(0.5, 0.6), at_most(0.7, 0.6)
    ('≤ 0.6: met', '≤ 0.6: **missed**')
    """
    return f"≤ {limit:g}: {'met' if ratio <= limit else '**missed**'}"


def at_least(ratio: float, limit: float) -> str:
    """A goal and whether the ratio meets it.

    >>> at_least(0.5, 0.6)
    '≥ 0.6: **missed**'
    """
    return f"≥ {limit:g}: {'met' if ratio >= limit else '**missed**'}"
