"""What every part of the lab shares: the request, progress on the error stream, and small helpers."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from benchmarks.peers import Stage, full_stage, home_stage
from pacshift import UninformativeWarning

Say: TypeAlias = Callable[[str], None]
Blocks: TypeAlias = Iterator[tuple[str, str]]
"""Markers of the documentation with the Markdown that belongs between them."""

_Setting = TypeVar("_Setting")


@contextmanager
def quiet() -> Iterator[None]:
    """Sets of all labels are a valid answer: their size says it, so no warning has to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        yield


def first_labels(truth: Any, n_labels: int) -> list[Any]:
    """The labels of the first rows, None for the others: a random sample, because rows come in random order."""
    return [label if place < n_labels else None for place, label in enumerate(truth.tolist())]


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
    panels: str = ""
    data: str | None = None
    out: Path = Path("out")
    say: Say = field(default_factory=progress)

    def choose(self, full: _Setting, small: _Setting) -> _Setting:
        """The setting of a full or of a small run."""
        return small if self.small else full

    def command(self, part: str) -> str:
        """The part with what changes its numbers, as a page names it."""
        return f"{part} --trials {self.trials}" if self.trials else part

    @cached_property
    def stage(self) -> Stage:
        """The libraries that are compared; in a small run only this package."""
        return home_stage() if self.small else full_stage(self.say)
