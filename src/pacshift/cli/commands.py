"""How commands are parsed and fail: exit codes, and help without noise."""

from enum import Enum
from typing import Any

from typer.core import TyperCommand, TyperGroup

from pacshift.cli.console import exit_codes
from pacshift.cli.options import PANELS
from pacshift.errors import InputError

_WORDS = "pacshift.words"


class _PlainFlags:
    """Help that does not call a flag a ``<bool>``: it takes no value."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(_PlainFlags, TyperCommand):
    """One command, whose help has the panels of all commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for place, word in enumerate(args):
            if not word or (word.startswith("--") and word.endswith("=")):  # as a path it would be this folder
                before = f" after {args[place - 1]!r}" if place and not word else ""
                raise InputError(
                    f"an empty word{before}{f' in {word!r}' if word else ''}. Is a variable of the shell not set? "
                    "Write . for this folder."
                )
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        params[-1].rich_help_panel = PANELS[-2]  # --help itself, beside --json and --quiet
        return sorted(params, key=lambda param: PANELS.index(getattr(param, "rich_help_panel", None) or PANELS[0]))


class Commands(_PlainFlags, TyperGroup):
    """Every command ends with an exit code of the contract, which the epilog of the help lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with exit_codes():
            return super().invoke(ctx)


def option_words(ctx: Any, *leave_out: str) -> list[str]:
    """The options that were given, as words of a command again, but for some parameters."""
    words: list[str] = []
    for param in ctx.command.params:
        given = str(ctx.get_parameter_source(param.name)).endswith("COMMANDLINE")
        if param.param_type_name != "option" or not given or param.name in leave_out:
            continue
        value, flag = ctx.params[param.name], max(param.opts, key=len)
        if param.is_flag:
            words.append(flag if value else max(param.secondary_opts, key=len))
        else:
            for each in value if isinstance(value, list | tuple) else [value]:
                text = each.value if isinstance(each, Enum) else str(each)
                words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
    return words


def words_of(ctx: Any) -> list[str]:
    """The words of the command that runs, without the name of the program."""
    return list(ctx.meta.get(_WORDS, ()))
