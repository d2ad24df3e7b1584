"""Everything that the page "Reproduce the paper" shows. Trials already in the output folder are not run again."""

import csv
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import DOCS
from benchmarks.peers import ROOT
from pacshift.files.writing import atomic_write
from paper.experiments.datasets import FILES, load_dataset
from paper.experiments.panels import PANELS, VARIANTS, Panel
from paper.experiments.reproduce import describe_run
from paper.experiments.runner import PanelResult, run_panels
from paper.experiments.summary import (
    Claim,
    MethodSummary,
    check_claims,
    markdown_table,
    number,
    summarise,
    write_figures,
)
from paper.experiments.trial import Experiment

CSV = ROOT / "benchmarks" / "results" / "reproduce.csv"
SMALL_PANELS = ("heart-small-0.1", "chestxray-half-0.3")
PATIENTS = ("PS-LP", "ORACLE", "PS-LW", "PS-W")
"""Compared on the real ChestX-ray14 scores, where the halves differ most: patients stay whole."""


@dataclass(frozen=True)
class Runs:
    """The panels drawn in one way: with the scores of the repository, and once more with other scores."""

    here: tuple[PanelResult, ...]
    natural: tuple[PanelResult, ...]
    """The heart panels with the model that was fitted at the natural mix."""
    real: tuple[PanelResult, ...]
    """All other panels with the real scores of ``--data``; empty without."""
    chest: tuple[PanelResult, ...]
    """Those of ChestX-ray14 with the methods of PATIENTS, real where there are real ones."""

    @property
    def heart(self) -> list[PanelResult]:
        """The panels of ``natural`` as the authors train."""
        return [result for result in self.here if result.panel.dataset == "heart"]

    @property
    def others(self) -> list[PanelResult]:
        """The panels of ``real`` with the scores of the repository."""
        return [result for result in self.here if result.panel.dataset != "heart"]


def run(lab: Lab) -> Blocks:
    """Run the trials, or read them back; then the tables, the CSV and the figures."""
    trials = lab.trials or lab.choose(100, 1)
    panels = [panel for panel in PANELS if not lab.small or panel.name in SMALL_PANELS]
    variants = [panel for panel in VARIANTS if panel.drawn_name in {one.name for one in panels}]
    others = [panel for panel in panels if panel.dataset != "heart"]

    def trials_of(
        panels: Sequence[Panel], population: bool, data: str | None = None, methods: Sequence[str] | None = None
    ) -> tuple[PanelResult, ...]:
        lab.say(f"reproduce: {trials} trials of {len(panels)} panels, population {population}, data {data or '-'}")
        experiments = [Experiment(panel, population=population, data_dir=data) for panel in panels]
        workers = lab.choose(None, 1)
        return run_panels(experiments, lab.out / "reproduce", trials=trials, methods=methods, workers=workers)

    def runs(population: bool) -> Runs:
        chest = [panel for panel in others if panel.dataset == "chestxray"]
        return Runs(
            trials_of(panels, population),
            trials_of(variants, population),
            trials_of(others, population, lab.data) if lab.data else (),
            trials_of(chest, population, lab.data, PATIENTS),
        )

    paper, exact = runs(False), runs(True)
    folder = DOCS / "figures" / "reproduce" if lab.write else lab.out / "figures"
    write_figures(paper.here, folder, formats=("png",))
    write_csv([paper, exact], CSV if lab.write else lab.out / CSV.name)
    yield "reproduce-short", in_short(paper, exact)
    yield "verdicts", verdict_table(paper, exact, paper_says=True)
    yield "questions", verdict_table(paper, exact, paper_says=False)
    yield "panels", f"{panel_table(paper)}\n{describe_run(paper.here)}"
    yield "figures", figure_list(paper.here)
    yield "shipped", shipped_table(lab.data)


def folded(title: str, text: str) -> str:
    """Text that opens with a click, on the site and on GitHub."""
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{text.strip()}\n\n</details>'


