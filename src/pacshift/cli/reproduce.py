"""``pacshift reproduce``: the paper's experiments, or the same experiment on your own scores."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import messages, plain, print_json, progress, results, visible
from pacshift.cli.signals import stop_code
from pacshift.errors import InputError
from pacshift.experiments.panels import DELTA, Panel, select_panels
from pacshift.experiments.reproduce import at_epsilon, own_panels, run_reproduce
from pacshift.experiments.runner import PanelResult
from pacshift.experiments.summary import HEADINGS, MethodSummary, cells, markdown_table, summarise


def reproduce(
    panels: Annotated[
        list[str] | None,
        typer.Argument(help="Panels: a name (heart-small-0.1), a shift (heart-small), a data set (heart) or all."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for tables, figures and the page.")] = Path(
        "out/reproduce"
    ),
    trials: Annotated[int, typer.Option(help="Trials per panel.")] = 100,
    methods: Annotated[str | None, typer.Option(help="Comma-separated; default: those the paper shows.")] = None,
    panel_list: Annotated[str | None, typer.Option("--panels", help="More panels, comma-separated.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; default: all cores.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Use these ε instead of the paper's, comma-separated.")
    ] = None,
    population: Annotated[
        bool, typer.Option("--population", help="Draw source and target from one base: errors are exact.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same table.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(envvar="PACSHIFT_DATA", help="Folder of real scores; default: those of the package."),
    ] = None,
    scores: Annotated[Path | None, typer.Option(help="Own data: NPZ with probs and labels.")] = None,
    source_mix: Annotated[str | None, typer.Option(help="Own data: label shares of the source, as 94,6.")] = None,
    target_mix: Annotated[str | None, typer.Option(help="Own data: label shares of the target, as 64,36.")] = None,
    sizes: Annotated[
        str, typer.Option(help="Own data: source, target and test rows drawn.")
    ] = "20000,20000,10000",
    delta: Annotated[float, typer.Option(help="Own data: allowed chance of a misleading draw.")] = DELTA,
    examples: Annotated[
        int, typer.Option(help="Also show this many concrete rows of each kind, with their sets.")
    ] = 0,
    raw: Annotated[
        Path | None, typer.Option(help="Raw data for --examples; default: where the scores file says they are.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run the paper's panels. Resumes after an interruption.

    Example: pacshift reproduce heart-small --trials 20
    """
    chosen = [*(panels or []), *_names(panel_list)]
    epsilons = list(dict.fromkeys(_numbers(epsilon, "--epsilon")))
    if scores is None:
        if source_mix or target_mix:
            raise InputError("--source-mix and --target-mix are for your own data: name its file with --scores.")
        runs: tuple[Panel, ...] = select_panels(chosen or ["all"])
        runs = at_epsilon(runs, epsilons) if epsilons else runs
    else:
        if chosen:
            raise InputError(f"--scores runs your own data: leave out the panel {chosen[0]!r}.")
        runs = _own(scores, source_mix, target_mix, epsilons, sizes, delta)
    try:
        with progress("running trials", silent=as_json) as report:
            found = run_reproduce(
                runs,
                out,
                trials=trials,
                methods=_names(methods) or None,
                workers=workers,
                population=population,
                seed=seed,
                data_dir=str(data) if data else None,
                scores_file=str(scores) if scores else None,
                progress=(lambda done, total, _panel: report(done, total)) if report else None,
            )
    except KeyboardInterrupt:
        kept = f"finished trials are kept in {visible(out)}, and the same command resumes there"
        typer.echo(f"stopped; {kept}", err=True)
        raise typer.Exit(stop_code()) from None
    _show(found, out, as_json)
    if examples:
        _write_examples(runs, out, examples, raw, seed, data, scores)


def _write_examples(
    runs: tuple[Panel, ...], out: Path, n_examples: int, raw: Path | None, seed: int, *files: Path | None
) -> None:
    """One page for the first ε of every shift."""
    from pacshift.recipes.examples import write_examples

    data_dir, scores_file = (str(path) if path else None for path in files)
    for panel in {panel.row: panel for panel in reversed(runs)}.values():
        page = write_examples(
            panel, out, n_examples=n_examples, raw=raw, seed=seed, data_dir=data_dir, scores_file=scores_file
        )
        messages().print(f"examples: {plain(page)}")


def _own(
    scores: Path, source: str | None, target: str | None, epsilons: list[float], sizes: str, delta: float
) -> tuple[Panel, ...]:
    if not source or not target:
        raise InputError("own data needs both mixes, one share per class: --source-mix 94,6 --target-mix 64,36.")
    counts = [int(size) for size in _numbers(sizes, "--sizes")]
    if len(counts) != 3:
        raise InputError(f"--sizes needs three numbers (source, target, test rows), got {sizes!r}.")
    mixes = _numbers(source, "--source-mix"), _numbers(target, "--target-mix")
    return own_panels(scores.stem, *mixes, epsilons or [0.1], (counts[0], counts[1], counts[2]), delta=delta)


def _numbers(text: str | None, option: str) -> list[float]:
    """Numbers separated by commas, none by default."""
    return options.read_numbers(text, option) or []


def _names(text: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


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
