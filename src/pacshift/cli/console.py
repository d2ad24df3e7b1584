"""What commands print: results to stdout, everything else to stderr, one JSON object for machines."""

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich import progress as bars
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pacshift.cli.process import stop_code, whole_output
from pacshift.errors import AssumptionError, PacshiftError, Speech, UnfinishedSheetError, install_line, speak
from pacshift.files.origin import EPOCH_VARIABLE, current_time
from pacshift.progress import Progress
from pacshift.words.visible import visible

BAD_INPUT, NOTHING_CERTIFIED, BROKEN, OTHER_MODEL, GAP, UNEXPECTED = 2, 3, 4, 5, 6, 1
PIPE_WIDTH = 120  # columns of tables that go into a file or a pipe

CALLED = {
    "groups": "group",
    "known_mix": "known",
    "overwrite": "force",
    "rng": "seed",
    "target_groups": "group",
    "target_labels": "target_label",
}
"""Parameters of the library that an option has another name for."""

_UsageError: type[Any] = typer.BadParameter.__bases__[0]  # the same class in every version of Typer


def results() -> Console:
    """The console for answers."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def messages() -> Console:
    """The console for notes, errors and progress."""
    console = Console(stderr=True, highlight=False)
    console.soft_wrap = not console.is_terminal  # in a pipe one message is one line
    return console


def plain(text: object) -> str:
    r"""Text from outside, made safe to print: no Rich markup, no control characters.

    >>> plain("[red]\x1b[2J")
    '\\[red]\\x1b[2J'
    """
    return escape(visible(text))


@cache
def all_options() -> dict[str, Any]:
    """Every option of every command, as Typer knows it, by its name."""
    from pacshift.cli import app

    program: Any = typer.main.get_command(app)
    commands = [program.get_command(None, name) for name in program.list_commands(None)]
    return {param.name: param for one in commands for param in one.params if param.param_type_name == "option"}


class CommandLine(Speech):
    """Messages name flags where Python has parameters."""

    def parameter(self, text: str) -> str:
        """The flag that stands for a parameter.

        >>> CommandLine().parameter("label=NAME"), CommandLine().parameter("softmax=True")
        ('--label NAME', '--softmax')
        """
        name, _, value = text.partition("=")
        option = all_options().get(CALLED.get(name, name))
        if option is None:
            return text
        flag = max(option.opts, key=len)
        if option.is_flag or not value:
            return str(flag)
        return f"{flag} {option.metavar if value == 'True' else value}"


def note(text: object) -> None:
    """Print something the user should know besides the answer."""
    messages().print(f"[yellow]note:[/] {plain(text)}")


def print_json(document: object) -> None:
    """Print the one JSON object of ``--json``: results of the library field by field."""
    typer.echo(visible_json(to_json(document)))


def to_json(value: Any) -> Any:
    """A record as an object, an array as a list, an interval as its two ends, and null for NaN and infinity.

    >>> from pacshift import Interval
    >>> import numpy as np
    >>> to_json({"share": Interval(np.array([0.1, 0.2]), np.array([0.3, np.inf]))})
    {'share': [[0.1, 0.3], [0.2, None]]}
    """
    if is_dataclass(value):
        parts = {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
        if list(parts) != ["lower", "upper"]:
            return parts
        low, high = parts.values()
        return [list(ends) for ends in zip(low, high, strict=True)] if isinstance(low, list) else [low, high]
    if isinstance(value, dict):
        return {str(name): to_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(part) for part in value]
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def visible_json(document: object) -> str:
    r"""JSON in which characters that cannot be seen are escaped: they could hide or turn around what is printed.

    >>> print(visible_json("naïve \u202e txt.exe"))
    "naïve \u202e txt.exe"
    """
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def print_words(lines: Iterable[str]) -> None:
    """Print lines or paragraphs, each with its head in bold: what stands before the first colon."""
    for line in lines:
        head, colon, text = line.partition(": ")
        results().print(f"[bold]{plain(head)}[/]{colon}{plain(text)}")


def make_table(*headings: str, left: int) -> Table:
    """A table whose columns after the first ``left`` hold numbers."""
    table = Table(*headings)
    for column in table.columns[left:]:
        column.justify = "right"
    return table


def say_written(*files: Path) -> None:
    """Name the files that were written."""
    for file in files:
        results().print(f"Written: {plain(file)}")


@contextmanager
def exit_codes() -> Iterator[None]:
    """Errors become one line on stderr and the exit code of the contract; never a traceback."""
    try:
        current_time()  # NumPy reads the same variable when SciPy is loaded, and would fail without a remedy
        if not os.environ.get(EPOCH_VARIABLE, "set").strip():
            del os.environ[EPOCH_VARIABLE]
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)  # the same text once
            warnings.showwarning = lambda message, *_args, **_kwargs: note(message)
            with speak(CommandLine()), whole_output():
                yield
    except (AssumptionError, UnfinishedSheetError) as error:
        attempt = getattr(error, "attempt", None)
        draw = "" if attempt is None else attempt.draw
        fail(error, NOTHING_CERTIFIED, "refused", command=draw)
    except PacshiftError as error:
        fail(error, BAD_INPUT)
    except _UsageError as error:
        command = error.ctx.command_path if getattr(error, "ctx", None) else "pacshift"
        fail(f"{error.format_message().rstrip('.')}. See `{command} --help`.", BAD_INPUT)
    except ImportError as error:
        fail(_missing(error), BAD_INPUT)
    except BrokenPipeError:
        raise  # `pacshift ... | head` is no error
    except (OSError, MemoryError) as error:
        fail(f"operating system error: {error or type(error).__name__}.", BAD_INPUT)
    except KeyboardInterrupt:
        messages().print("stopped; no half-written files are left")
        raise typer.Exit(stop_code()) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        fail(f"this is a bug in pacshift: {type(error).__name__}: {error}. Please report it.", UNEXPECTED)


def fail(error: object, code: int, head: str = "error", *, command: str = "") -> NoReturn:
    """End the command with the error on stderr and an exit code of the contract.

    A refusal is the right answer and no error: its ``head`` says so. On a terminal a ``command`` in the error has
    a line of its own, which can be copied.
    """
    line = join_lines("\n".join([str(error), *getattr(sys.exc_info()[1], "__notes__", ())]))
    console, quoted = messages(), f"`{command}`"
    apart = bool(command) and console.is_terminal and quoted in line
    first, rest = line.split(quoted, 1) if apart else (line, "")
    console.print(f"[bold red]{head}:[/] {plain(first)}")
    if apart:
        console.print(f"    {plain(command)}", soft_wrap=True)
        console.print(plain(rest.lstrip(", ")))
    raise typer.Exit(code) from None


def join_lines(text: object) -> str:
    """All lines of a text as one."""
    return " ".join(part.strip() for part in str(text).splitlines())  # blanks may belong to a file name


def _missing(error: ImportError) -> str:
    extras = {
        "pyarrow": "tables",
        "matplotlib": "plots",
        "jinja2": "report",
        "pyspark": "spark",
        "pandas": "spark",
    }
    extra = extras.get((error.name or "").partition(".")[0])
    return f"{error}. {install_line(extra)}." if extra else f"{error}."


@contextmanager
def progress(what: str, *, silent: bool) -> Iterator[Progress | None]:
    """A bar on a terminal, nothing in a pipe."""
    console = messages()
    if silent or not console.is_terminal:
        yield None
        return
    times = bars.TimeElapsedColumn(), bars.TextColumn("left"), bars.TimeRemainingColumn()
    columns = bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(), *times
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