def in_short(paper: Runs, exact: Runs) -> str:
    """The first lines: what was found, and what it rests on."""
    everything = [*paper.here, *paper.natural, *paper.real]
    refused, draws = refusals(everything), sum(result.n_trials for result in everything)
    again = [*exact.here, *exact.natural, *exact.real]
    by_data = ", ".join(
        f"{title} {refusals(found)}/{sum(one.n_trials for one in found)}"
        for title, found in (
            ("CIFAR-10", [one for one in everything if one.panel.dataset == "cifar10"]),
            ("Entity-13", [one for one in everything if one.panel.dataset == "entity13"]),
            ("ChestX-ray14", [one for one in everything if one.panel.dataset == "chestxray"]),
            ("AG News", [one for one in everything if one.panel.dataset == "agnews"]),
            ("heart", [one for one in everything if one.panel.dataset.startswith("heart")]),
        )
        if found
    )
    kept = sum(truly_above(one, "PS-W") + truly_above(one, "PS-C") for one in [*everything, *again])
    trials = sum(one.n_trials for one in [*everything, *again])
    chest, alone = (", ".join(f"{name} {count(run.chest, name)}" for name in PATIENTS) for run in (paper, exact))
    drawn = sum(one.n_trials for one in paper.chest)
    kind = "real scores" if paper.real else "twin"
    return "\n\n".join(
        [
            f"On {len(paper.here)} panels, with two sets of scores each, drawn in two ways, the true error of "
            f"PS-W and PS-C is above ε in {kept} of {2 * trials:,} runs.",
            "**The paper's split is not label shift**: it cuts a finite base in two halves, which differ in more "
            f"than their label mix. `calibrate` tests this, and would refuse {refused:,} of {draws:,} such draws "
            f"({by_data}; from one population {refusals(again)} of {sum(one.n_trials for one in again):,}). "
            "`reproduce` skips the test, as the paper has none. Then the true error is above ε on ChestX-ray14's "
            f"{kind}, in {drawn} trials, with {chest}; from one population with {alone}.",
        ]
    )


def truly_above(result: PanelResult, method: str) -> int:
    """Trials whose true error is above ε."""
    return sum(row.truly_above for row in summarise(result) if row.method == method)


def count(results: Sequence[PanelResult], method: str) -> int:
    """The same on several panels."""
    return sum(truly_above(result, method) for result in results)


def refusals(results: Sequence[PanelResult]) -> int:
    """Draws that ``calibrate`` would refuse."""
    return sum(summarise(result)[0].refuted for result in results)


def verdict_table(paper: Runs, exact: Runs, *, paper_says: bool) -> str:
    """Each claim with the verdict on 21 panels, and with every other verdict that scores or draws would give."""
    rows = []
    for claim in check_claims(paper.here):
        if bool(claim.section) == paper_says:
            quoted = [f"“{claim.quote}” ({claim.section})"] if paper_says else []
            more = "; ".join(one for one in details(claim) if one.replace("/", " of ") not in claim.verdict)
            verdict = f"**{claim.verdict}**" + (f" ({more})" if more else "") + depends_on(claim, paper, exact)
            rows.append([claim.text, *quoted, verdict])
    headings = ("claim", "in the paper's words (section)", "verdict") if paper_says else ("question", "verdict")
    return markdown_table(headings, rows, left=len(headings))


def depends_on(claim: Claim, paper: Runs, exact: Runs) -> str:
    """What changes the verdict: the same panels with other scores, or drawn from one population."""

    def said(results: Sequence[PanelResult]) -> Claim | None:
        return next((one for one in check_claims(results) if one.text == claim.text), None)

    pairs = {
        "natural heart": (said(paper.heart), said(paper.natural)),
        "real scores": (said(paper.others), said(paper.real)),
        "one population": (said(paper.here), said(exact.here)),
    }
    other = []
    for name, (before, after) in pairs.items():
        if before and after and before.verdict.split()[0] != after.verdict.split()[0]:  # all, some, or none
            other.append(f"; {name}: {after.verdict}")
        elif before and after and abs(before.share - after.share) >= claim.matters:
            other.append(f"; {name}: {details(after)[0]}, not {details(before)[0].split()[0]}")
    return "".join(other)


