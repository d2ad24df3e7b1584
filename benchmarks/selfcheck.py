"""The lab's own tests: the examples in its docstrings."""

import doctest
import importlib
from pathlib import Path

from benchmarks.lab import Blocks, Lab


def run(lab: Lab) -> Blocks:
    """Fail with a list of what is wrong; print nothing where all is well."""
    checked = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        failed, tried = doctest.testmod(importlib.import_module(f"benchmarks.{path.stem}"))
        checked += tried
        if failed:
            raise SystemExit(f"{failed} of {tried} examples in benchmarks/{path.name} failed.")
    lab.say(f"selfcheck: {checked} examples are fine")
    yield from ()
