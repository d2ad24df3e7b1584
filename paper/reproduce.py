"""``python -m paper reproduce``: the paper's experiments, or the same experiment on your own scores."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import messages, plain, print_json, progress, results
from pacshift.cli.options import basic, expert, output, tables
from pacshift.cli.process import stop_code
from pacshift.errors import InputError
from pacshift.words.visible import visible
from paper.experiments.panels import DELTA, Panel, select_panels
from paper.experiments.reproduce import at_epsilon, own_panels, run_reproduce
from paper.experiments.runner import PanelResult
from paper.experiments.summary import HEADINGS, MethodSummary, cells, markdown_table, summarise
from paper.recipes.examples import write_examples


@dataclass(frozen=True, kw_only=True)
class Own:
    """An experiment on the user's own scores."""

    scores: Annotated[Path | None, tables("--scores", "Own data: NPZ with probs and labels.")] = None
    source_mix: Annotated[str | None, tables("--source-mix", "Own data: label shares of the source, as 94,6.")] = (
        None
    )
    target_mix: Annotated[
        str | None, tables("--target-mix", "Own data: label shares of the target, as 64,36.")
    ] = None
    sizes: Annotated[str, tables("--sizes", "Own data: source, target and test rows drawn.")] = "20000,20000,10000"
    delta: Annotated[float, tables("--delta", "Own data: allowed chance of a misleading draw.")] = DELTA

    def panels(self, scores: Path, epsilons: list[float]) -> tuple[Panel, ...]:
        """A panel for each ε."""
        if not self.source_mix or not self.target_mix:
            raise InputError(
                "own data needs both mixes, one share per class: --source-mix 94,6 --target-mix 64,36."
            )
        counts = [int(size) for size in _numbers(self.sizes, "--sizes")]
        if len(counts) != 3:
            raise InputError(f"--sizes needs three numbers (source, target, test rows), got {self.sizes!r}.")
        mixes = _numbers(self.source_mix, "--source-mix"), _numbers(self.target_mix, "--target-mix")
        rows = counts[0], counts[1], counts[2]
        return own_panels(scores.stem, *mixes, epsilons or [0.1], rows, delta=self.delta)


def reproduce(
    panels: Annotated[
        list[str] | None,
        typer.Argument(help="Panels: a name (heart-small-0.1), a shift (heart-small), a data set (heart) or all."),
    ] = None,
    *,
    out: Annotated[Path, basic("--out -o", "Folder for tables, figures and the page.")] = Path("out/reproduce"),
    trials: Annotated[int, basic("--trials", "Trials per panel.")] = 100,
    methods: Annotated[str | None, basic("--methods", "Comma-separated; default: those the paper shows.")] = None,
    epsilon: Annotated[
        str | None, basic("--epsilon", "Use these ε instead of the paper's, comma-separated.")
    ] = None,
    data: Annotated[
        Path | None,
        tables("--data", "Folder of real scores; default: those of the repository.", envvar="PACSHIFT_DATA"),
    ] = None,
    own: Own,
    examples: Annotated[
        int, output("--examples", "Also show this many concrete rows of each kind, with their sets.")
    ] = 0,
    raw: Annotated[
        Path | None, output("--raw", "Raw data for --examples; default: where the scores file says they are.")
    ] = None,
    as_json: options.Json = False,
    population: Annotated[
        bool, expert("--population", "Draw source and target from one base: errors are exact.")
    ] = False,
    workers: Annotated[int | None, expert("--workers", "Processes; default: all cores.")] = None,
    seed: Annotated[int, expert("--seed", "The same seed gives the same table.")] = 0,
) -> None:
    """Run the paper's panels. Resumes after an interruption.

    Example: python -m paper reproduce heart-small --trials 20
    """
    runs = _panels(panels or [], own, list(dict.fromkeys(_numbers(epsilon, "--epsilon"))))
    files: dict[str, Any] = {
        "data_dir": str(data) if data else None,
        "scores_file": str(own.scores) if own.scores else None,
        "seed": seed,
    }
    names = [name.strip() for name in (methods or "").split(",") if name.strip()]
    more = {"trials": trials, "methods": names or None, "workers": workers, "population": population}
    _show(_run(runs, out, silent=as_json, **files, **more), out, as_json)
    shifts = {panel.row: panel for panel in reversed(runs)}  # each at its first ε
    for panel in shifts.values() if examples else ():
        page = write_examples(panel, out, n_examples=examples, raw=raw, **files)
        messages().print(f"examples: {plain(page)}")


def _panels(names: list[str], own: Own, epsilons: list[float]) -> tuple[Panel, ...]:
    if own.scores is None:
        if own.source_mix or own.target_mix:
            raise InputError("--source-mix and --target-mix are for your own data: name its file with --scores.")
        runs = select_panels(names or ["all"])
        return at_epsilon(runs, epsilons) if epsilons else runs
    if names:
        raise InputError(f"--scores runs your own data: leave out the panel {names[0]!r}.")
    return own.panels(own.scores, epsilons)


def _run(runs: tuple[Panel, ...], out: Path, *, silent: bool, **asked: Any) -> tuple[PanelResult, ...]:
    try:
        with progress("running trials", silent=silent) as report:
            told = (lambda done, total, _panel: report(done, total)) if report else None
            return run_reproduce(runs, out, **asked, progress=told)
    except KeyboardInterrupt:
        kept = f"finished trials are kept in {visible(out)}, and the same command resumes there"
        typer.echo(f"stopped; {kept}", err=True)
        raise typer.Exit(stop_code()) from None


def _numbers(text: str | None, option: str) -> list[float]:
    """Numbers separated by commas, none by default."""
    try:
        return [float(word) for word in text.split(",")] if text else []
    except ValueError:
        raise InputError(f"{option} takes numbers separated by commas, got {text!r}.") from None


def _show(found: tuple[PanelResult, ...], out: Path, as_json: bool) -> None:
    summaries = [summary for result in found for summary in summarise(result)]
    console = results()
    if as_json:
        print_json({"out": str(out), "summary": [_json(summary) for summary in summaries]})
        return
    if console.is_terminal:
        console.print(_terminal_table(summaries))
    else:
        shown = [[visible(cell) for cell in cells(summary)] for summary in summaries]
        typer.echo(markdown_table(HEADINGS, shown), nl=False)
    for story in dict.fromkeys(result.story for result in found):
        typer.echo(f"scores: {visible(story)}")
    typer.echo(f"figures, tables and page: {visible(out / 'index.html')}")


def _terminal_table(summaries: list[MethodSummary]) -> Table:
    """Panels as headings, methods below them; narrow enough for 80 columns."""
    rows = [cells(summary) for summary in summaries]
    shown = [k for k in range(2, len(HEADINGS)) if any(row[k] for row in rows)]  # seldom any refused
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("panel, method", no_wrap=True)
    for column in shown:
        table.add_column(HEADINGS[column], justify="right")
    panel = ""
    for summary, row in zip(summaries, rows, strict=True):
        if summary.panel != panel:
            panel = summary.panel
            table.add_row(plain(panel), style="bold")
        table.add_row("  " + row[1], *(row[k] for k in shown), style="red" if summary.truly_above else None)
    return table


def _json(summary: MethodSummary) -> dict[str, object]:
    """JSON has no NaN: what was never measured (all trials refused) is null."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(summary).items()}
