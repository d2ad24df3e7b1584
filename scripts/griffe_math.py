"""Griffe extension: docstrings write formulas as ``.. math::`` (for help() and IDEs); the site wants ``$$``."""

import re
from typing import Any

from griffe import Extension, Object

DIRECTIVE = re.compile(r"^( *)\.\. math::[ \n]*(.+?)(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


class MathDirectives(Extension):
    """Rewrite the directive in every docstring that is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe once for every module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = DIRECTIVE.sub(
                lambda found: f"{found[1]}$$\n{found[1]}{found[2].strip()}\n{found[1]}$$",
                obj.docstring.value,
            )
