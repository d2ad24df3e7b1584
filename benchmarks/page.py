"""Put measured tables into the pages of the repository, between the markers of their block."""

import platform
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers import ROOT, Stage
from pacshift.parallel import cores

DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"


def page_of(block: str) -> Path:
    """The page that holds a block: of the site, of the paper, or of results that no page of the site shows.

    >>> page_of("needs").name, page_of("plans").parent.name
    ('how-much-data.md', 'results')
    >>> page_of("nowhere")
    Traceback (most recent call last):
    SystemExit: no page has the markers of the block nowhere
    """
    pages = (*DOCS.rglob("*.md"), *RESULTS.glob("*.md"), *ROOT.glob("paper/*.md"))
    for page in pages:
        if f"<!-- {block}:begin -->" in page.read_text(encoding="utf-8"):
            return page
    raise SystemExit(f"no page has the markers of the block {block}")


def fill(page: Path, block: str, text: str) -> None:
    """Replace what stands between ``<!-- block:begin -->`` and ``<!-- block:end -->``; all else stays.

    >>> import tempfile
    >>> page = Path(tempfile.mkdtemp(), "page.md")
    >>> _ = page.write_text("a\\n<!-- one:begin -->\\nold\\n<!-- one:end -->\\nb\\n")
    >>> for text in ("new", "newer"):
    ...     fill(page, "one", text)
    >>> print(page.read_text().replace("\\n\\n", "\\n"), end="")
    a
    <!-- one:begin -->
    newer
    <!-- one:end -->
    b
    >>> fill(page, "two", "text")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    SystemExit: ...the markers <!-- two:begin --> and <!-- two:end --> must each occur once.
    """
    begin, end = f"<!-- {block}:begin -->", f"<!-- {block}:end -->"
    content = page.read_text(encoding="utf-8")
    if content.count(begin) != 1 or content.count(end) != 1:
        raise SystemExit(f"{page}: the markers {begin} and {end} must each occur once.")
    head, rest = content.split(begin)
    tail = rest.split(end)[1]
    # Blank lines around the text: Markdown reads no table directly below a comment.
    page.write_text(f"{head}{begin}\n\n{text.strip()}\n\n{end}{tail}", encoding="utf-8")


def conditions(part: str, packages: Sequence[str] = ("NumPy", "SciPy"), stage: Stage | None = None) -> str:
    """Where and when a part was measured, and with whom.

    >>> text = conditions("speed", stage=Stage({}, {"MAPIE": "1.6.0"}, {"puncc": "ERROR: no wheel"}))
    >>> "by `python -m benchmarks speed` on" in text, text[-67:]
    (True, 'Peers: MAPIE 1.6.0. puncc could not be measured: `ERROR: no wheel`.')
    """
    versions = [f"{name} {version(name.lower())}" for name in packages]
    lines = [
        f"Measured {date.today().isoformat()} by `python -m benchmarks {part}` on {processor()}, "
        f"Python {platform.python_version()}, {', '.join(versions)}."
    ]
    if stage and stage.versions:
        lines.append("Peers: " + ", ".join(f"{name} {number}" for name, number in stage.versions.items()) + ".")
    if stage:
        lines += [f"{name} could not be measured: `{reason}`." for name, reason in stage.missing.items()]
    return " ".join(lines)


def report(
    part: str, *texts: str, packages: Sequence[str] = ("NumPy", "SciPy"), stage: Stage | None = None
) -> str:
    """What a part writes into its block: the conditions, then tables and paragraphs."""
    return "\n\n".join([conditions(part, packages, stage), *(text.strip() for text in texts if text)])


def processor() -> str:
    """Cores and model, as far as the system says."""
    try:
        info = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        info = []
    models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return f"{cores()} cores ({models[0] if models else platform.machine()})"
