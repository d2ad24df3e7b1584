"""Quality under label shift: who keeps what they promise when the label mix moves.

Population mode: source and target are drawn from one base of scores, so that the error of a threshold on the
target is known exactly. (Randomised scores are measured with one draw of their randomness over the whole base.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from benchmarks.peers import THEIRS, JobFailed, run_job
from pacshift import METHODS
from pacshift.arrays import FloatArray
from pacshift.methods import Method
from paper.experiments.panels import select_panels
from paper.experiments.summary import markdown_table
from paper.experiments.trial import Draw, Experiment, load_base, run_trial

PANELS = ("heart-natural-large-0.1", "cifar10-large-0.1", "agnews-0.05")
"""The panels whose shipped scores are those of trained models, not of twins."""
METHOD_ORDER = ("PS-LP", "PS-W", "PS-C", "PS-LW", "PS", "APS", "PS-R", "WCP", "LWCP")
PROMISES = {
    "pac-target": "error ≤ ε on the target, for all but a share δ of calibration draws",
    "pac-source": "error ≤ ε on the source, for all but a share δ of calibration draws",
    "marginal": "error ≤ ε on average over calibration draws",
    "none": "nothing",
}
HEADINGS = (
    "contestant", "promises", "mean error before the shift", "mean error on the target", "largest",
    "trials above ε", "mean size",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One contestant on one panel, over all trials."""

    title: str
    promise: str
    errors: FloatArray
    sizes: FloatArray
    before: FloatArray | None = None
    refused: int = 0

    def cells(self, epsilon: float) -> tuple[str, ...]:
        """The line for the table.

        >>> Line("broken", "could not be measured: no", np.empty(0), np.empty(0)).cells(0.1)
        ('broken', 'could not be measured: no', '–', '–', '–', '–', '–')
        """
        if not len(self.errors):
            return (self.title, self.promise, *["–"] * 5)
        before = "–" if self.before is None else f"{self.before.mean():.4f}"
        above = int((self.errors > epsilon).sum())
        share = f"{above} of {len(self.errors)}" + (f" ({self.refused} refused)" if self.refused else "")
        errors = before, f"{self.errors.mean():.4f}", f"{self.errors.max():.4f}"
        return self.title, self.promise, *errors, f"**{share}**" if above else share, f"{self.sizes.mean():.3f}"


def run(lab: Lab) -> Blocks:
    """One table per panel."""
    trials = lab.trials or lab.choose(10, 2)
    parts = [conditions("quality", stage=lab.stage.among(THEIRS))]
    for panel in select_panels(lab.choose(PANELS, PANELS[2:])):
        # The scores that the package ships, as the page says: real ones elsewhere would give another table.
        experiment = Experiment(panel, population=True)
        lab.say(f"quality {panel.name}: pacshift, {trials} trials")
        best, lines = ours(experiment, trials)
        lines += theirs(lab, experiment, trials)
        parts.append(markdown(experiment, best, lines))
    yield "quality", "\n\n".join(parts)


def ours(experiment: Experiment, trials: int) -> tuple[float, list[Line]]:
    """The size of the best single threshold, and one line per method of this package."""
    rows = [run_trial(experiment, trial, METHOD_ORDER) for trial in range(trials)]
    lines = []
    for position, name in enumerate(METHOD_ORDER):
        # A refused draw hands out no sets: it cannot miss, and it has no size.
        errors = np.nan_to_num(np.array([row[position].error for row in rows]))
        sizes = np.array([row[position].size for row in rows])
        promise = promise_of(METHODS[name]())
        refused = int(np.isnan(sizes).sum())
        lines.append(Line(f"**pacshift {name}**", promise, errors, sizes[np.isfinite(sizes)], refused=refused))
    return float(np.mean([row[0].best_size for row in rows])), lines


def promise_of(method: Method) -> str:
    """What a method of this package promises, from its own facts.

    >>> promise_of(METHODS["LWCP"]())
    'error ≤ ε on average over calibration draws, whatever the label mix'
    """
    mix = ", whatever the label mix" if method.any_mix else ""
    assumed = f". {method.extra_assumption}" if method.extra_assumption and method.guarantee != "none" else ""
    return PROMISES[method.guarantee] + mix + assumed


def theirs(lab: Lab, experiment: Experiment, trials: int) -> list[Line]:
    """Peers calibrate on the very same source draws; they never see the target."""
    panel, lines = experiment.panel, []
    entries = lab.stage.ready(THEIRS)
    job = {"kind": "quality", "epsilon": panel.epsilon, "delta": panel.delta}
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_population(folder, [Draw(experiment, trial) for trial in range(trials)])
        for position, entry in enumerate(entries, start=1):
            lab.say(f"quality {panel.name}: {position}/{len(entries)} {entry.title}")
            try:
                answers = run_job(lab.stage, entry, job, folder)
            except JobFailed as failure:
                lines.append(Line(entry.title, f"could not be measured: {failure}", np.empty(0), np.empty(0)))
                continue
            errors, before, sizes = (np.array([a[k] for a in answers]) for k in ("error", "error_before", "size"))
            lines.append(Line(entry.title, entry.promise, errors, sizes, before))
    return lines


def write_population(folder: Path, draws: Sequence[Draw]) -> None:
    """The population as arrays: the environments of the peers do not have pacshift."""
    base, panel = draws[0].base, draws[0].experiment.panel
    population = draws[0].population("probability")
    np.savez(
        folder / "population.npz",
        scores=base.probs,
        labels=base.labels,
        source_weights=population.row_shares(panel.source_mix),
        target_weights=population.row_shares(panel.target_mix),
    )
    np.save(folder / "sources.npy", np.stack([draw.source for draw in draws]))


def markdown(experiment: Experiment, best: float, lines: Sequence[Line]) -> str:
    """The table of one panel."""
    panel, title = experiment.panel, load_base(experiment).title
    intro = (
        f"{title}, {panel.n_classes} classes, ε = {panel.epsilon:g}, δ = {panel.delta:g}, "
        f"{panel.n_source:,} source and {panel.n_target:,} target rows. "
        f"The best single threshold, chosen with full knowledge, gives sets of {best:.3f} labels."
    )
    rows = [line.cells(panel.epsilon) for line in lines]
    return f"### {panel.name}\n\n{intro}\n\n{markdown_table(HEADINGS, rows).strip()}"
