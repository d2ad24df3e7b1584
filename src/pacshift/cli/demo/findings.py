"""What the demo finds: certificate and methods of the first draw, all draws, and a case with rare classes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import typer

from pacshift.arrays import IntArray
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate_tally
from pacshift.certification.one_label import with_one_label_error
from pacshift.cli.console import progress
from pacshift.cli.demo.rare import RareCase, rare_case
from pacshift.cli.provenance import with_origin
from pacshift.comparison.table import ComparisonRow
from pacshift.errors import InputError
from pacshift.experiments.panels import Panel, select_panels
from pacshift.experiments.trial import Draw, Experiment, TrialRow, run_trial
from pacshift.methods import METHODS, usable_methods
from pacshift.rows.sets import count_sizes

METHOD = "PS-LP"


@dataclass(frozen=True)
class Findings:
    """What the demo found: certificate and methods of the first draw, all draws, and a case with rare classes."""

    certificate: Certificate
    draw: Draw
    rows: Sequence[ComparisonRow]
    trials: Sequence[Sequence[TrialRow]]
    rare: RareCase

    def above(self, method: str) -> int:
        """In how many draws the error of a method was above what was allowed."""
        epsilon = self.certificate.epsilon
        return sum(row.error > epsilon for trial in self.trials for row in trial if row.method == method)

    def size(self, method: str) -> float:
        """Mean size of a method's sets over all draws that it did not refuse."""
        return float(np.nanmean([row.size for trial in self.trials for row in trial if row.method == method]))


def select_panel(name: str) -> Panel:
    """The one panel of this name."""
    panels = select_panels([name])
    if len(panels) > 1:
        raise InputError(f"panel {name!r} names {len(panels)} panels, such as {panels[0].name!r}. Name one.")
    return panels[0]


def find(ctx: typer.Context, panel: Panel, draws: int, seed: int, *, silent: bool) -> Findings:
    """Draw, calibrate and measure."""
    experiment = Experiment(panel=panel, seed=seed, population=True)
    trials = _run(experiment, draws, silent=silent)
    certificate, draw = _certify(experiment)
    rare = rare_case(certificate.epsilon, certificate.delta, seed)
    return Findings(
        with_origin(certificate, ctx, seed), draw, [_comparison(row) for row in trials[0]], trials, rare
    )


def _run(experiment: Experiment, draws: int, *, silent: bool) -> list[tuple[TrialRow, ...]]:
    trials, methods = [], [method.name for method in usable_methods(with_weights=True)]
    with progress("drawing and calibrating", silent=silent) as report:
        for trial in range(draws):
            if report:
                report(trial, draws)
            trials.append(run_trial(experiment, trial, methods))
    return trials


def _certify(experiment: Experiment) -> tuple[Certificate, Draw]:
    """The first draw's certificate, with the classes' names and the target's set sizes."""
    draw, panel = Draw(experiment, 0), experiment.panel
    tally = replace(draw.tally("probability"), classes=draw.base.class_names)
    made = calibrate_tally(tally, epsilon=panel.epsilon, delta=panel.delta, method=METHOD, rng=draw.rng(METHOD))
    target = draw.base.probs[draw.target]

    def count(certificates: Sequence[Certificate]) -> list[IntArray]:
        return [count_sizes(one.sets(target)) for one in certificates]

    return with_one_label_error(made, tally, METHODS[METHOD](), count).with_set_sizes(target), draw


def _comparison(row: TrialRow) -> ComparisonRow:
    guarantee = METHODS[row.method].guarantee
    if row.status == "refused":
        return ComparisonRow(row.method, guarantee, None, note="the draw refutes label shift")
    return ComparisonRow(row.method, guarantee, row.size, row.empty, row.error, row.status == "trivial")
