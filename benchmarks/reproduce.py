"""Everything that the page "Reproduce the paper" shows. Trials already in the output folders are not run again."""

from collections.abc import Sequence

import numpy as np

from benchmarks.heart import misses_table
from benchmarks.lab import Blocks, Lab
from benchmarks.page import DOCS
from paper.experiments.datasets import FILES, load_dataset
from paper.experiments.panels import PANELS, VARIANTS, Panel
from paper.experiments.reproduce import describe_run
from paper.experiments.runner import PanelResult, run_panels
from paper.experiments.summary import HEADINGS, cells, check_claims, markdown_table, summarise, write_figures
from paper.experiments.trial import Experiment

SMALL_PANEL = "agnews-0.05"


def run(lab: Lab) -> Blocks:
    """Run the trials, or read them back, then the tables and figures of both pages."""
    trials = lab.trials or lab.choose(100, 1)

    def trials_of(panels: Sequence[Panel], folder: str, *, population: bool = False) -> tuple[PanelResult, ...]:
        lab.say(f"reproduce: {trials} trials of {len(panels)} panels into {lab.out / folder}")
        experiments = [Experiment(panel, population=population, data_dir=lab.data) for panel in panels]
        return run_panels(experiments, lab.out / folder, trials=trials, workers=lab.choose(None, 1))

    panels = lab.choose(PANELS, tuple(panel for panel in PANELS if panel.name == SMALL_PANEL))
    paper = trials_of(panels, "reproduce")
    exact = trials_of(panels, "reproduce-population", population=True)
    balanced = trials_of(VARIANTS[: lab.choose(None, 1)], "reproduce-balanced")
    folder = DOCS / "figures" / "reproduce" if lab.write else lab.out / "figures"
    write_figures([*paper, *balanced], folder, formats=("png",))
    yield "run", describe_run(paper, trials=trials, population=False, seed=0)
    yield "claims", claims_table({"as in the paper (two halves)": paper, "population": exact})
    pictures = "\n\n".join(figure(result) for result in balanced)
    yield "balanced", claims_table({"loss that weighs both classes alike": balanced}) + "\n" + pictures
    yield "heart-misses", misses_table(lab)
    yield "figures", figure_list(paper)
    yield "paper-table", summary_table(paper)
    yield "population-table", summary_table(exact)
    yield "shipped", shipped_table()


def claims_table(runs: dict[str, Sequence[PanelResult]]) -> str:
    """One row per claim; one column of verdicts and counts per run."""
    checked = {name: {claim.text: claim for claim in check_claims(results)} for name, results in runs.items()}
    texts = list(next(iter(checked.values())))
    rows = [
        [text, *(f"**{found[text].verdict}**: {found[text].counts}" for found in checked.values())]
        for text in texts
    ]
    return markdown_table(("claim", *checked), rows, left=1 + len(checked))


def summary_table(results: Sequence[PanelResult]) -> str:
    """The summary of all panels."""
    return markdown_table(HEADINGS, [cells(summary) for result in results for summary in summarise(result)])


BOX_COLOURS = (
    "Boxes are coloured by promise. Blue: guaranteed on the target. Light blue: on average over many draws. "
    "Black: guaranteed on the source only. Grey: nothing."
)


def figure_list(results: Sequence[PanelResult]) -> str:
    """Figures in the paper's order: those of its section 4 first, then those of the appendix."""
    main_text = [result for result in results if result.panel.figure.startswith("fig:")]
    appendix = [result for result in results if not result.panel.figure.startswith("fig:")]
    parts = [BOX_COLOURS, "### Section 4 and the appendices on the oracle and more baselines"]
    parts += [figure(result) for result in main_text]
    parts += ["### Appendix “More Results”"]
    parts += [figure(result) for result in appendix]
    return "\n\n".join(parts)


def figure(result: PanelResult) -> str:
    """One panel's box plots with the label of the paper's figure."""
    panel = result.panel
    title = f"{result.title}, `{panel.name}` ({panel.figure})"
    return f"**{title}**\n\n![Error and size, {panel.name}](figures/reproduce/{panel.name}.png)"


def shipped_table() -> str:
    """What the package holds for each data set."""
    rows = []
    for name in FILES:
        data = load_dataset(name)
        hit = data.probs.argmax(axis=1) == data.labels
        recall = [hit[data.labels == label].mean() for label in range(data.n_classes)]
        rows.append(
            (
                f"`{name}`",
                data.origin,
                data.facts.get("model", "a twin of another model"),
                f"{len(data.labels):,}",
                f"{data.n_classes}",
                f"{hit.mean():.4f}",
                f"{np.min(recall):.3f} to {np.max(recall):.3f}",
            )
        )
    headings = ("data set", "kind", "model", "rows", "K", "accuracy", "recall of the classes")
    return markdown_table(headings, rows, left=3)
