"""What every part of the lab shares: the request, and progress on the error stream."""

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
