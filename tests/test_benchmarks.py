"""A small version of the benchmarks, without peers, so that the scripts cannot rot."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import growth, page, peers, quality, simulate, speed, worker
from benchmarks.__main__ import main
from benchmarks.contestants import Given, NumpyContestant
from benchmarks.contestants.floor import Floor
from benchmarks.contestants.pacshift import Ours
from pacshift.experiments.panels import select_panels
from pacshift.experiments.trial import Draw, Experiment


def test_every_part_runs_small_and_leaves_the_page_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "performance.md"
    main(["--small", "--page", str(target), "speed", "quality", "growth"])
    printed = capsys.readouterr()
    for expected in ("5,000 rows × 10 classes", "pacshift PS-W", "### agnews-0.05", "exponent, fitted"):
        assert expected in printed.out
    assert "round 1/1" in printed.err
    assert not target.exists()


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["spede"])
    assert "no part spede" in capsys.readouterr().err


def test_tables_go_between_their_markers_and_nowhere_else(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    target.write_text("a\n<!-- one:begin -->\nold\n<!-- one:end -->\nb\n<!-- two:begin -->\n<!-- two:end -->\n")
    page.fill(target, "one", "new")
    page.fill(target, "one", "newer")
    text = "a\n<!-- one:begin -->\nnewer\n<!-- one:end -->\nb\n<!-- two:begin -->\n<!-- two:end -->\n"
    assert target.read_text() == text
    with pytest.raises(SystemExit, match="markers"):
        page.fill(target, "three", "text")


@pytest.mark.parametrize("part", ["speed", "quality", "growth", "core"])
def test_the_page_has_the_markers_of_every_part(part: str) -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert text.count(f"<!-- {part}:begin -->") == text.count(f"<!-- {part}:end -->") == 1


def test_the_reason_of_a_failed_install_is_pips_last_error_line() -> None:
    stderr = "WARNING: cache\nERROR: No version\nERROR: No distribution for nothing==1\nhint: see above\n"
    assert peers.failure_reason(stderr) == "ERROR: No distribution for nothing==1"
    assert peers.failure_reason("") == "pip gave no reason"


def test_a_contestant_that_breaks_says_why_and_the_table_goes_on() -> None:
    result = speed.Result(peers.FLOOR, [{"sets": [1.0], "sets_rows": 10, "calibrate": [1.0]}])
    for step in ("sets", "calibrate"):
        result.answers[0] |= {f"{step}_memory": 0, f"{step}_cores": 1.0}
    table = {peers.FLOOR.title: result, "broken": speed.Result(peers.THEIRS[0], failure="ValueError: no")}
    assert "MAPIE LAC takes no part: `ValueError: no`." in speed.markdown({(10, 2): table})
    line = quality.Line("broken", "takes no part: ValueError: no", np.empty(0), np.empty(0))
    assert line.markdown(0.1).endswith("| takes no part: ValueError: no |")


def test_the_reason_of_a_broken_job_is_its_last_line(tmp_path: Path) -> None:
    entry = peers.Entry("pacshift", "no such method", "broken", "")
    with pytest.raises(peers.JobFailed, match="KeyError: 'no such method'"):
        peers.run_job(peers.home_stage(), entry, {"kind": "speed"}, tmp_path)


def test_missing_peers_are_named_on_the_page() -> None:
    stage = peers.Stage({}, {"MAPIE": "1.6.0"}, {"puncc": "ERROR: no wheel"})
    text = page.conditions(stage, "python -m benchmarks")
    assert "Peers: MAPIE 1.6.0." in text
    assert "puncc takes no part: `ERROR: no wheel`." in text
    assert stage.ready(peers.THEIRS) == ()


def test_quality_of_the_worker_is_the_exact_population_error(tmp_path: Path) -> None:
    """Against counting by hand: the sets of a fixed threshold, weighted to each mix."""
    experiment = Experiment(select_panels(["agnews-0.05"])[0], population=True)
    draw = Draw(experiment, 0)
    quality.write_population(tmp_path, [draw])

    class Fixed(NumpyContestant):
        def calibrate(self, given: Given) -> object:
            return np.full(given.n_classes, 0.2)

        def sets(self, fitted: object, scores: object) -> object:
            return np.asarray(scores) >= np.asarray(fitted)

    [answer] = worker.quality(Fixed(), {"folder": str(tmp_path), "epsilon": 0.05, "delta": 0.01})
    error, size, _ = draw.measure("probability", np.full(4, 0.2))
    assert answer["error"] == pytest.approx(error)
    assert answer["size"] == pytest.approx(size)
    labels, probs = draw.base.labels, draw.base.probs
    missed = probs[np.arange(len(labels)), labels] < 0.2
    by_class = [missed[labels == label].mean() for label in range(4)]
    assert answer["error_before"] == pytest.approx(float(np.dot(by_class, experiment.panel.source_mix)))


def test_slow_contestants_are_measured_on_fewer_rows_and_scaled() -> None:
    result = speed.Result(peers.FLOOR, [{"sets": [0.5, 0.7], "sets_rows": 100, "calibrate": [2.0]}])
    assert result.seconds("sets", 1000) == (5.0, 7.0)
    rounds = [*result.answers, {"sets": [0.8], "sets_rows": 200, "calibrate": [2.0]}]
    assert speed.Result(peers.FLOOR, rounds).seconds("sets", 1000) == (4.0, 7.0)
    assert result.seconds("calibrate", 1000) == (2.0, 2.0)
    assert result.scaled(1000)
    assert not result.scaled(100)


def test_affordable_rows_stop_at_the_budget() -> None:
    scores = np.zeros((5000, 2))
    assert worker.affordable_rows(Floor(), np.zeros(10), scores, budget=1e9) == 5000
    assert worker.affordable_rows(Floor(), np.zeros(10), scores, budget=0.0) == 64


def test_speed_answers_hold_what_the_tables_need(tmp_path: Path) -> None:
    speed.write_arrays(tmp_path, 500, 3)
    job = {"folder": str(tmp_path), "epsilon": 0.1, "delta": 0.1, "repeats": 2, "budget": 60.0}
    answer = json.loads(json.dumps(worker.speed(Ours("PS"), job)))
    assert len(answer["calibrate"]) == len(answer["sets"]) == 2
    assert answer["sets_rows"] == 500
    assert min(answer["calibrate_memory"], answer["sets_memory"]) >= 0


def test_exponents_are_slopes_on_logarithms() -> None:
    curve = growth.Curve("step", (10, 100, 1000, 10_000), (1.0, 10.0, 1000.0, None))
    overall, last = curve.exponents()
    assert overall == pytest.approx(1.5)
    assert last == pytest.approx(2.0)


def test_a_step_that_took_too_long_is_not_run_at_the_next_size() -> None:
    curves = growth.grow([1, 2], ["step"], lambda _: lambda _: lambda: None, lambda _: None, limit=-1.0)
    assert curves[0].seconds[1] is None
    assert "not run" in growth.table("heading", "what", curves)


def test_simulated_scores_are_probabilities_of_the_mix_asked_for() -> None:
    scores, labels = simulate.scores_and_labels(4000, 5, np.random.default_rng(0), mix=simulate.shifted_mix(5))
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-6)
    assert np.bincount(labels)[0] == pytest.approx(4000 * 3 / 7, rel=0.1)
    assert (scores.argmax(axis=1) == labels).mean() > 0.8
