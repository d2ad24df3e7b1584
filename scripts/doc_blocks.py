"""Generated parts of Markdown pages: the text between two comments that name the block."""

from pathlib import Path


def replace_block(page: Path, name: str, text: str) -> None:
    """Put ``text`` between ``<!-- name:start ... -->`` and ``<!-- name:end -->`` of ``page``."""
    content = page.read_text(encoding="utf-8")
    opening = content.index(f"<!-- {name}:start")
    start = content.index("-->", opening) + len("-->")
    end = content.index(f"<!-- {name}:end -->", start)
    page.write_text(f"{content[:start]}\n\n{text.strip()}\n\n{content[end:]}", encoding="utf-8")
