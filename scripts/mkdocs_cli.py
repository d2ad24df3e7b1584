"""MkDocs hook: what the site has instead of what the Markdown files say.

The command reference is written from the commands themselves, so that it cannot go stale. Links from a page to
files of the repository that are not part of the site lead to where the repository is kept.
"""

import posixpath
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

MARK = re.compile(r"<!-- command reference: (\S+) (.+) -->")
DRAWING = re.compile(r"<!-- drawing: (\S+) -->")
"""A picture that becomes part of the page, so that it follows the themes and its parts are links."""
EXAMPLE = "Example: "
LINK = re.compile(r"(?<=\]\()((?:\.\./)+[\w./-]+)")
REPOSITORY = "https://github.com/pacshift/pacshift/blob/main"
ROOT = str(Path(__file__).resolve().parents[1])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the reference of a program at the place that a page marks for it: its module, and how it is called."""
    markdown = DRAWING.sub(lambda mark: Path(ROOT, mark[1]).read_text(encoding="utf-8"), markdown)
    markdown = LINK.sub(lambda link: in_repository(link[1], page.file.src_uri), markdown)
    if ROOT not in sys.path:  # the paper is not installed, and MkDocs undoes changes made while hooks are loaded
        sys.path.insert(0, ROOT)
    return MARK.sub(lambda mark: "\n".join(reference(import_module(mark[1]).app, mark[2])), markdown)


def in_repository(link: str, page: str) -> str:
    """The address of a file that a page below docs/ links; links within docs/ stay."""
    goal = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return link if goal.startswith("docs/") else f"{REPOSITORY}/{goal}"


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
