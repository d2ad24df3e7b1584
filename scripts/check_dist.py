"""Look into the wheel and the source archive: only what belongs there, small, no path of the building machine.

Usage: python scripts/check_dist.py dist/*
"""

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 2_000_000
"""Of an archive. Today the wheel has 1.2 MB, 0.7 of them the scores of the demo."""

ALLOWED = re.compile(
    r"(src/)?pacshift/.+\.(py|npz|json|html|css)|(src/)?pacshift/py\.typed|(src/)?pacshift_command\.py"
    r"|pacshift-[\d.]+\.dist-info/[\w./]+|README\.md|LICENSE|CHANGELOG\.md|CITATION\.cff|pyproject\.toml|PKG-INFO"
    r"|\.gitignore"
)
CHECKOUT = Path(__file__).resolve().parents[1]
MACHINE_PATH = re.compile(rb"(/home/|/Users/|[A-Z]:\\Users\\)\w+|file:///|" + re.escape(f"{CHECKOUT}/".encode()))


def contents(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file, names of a source archive without its first folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist())
        return
    with tarfile.open(archive) as source:
        for member in source.getmembers():
            stream = source.extractfile(member)
            yield member.name.partition("/")[2], b"" if stream is None else stream.read()


def faults(archive: Path) -> list[str]:
    """What is wrong with an archive, one line each."""
    problems = []
    if (size := archive.stat().st_size) > MAX_BYTES:
        problems.append(f"{archive.name} has {size:,} bytes, more than {MAX_BYTES:,}")
    names = set()
    for name, content in contents(archive):
        names.add(name.removeprefix("src/"))
        if not ALLOWED.fullmatch(name):
            problems.append(f"{name} does not belong into {archive.name}")
        if not name.endswith(".npz") and (path := MACHINE_PATH.search(content)):
            problems.append(f"{name} in {archive.name} names {path[0].decode()}")
    needed = {"pacshift/__init__.py", "pacshift/py.typed", "pacshift_command.py", "pacshift/report/page.html"}
    return problems + [f"{name} is missing in {archive.name}" for name in sorted(needed - names)]


if __name__ == "__main__":
    wrong = [fault for path in sys.argv[1:] for fault in faults(Path(path))]
    sys.exit("\n".join(wrong) or len(sys.argv) == 1)
