"""``python -m paper``: the commands ``reproduce`` and ``train``."""

import typer

from pacshift.cli import SETTINGS, run
from pacshift.cli.commands import Command, Commands, flatten_groups
from paper.reproduce import reproduce
from paper.train import train

app = typer.Typer(
    cls=Commands,
    help="The experiments of the paper, and the training of its models.",
    no_args_is_help=True,
    add_completion=False,
    **SETTINGS,
)
for _command in (reproduce, train):
    app.command(_command.__name__, cls=Command)(flatten_groups(_command))


def main() -> None:
    """Run the command that the words on the command line ask for."""
    run(app, "python -m paper")


if __name__ == "__main__":
    main()
