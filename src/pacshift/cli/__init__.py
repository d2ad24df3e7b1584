"""The command line: thin commands over the package. Heavy parts are imported when a command needs them."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pacshift.cli.calibrate import calibrate
from pacshift.cli.check import check
from pacshift.cli.compare import compare
from pacshift.cli.console import INTERRUPTED, exit_codes
from pacshift.cli.demo import demo
from pacshift.cli.methods import methods
from pacshift.cli.predict import predict
from pacshift.cli.prevalence import prevalence
from pacshift.cli.report import report
from pacshift.cli.reproduce import reproduce
from pacshift.cli.tally import tally


class Commands(TyperGroup):
    """Every command ends with the exit codes of the contract: 0 fine, 2 bad input, 3 nothing certified."""

    def invoke(self, ctx: Any) -> Any:
        with exit_codes():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    help="Prediction sets you can still trust after the label mix has changed.",
    epilog="Exit codes: 0 fine, 2 bad input, 3 nothing could be certified. Start with: pacshift demo",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, calibrate, predict, check, compare, report, tally, prevalence, reproduce, methods):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        from pacshift import __version__

        typer.echo(f"pacshift {__version__}")
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


def main() -> None:
    """Entry point of the ``pacshift`` command."""
    try:
        app()
    except KeyboardInterrupt:  # outside of a command, while it was being loaded
        sys.exit(INTERRUPTED)
