"""How large the house is, and whether it keeps within its budget (scripts/budget.toml).

    python scripts/size.py            # every measure beside its budget
    python scripts/size.py --check    # the same as a check: fails where a budget is exceeded (part of `make lint`)
    python scripts/size.py --once     # besides: private functions that are called once, largest first

What is counted:

- code lines: lines with a token that is no comment and no docstring. The strings under constants and fields are
  documentation too, and are not counted;
- reach: files of src that name a feature;
- bags: local variables and parameters of type `dict[str, Any]`; hops: calls that pass such a bag, or the caller's
  own `**options`, on as `**`. Neither can be checked by mypy;
- walks: different functions of the package that a call goes through, on all threads.
"""

import argparse
import ast
import contextlib
import inspect
import io
import os
import re
import sys
import tempfile
import threading
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src/pacshift"
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
Measures = dict[str, dict[str, int]]


def code_lines(path: Path) -> int:
    """Lines with a token that is no comment and no string that stands alone."""
    text = path.read_text(encoding="utf-8")
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            documentation |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def count_lines() -> Measures:
    """Code lines of the repository's folders, and of each room of the package."""
    folders = ("src", "tests", "benchmarks", "paper", "scripts", "examples")
    rooms = {"(top)": sorted(PACKAGE.glob("*.py"))}
    rooms |= {path.name: modules(path) for path in sorted(PACKAGE.iterdir()) if path.is_dir() and modules(path)}
    return {
        "code lines": {name: sum(map(code_lines, modules(ROOT / name))) for name in folders},
        "code lines of rooms": {name: sum(map(code_lines, paths)) for name, paths in rooms.items()},
    }


def count_reach(features: list[str]) -> dict[str, int]:
    """In how many files of src each feature is named."""
    texts = [path.read_text(encoding="utf-8") for path in modules(ROOT / "src")]
    return {feature: sum(feature in text for text in texts) for feature in features}


def count_bags() -> dict[str, int]:
    """Bags of untyped options, and calls that pass them on."""
    bags, hops = 0, 0
    for path in modules(ROOT / "src"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            parameters = [*function.args.args, *function.args.kwonlyargs]
            names = {each.arg for each in parameters if each.annotation and _is_bag(each.annotation)}
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.AnnAssign)
                    and isinstance(node.target, ast.Name)
                    and _is_bag(node.annotation)
                ):
                    names.add(node.target.id)
            bags += len(names)
            names |= {function.args.kwarg.arg} if function.args.kwarg else set()
            hops += sum(
                keyword.arg is None and isinstance(keyword.value, ast.Name) and keyword.value.id in names
                for node in ast.walk(function)
                if isinstance(node, ast.Call)
                for keyword in node.keywords
            )
    return {"bags": bags, "hops": hops}


def _is_bag(annotation: ast.expr) -> bool:
    return ast.unparse(annotation) in ("dict[str, Any]", "Mapping[str, Any]")


def functions_called_once() -> Iterator[tuple[int, str]]:
    """Private functions and methods that the package names in one place besides their definition."""
    words: Counter[str] = Counter()
    for path in modules(ROOT / "src"):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for path in modules(ROOT / "src"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and re.match("_[a-z]", node.name) and words[node.name] == 2:
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                yield length, f"{path.relative_to(ROOT / 'src')}:{node.lineno} {node.name}"


def count_options() -> dict[str, int]:
    """Options with different names over all commands, and options of the two largest commands."""
    import typer

    from pacshift.cli import app

    program: Any = typer.main.get_command(app)
    options = {
        name: {
            option.opts[0]
            for option in program.get_command(None, name).params
            if option.param_type_name == "option" and option.name != "help"
        }
        for name in program.list_commands(None)
    }
    return {
        "all": len(set().union(*options.values())),
        "calibrate": len(options["calibrate"]),
        "monitor": len(options["monitor"]),
    }


def count_parameters() -> Measures:
    """Parameters of the three largest verbs, and the characters of a signature that `help` shows."""
    import pacshift

    verbs = ("calibrate", "accept", "compare")
    return {
        "parameters": {name: len(inspect.signature(getattr(pacshift, name)).parameters) for name in verbs},
        "characters of a signature": {"calibrate": len(str(inspect.signature(pacshift.calibrate)))},
    }


def functions_of(run: Callable[[], object]) -> set[tuple[str, str]]:
    """The functions of the package that a second run goes through: the first has imported everything."""
    functions: set[tuple[str, str]] = set()

    def note(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<"):
            functions.add((code.co_filename, code.co_qualname))

    run()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return functions


def count_walks() -> dict[str, int]:
    """Functions that six flows walk through, each on its own and together."""
    import pacshift

    population = pacshift.Population.synthetic(3, strength=3, rng=0)
    source, labels = population.draw([0.6, 0.3, 0.1], 2000, rng=1)
    target, truth = population.draw([0.2, 0.3, 0.5], 2000, rng=2)
    certificate = pacshift.calibrate(source, labels, target)
    walks = {
        name: functions_of(lambda name=name: pacshift.calibrate(source, labels, target, method=name))  # type: ignore[misc]
        for name in ("PS", "PS-W", "PS-LP")
    }
    walks["accept"] = functions_of(lambda: pacshift.accept(source, labels, target))
    walks["check"] = functions_of(lambda: pacshift.check(certificate, target, truth))
    walks["sets"] = functions_of(lambda: certificate.sets(target))
    return {name: len(functions) for name, functions in walks.items()} | {
        "together": len(set().union(*walks.values()))
    }


def measure(features: list[str]) -> Measures:
    """All measures, by the names that the budget has."""
    os.environ.setdefault("COLUMNS", "200")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return {
            **count_lines(),
            "reach": count_reach(features),
            "untyped": count_bags(),
            "options": count_options(),
            **count_parameters(),
            "walks": count_walks(),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where a budget is exceeded")
    parser.add_argument("--once", action="store_true", help="private functions that are called once")
    arguments = parser.parse_args()
    budget = tomllib.loads((ROOT / "scripts/budget.toml").read_text(encoding="utf-8"))
    complaints = []
    for group, values in measure(list(budget["reach"])).items():
        print(group)
        for name, value in values.items():
            limit = budget[group].get(name)
            print(f"  {name:24} {value:7,} of {limit if limit is None else format(limit, ',')}")
            if limit is None or value > limit:
                complaints.append(
                    f"{group}, {name}: {value:,}, the budget is {'missing' if limit is None else limit}"
                )
    if arguments.once:
        for length, where in sorted(functions_called_once(), reverse=True):
            print(f"{length:4} {where}")
    if arguments.check and complaints:
        print("\nOver budget (scripts/budget.toml). Delete something, or raise the number and say why:")
        print("\n".join(f"  {line}" for line in complaints))
    return 1 if arguments.check and complaints else 0


if __name__ == "__main__":
    sys.exit(main())
