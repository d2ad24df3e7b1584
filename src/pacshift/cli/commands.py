"""How commands are parsed and fail: exit codes, and help without noise."""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from pacshift.cli.console import all_options, exit_codes, note
from pacshift.cli.options import OF_ROWS, PANELS
from pacshift.errors import InputError

_WORDS = "pacshift.words"
_OUTPUTS = ("out", "refusal_page", "table")
"""Options that name a file to write; ``table`` of `predict` is a list, and names what is read."""


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

    def invoke(self, ctx: Any) -> Any:
        """Run it. An old output that was not replaced is named: it could be taken for the new one."""
        named = [ctx.params.get(name) for name in _OUTPUTS if ctx.params.get("force")]
        before = {file: _read_version(file) for file in named if isinstance(file, Path) and file.is_file()}
        try:
            refuse_beside_tallies(ctx)
            result = super().invoke(ctx)
        except BaseException as error:
            for text in _describe_old_outputs(before):
                if isinstance(error, typer.Exit):
                    note(text)
                else:
                    error.add_note(text)
            raise
        for text in _describe_old_outputs(before):
            note(text)
        return result

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        params[-1].rich_help_panel = PANELS[-2]  # --help itself, beside --json and --quiet
        return sorted(params, key=lambda param: PANELS.index(getattr(param, "rich_help_panel", None) or PANELS[0]))


class Commands(_PlainFlags, TyperGroup):
    """Every command ends with an exit code of the contract, which the epilog of the help lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known and (close := get_close_matches(args[0], known, 1)):
            raise InputError(f"there is no command {args[0]!r}. Did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with exit_codes():
            return super().invoke(ctx)


def _read_version(file: Path) -> tuple[int, ...]:
    """Differs once a file is replaced."""
    status = file.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _describe_old_outputs(before: dict[Path, tuple[int, ...]]) -> list[str]:
    """A sentence for each of the files that was not replaced."""
    unchanged = [file for file, version in before.items() if file.is_file() and _read_version(file) == version]
    return [f"{file} is still what it was before this run." for file in unchanged]


def flatten_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer wants it: every option of a group is a parameter, and numbers are texts.

    Numbers are read here: what Typer says of a wrong one depends on its version and names no remedy.
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            for field in fields(parameter.annotation):
                default = inspect.Parameter.empty if field.default is MISSING else field.default
                kind = inspect.Parameter.KEYWORD_ONLY
                parameters.append(inspect.Parameter(field.name, kind, default=default, annotation=field.type))
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    parameters = [_read_as_number(parameter) for parameter in parameters]

    def run_command(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run_command.__doc__ = command.__doc__
    run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run_command


def _read_as_number(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter; if it is a number, as a text for Typer, with a callback that reads it."""
    kinds = [kind for part in get_args(parameter.annotation)[:1] for kind in (part, *get_args(part))]
    number = next((kind for kind in (float, int) if kind in kinds), None)
    if number is None:
        return parameter
    flag, option = f"--{parameter.name.replace('_', '-')}", copy(get_args(parameter.annotation)[1])

    def read(text: str) -> float | int | None:
        return None if text is None else read_number(str(text), number, flag)

    option.callback = read
    return parameter.replace(annotation=Annotated[str | None, option])


def read_number(text: str, kind: type[float] | type[int], flag: str) -> float | int:
    """The number that an option was given, or an InputError in plain words.

    >>> read_number("0.1", float, "--epsilon"), read_number("7", int, "--seed")
    (0.1, 7)
    """
    try:
        return kind(text.replace("_", "?"))  # which Python passes over
    except ValueError:
        form = "a whole number" if kind is int else "a number with a decimal point, such as 0.1"
        raise InputError(f"{flag} takes {form}, got {text!r}.") from None


def to_args(group: Any, *leave_out: str) -> list[str]:
    """The words of a command that ask for the same as a group of options: what differs from the defaults."""
    values = {field.name: getattr(group, field.name) for field in fields(group) if field.name not in leave_out}
    changed = [each.name for each in fields(group) if each.name in values and values[each.name] != each.default]
    known = all_options()
    return [word for name in changed if name in known for word in _to_args(known[name], values[name])]


def given_args(ctx: Any, *leave_out: str) -> list[str]:
    """The options that were given, as words of a command again, but for some parameters."""
    params = [param for param in _list_given(ctx, "option") if param.name not in leave_out]
    return [word for param in params for word in _to_args(param, ctx.params[param.name])]


def _list_given(ctx: Any, kind: str) -> list[Any]:
    """The options or the arguments that stand on the command line."""
    params = [param for param in ctx.command.params if param.param_type_name == kind]
    return [param for param in params if str(ctx.get_parameter_source(param.name)).endswith("COMMANDLINE")]


def refuse_beside_tallies(ctx: Any) -> None:
    """Refuse options about rows where all data are tallies: they could not act."""
    values = [ctx.params[param.name] for param in _list_given(ctx, "argument") if param.name != "certificate_file"]
    paths = [Path(path) for value in values for path in (value if isinstance(value, list | tuple) else [value])]
    if not paths or any(path.suffix != ".tally" for path in paths):
        return
    options = [param for param in _list_given(ctx, "option") if (param.rich_help_panel, param.opts[0]) in OF_ROWS]
    flags = [max(param.opts, key=len) for param in options]
    if flags:
        are, them = ("is", "it") if len(flags) == 1 else ("are", "them")
        raise InputError(
            f"{', '.join(flags)} {are} about rows, but tallies hold no rows. Leave {them} out, or count tables "
            "anew with `pacshift tally`."
        )


def _to_args(option: Any, value: Any) -> list[str]:
    """The flag with its value, once for each of several. A value that begins with a dash is tied to its flag."""
    flag = max(option.secondary_opts if value is False else option.opts, key=len)
    texts = [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
    tied = [word for text in texts for word in ([f"{flag}={text}"] if text.startswith("-") else [flag, text])]
    return [flag] if option.is_flag else tied


def given_command(ctx: Any) -> list[str]:
    """The words of the command that runs, without the name of the program."""
    return list(ctx.meta.get(_WORDS, ()))
