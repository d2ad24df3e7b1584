"""The command line: thin commands over the package. A command is loaded when it is asked for."""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from pacshift.cli.commands import Command, Commands, flatten_groups
from pacshift.cli.process import INTERRUPTED, stop_code, stop_on_signals

SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
_PANELS = {
    "Start here": ("demo", "methods"),
    "Make and use a certificate": ("calibrate", "accept", "predict", "check", "report", "verify"),
    "Plan, label, watch": ("plan", "label", "compare", "prevalence", "tally", "monitor"),
}


class _Program(Commands):
    """All commands; each is a function called as the module it is in, loaded when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in _PANELS.values() for name in names]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for panel, names in _PANELS.items():
            if cmd_name in names:
                function = getattr(import_module(f"pacshift.cli.{cmd_name}"), cmd_name)
                app = typer.Typer(add_completion=False, **SETTINGS)
                app.command(cmd_name, cls=Command, rich_help_panel=panel)(flatten_groups(function))
                return typer.main.get_command(app)
        return None


app = typer.Typer(
    cls=_Program,
    help="Prediction sets you can still trust after the label mix has changed.",
    epilog="Exit codes: 0 done, 2 bad input, 3 no certificate, 4 alert, 5 wrong model, 6 missing period. "
    "Start with: pacshift demo",
    **SETTINGS,
)


def _version(is_asked_for: bool) -> None:
    if is_asked_for:
        from importlib.util import find_spec

        from pacshift import __version__

        typer.echo(f"pacshift {__version__}")
        if find_spec("highspy") is None:
            typer.echo(
                "highspy is not installed: SciPy solves the linear programs, with the same promise, slower."
            )
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _top(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def run(program: typer.Typer = app, name: str = "pacshift") -> None:
    """Run the command that the words on the command line ask for."""
    try:
        with stop_on_signals():
            program(prog_name=name)
    except KeyboardInterrupt:  # outside of a command, while it was being loaded
        sys.exit(stop_code())
    except SystemExit as end:  # Typer says 130 whatever the signal was
        sys.exit(stop_code() if end.code == INTERRUPTED else end.code)
