"""Trials, the runner and what it writes."""

import csv
import importlib.util
import json
import linecache
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from matplotlib.colors import to_hex

import pacshift
from pacshift.errors import AssumptionError, InputError
from pacshift.evaluation import evaluate
from pacshift.methods import PS, PSW, Guarantee, Method, Solution, Task
from pacshift.plots.axes import SOURCE, TARGET
from pacshift.tally import Tally
from paper.experiments import trial as trial_module
from paper.experiments.panels import Panel, select_panels
from paper.experiments.reproduce import own_panels, run_reproduce
from paper.experiments.runner import PanelResult, TrialLog, run_panels
from paper.experiments.summary import HEIGHT, WIDTH, check_claims, draw_panel, summarise
from paper.experiments.trial import Draw, Experiment, TrialRow, halves, run_trial

pytestmark = pytest.mark.thorough

METHODS = ("PS", "PS-C", "PS-R", "PS-W", "WCP")


@pytest.fixture(scope="module")
def scores_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A decent three-class classifier."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 3000)
    logits = rng.normal(size=(3000, 3)) + 3.0 * np.eye(3)[labels]
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    path = tmp_path_factory.mktemp("scores") / "mine.npz"
    np.savez(path, probs=probs, labels=labels, class_names=np.array(["a", "b", "c"]))
    return str(path)


@pytest.fixture
def panel() -> Panel:
    return own_panels("mine", [40, 30, 30], [20, 20, 60], [0.1], (2000, 1500, 1000), delta=0.05)[0]


def test_halves_share_no_row_and_split_every_class() -> None:
    labels = np.random.default_rng(0).integers(0, 4, 501)
    first, second = halves(labels, np.random.default_rng(1))
    assert np.array_equal(np.sort(np.concatenate([first, second])), np.arange(501))
    assert (np.abs(np.bincount(labels[first]) - np.bincount(labels[second])) <= 1).all()


def test_a_draw_has_the_sizes_and_mixes_of_the_panel(panel: Panel, scores_file: str) -> None:
    draw = Draw(Experiment(panel, scores_file=scores_file), trial=3)
    labels = draw.base.labels
    for rows, size, mix in (
        (draw.source, panel.n_source, panel.source_mix),
        (draw.target, panel.n_target, panel.target_mix),
        (draw.test, panel.n_test, panel.target_mix),
    ):
        assert len(rows) == size
        assert np.abs(np.bincount(labels[rows], minlength=3) / size - mix).max() < 0.06
    assert not set(draw.source) & set(draw.target)
    assert not set(draw.source) & set(draw.test)


def test_paper_mode_measures_on_the_test_rows(panel: Panel, scores_file: str) -> None:
    draw = Draw(Experiment(panel, scores_file=scores_file), trial=0)
    thresholds = np.array([0.2, 0.4, 0.9])
    expected = evaluate(draw.base.probs[draw.test] >= thresholds, draw.base.labels[draw.test])
    measured = draw.measure("probability", thresholds)
    assert np.allclose(measured, (expected.error, expected.size, expected.empty))


def test_population_mode_is_what_ever_larger_test_draws_approach(panel: Panel, scores_file: str) -> None:
    draw = Draw(Experiment(panel, population=True, scores_file=scores_file), trial=0)
    large = Draw(Experiment(replace(panel, n_test=400_000), population=True, scores_file=scores_file), trial=0)
    thresholds = np.array([0.1, 0.3, 0.8])  # classes unlike each other, or a wrong mix would not show
    sample = evaluate(large.base.probs[large.test] >= thresholds, large.base.labels[large.test])
    expected = sample.error, sample.size, sample.empty
    assert np.allclose(draw.measure("probability", thresholds), expected, atol=4e-3)


