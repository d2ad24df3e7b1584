"""MkDocs hook: write the command reference from the commands themselves, so that it cannot go stale."""

from collections.abc import Iterator
from typing import Any

import typer

from pacshift.cli import app

MARK = "<!-- command reference -->"
EXAMPLE = "Example: "


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference at the place that a page marks for it."""
    return markdown.replace(MARK, "\n".join(reference())) if MARK in markdown else markdown


def reference() -> Iterator[str]:
    """One section per command."""
    program: Any = typer.main.get_command(app)
    for name in program.list_commands(None):
        command = program.get_command(None, name)
        yield f"\n### pacshift {name}\n"
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
