"""From trials to tables, figures, counted claims and one page with all of it."""

import base64
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.files.writing import atomic_write, escape_cell
from pacshift.methods.guarantee import MEANINGS
from paper.experiments.runner import PanelResult


@dataclass(frozen=True)
class MethodSummary:
    """One method on one panel, over all trials."""

    panel: str
    title: str
    method: str
    epsilon: float
    trials: int
    mean_error: float
    worst_error: float
    above: int
    """Trials whose measured error is above ε."""
    truly_above: int
    """Trials whose true error on the target's base is above ε."""
    mean_size: float
    excess: float
    """Mean size minus the mean size at the best threshold (the smallest any threshold could give)."""
    trivial: int
    """Trials where "all labels" was the only valid answer."""
    refused: int
    """Trials where the method itself found that label shift fails; they have no sets, error or size."""
    refuted: int
    """Draws that ``calibrate`` would refuse, because its test refutes label shift."""


def summarise(result: PanelResult) -> tuple[MethodSummary, ...]:
    """One summary per method, in the order of the figures."""
    return tuple(_summarise_method(result, method) for method in result.methods)


def _summarise_method(result: PanelResult, method: str) -> MethodSummary:
    rows = [row for row in result.rows if row.method == method]
    measured = [row for row in rows if row.status != "refused"]
    error = np.array([row.error for row in measured] or [np.nan])
    size = np.array([row.size for row in measured] or [np.nan])
    best = np.array([row.best_size for row in measured] or [np.nan])
    return MethodSummary(
        panel=result.name,
        title=result.title,
        method=method,
        epsilon=result.panel.epsilon,
        trials=len(rows),
        mean_error=float(error.mean()),
        worst_error=float(error.max()),
        above=int((error > result.panel.epsilon).sum()),
        truly_above=sum(row.true_error > result.panel.epsilon for row in measured),
        mean_size=float(size.mean()),
        excess=float((size - best).mean()),
        trivial=sum(row.status == "trivial" for row in rows),
        refused=sum(row.status == "refused" for row in rows),
        refuted=sum(row.refuted for row in rows),
    )


HEADINGS = (
    "panel", "method", "mean error", "worst error", "trials above ε", "truly above ε", "mean size",
    "excess over best", "all labels", "refused", "refused by calibrate",
)  # fmt: skip


def cells(summary: MethodSummary) -> tuple[str, ...]:
    """The summary as text, in the order of HEADINGS."""
    return (
        summary.panel,
        summary.method,
        number(summary.mean_error, 4),
        number(summary.worst_error, 4),
        f"{summary.above}/{summary.trials}",
        f"{summary.truly_above}/{summary.trials}",
        number(summary.mean_size, 3),
        number(summary.excess, 3),
        *(f"{count}" if count else "" for count in (summary.trivial, summary.refused, summary.refuted)),
    )


