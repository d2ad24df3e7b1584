"""Plans: the predicted size is what fresh data give, and the three questions answer each other."""

from typing import Any

import numpy as np
import pandas
import pytest
from scipy.stats import binomtest

from pacshift import InputError, Population, Tally, calibrate, plan, read
from pacshift.arrays import FloatArray
from pacshift.methods import Task, resolve_method
from pacshift.planning import solve
from pacshift.planning.pilot import Mixes, Pilot, make_pilot

SOURCE_MIX, TARGET_MIX = [0.7, 0.3], [0.4, 0.6]
POPULATION = Population.synthetic(2, strength=3, rows_per_class=5000, rng=0)
PILOT = POPULATION.draw(SOURCE_MIX, 2500, rng=1)
QUICK: dict[str, Any] = {"epsilon": 0.05, "delta": 0.05, "target_mix": TARGET_MIX, "method": "PS-LW"}


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real number of draws is for people who want to know; tests want to end."""
    monkeypatch.setattr("pacshift.planning.solve.effort_for", lambda _: solve.Effort(6, 2, 5, 5))
    monkeypatch.setattr("pacshift.planning.solve.MAX_SEARCHED_VALUES", 100_000)


def true_size(
    population: Population, source_mix: Any, target_mix: Any, rows: int, *, method: str, epsilon: float
) -> float:
    """Mean true size over fresh draws."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 5])
        source = Tally.from_scores(*population.draw(source_mix, rows, rng), soft=False)
        target = Tally.from_target(population.draw(target_mix, rows, rng)[0], soft=False)
        made = calibrate(source + target, epsilon=epsilon, delta=0.05, method=method)
        found.append(population.size(made.thresholds, target_mix))
    return float(np.mean(found))


def test_the_predicted_size_is_what_fresh_data_give() -> None:
    made = plan(*PILOT, n_source=6000, n_target=6000, **QUICK)
    truth = true_size(POPULATION, SOURCE_MIX, TARGET_MIX, 6000, method="PS-LW", epsilon=0.05)
    assert made.size == pytest.approx(truth, rel=0.05)
    assert made.interval[0] <= truth <= made.interval[1]
    assert made.class_rows.sum() == pytest.approx(6000, abs=1)


def test_the_questions_answer_each_other() -> None:
    size = plan(*PILOT, n_source=3000, n_target=3000, **QUICK).size
    needed = plan(*PILOT, n_target=3000, size=size, **QUICK)
    assert needed.solved_for == "n_source"
    assert 1500 < needed.n_source < 6000
    assert needed.interval[0] <= needed.n_source
    assert needed.size == pytest.approx(size, rel=0.03)


def test_target_rows_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.planning.solve.effort_for", lambda _: solve.Effort(5, 1, 2, 2, 1))
    pslp = QUICK | {"method": "PS-LP"}
    size = plan(*PILOT, n_source=4000, n_target=1000, **pslp).size
    needed = plan(*PILOT, n_source=4000, size=size, **pslp)
    assert needed.solved_for == needed.curve_over == "n_target"
    assert needed.size == pytest.approx(size, rel=0.05)


def test_more_rows_never_make_the_curve_grow() -> None:
    made = plan(*PILOT, n_source=2000, n_target=2000, **QUICK)
    assert (np.diff(made.curve_sizes) <= 1e-12).all()
    assert made.curve_rows[0] == 500
    assert made.curve_rows[-1] == 8000


def test_the_same_seed_gives_the_same_plan() -> None:
    asked: dict[str, Any] = {"n_source": 2000, "n_target": 500, **QUICK}
    first, second = (plan(*PILOT, **asked, rng=3) for _ in range(2))
    assert (first.size, first.interval) == (second.size, second.interval)
    assert plan(*PILOT, **asked, rng=4).size != first.size


def test_of_several_mixes_the_worst_counts() -> None:
    mixes = [1, 9], [9, 1]
    sizes = [plan(*PILOT, n_source=3000, n_target=500, **QUICK | {"target_mix": mix}).size for mix in mixes]
    both = plan(*PILOT, n_source=3000, n_target=500, **(QUICK | {"target_mix": [{0: 1, 1: 9}, {0: 9, 1: 1}]}))
    assert both.size == pytest.approx(max(sizes), rel=0.02)
    assert both.target_mixes.tolist() == [[0.1, 0.9], [0.9, 0.1]]


