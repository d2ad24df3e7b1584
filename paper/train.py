"""``python -m paper train``: from raw data to a scores file, with the models of the paper or small ones."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pacshift.cli import options
from pacshift.cli.console import messages, note, print_json
from pacshift.cli.options import basic, expert
from pacshift.errors import InputError
from paper.recipes.train import Report, Trained, check_recipe_size
from paper.recipes.train import train as run

LINE_EVERY_SECONDS = 30.0
"""Between two lines of progress in a log, where there is no bar."""
WORDS = {"fit": "training", "score": "scoring"}


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a recipe is followed."""

    weights: Annotated[
        str | None, basic("--weights", "Pretrained weights that the recipe starts from; random: none.")
    ] = None
    resume: Annotated[bool, basic("--resume", "Continue from the checkpoint beside the output.")] = False
    device: Annotated[str, expert("--device", "auto, cpu or cuda.")] = "auto"
    limit: Annotated[int | None, expert("--limit", "Use at most this many rows.")] = None
    batch: Annotated[int | None, expert("--batch", "Rows per step; default: the recipe's.")] = None
    pixels: Annotated[int, expert("--pixels", "Side of the images for networks pretrained on ImageNet.")] = 224
    seed: Annotated[int, expert("--seed", "The same seed gives the same split and scores.")] = 0


def train(
    dataset: Annotated[
        str,
        typer.Argument(help="heart, heart-natural, agnews, cifar10, entity13 or chestxray.", metavar="DATASET"),
    ],
    *,
    data: Annotated[Path, basic("--data", "The raw data: a file or folder in an official format.")],
    out: Annotated[Path, basic("--out -o", "Scores file to write (.npz).")],
    recipe: Annotated[str, basic("--recipe", "small, for a laptop, or paper.")] = "small",
    training: Training,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a model on raw data and write the scores of the rows it was not fitted on.

    Example: python -m paper train agnews --data raw/agnews -o scores/agnews/scores.npz
    """
    size = check_recipe_size(recipe)
    out.parent.mkdir(parents=True, exist_ok=True)
    # A folder may hold a million images, none of which is an .npz.
    options.check_output(out, [data] if data.is_file() else [])
    options.require_new(out, force)
    try:
        with _progress(silent=as_json) as report:
            found = run(dataset, data, out, recipe=size, report=report, **asdict(training))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "transformers", "PIL"):
            raise
        install = "Install it, in your checkout of pacshift: pip install '.[cli]' --group train"
        raise InputError(f"training needs {error.name}. {install}.") from None
    except KeyboardInterrupt:
        typer.echo("stopped; the same command with --resume goes on from the last checkpoint", err=True)
        raise typer.Exit(130) from None
    _show(found, as_json)


def _show(found: Trained, as_json: bool) -> None:
    if found.note:
        note(found.note)
    if as_json:
        shown = asdict(found) | {"path": str(found.path)}
        print_json({key: None if value != value else value for key, value in shown.items()})  # JSON has no NaN
        return
    test = "" if math.isnan(found.test_accuracy) else f", {found.test_accuracy:.4f} on the official test rows"
    typer.echo(f"{found.model}: fitted on {found.n_fitted:,} rows, scored {found.n_scored:,} others")
    auc = "" if math.isnan(found.auc) else f", area under the ROC curve {found.auc:.4f}"
    typer.echo(f"accuracy {found.accuracy:.4f}{test}{auc}")
    typer.echo(f"scores: {found.path}")


@contextmanager
def _progress(*, silent: bool) -> Iterator[Report | None]:
    """A bar with time left, loss and accuracy on a terminal; elsewhere a line now and then."""
    console = messages()
    if silent:
        yield None
    elif console.is_terminal:
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %")
        times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[found]}")
        with Progress(*columns, *times, console=console, transient=True) as bar:
            task = bar.add_task("reading", total=None, found="")
            yield lambda what, state: bar.update(
                task, description=WORDS[what], completed=state.step, total=state.steps, found=_found(state)
            )
    else:
        yield _line_by_line(console.print)


def _line_by_line(write: Callable[[str], None]) -> Report:
    last = time.monotonic()

    def report(what: str, state: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_SECONDS:
            last = time.monotonic()
            write(f"{WORDS[what]}: {state.step:,} of {state.steps:,} {_found(state)}")

    return report


def _found(state: Any) -> str:
    """Running means of the last batches."""
    return "" if math.isnan(state.loss) else f"loss {state.loss:.3f}, accuracy {state.accuracy:.3f}"
