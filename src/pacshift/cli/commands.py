"""How commands are parsed and fail: exit codes, help without noise, and the exact command to run next."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        params[-1].rich_help_panel = PANELS[-2]  # --help itself, beside --json and --quiet
        return sorted(params, key=lambda param: PANELS.index(getattr(param, "rich_help_panel", None) or PANELS[0]))


class Commands(_PlainFlags, TyperGroup):
    """Every command ends with an exit code of the contract: 0 fine, 2 bad input, 3 nothing certified, 4 broken."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with exit_codes(), next_command(ctx.meta[_WORDS]):
            return super().invoke(ctx)


def words_of(ctx: Any) -> list[str]:
    """The words of the command that runs, without the name of the program."""
    return list(ctx.meta.get(_WORDS, ()))


@contextmanager
def next_command(words: Sequence[str]) -> Iterator[None]:
    """Where an error knows which options would help, say the whole command that has them."""
    try:
        yield
    except InputError as error:
        options: Sequence[str] = getattr(error, "options", ())
        if not options:
            raise
        again = shlex.join(["pacshift", *with_options(words, options)])
        raise InputError(f"{error} Run: {again}") from None


def with_options(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """The words of a command with other values for some options.

    >>> with_options(["check", "c.json", "--scores", "q_*", "--json"], ["--scores", "p_*"])
    ['check', 'c.json', '--json', '--scores', 'p_*']
    """
    replaced, kept, is_value = set(options[::2]), [], False
    for word in words:
        if not is_value and word.partition("=")[0] not in replaced:
            kept.append(word)
        is_value = not is_value and word in replaced
    return [*kept, *options]
