"""The command line: thin commands over the package. Heavy parts are imported when a command needs them."""

import sys
from typing import Annotated

import typer

from pacshift.cli.calibrate import calibrate
from pacshift.cli.check import check
from pacshift.cli.commands import Command, Commands
from pacshift.cli.compare import compare
from pacshift.cli.demo import demo
from pacshift.cli.methods import methods
from pacshift.cli.monitor import monitor
from pacshift.cli.plan import plan
from pacshift.cli.predict import predict
from pacshift.cli.prevalence import prevalence
from pacshift.cli.report import report
from pacshift.cli.reproduce import reproduce
from pacshift.cli.signals import INTERRUPTED, stop_code, stop_on_signals
from pacshift.cli.tally import tally
from pacshift.cli.train import train

app = typer.Typer(
    cls=Commands,
    help="Prediction sets you can still trust after the label mix has changed.",
    epilog="Exit codes: 0 fine, 2 bad input, 3 nothing could be certified, 4 a promise is broken. "
    "Start with: pacshift demo",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    calibrate,
    predict,
    check,
    compare,
    report,
    tally,
    prevalence,
    monitor,
    plan,
    train,
    reproduce,
    methods,
):
    app.command(cls=Command)(command)


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


def run() -> None:
    """Run the command that the words on the command line ask for."""
    try:
        with stop_on_signals():
            app(prog_name="pacshift")
    except KeyboardInterrupt:  # outside of a command, while it was being loaded
        sys.exit(stop_code())
    except SystemExit as end:  # Typer says 130 whatever the signal was
        sys.exit(stop_code() if end.code == INTERRUPTED else end.code)


def main() -> None:
    """Entry point for programs that call the commands."""
    from pacshift_command import main

    main()