def test_the_true_error_is_that_of_the_targets_half(panel: Panel, scores_file: str) -> None:
    draw = Draw(Experiment(replace(panel, n_test=400_000), scores_file=scores_file), trial=0)
    thresholds = np.array([0.1, 0.3, 0.8])
    for score, noise in (("probability", 3e-3), ("aps", 2e-2)):
        assert draw.true_error(score, thresholds) == pytest.approx(draw.measure(score, thresholds)[0], abs=noise)
    exact = Draw(Experiment(panel, population=True, scores_file=scores_file), trial=0)
    assert exact.true_error("probability", thresholds) == exact.measure("probability", thresholds)[0]


def test_the_best_size_is_that_of_the_best_threshold_on_the_target(panel: Panel, scores_file: str) -> None:
    draw = Draw(Experiment(panel, population=True, scores_file=scores_file), trial=0)
    best = draw.population("probability").best_threshold(panel.epsilon, panel.target_mix)
    error, size, _ = draw.measure("probability", np.full(3, best))
    assert error <= panel.epsilon
    assert size == draw.best_size


def test_a_method_gets_the_same_numbers_in_any_company(panel: Panel, scores_file: str) -> None:
    experiment = Experiment(panel, scores_file=scores_file)
    together = run_trial(experiment, 1, METHODS)
    assert tuple(run_trial(experiment, 1, [method])[0] for method in METHODS) == together
    for other in (run_trial(experiment, 2, METHODS), run_trial(replace(experiment, seed=1), 1, METHODS)):
        assert all(row.size != same.size for row, same in zip(other, together, strict=True))


