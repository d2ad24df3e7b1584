"""PS-W on real scores at the paper's settings, where the whole data set is the population.

pytest tests/test_real_data.py                   # two trials per panel
pytest tests/test_real_data.py -m long -s        # 100 trials, prints the figures, about ten minutes
"""

from pathlib import Path

import numpy as np
import pytest

from paper.experiments.panels import PANELS, VARIANTS, Panel
from paper.experiments.trial import Experiment, TrialRow, run_trial

# Not heart-natural-large: all its errors are sick people, whose weight is the largest, so PS-C wastes nothing.
LARGE_SHIFTS = ("heart-large", "cifar10-large", "agnews", "entity13", "chestxray", "chestxray-half")


def run_panel(panel: Panel, data: Path, trials: int) -> dict[str, list[TrialRow]]:
    experiment = Experiment(panel, population=True, data_dir=str(data))
    drawn = [run_trial(experiment, trial, ("PS-W", "PS-C")) for trial in range(trials)]
    return {name: [rows[place] for rows in drawn] for place, name in enumerate(("PS-W", "PS-C"))}


def check(panel: Panel, results: dict[str, list[TrialRow]]) -> None:
    for rows in results.values():
        assert [row.status for row in rows if row.status != "ok"] == []
        assert max(row.error for row in rows) <= panel.epsilon  # exact, over the whole population
    if panel.row in LARGE_SHIFTS:
        assert mean(results["PS-W"]) < mean(results["PS-C"])


def mean(rows: list[TrialRow]) -> float:
    return float(np.mean([row.size for row in rows]))


@pytest.mark.parametrize("panel", [*PANELS, *VARIANTS], ids=lambda panel: panel.name)
def test_ps_w_keeps_the_error_and_beats_ps_c_on_large_shifts(panel: Panel, shared_data: Path) -> None:
    check(panel, run_panel(panel, shared_data, 2))


@pytest.mark.long
@pytest.mark.parametrize("panel", [*PANELS, *VARIANTS], ids=lambda panel: panel.name)
def test_ps_w_in_a_hundred_trials(panel: Panel, shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = run_panel(panel, shared_data, 100)
    with capsys.disabled():
        for name, rows in results.items():
            worst = max(row.error for row in rows)
            print(f"\n{panel.name} {name}: largest error {worst:.4f}, mean size {mean(rows):.3f}", end="")
    check(panel, results)
