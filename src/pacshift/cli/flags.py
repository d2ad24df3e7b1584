"""Errors of the library name parameters; on the command line these are flags."""

import re
from functools import cache
from typing import Any

import typer

CALLED = {
    "groups": "group",
    "known_mix": "known",
    "overwrite": "force",
    "target_groups": "group",
    "target_labels": "target_label",
}
"""Parameters of the library that an option has another name for."""
ROLES = {"source", "target", "table"}
"""What messages call the rows: "target: 3 rows hold NaN"."""
_QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # names of columns, classes and labels
_PARAMETER = r"(?<![^\s(])([a-z_]+)=([A-Z]+|True|False|'[^']*')?(?=[.,;:)]*(?:\s|$))"  # "label=NAME", "known_mix="
_SUBJECT = re.compile(r"^(\w+)(?=: | (?:must|is|cannot) )")  # "epsilon must lie between 0 and 1"


@cache
def options() -> dict[str, Any]:
    """Every option of every command, as Typer knows it, by its name."""
    from pacshift.cli import app

    program: Any = typer.main.get_command(app)
    commands = [program.get_command(None, name) for name in program.list_commands(None)]
    return {param.name: param for one in commands for param in one.params if param.param_type_name == "option"}


def in_flags(message: str) -> str:
    """A message of the library with flags in place of parameters; what is quoted stays as it is.

    >>> in_flags("No column 'label=NAME'. Name the label column: label=NAME, or use by_position=True.")
    "No column 'label=NAME'. Name the label column: --label NAME, or use --by-position."
    >>> in_flags("valid_until must be a day such as 2027-01-31, got 'soon'.")
    "--valid-until must be a day such as 2027-01-31, got 'soon'."
    """

    def flag_of(name: str, value: str | None, otherwise: str) -> str:
        option = options().get(CALLED.get(name, name))
        named = getattr(option, "secondary_opts" if value == "False" else "opts", ())
        if option is None or not named:
            return otherwise
        flag = max(named, key=len)
        return flag if option.is_flag or value in (None, "True", "False") else f"{flag} {value}"

    if (found := _SUBJECT.match(message)) and found[1] not in ROLES:
        message = flag_of(found[1], None, found[1]) + message[found.end() :]
    return re.sub(
        f"{_QUOTED}|{_PARAMETER}",
        lambda found: found[0] if found[1] is None else flag_of(found[1], found[2], found[0]),
        message,
    )
