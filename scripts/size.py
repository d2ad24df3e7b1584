"""How large the house is: code lines, modules, options, and how many functions a call walks through.

    python scripts/size.py            # code lines and modules; options of all commands; three walks
    python scripts/size.py --rooms    # besides: lines and modules of each folder of src
    python scripts/size.py --once     # besides: private functions that are called once, largest first

A code line is one with a token that is not a comment, a docstring or a line break.
"""

import argparse
import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(path: Path) -> int:
    """Lines with a token that is not comment, docstring or blank."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def row(name: str, paths: Iterable[Path]) -> str:
    sizes = [code_lines(path) for path in paths]
    return f"{name:24} {len(sizes):4} modules {sum(sizes):7,} code lines"


def called_once() -> Iterator[tuple[int, str]]:
    """Private functions and methods that the package names in one place besides their definition."""
    words: Counter[str] = Counter()
    for path in modules(ROOT / "src"):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for path in modules(ROOT / "src"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and re.match("_[a-z]", node.name) and words[node.name] == 2:
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                yield length, f"{path.relative_to(ROOT / 'src')}:{node.lineno} {node.name}"


def options() -> tuple[int, int, int]:
    """Commands, options over all commands, and those with a different name."""
    import typer

    from pacshift.cli import app

    program: Any = typer.main.get_command(app)
    found: list[str] = []
    names = program.list_commands(None)
    for name in names:
        given = program.get_command(None, name).params
        found += [
            option.opts[0] for option in given if option.param_type_name == "option" and option.name != "help"
        ]
    return len(names), len(found), len(set(found))


def walk(run: Callable[[], object]) -> str:
    """Calls, functions and files of the package during a second run: the first has imported everything."""
    import pacshift

    home = str(Path(pacshift.__file__).parent)
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(home) and not code.co_name.startswith("<"):
            calls[code.co_filename, code.co_qualname] += 1

    run()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return f"{sum(calls.values()):6,} calls {len(calls):4} functions {len({file for file, _ in calls}):4} files"


def walks() -> Iterator[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from typer.testing import CliRunner

    import pacshift
    from pacshift.cli import app

    def command(*words: str) -> None:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output

    population = pacshift.Population.synthetic(3, strength=3, rng=0)
    source, labels = population.draw([0.6, 0.3, 0.1], 2000, rng=1)
    target, _ = population.draw([0.2, 0.3, 0.5], 2000, rng=2)
    yield "calibrate in memory      " + walk(lambda: pacshift.calibrate(source, labels, target))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):

        def save(name: str, scores: Any, **others: Any) -> None:
            pq.write_table(pa.table({f"p_{k}": scores[:, k] for k in range(3)} | others), name)

        save("s.parquet", source, label=labels)
        save("t.parquet", target)
        save("january.parquet", target[:1000])
        save("february.parquet", target[1000:])
        calibrate = ("calibrate", "s.parquet", "t.parquet", "-o", "c.json", "--force")
        yield "calibrate on Parquet     " + walk(lambda: command(*calibrate))
        periods = ("monitor", "s.parquet", "january.parquet", "february.parquet", "--force")
        runs = iter(("one", "two"))  # a state of its own for each run, or the second has nothing to do
        yield "monitor, two periods     " + walk(lambda: command(*periods, "--state", next(runs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rooms", action="store_true", help="lines and modules of each folder of src")
    parser.add_argument("--once", action="store_true", help="private functions that are called once")
    asked = parser.parse_args()
    for name in ("src", "paper", "tests", "benchmarks", "scripts", "examples"):
        if (ROOT / name).is_dir():
            print(row(name, modules(ROOT / name)))
    if asked.rooms:
        package = ROOT / "src/pacshift"
        print(row("  (top)", package.glob("*.py")))
        for folder in sorted(path for path in package.iterdir() if path.is_dir() and modules(path)):
            print(row(f"  {folder.name}/", modules(folder)))
    if asked.once:
        for length, where in sorted(called_once(), reverse=True):
            print(f"{length:4} {where}")
    os.environ.setdefault("COLUMNS", "200")
    print("{:3} commands, {} options ({} names)".format(*options()))
    for line in walks():
        print(line)


if __name__ == "__main__":
    main()