def number(value: float, digits: int) -> str:
    """Fixed digits, and a dash where nothing was measured."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 2) -> str:
    """A pipe table; the first ``left`` columns are text, the rest numbers."""
    rule = ["---"] * left + ["---:"] * (len(headings) - left)
    lines = [headings, rule, *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def write_summary(results: Sequence[PanelResult], path: Path, note: str) -> None:
    """summary.md: one table for all panels."""
    table = markdown_table(HEADINGS, [cells(summary) for result in results for summary in summarise(result)])
    with atomic_write(path) as draft:
        draft.write_text(f"# Summary\n\n{note}\n\n{table}", encoding="utf-8")


def table_rows(results: Sequence[PanelResult]) -> list[dict[str, Any]]:
    """The results table: one row per trial and method, each complete in itself."""
    return [
        {
            "panel": result.panel.name,
            "dataset": result.panel.dataset,
            "origin": result.origin,
            "epsilon": result.panel.epsilon,
            "delta": result.panel.delta,
            "seed": result.seed,
            "population": result.population,
            **{key: value for key, value in asdict(row).items() if key != "panel"},
        }
        for result in results
        for row in result.rows
    ]


def write_tables(results: Sequence[PanelResult], folder: Path) -> None:
    """results.csv and results.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = table_rows(results)
    with atomic_write(folder / "results.csv") as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({k: escape_cell(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows)
    with atomic_write(folder / "results.parquet") as draft:
        pq.write_table(pa.Table.from_pylist(rows), draft, compression="zstd")


# What the paper claims, word by word, and how often the trials agree; then questions of our own.
#
# Verdicts use the true error, which has no noise of a test draw; the counts give both. The paper prints no error
# and no size, only box plots: its sentences are all that can be checked.

SIMILAR_SIZES = ("cifar10-small",)
"""Where the paper finds PS-W and PS-C about equally large: a small shift and limited data."""


@dataclass(frozen=True)
class Claim:
    """One claim, whether the trials support it, and the counts behind the verdict."""

    text: str
    verdict: str
    counts: str
    share: float
    """Of the panels or trials where it is so."""
    matters: float = 0.25
    """How much of the share other scores must change to be worth a word."""

    @property
    def section(self) -> str:
        """Of the paper; empty for a question of our own."""
        return QUOTES.get(self.text, ("", ""))[0]

    @property
    def quote(self) -> str:
        """The paper's words."""
        return QUOTES.get(self.text, ("", ""))[1]


DISCUSSION, BASELINES = "4.2", "H.6"
QUOTES = {
    "PS-W keeps the guarantee": (DISCUSSION, "In all our experiments, our approach satisfies the PAC guarantee"),
    "PS-C keeps the guarantee": (DISCUSSION, "the only baseline to consistently satisfy the PAC guarantee"),
    "PS-W's sets are smaller than PS-C's": (
        DISCUSSION,
        "smaller prediction set sizes than PS-C [...] except when the label shift is small and the calibration "
        "dataset is limited",
    ),
    "alike at the small shift of CIFAR-10": (DISCUSSION, "similar in size to those of PS-C"),
    "PS violates it": (DISCUSSION, "the PS baseline does not account for label shift"),
    "PS-R violates it": (DISCUSSION, "does not account for uncertainty in the importance weights"),
    "WCP violates it": (DISCUSSION, "designed to target a weaker guarantee"),
    "PS-LW keeps it": (BASELINES, "PS-LW approximately satisfies the desired error guarantee"),
    "PS-LW's sets are larger than PS-W's": (BASELINES, "produces prediction sets that are larger on average"),
    "LWCP violates it": (BASELINES, "does not satisfy a PAC guarantee"),
    "PS on APS scores violates it": (BASELINES, "it does not satisfy our desired PAC guarantee"),
}
"""Where the paper says it, and its words. What is not here is a question of our own."""


def check_claims(results: Sequence[PanelResult]) -> tuple[Claim, ...]:
    """Check every claim of the paper whose methods and panels are among the results, then questions of our own."""
    table = Table(results)
    claims = [
        table.keeps("PS-W", "PS-W keeps the guarantee"),
        table.keeps("PS-C", "PS-C keeps the guarantee"),
        table.smaller("PS-W", "PS-C", "PS-W's sets are smaller than PS-C's", alike=False),
        table.smaller("PS-W", "PS-C", "alike at the small shift of CIFAR-10", alike=True),
        table.violates("PS", "PS violates it"),
        table.violates("PS-R", "PS-R violates it"),
        table.violates("WCP", "WCP violates it"),
        table.keeps("PS-LW", "PS-LW keeps it"),
        table.smaller("PS-W", "PS-LW", "PS-LW's sets are larger than PS-W's"),
        table.violates("LWCP", "LWCP violates it"),
        table.violates("APS", "PS on APS scores violates it"),
        table.keeps("PS-LP", "Does PS-LP keep the guarantee?"),
        table.smaller("PS-LP", "PS-W", "Are PS-LP's sets smaller than PS-W's?"),
        table.near_oracle("PS-W", "Are PS-W's sets within a tenth of the oracle's?"),
        table.near_oracle("PS-LP", "Are PS-LP's?"),
    ]
    return tuple(claim for claim in claims if claim is not None)


class Table:
    """Summaries by panel and method."""

    def __init__(self, results: Sequence[PanelResult]) -> None:
        self.panels = [(result, {row.method: row for row in summarise(result)}) for result in results]

    def having(self, *methods: str) -> list[tuple[PanelResult, list[MethodSummary]]]:
        """Panels where all ``methods`` ran, with their summaries."""
        return [(panel, [of[name] for name in methods]) for panel, of in self.panels if of.keys() >= {*methods}]

    def keeps(self, method: str, text: str) -> Claim | None:
        """No trial whose true error is above ε, anywhere."""
        rows = [row for _, (row,) in self.having(method)]
        if not rows:
            return None
        bad = [f"{row.panel} {row.truly_above}" for row in rows if row.truly_above]
        refused = sum(row.refused for row in rows)
        counts = _above(rows) + (f" ({_names(bad)})" if bad else "")
        counts += f"; {refused} refused (label shift refuted)" if refused else ""
        above, trials = sum(row.truly_above for row in rows), sum(row.trials for row in rows)
        verdict = f"not in {above} of {trials} trials" if bad else "holds"
        return Claim(text, verdict, counts, 1 - above / trials, matters=0.01)

    def violates(self, method: str, text: str) -> Claim | None:
        """Some trials whose true error is above ε, on as many panels as there are."""
        rows = [row for _, (row,) in self.having(method)]
        if not rows:
            return None
        bad = [row for row in rows if row.truly_above]
        kept = [row.panel for row in rows if not row.truly_above]
        verdict = _verdict(len(bad), len(rows), none="not seen here")
        also = f"; on {len(bad)} of {len(rows)} panels" + (f", not on {_names(kept)}" if bad and kept else "")
        share = sum(row.truly_above for row in bad) / sum(row.trials for row in rows)
        return Claim(text, verdict, _above(rows) + also, share)

    def smaller(self, first: str, second: str, text: str, *, alike: bool | None = None) -> Claim | None:
        """Mean size of ``first`` below that of ``second`` on every panel (``alike``: within a tenth of it)."""
        panels = [
            (result, rows)
            for result, rows in self.having(first, second)
            if alike is None or (result.panel.row in SIMILAR_SIZES) == alike
        ]
        if not panels:
            return None
        ratios = [a.mean_size / b.mean_size for _, (a, b) in panels]
        good = [abs(ratio - 1) <= 0.1 if alike else ratio < 1 for ratio in ratios]
        verdict = _verdict(sum(good), len(good))
        word = "within 10 %" if alike else "smaller"
        span = f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else f"{ratios[0]:.2f}"
        counts = f"{word} on {sum(good)} of {len(good)} panels; size ratio {first}/{second} {span}"
        larger = [result.name for (result, _), is_good in zip(panels, good, strict=True) if not is_good]
        counts += f"; not on {_names(larger)}" if any(good) and larger else ""
        return Claim(text, verdict, counts, sum(good) / len(good))

    def near_oracle(self, method: str, text: str) -> Claim | None:
        """Within a tenth of the oracle's size."""
        panels = self.having(method, "ORACLE")
        if not panels:
            return None
        near = [a.mean_size / b.mean_size <= 1.1 for _, (a, b) in panels]
        verdict = _verdict(sum(near), len(near))
        pairs = ((result.name, a.mean_size, b.mean_size) for result, (a, b) in panels)
        sizes = [f"{name} {number(size, 3)} against {number(oracle, 3)}" for name, size, oracle in pairs]
        return Claim(text, verdict, "; ".join(sizes), sum(near) / len(near))


def _verdict(good: int, panels: int, *, none: str = "does not hold") -> str:
    """Whether something is so on all panels, on some, or on none."""
    return "holds" if good == panels else f"on {good} of {panels} panels" if good else none


def _above(rows: Sequence[MethodSummary]) -> str:
    """Trials above ε as measured and, where that differs, without the noise of the test draw."""
    above, truly, trials = (sum(getattr(row, key) for row in rows) for key in ("above", "truly_above", "trials"))
    if above == truly:
        return f"error above ε in {above} of {trials} trials"
    return f"true error above ε in {truly} of {trials} trials (on the test rows in {above})"


def _names(panels: Sequence[str], most: int = 6) -> str:
    """A list short enough for a table."""
    more = f" and {len(panels) - most} more" if len(panels) > most else ""
    return ", ".join(panels[:most]) + more


# The paper's box plots: error with the ε line, and size, one pair per panel.

FORMATS = ("png", "pdf")
WIDTH, HEIGHT, DPI = 8.0, 3.2, 220
"""Inches of every figure, and dots per inch of a PNG: sharp on a screen with two dots per pixel."""
N_COLOURS = 64
"""Of a PNG: four fills, two lines, and shades at their edges."""


def draw_panel(result: PanelResult) -> Any:
    """A matplotlib figure of one panel."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    from pacshift.plots.axes import LIMIT, PROMISE_MARKS, SOURCE

    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    error_axes, size_axes = figure.subplots(1, 2)
    promises = {row.method: row.promise for row in result.rows}
    # The colour of the marks; a promise on average, which is a hollow mark elsewhere, is a light blue.
    fills = {meant: style["color"] for meant, (_, style) in PROMISE_MARKS.items()} | {"marginal": "#cfe3f2"}
    for axes, quantity in ((error_axes, "error"), (size_axes, "size")):
        _boxes(axes, result, quantity, {method: fills[promises[method]] for method in result.methods})
    _line(error_axes, result.panel.epsilon, f"ε\n{result.panel.epsilon:g}", style="--", colour=LIMIT)
    best = float(np.mean([row.best_size for row in result.rows]))
    _line(size_axes, best, "best\nthreshold", style=":", colour=SOURCE)
    shown = [meant for meant in MEANINGS if meant in promises.values()]
    patches = [
        Patch(facecolor=fills[meant], edgecolor=SOURCE, linewidth=0.6, label=MEANINGS[meant].title)
        for meant in shown
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=8, frameon=False)
    figure.suptitle(heading(result), fontsize=9)
    return figure


def heading(result: PanelResult) -> str:
    """Shift, data set and sizes in one line."""
    panel = result.panel
    sizes = f"m={panel.n_source}, n={panel.n_target}, o={panel.n_test}"
    mode = ", population" if result.population else ""
    return f"{result.title}: {panel.row}, ε={panel.epsilon:g}, δ={panel.delta:g}, {sizes}{mode}"


def _line(axes: Any, height: float, label: str, *, style: str, colour: str) -> None:
    """A reference line, named in the margin where no box can hide the name."""
    axes.axhline(height, color=colour, linestyle=style, linewidth=1)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(label, (1, height), (3, 0), **place, va="center", fontsize=7.5)


def _boxes(axes: Any, result: PanelResult, quantity: str, colours: Mapping[str, str]) -> None:
    """One box per method; one whose trials were all refused is marked so."""
    from pacshift.plots.axes import UNDECIDED, new_axes, plain_text  # loads matplotlib

    new_axes(axes, height=HEIGHT)  # they are there already: only the grid is added
    measured = [row for row in result.rows if row.status != "refused"]
    data = [
        np.array([getattr(row, quantity) for row in measured if row.method == name]) for name in result.methods
    ]
    drawn = axes.boxplot(data, widths=0.62, patch_artist=True, flierprops={"markersize": 2.5})
    axes.set_ylim(0, 1.06 * max((column.max() for column in data if len(column)), default=1.0) or 1.0)
    for name, box, median in zip(result.methods, drawn["boxes"], drawn["medians"], strict=True):
        box.set(facecolor=colours[name], linewidth=0.8)
        red, green, blue, *_ = box.get_facecolor()
        is_dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.3  # by its luma: black lines would vanish
        heights = box.get_path().vertices[:, 1]
        is_thin = np.ptp(heights) < 0.02 * axes.get_ylim()[1]  # a line across it would be all one sees of it
        if is_thin:
            box.set(edgecolor=box.get_facecolor(), linewidth=2.0)
        median.set(color=box.get_facecolor() if is_thin else "white" if is_dark else "#111111", linewidth=1.2)
    for position, column in enumerate(data, start=1):
        if not len(column):
            axes.text(position, 0.5, "refused", transform=axes.get_xaxis_transform(), rotation=90, ha="center",
                      va="center", color=UNDECIDED)  # fmt: skip
    axes.set_xticks(range(1, len(data) + 1), [plain_text(name) for name in result.methods], rotation=40,
                    ha="right", rotation_mode="anchor")  # fmt: skip
    axes.set_ylabel(f"prediction set {quantity}", fontsize=9)
    axes.tick_params(labelsize=8)


def write_figures(results: Sequence[PanelResult], folder: Path, formats: Sequence[str] = FORMATS) -> None:
    """``<panel>.png`` and ``<panel>.pdf`` for each panel. No date inside: the same results give the same file."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        figure = draw_panel(result)
        for kind in formats:
            with atomic_write(folder / f"{result.panel.name}.{kind}") as draft:
                if kind == "pdf":
                    figure.savefig(draft, format="pdf", metadata={"CreationDate": None})
                else:
                    drawn = io.BytesIO()
                    figure.savefig(drawn, dpi=DPI, format="png")
                    with Image.open(drawn) as image:  # a palette: a third of the bytes
                        image.convert("RGB").quantize(N_COLOURS).save(draft, format="png", optimize=True)


# One HTML page with every figure and table inside: it opens from disk, without server or network.


def write_page(results: Sequence[PanelResult], figures: Path, path: Path, note: str) -> None:
    """Write the page; ``figures`` is the folder that ``write_figures`` filled."""
    panels = [
        {
            "id": result.panel.name,
            "name": result.name,
            "heading": heading(result),
            "figure": result.panel.figure,
            "image": base64.b64encode((figures / f"{result.panel.name}.png").read_bytes()).decode(),
            "rows": [{"above": s.above > 0, "cells": cells(s)[1:]} for s in summarise(result)],
        }
        for result in results
    ]
    content = {"panels": panels, "headings": HEADINGS[1:], "claims": check_claims(results), "note": note}
    with atomic_write(path) as draft:
        draft.write_text(render("paper.experiments", "page.html", content), encoding="utf-8")


def render(package: str, template: str, content: Mapping[str, Any]) -> str:
    """A page by the template of a package, with every text escaped."""
    import jinja2

    loader = jinja2.PackageLoader(package, ".")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(template).render(content)