def test_a_draw_that_refutes_label_shift_is_recorded_as_refused(
    panel: Panel, scores_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise AssumptionError("no")

    monkeypatch.setattr(trial_module, "thresholds_of", refuse)
    (row,) = run_trial(Experiment(panel, scores_file=scores_file), 0, ["PS"])
    assert row.status == "refused"
    assert np.isnan([row.error, row.size]).all()


def test_one_and_two_workers_give_the_same_table(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    panels = [panel, replace(panel, epsilon=0.2)]
    for workers in (1, 2):
        run_reproduce(
            panels, tmp_path / str(workers), trials=3, methods=METHODS, workers=workers, scores_file=scores_file
        )
    for name in ("results.csv", "summary.md"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_everything_is_written_and_says_the_same(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    results = run_reproduce([panel], tmp_path, trials=4, methods=METHODS, workers=1, scores_file=scores_file)
    with (tmp_path / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * len(METHODS)
    assert [float(row["error"]) for row in rows] == [row.error for row in results[0].rows]
    table = pq.read_table(tmp_path / "results.parquet").to_pylist()
    assert [row["size"] for row in table] == [float(row["size"]) for row in rows]
    assert {row["origin"] for row in rows} == {"real"}
    for kind in ("png", "pdf"):
        assert (tmp_path / "figures" / f"{panel.name}.{kind}").stat().st_size > 5000
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert "http" not in page  # nothing to fetch
    assert "PS-W keeps the guarantee" in page
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").count("| mine-0.1 |") == len(METHODS)


def test_a_run_resumes_after_an_interruption(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    def run(folder: Path, trials: int, methods: tuple[str, ...]) -> tuple[PanelResult, list[int]]:
        done: list[int] = []
        experiments = [Experiment(panel, scores_file=scores_file)]
        (result,) = run_panels(
            experiments, folder, trials=trials, methods=methods, workers=1, progress=lambda d, *_: done.append(d)
        )
        return result, done

    whole, _ = run(tmp_path / "whole", 4, METHODS)
    assert run(tmp_path / "parts", 2, METHODS[:2])[1] == [1, 2]
    log = tmp_path / "parts" / "trials.jsonl"
    log.write_bytes(log.read_bytes()[:-20])  # a crash in the middle of the second line
    assert run(tmp_path / "parts", 2, METHODS[:2])[1] == [2]
    resumed, done = run(tmp_path / "parts", 4, METHODS)
    assert resumed == whole
    assert done == [1, 2, 3, 4]  # trials 0 and 1 lacked three methods
    assert run(tmp_path / "parts", 4, METHODS)[1] == []


def test_another_seed_does_not_take_the_logged_trials(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    run = partial(run_reproduce, [panel], tmp_path, trials=2, methods=["PS"], workers=1, scores_file=scores_file)
    assert len({result.rows for (result,) in (run(), run(seed=9), run(population=True))}) == 3
    assert len((tmp_path / "trials.jsonl").read_text(encoding="utf-8").splitlines()) == 6


def test_a_second_run_keeps_the_panels_of_the_first(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    def run(panel: Panel, **more: Any) -> str:
        run_reproduce([panel], tmp_path, methods=["PS", "PS-W"], workers=1, scores_file=scores_file, **more)
        return (tmp_path / "summary.md").read_text(encoding="utf-8")

    other = replace(panel, epsilon=0.2)
    first = run(panel, trials=2)
    both = run(other, trials=1, seed=3)
    assert all(line in both for line in first.splitlines() if line.startswith("| mine-0.1 |"))
    assert both.count("| mine-0.2 |") == 2
    assert "2 trials per panel, seed 0" in both
    assert "1 trial per panel, seed 3" in both
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'id="mine-0.1"' in page
    assert 'id="mine-0.2"' in page
    assert len((tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 2 + 1 * 2
    again = run(panel, trials=1)  # the newest run of a panel counts
    assert "| mine-0.1 | PS |" in again
    assert "2 trials per panel" not in again
    (tmp_path / "panels.json").write_text('[{"panel": 1}]', encoding="utf-8")
    with pytest.raises(InputError, match=r"panels.json: not a list of panels"):
        run(other, trials=1)


@dataclass(frozen=True)
class Cautious(PS):
    """PS at a part of ε, as somebody might write it."""

    part: float = 0.5

    name = "CAUTIOUS"

    def solve(self, tally: Tally, task: Task) -> Solution:
        return PS().solve(tally, Task(epsilon=self.part * task.epsilon, delta=task.delta))


@pytest.mark.parametrize("workers", [1, 2])
def test_methods_of_ones_own_run_beside_the_papers(
    panel: Panel, scores_file: str, tmp_path: Path, workers: int
) -> None:
    methods: list[str | Method] = ["PS", Cautious(), Cautious(part=0.25), PSW(intervals="hull")]
    [result] = run_reproduce(
        [panel], tmp_path, trials=2, methods=methods, workers=workers, scores_file=scores_file
    )
    assert result.methods == ("PS", "CAUTIOUS", "CAUTIOUS(part=0.25)", "PS-W(intervals='hull')")
    sizes = {row.method: row.size for row in result.rows if row.trial == 0}
    assert sizes["PS"] < sizes["CAUTIOUS"] < sizes["CAUTIOUS(part=0.25)"]
    assert {row.promise for row in result.rows if row.method == "CAUTIOUS"} == {"pac-source"}
    half = replace(panel, epsilon=0.05)
    (same,) = run_trial(Experiment(replace(half, row="x"), scores_file=scores_file), 0, ["PS"])
    assert np.isclose(sizes["CAUTIOUS"], same.size, rtol=0.05)  # another draw
    (alone,) = run_trial(Experiment(panel, scores_file=scores_file), 0, [Cautious()])
    assert alone.size == sizes["CAUTIOUS"]


def test_a_changed_method_is_run_again(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    """A log answers for the code that wrote it, not for what the class has become."""
    file, head = tmp_path / "mine.py", "from paper.tests.test_experiments import Cautious\nclass Mine(Cautious):\n"
    promises, experiments = [], [Experiment(panel, scores_file=scores_file)]
    for body in ('name = "MINE"', 'name = "MINE"; guarantee = "none"'):
        file.write_text(f"{head}    {body}\n", encoding="utf-8")
        spec = importlib.util.spec_from_file_location("mine", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["mine"] = module
        linecache.clearcache()
        spec.loader.exec_module(module)
        [result] = run_panels(experiments, tmp_path / "out", trials=1, methods=[module.Mine()], workers=1)
        promises.append(result.rows[0].promise)
    assert promises == ["pac-source", "none"]


def test_a_method_that_other_processes_cannot_load_is_refused(
    panel: Panel, scores_file: str, tmp_path: Path
) -> None:
    class Local(Cautious):
        name = "LOCAL"

    with pytest.raises(InputError, match=r"LOCAL: other processes cannot load its class Local.*workers=1"):
        run_reproduce([panel], tmp_path, trials=2, methods=[Local()], workers=2, scores_file=scores_file)
    with pytest.raises(InputError, match="must be an object, got the class Cautious"):
        run_reproduce([panel], tmp_path, trials=1, methods=[Cautious], scores_file=scores_file)  # type: ignore[list-item]


def test_draws_that_calibrate_would_refuse_are_counted(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    """A base of 60 rows: its halves differ much more than the many rows drawn from each would allow."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    probs = rng.dirichlet([1.0] * 3, 60) + np.eye(3)[labels]
    np.savez(tmp_path / "few.npz", probs=probs / probs.sum(axis=1, keepdims=True), labels=labels)
    for file, population, expected in ((tmp_path / "few.npz", False, True), (scores_file, True, False)):
        (row,) = run_trial(Experiment(panel, scores_file=str(file), population=population), 0, ["PS"])
        assert row.refuted is expected
    draw = Draw(Experiment(panel, scores_file=str(tmp_path / "few.npz")), 0)
    with pytest.raises(AssumptionError):
        pacshift.calibrate(draw.tally("probability"), epsilon=panel.epsilon, delta=panel.delta)


def test_both_heart_models_are_shown_the_same_people() -> None:
    draws = [
        Draw(Experiment(select_panels([name])[0]), 0) for name in ("heart-small-0.1", "heart-natural-small-0.1")
    ]
    first, second = ([draw.base.row_ids[rows].tolist() for rows in (draw.source, draw.test)] for draw in draws)  # type: ignore[index]
    assert first == second


def test_figures_have_one_width_a_legend_and_axes_from_zero(panel: Panel) -> None:
    promises: dict[str, Guarantee] = {"PS": "pac-source", "PS-W": "pac-target"}
    rows = [TrialRow(panel.name, trial, name, "ok", 0.05, 1.2, 0.0, 0.05, 1.0, promise)
            for trial in range(3) for name, promise in promises.items()]  # fmt: skip
    for methods in (("PS",), ("PS", "PS-W")):
        shown = tuple(row for row in rows if row.method in methods)
        figure = draw_panel(PanelResult(panel, "mine", "real", methods, shown))
        assert figure.get_size_inches().tolist() == [WIDTH, HEIGHT]
        assert [axes.get_ylim()[0] for axes in figure.axes] == [0, 0]
        assert len(figure.legends[0].get_texts()) == len(methods)
    boxes = list(figure.axes[1].patches)
    assert to_hex(boxes[0].get_edgecolor()) == SOURCE  # thin boxes keep their colour, no white line over them
    assert to_hex(boxes[1].get_edgecolor()) == TARGET
    nothing = tuple(replace(row, status="refused") for row in rows if row.method == "PS")
    figure = draw_panel(PanelResult(panel, "mine", "real", ("PS",), nothing))
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["refused", "refused"]


def test_a_log_with_a_bad_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trials.jsonl").write_text('{"key": "x", "methods": [], "rows": []}\nnonsense\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        TrialLog(tmp_path).read()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_loses_at_most_the_trials_in_flight(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from paper.experiments.reproduce import own_panels, run_reproduce\n"
        "if __name__ == '__main__':\n"
        "    panels = own_panels('mine', [40, 30, 30], [20, 20, 60], [0.1], (2000, 1500, 1000), delta=0.05)\n"
        f"    run_reproduce(panels, Path({str(tmp_path)!r}), trials=5000, methods=['PS'], workers=2,\n"
        f"                  scores_file={scores_file!r})\n"
    )
    script = tmp_path / "run.py"
    script.write_text(code, encoding="utf-8")
    log, paths = tmp_path / "trials.jsonl", os.pathsep.join(path for path in sys.path if path)
    command, environment = [sys.executable, str(script)], os.environ | {"PYTHONPATH": paths}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True, env=environment)
    try:
        for _ in range(600):
            if process.poll() is not None or (log.exists() and log.read_bytes().count(b"\n") >= 5):
                break
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        assert process.wait(timeout=60) != 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    finished = [json.loads(line)["rows"][0] for line in log.read_text(encoding="utf-8").splitlines()]
    assert len(finished) >= 5
    row = TrialRow(**finished[0])
    assert run_trial(Experiment(panel, scores_file=scores_file), row.trial, ["PS"]) == (row,)
    experiments = [Experiment(panel, scores_file=scores_file)]
    (result,) = run_panels(experiments, tmp_path, trials=5, methods=["PS"], workers=1)
    assert [row.trial for row in result.rows] == [0, 1, 2, 3, 4]


def test_summaries_count_what_the_rows_say(panel: Panel) -> None:
    rows = (
        TrialRow("mine-0.1", 0, "PS", "ok", 0.05, 1.5, 0.0, 0.11, 1.2),
        TrialRow("mine-0.1", 1, "PS", "ok", 0.15, 1.1, 0.0, 0.11, 1.2),
        TrialRow("mine-0.1", 2, "PS", "trivial", 0.0, 3.0, 0.0, 0.11, 1.2),
        TrialRow("mine-0.1", 3, "PS", "refused", np.nan, np.nan, np.nan, np.nan, 1.2),
    )
    (summary,) = summarise(PanelResult(panel, "mine", "real", ("PS",), rows))
    assert (summary.trials, summary.above, summary.trivial, summary.refused) == (4, 1, 1, 1)
    assert summary.truly_above == 3
    assert summary.mean_error == pytest.approx(0.2 / 3)
    assert summary.worst_error == 0.15
    assert summary.excess == pytest.approx(5.6 / 3 - 1.2)


def test_claims_follow_the_counts(panel: Panel) -> None:
    def result(error: float, sizes: tuple[float, float]) -> PanelResult:
        methods = ("PS-W", "PS-C")
        rows = tuple(
            TrialRow(panel.name, 0, method, "ok", error, size, 0.0, error, 1.0)
            for method, size in zip(methods, sizes, strict=True)
        )
        return PanelResult(panel, "mine", "real", methods, rows)

    good = {claim.text: claim for claim in check_claims([result(0.05, (1.2, 2.4))])}
    assert good["PS-W keeps the guarantee"].verdict == "holds"
    assert good["PS-W's sets are smaller than PS-C's"].verdict == "holds"
    assert "0.50" in good["PS-W's sets are smaller than PS-C's"].counts
    bad = {claim.text: claim for claim in check_claims([result(0.11, (2.4, 1.2))])}
    assert bad["PS-W keeps the guarantee"].counts == "error above ε in 1 of 1 trials (mine-0.1 1)"
    assert bad["PS-W's sets are smaller than PS-C's"].verdict == "does not hold"


def test_bad_requests_are_refused(panel: Panel, scores_file: str, tmp_path: Path) -> None:
    wrong = replace(panel, source_mix=(0.5, 0.5), target_mix=(0.5, 0.5))
    with pytest.raises(InputError, match="2 shares"):
        run_reproduce([wrong], tmp_path, trials=1, scores_file=scores_file, methods=["PS"])
    with pytest.raises(InputError, match="PS-X"):
        run_reproduce([panel], tmp_path, trials=1, scores_file=scores_file, methods=["PS-X"])
    for option, value in {"trials": 0, "workers": 0, "seed": -1}.items():
        with pytest.raises(InputError, match=option):
            run_reproduce([panel], tmp_path, scores_file=scores_file, **{option: value})  # type: ignore[arg-type]


def test_a_class_without_rows_is_refused(panel: Panel, tmp_path: Path) -> None:
    np.savez(tmp_path / "scores.npz", probs=np.full((10, 3), 1 / 3), labels=np.array([0, 1] * 5))
    with pytest.raises(InputError, match="'2'"):
        run_reproduce([panel], tmp_path, trials=1, scores_file=str(tmp_path / "scores.npz"), methods=["PS"])
