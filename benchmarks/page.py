"""Puts measured tables into the documentation page, between the markers of their part."""

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers import ROOT, Stage

PAGE = ROOT / "docs" / "performance.md"


def fill(page: Path, part: str, text: str) -> None:
    """Replace what stands between ``<!-- part:begin -->`` and ``<!-- part:end -->``."""
    begin, end = f"<!-- {part}:begin -->", f"<!-- {part}:end -->"
    content = page.read_text(encoding="utf-8")
    if content.count(begin) != 1 or content.count(end) != 1:
        raise SystemExit(f"{page}: the markers {begin} and {end} must each stand there once.")
    head, rest = content.split(begin)
    tail = rest.split(end)[1]
    page.write_text(f"{head}{begin}\n{text.strip()}\n{end}{tail}", encoding="utf-8")


def conditions(stage: Stage, command: str) -> str:
    """Where and when, and who took part."""
    lines = [
        f"Measured {date.today().isoformat()} by `{command}` on {processor()}, "
        f"Python {platform.python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}."
    ]
    if stage.versions:
        lines.append("Peers: " + ", ".join(f"{name} {number}" for name, number in stage.versions.items()) + ".")
    lines += [f"{name} takes no part: `{reason}`." for name, reason in stage.missing.items()]
    return " ".join(lines)


def processor() -> str:
    """Cores and model, as far as the system tells."""
    try:
        info = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        info = []
    model = next(
        (line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), platform.machine()
    )
    return f"{os.cpu_count()} cores ({model})"
