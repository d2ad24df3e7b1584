"""MkDocs hook: every program of examples/ as a notebook, and a button beside where a page shows it."""

import ast
import json
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SHOWN = re.compile(r'^\?\?\? example "examples/(\w+)\.py"$|^<!-- code: examples/(\w+)\.py -->$', re.MULTILINE)


def on_files(files: Any, config: Any) -> Any:
    """Add the notebooks to what is built."""
    from mkdocs.structure.files import File

    for path in sorted(EXAMPLES.glob("*.py")):
        files.append(File.generated(config, f"notebooks/{path.stem}.ipynb", content=notebook(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A button above every program that is shown."""
    up = "../" * page.file.src_uri.count("/")

    def button(shown: re.Match[str]) -> str:
        name = shown[1] or shown[2]
        return f'<a class="notebook" href="{up}notebooks/{name}.ipynb" download>notebook</a>\n\n{shown[0]}'

    return SHOWN.sub(button, markdown)


def notebook(path: Path) -> str:
    """The program as a notebook: its docstring, and a cell from every comment that begins a part to the next."""
    text = path.read_text(encoding="utf-8")
    first = ast.parse(text).body[0]
    introduction = ast.get_docstring(ast.parse(text)) or ""
    assert isinstance(first, ast.Expr), path  # a program begins with its docstring
    lines = text.splitlines()[first.end_lineno :]
    code = "\n".join(lines).strip("\n")
    parts = re.split(r"\n\n+(?=# )", code)
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "what", "metadata": {}, "source": introduction}]
    for number, part in enumerate(parts):
        cell: dict[str, Any] = {
            "cell_type": "code",
            "id": f"part-{number}",
            "metadata": {},
            "source": part.strip("\n"),
        }
        cells.append(cell | {"execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
