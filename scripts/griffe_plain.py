"""Griffe extension: docstrings use reStructuredText (for help() and IDEs); the site is Markdown."""

import re
from typing import Any

from griffe import Extension, Object

DIRECTIVE = re.compile(r"^( *)\.\. math::[ \n]*(.+?)(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^( *)(>>> .+?)(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|data|mod):`~?([^`]+)`")


class PlainMarkup(Extension):
    """Rewrite formulas, console examples and roles like ``:func:`` in every docstring that is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe once for every module, class, function and attribute."""
        if obj.docstring:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            text = CONSOLE.sub(r"\1```pycon\n\1\2\n\1```", text)
            obj.docstring.value = DIRECTIVE.sub(
                lambda found: f"{found[1]}$$\n{found[1]}{found[2].strip()}\n{found[1]}$$", text
            )