def details(claim: Claim) -> list[str]:
    """The counts without what the claim says already."""
    words = claim.counts.split(" (on the test rows")[0]
    for known in ("true error above ε in", "error above ε in", "smaller on", "size ratio"):
        words = words.replace(f"{known} ", "")
    return re.sub(r"(\d) of (\d)", r"\1/\2", words).split("; ")


def panel_table(paper: Runs) -> str:
    """One line per panel, the scores of the repository on the left, others on the right."""
    others = {result.panel.drawn_name: result for result in (*paper.natural, *paper.real)}
    rows = []
    for result in paper.here:
        other = others.get(result.panel.name)
        rows.append([result.name, *panel_cells(result), *(panel_cells(other) if other else ("", "", ""))])
    heads = ("sizes", "above ε", "refused")
    return markdown_table(("panel", *heads, *(f"{head}, other scores" for head in heads)), rows, left=1)


SIZES, ABOVE = ("PS-C", "PS-W", "PS-LP"), ("PS", "PS-R", "WCP", "PS-W", "PS-LP")


def panel_cells(result: PanelResult) -> tuple[str, str, str]:
    """Mean sizes of SIZES, trials truly above ε of ABOVE, draws that ``calibrate`` would refuse."""
    by_method = {summary.method: summary for summary in summarise(result)}
    sizes = "/".join(number(by_method[name].mean_size, 2) for name in SIZES)
    above = "/".join(str(by_method[name].truly_above) for name in ABOVE)
    return sizes, above, str(by_method["PS"].refuted)


def write_csv(runs: Sequence[Runs], path: Path) -> None:
    """Every method on every panel: one line for each set of scores and way to draw."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [name for name in MethodSummary.__dataclass_fields__ if name != "title"]
    with atomic_write(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["draws", "scores", *names])
        for run in runs:
            for result in (*run.here, *run.natural, *run.real):
                kind = "one population" if result.population else "two halves"
                for summary in summarise(result):
                    values = asdict(summary)
                    shown = [
                        round(values[name], 6) if isinstance(values[name], float) else values[name]
                        for name in names
                    ]
                    writer.writerow([kind, result.title, *shown])


BOX_COLOURS = (
    "Boxes are coloured by what is promised. Blue: the target. Light blue: an average over many draws. Black: the "
    "source only. Grey: nothing. The dashed line is ε, the dotted one the mean size at "
    "the best single threshold, found with full knowledge of the target; methods with one threshold per class may "
    "go below it."
)


def figure_list(results: Sequence[PanelResult]) -> str:
    """Figures in the paper's order: those of its section 4 first, then those of the appendix."""
    main_text = [result for result in results if result.panel.figure.startswith("fig:")]
    appendix = [result for result in results if not result.panel.figure.startswith("fig:")]
    first = "\n\n".join([BOX_COLOURS, *(figure(result) for result in main_text)])
    more = "\n\n".join(figure(result) for result in appendix)
    return folded("Figures of section 4", first) + "\n\n" + folded("Figures of appendix H", more)


def figure(result: PanelResult) -> str:
    """One panel's box plots with the label of the paper's figure."""
    panel = result.panel
    title = f"{result.title}, `{panel.name}` ({panel.figure})"
    return f"**{title}**\n\n![Error and size, {panel.name}](../../docs/figures/reproduce/{panel.name}.png)"


def shipped_table(data_dir: str | None) -> str:
    """What the repository holds for each data set, then the real scores of a folder."""
    rows = []
    found = [load_dataset(name) for name in FILES]
    if data_dir:
        found += [data for name in FILES if (data := load_dataset(name, data_dir)).origin == "real"]
    for data in found:
        hit = data.probs.argmax(axis=1) == data.labels
        recall = [hit[data.labels == label].mean() for label in range(data.n_classes)]
        rows.append(
            (
                f"`{data.name}`",
                data.origin,
                data.facts.get("model", "a twin of another model" if data.origin == "twin" else "see below"),
                f"{len(data.labels):,}",
                f"{data.n_classes}",
                f"{hit.mean():.4f}",
                f"{np.min(recall):.3f} to {np.max(recall):.3f}",
            )
        )
    headings = ("data set", "kind", "model", "rows", "K", "accuracy", "recall of the classes")
    return markdown_table(headings, rows, left=3)
