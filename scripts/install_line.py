"""Write the line that installs pacshift into every page, as ``pacshift.errors.PACKAGE`` says it."""

import re
from collections.abc import Iterator
from pathlib import Path

from pacshift.errors import PACKAGE

ROOT = Path(__file__).resolve().parents[1]
FROM_INDEX = re.compile(r"""(pip install |uv add |uv pip install )(["']?)pacshift(?=[\["'`\s]|$)""", re.MULTILINE)
FROM_CHECKOUT = re.compile(
    r"""(pip install )(["']?)\.(?:/pacshift)?((?:\[[^\]]+\])?)(["']?)(?![\w./\[])"""
    r"((?:`?) in a checkout(?: of pacshift)?| +# (?:in a|where your) checkout(?: of pacshift)?(?: is)?)?"
)


def pages() -> Iterator[Path]:
    """What readers see, and the sources, whose messages they see."""
    for folder, pattern in ((ROOT, "*.md"), (ROOT / "docs", "**/*.md"), (ROOT / "examples", "*")):
        yield from sorted(path for path in folder.glob(pattern) if path.is_file())
    yield from sorted(path for path in (ROOT / "src").rglob("*.py") if path.name != "errors.py")


def rewritten(text: str, package: str = PACKAGE) -> str:
    """A page with the line that fits ``package``: a checkout, or a name on the package index.

    >>> rewritten("Run `pip install 'pacshift[cli]'` first.", ".")
    "Run `pip install '.[cli]'` first."
    >>> rewritten("Run `pip install '.[cli]'` in a checkout of pacshift first.", "pacshift")
    "Run `pip install 'pacshift[cli]'` first."
    """
    if package == ".":
        return FROM_INDEX.sub(r"\1\2.", text)
    return FROM_CHECKOUT.sub(lambda found: _from_index(found, package), text)


def _from_index(line: re.Match[str], package: str) -> str:
    command, opened, extra, closed, where = line.groups()
    return f"{command}{opened}{package}{extra}{closed}{'`' if (where or '').startswith('`') else ''}"


def main() -> None:
    """Rewrite the pages that say something else."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if rewritten(text) != text:
            page.write_text(rewritten(text), encoding="utf-8")
            print(f"rewritten: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
