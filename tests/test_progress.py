"""Progress of long calibrations: percents for a callable. test_certification_certify.py reads the log."""

from typing import Any

import numpy as np
import pytest

from pacshift import Population, Tally, calibrate
from pacshift.progress import Steps


def drawn(n_classes: int, rows: int) -> tuple[Any, Any, Any]:
    population = Population.synthetic(n_classes, strength=4, rng=0)
    even = np.full(n_classes, 1 / n_classes)
    scores, labels = population.draw(even, rows, rng=1)
    return scores, labels, population.draw(even, rows, rng=2)[0]


# Both searches of PS-LP, one with a transformed score, and methods that take no time.
CASES: list[Any] = [
    pytest.param(60, 12_000, {}, marks=pytest.mark.slow),
    (5, 2000, {}),
    (5, 2000, {"score": "margin"}),
    (3, 2000, {"method": "PS-LW"}),
    (3, 2000, {"method": "PS"}),
]


@pytest.mark.parametrize(("n_classes", "rows", "options"), CASES)
def test_percents_grow_to_a_hundred(n_classes: int, rows: int, options: dict[str, Any]) -> None:
    told: list[tuple[int, int | None]] = []
    data = drawn(n_classes, rows)
    made = calibrate(*data, **options, progress=lambda done, total: told.append((done, total)))
    percents = [done for done, _ in told]
    assert percents == sorted(percents)
    assert (percents[0], percents[-1]) == (0, 100)
    assert {total for _, total in told} == {100}
    assert np.array_equal(made.thresholds, calibrate(*data, **options).thresholds)
    if not options:
        assert len(set(percents)) >= 8  # the search itself is told, not only its end


def test_counts_tell_it_too() -> None:
    told: list[int] = []
    scores, labels, target = drawn(3, 2000)
    tally = Tally.from_scores(scores, labels) + Tally.from_target(target)
    calibrate(tally, progress=lambda done, total: told.append(done))
    assert told[-1] == 100


def test_steps_beyond_the_expected_stay_at_the_end_of_their_part() -> None:
    told: list[int] = []
    steps = Steps(lambda done, total: told.append(done), 30, 95)
    steps.expect(2)
    for _ in range(4):
        steps()
    assert told == [62, 95, 95, 95]
    Steps()()  # nobody listens
