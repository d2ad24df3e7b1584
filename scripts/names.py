"""Whether functions are verbs and variables say what they hold (part of `make lint`).

A function whose name ends in a participle ("merged", "told") reads like a property or an adjective, so only
properties may have such a name. A variable is named after what it holds, not after the act that produced it.
Comprehensions and lambdas are short enough for any name.

    python scripts/names.py
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILLERS = {"asked", "found", "given", "made", "one", "own", "said", "told"}
NOUNS = {"need", "seed", "speed"}
"""Words that end in -ed and are no participles."""


def bad_names(path: Path) -> Iterator[tuple[int, str]]:
    """Line and complaint of each name in a module that breaks a rule."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    loops = [node.target for node in nodes if isinstance(node, ast.comprehension)]
    in_comprehensions = {name for target in loops for name in ast.walk(target)}
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name, decorator_list=decorators):
                is_property = any("property" in ast.unparse(each) for each in decorators)
                last = name.rstrip("_").rsplit("_", 1)[-1]
                if last.endswith("ed") and last not in NOUNS and not is_property and not name.endswith("__"):
                    yield node.lineno, f"{name} is no verb: say what the function does to what"
                for argument in ast.walk(node.args):
                    if isinstance(argument, ast.arg) and argument.arg in FILLERS:
                        yield argument.lineno, f"{argument.arg}: name the parameter after what it holds"
            case ast.Name(id=name, ctx=ast.Store()) if name in FILLERS and node not in in_comprehensions:
                yield node.lineno, f"{name}: name the variable after what it holds"


def main() -> int:
    paths = [path for name in ("src", "scripts") for path in sorted((ROOT / name).rglob("*.py"))]
    complaints = [f"{path.relative_to(ROOT)}:{line} {text}" for path in paths for line, text in bad_names(path)]
    print("\n".join(sorted(complaints)) or "every function is a verb, every variable says what it holds")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
