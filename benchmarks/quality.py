"""Part 2, quality under label shift: who keeps what they promise when the label mix moves.

Population mode: source and target are drawn from one base of scores, so that the error of a threshold on the
target is known exactly. (Randomised scores are measured with one draw of their randomness over the whole base.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.peers import THEIRS, JobFailed, Stage, run_job
from pacshift import METHODS
from pacshift.arrays import FloatArray
from pacshift.experiments.panels import Panel, select_panels
from pacshift.experiments.trial import Draw, Experiment, run_trial

PANELS = ("cifar10-large-0.1", "agnews-0.05", "heart-large-0.1", "chestxray-0.3", "entity13-0.1")
METHOD_ORDER = ("PS-LP", "PS-W", "PS-C", "PS-LW", "PS", "APS", "PS-R", "WCP", "LWCP")
PROMISES = {
    "pac-target": "error ≤ ε on the target, for all but a share δ of calibration draws",
    "pac-source": "error ≤ ε on the source, for all but a share δ of calibration draws",
    "marginal": "error ≤ ε on average over calibration draws",
    "none": "nothing",
}
OURS_SAY = {
    "PS-LW": "error ≤ ε on any label mix, for all but a share δ of calibration draws",
    "WCP": "error ≤ ε on average over calibration draws, if the estimated weights are right",
    "LWCP": "error ≤ ε on average over calibration draws, class by class: any label mix",
}


@dataclass(frozen=True)
class Line:
    """One contestant on one panel, over all trials."""

    title: str
    promise: str
    errors: FloatArray
    sizes: FloatArray
    before: FloatArray | None = None
    refused: int = 0

    def markdown(self, epsilon: float) -> str:
        if not len(self.errors):
            return f"| {self.title} | – | – | – | – | – | {self.promise} |"
        before = "–" if self.before is None else f"{self.before.mean():.4f}"
        above = int((self.errors > epsilon).sum())
        share = f"{above} of {len(self.errors)}" + (f" ({self.refused} refused)" if self.refused else "")
        return (
            f"| {self.title} | {before} | {self.errors.mean():.4f} | {self.errors.max():.4f} "
            f"| {f'**{share}**' if above else share} | {self.sizes.mean():.3f} | {self.promise} |"
        )


def measure(
    stage: Stage,
    names: Sequence[str],
    trials: int,
    say: Callable[[str], None],
    *,
    data_dir: str | None = None,
) -> dict[str, tuple[Panel, str, float, list[Line]]]:
    """By panel: the panel, its data set's title, the size of the best possible sets, one line a contestant."""
    results = {}
    for panel in select_panels(names):
        experiment = Experiment(panel, population=True, data_dir=data_dir)
        say(f"quality {panel.name}: pacshift, {trials} trials")
        best, lines = _ours(experiment, trials)
        lines += _theirs(stage, experiment, trials, say)
        results[panel.name] = (panel, Draw(experiment, 0).base.title, best, lines)
    return results


def _ours(experiment: Experiment, trials: int) -> tuple[float, list[Line]]:
    methods = METHOD_ORDER
    rows = [run_trial(experiment, trial, methods) for trial in range(trials)]
    lines = []
    for position, name in enumerate(methods):
        # A refused draw hands out no sets: it cannot miss, and it has no size.
        errors = np.nan_to_num(np.array([row[position].error for row in rows]))
        sizes = np.array([row[position].size for row in rows])
        promise = OURS_SAY.get(name, PROMISES[METHODS[name].guarantee])
        refused = int(np.isnan(sizes).sum())
        lines.append(Line(f"**pacshift {name}**", promise, errors, sizes[np.isfinite(sizes)], refused=refused))
    return float(np.mean([row[0].best_size for row in rows])), lines


def _theirs(stage: Stage, experiment: Experiment, trials: int, say: Callable[[str], None]) -> list[Line]:
    """Peers calibrate on the very same source draws; the target they never look at."""
    panel, lines = experiment.panel, []
    entries = stage.ready(THEIRS)
    job = {"kind": "quality", "epsilon": panel.epsilon, "delta": panel.delta}
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_population(folder, [Draw(experiment, trial) for trial in range(trials)])
        for position, entry in enumerate(entries, start=1):
            say(f"quality {panel.name}: {position}/{len(entries)} {entry.title}")
            try:
                answers = run_job(stage, entry, job, folder)
            except JobFailed as failure:
                lines.append(Line(entry.title, f"takes no part: {failure}", np.empty(0), np.empty(0)))
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


def markdown(results: dict[str, tuple[Panel, str, float, list[Line]]]) -> str:
    parts = []
    for name, (panel, title, best, lines) in results.items():
        parts += [
            f"### {name}",
            "",
            f"{title}, {panel.n_classes} classes, ε = {panel.epsilon:g}, δ = {panel.delta:g}, "
            f"{panel.n_source:,} source and {panel.n_target:,} target rows. The best single "
            f"threshold, knowing everything, gives sets of "
            f"{best:.3f} labels.",
            "",
            "| contestant | mean error before the shift | mean error on the target | largest | trials above ε "
            "| mean size | promises |",
            "|---|---|---|---|---|---|---|",
            *(line.markdown(panel.epsilon) for line in lines),
            "",
        ]
    return "\n".join(parts).rstrip()
