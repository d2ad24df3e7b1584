"""The lab's own tests: the examples in its docstrings, and the markers on its pages."""

import doctest
import importlib
from pathlib import Path

from benchmarks.lab import Blocks, Lab
from benchmarks.page import BLOCKS
from benchmarks.peers import ROOT


def run(lab: Lab) -> Blocks:
    """Fail with a list of what is wrong; print nothing where all is well."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    checked = 0
    for name in modules:
        failed, tried = doctest.testmod(importlib.import_module(f"benchmarks.{name}"))
        checked += tried
        if failed:
            raise SystemExit(f"{failed} of {tried} examples in benchmarks/{name}.py failed.")
    wrong = [f"{page}: {block}" for page, blocks in BLOCKS.items() for block in blocks if not marked(page, block)]
    if wrong:
        raise SystemExit(f"blocks without exactly one pair of markers: {', '.join(wrong)}.")
    lab.say(f"selfcheck: {checked} examples and the markers of {len(BLOCKS)} pages are fine")
    yield from ()


def marked(page: str, block: str) -> bool:
    """Whether a page holds both markers of a block once."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.count(f"<!-- {block}:begin -->") == text.count(f"<!-- {block}:end -->") == 1
