"""Run everything the page "Reproduce the paper" shows and write its figures, tables and counts.

``python scripts/reproduce_page.py``; trials already in the output folders are not run again.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from doc_blocks import replace_block

from pacshift.experiments.claims import check_claims
from pacshift.experiments.datasets import FILES, load_dataset
from pacshift.experiments.figures import write_figures
from pacshift.experiments.panels import PANELS, VARIANTS, Panel
from pacshift.experiments.reproduce import describe_run
from pacshift.experiments.runner import PanelResult, run_panels
from pacshift.experiments.summary import HEADINGS, cells, markdown_table, summarise
from pacshift.experiments.trial import Experiment

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "reproduce.md"
FIGURES = DOCS / "figures" / "reproduce"


def main() -> None:
    """Run (or read back) the runs, then write the blocks of both pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()

    def run(panels: Sequence[Panel], folder: str, *, population: bool = False) -> tuple[PanelResult, ...]:
        experiments = [Experiment(panel, population=population) for panel in panels]
        return run_panels(experiments, options.out / folder, trials=options.trials)

    paper = run(PANELS, "reproduce")
    exact = run(PANELS, "reproduce-population", population=True)
    natural = run(VARIANTS, "reproduce-natural")
    replace_block(PAGE, "run", describe_run(paper, trials=options.trials, population=False, seed=0))
    replace_block(PAGE, "claims", claims_table({"as in the paper (two halves)": paper, "population": exact}))
    pictures = "\n\n".join(figure(result) for result in natural)
    replace_block(PAGE, "natural", claims_table({"natural training rows": natural}) + "\n" + pictures)
    replace_block(PAGE, "figures", figure_list(paper))
    replace_block(PAGE, "paper-table", summary_table(paper))
    replace_block(PAGE, "population-table", summary_table(exact))
    write_figures([*paper, *natural], FIGURES, formats=("png",))
    replace_block(DOCS / "data-sets.md", "shipped", shipped_table())


def claims_table(runs: dict[str, Sequence[PanelResult]]) -> str:
    """One row a claim; a column of verdict and counts for each run."""
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


def figure_list(results: Sequence[PanelResult]) -> str:
    """Figures in the paper's order: those of its section 4 first, then those of the appendix."""
    main_text = [result for result in results if result.panel.figure.startswith("fig:")]
    appendix = [result for result in results if not result.panel.figure.startswith("fig:")]
    parts = ["### Section 4 and the appendices on the oracle and more baselines"]
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
                f"{len(data.labels):,}",
                f"{data.n_classes}",
                f"{hit.mean():.4f}",
                f"{np.min(recall):.3f} to {np.max(recall):.3f}",
            )
        )
    return markdown_table(("data set", "kind", "rows", "K", "accuracy", "recall of the classes"), rows)


if __name__ == "__main__":
    main()