def test_the_bottleneck_is_the_class_that_helps_most() -> None:
    population = Population.synthetic(3, strength=3, rows_per_class=3000, rng=0)
    scores, labels = population.draw([0.6, 0.35, 0.05], 4000, rng=2)
    asked: dict[str, Any] = QUICK | {"target_mix": [0.2, 0.2, 0.6], "n_target": 500}
    base = plan(scores, labels, n_source=2000, **asked)
    assert base.bottleneck == 2
    assert base.bottleneck_share > 0.5

    def with_twice(label: int) -> float:
        rows = base.class_rows * np.where(np.arange(3) == label, 2, 1)
        return plan(scores, labels, n_source=int(rows.sum()), source_mix=rows, **asked).size

    sizes = [with_twice(label) for label in range(3)]
    assert np.argmin(sizes) == 2


def test_progress_is_told() -> None:
    seen: list[tuple[int, int | None]] = []
    plan(*PILOT, n_source=1000, n_target=300, **QUICK, progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    total = seen[-1][1]
    assert total is not None
    assert seen[-1][0] <= total


def test_a_large_draw_is_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.planning.pilot.CHUNK_VALUES", 1000)
    mixes = Mixes(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    pilot = make_pilot(POPULATION.scores, POPULATION.index, POPULATION.classes)
    drawn = pilot.draw(mixes, 1700, 1300, np.random.default_rng(0))
    assert (drawn.n_source, drawn.n_target) == (1700, 1300)


@pytest.mark.parametrize("n_classes", [2, 100])
@pytest.mark.parametrize("of_pilot", [0.0, 0.5, 1.0])
def test_the_interval_holds_a_future_size_in_90_of_100_cases(n_classes: int, of_pilot: float) -> None:
    """Sizes vary by the pilot and by the data; a normal quantile would hold 87.5 % with 12 pilots at worst."""
    effort, rng, cases = solve.effort_for(n_classes), np.random.default_rng(0), 20_000
    by_pilot, by_data = of_pilot**0.5, (1 - of_pilot) ** 0.5

    def sizes(draws: int) -> FloatArray:
        return np.asarray(by_data * rng.normal(size=(cases, draws)))

    foreseen = by_pilot * rng.normal(size=cases) + sizes(effort.final_draws).mean(axis=1)
    pilots = by_pilot * rng.normal(size=(cases, effort.pilots)) + sizes(effort.pilots)
    future = sizes(1)[:, 0]
    widths = np.array([solve.half_width(each, effort.final_draws) for each in pilots])
    held = float((np.abs(future - foreseen) <= widths).mean())
    assert 0.895 < held < 0.96


@pytest.mark.montecarlo
def test_real_plans_hold_the_size_of_a_future_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole plans from few pilots, where the t quantile matters most: a normal one holds about 3 of 4 sizes."""
    monkeypatch.setattr("pacshift.planning.solve.effort_for", lambda _: solve.Effort(1, 1, 4, 3))
    held = []
    for seed in range(150):
        rng = np.random.default_rng([seed, 21])
        pilot = POPULATION.draw(SOURCE_MIX, 1000, rng)
        made = plan(*pilot, n_source=1500, n_target=200, **QUICK, rng=seed)
        source = Tally.from_scores(*POPULATION.draw(SOURCE_MIX, 1500, rng), soft=False)
        fresh = calibrate(source, epsilon=0.05, delta=0.05, method="PS-LW")
        size = POPULATION.size(fresh.thresholds, TARGET_MIX)
        held.append(made.interval[0] <= size <= made.interval[1])
    assert binomtest(sum(held), len(held), 0.9, alternative="less").pvalue > 1e-3
    assert sum(held) < 0.97 * len(held)


def test_no_draw_comes_twice() -> None:
    """Asked again at the same rows, the simulator draws further data: means over both are over twice as many."""
    mixes = [Mixes(np.array(SOURCE_MIX), np.array(TARGET_MIX))]

    def simulator() -> solve.Simulator:
        pilot, task = make_pilot(*PILOT, POPULATION.classes), Task(epsilon=0.05, delta=0.05)
        return solve.Simulator(pilot, mixes, resolve_method("PS-LW"), task)

    at_once, in_turn = simulator(), simulator()
    sizes = np.concatenate([in_turn.sizes(900, 300, 2), in_turn.sizes(900, 300, 3)])
    assert len(set(sizes.tolist())) == 5
    assert sizes.tolist() == at_once.sizes(900, 300, 5).tolist()


def test_words() -> None:
    made = plan(*PILOT, n_source=3000, n_target=500, **QUICK)
    assert f"expect {made.size:.3f} labels per set (" in made.explain()
    needed = plan(*PILOT, size=made.size, n_target=500, **QUICK)
    assert "Needed source rows: in about 90 % of repetitions" in needed.explain()
    assert "What limits it: " in needed.explain()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "got 1 of them"),
        ({"n_source": 10, "size": 1.0}, "got 3 of them"),
        ({"size": -1.0}, "above 0"),
        ({"n_source": 0}, "rows must be between 1"),
        ({"n_source": 10**9}, "rows must be between 1"),
        ({"size": 0.01}, "cannot be reached"),
        ({"n_source": 500, "target_mix": {"cat": 1}}, "mix: 'cat' is not a class"),
        ({"n_source": 500, "target_mix": {0: 0.5, "0": 0.5}}, "class 0 is named twice"),
        ({"n_source": 500, "target_mix": [1, 2, 3]}, "2 finite shares"),
        ({"n_source": 500, "target_mix": None}, "target_mix is missing"),
        ({"n_source": 500, "labels": None}, "labels is missing"),
        ({"n_source": 500, "epsilon": 2}, "epsilon"),
        ({"n_source": 500, "method": "WCP"}, "cannot simulate method WCP"),
        ({"n_source": 500, "method": "APS"}, "cannot simulate method APS"),
        (
            {"n_source": 500, "pilot": PILOT[0][PILOT[1] == 0], "labels": PILOT[1][PILOT[1] == 0]},
            "no rows of class 1",
        ),
        ({"n_source": 500, "pilot": Tally.from_scores(*PILOT), "labels": None}, "a tally has no rows"),
    ],
)
def test_bad_questions(changes: dict[str, Any], message: str) -> None:
    asked = {"pilot": PILOT[0], "labels": PILOT[1], "n_target": 400, **QUICK} | changes
    with pytest.raises(InputError, match=message):
        plan(**asked)


def test_of_a_large_pilot_some_rows_of_each_class_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare classes stay whole, the source's mix is that of all rows, and blocks do not matter."""
    scores, labels = POPULATION.draw([0.9, 0.1], 3000, rng=3)
    whole = make_pilot(scores, labels, (0, 1))
    monkeypatch.setattr("pacshift.planning.pilot.MAX_ROWS", 1000)
    cut = make_pilot(scores, labels, (0, 1))
    n_rare = int((labels == 1).sum())
    assert n_rare < 500
    assert np.bincount(cut.index).tolist() == [1000 - n_rare, n_rare]
    assert cut.source_mix.tolist() == whole.source_mix.tolist()
    parts = ((scores[rows], labels[rows]) for rows in map(slice, range(0, 3000, 7), range(7, 3007, 7)))
    assert np.array_equal(Pilot.of_blocks(parts, (0, 1)).scores, cut.scores)
    made = plan(scores, labels, n_source=2000, n_target=500, **QUICK)
    monkeypatch.undo()
    of_all = plan(scores, labels, n_source=2000, n_target=500, **QUICK)
    assert made.interval[0] < of_all.size < made.interval[1]


def test_sizes_and_errors_of_a_pilot_are_those_of_its_rows_as_a_population() -> None:
    other = make_pilot(*PILOT, (0, 1)).again(np.random.default_rng(0))
    population, cuts = Population(PILOT[0][other.rows], PILOT[1][other.rows]), np.array([0.3, 0.6])
    assert other.size(cuts, np.array(TARGET_MIX)) == population.size(cuts, TARGET_MIX)
    assert other.class_error(cuts).tolist() == population.class_error(cuts).tolist()


def test_rows_that_were_read_are_a_pilot() -> None:
    table = pandas.DataFrame(PILOT[0], columns=["p_a", "p_b"]).assign(label=np.array(["a", "b"])[PILOT[1]])
    asked: dict[str, Any] = {"n_source": 1000, "n_target": 300, **QUICK}
    assert plan(read(table, label="label"), **asked).size == plan(*PILOT, **asked).size
    with pytest.raises(InputError, match="the pilot has its labels in its rows"):
        plan(read(table, label="label"), PILOT[1], **asked)
    with pytest.raises(InputError, match="the pilot has no rows of class 'b'"):
        plan(read(table[table.label == "a"], label="label", classes=["a", "b"]), **asked)
