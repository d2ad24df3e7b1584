"""MkDocs hook: write the command reference from the commands themselves, so that it cannot go stale."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

MARK = re.compile(r"<!-- command reference: (\S+) (.+) -->")
EXAMPLE = "Example: "
ROOT = str(Path(__file__).resolve().parents[1])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference of a program at the place that a page marks for it: its module, and how it is called."""
    if ROOT not in sys.path:  # the paper is not installed, and MkDocs undoes changes made while hooks are loaded
        sys.path.insert(0, ROOT)
    return MARK.sub(lambda mark: "\n".join(reference(import_module(mark[1]).app, mark[2])), markdown)


def reference(app: typer.Typer, called: str) -> Iterator[str]:
    """One section per command."""
    program: Any = typer.main.get_command(app)
    for name in program.list_commands(None):
        command = program.get_command(None, name)
        yield f"\n### {called} {name}\n"
        for block in (command.help or "").split("\n\n"):
            yield f"```sh\n{block.removeprefix(EXAMPLE)}\n```\n" if block.startswith(EXAMPLE) else f"{block}\n"
        yield "| argument or option | default | meaning |\n|---|---|---|"
        yield from (row(parameter) for parameter in command.params if parameter.name != "help")


def row(parameter: Any) -> str:
    """Table row of one argument or option, without the bars that would end a table cell."""
    option = parameter.param_type_name == "option"
    names = (
        ", ".join([*parameter.opts, *parameter.secondary_opts]) if option else parameter.metavar or parameter.name
    )
    shown = parameter.default is not None and parameter.default is not False and parameter.default != ()
    default = "required" if parameter.required else f"`{parameter.default}`" if shown else ""
    return f"| `{names}` | {default} | {parameter.help or ''} |".replace("||", "| |")
