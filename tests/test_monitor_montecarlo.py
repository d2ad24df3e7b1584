"""Whole streams whose truth is known: how often is any report of a stream wrong?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from pacshift import Monitor, PeriodReport, Population, Tally, calibrate_tally
from pacshift.certificate import Certificate

EPSILON, DELTA = 0.15, 0.1
MIXES = ([0.8, 0.2], [0.75, 0.25], [0.4, 0.6], [0.15, 0.85], [0.6, 0.4])


def make_population() -> Population:
    """Two classes of which the second is hard, so that a shift towards it breaks sets made before it."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 4000)
    p = 1 / (1 + np.exp(-rng.normal(4.5 * labels - 3.5, 1.3)))
    return Population(np.column_stack([1 - p, p]), labels)


POPULATION = make_population()


def is_right(report: PeriodReport, mix: Any, in_use: Certificate) -> bool:
    """Everything that the report says is true ("Theorem" of the page)."""
    if report.fresh is None or report.error is None or report.prevalence is None:
        return False  # label shift holds here, so a refutation is wrong
    true_error = POPULATION.error(in_use.thresholds, mix)
    lower, upper = report.error
    said = {"kept": true_error <= EPSILON, "broken": true_error > EPSILON}.get(report.verdict, True)
    fresh_holds = POPULATION.error(report.fresh.thresholds, mix) <= EPSILON
    return bool(said and fresh_holds and lower <= true_error <= upper and report.prevalence.contains(mix).all())


@dataclass
class Stream:
    wrong: list[bool]
    verdicts: list[str]


def run_stream(seed: int, *, forever: bool) -> Stream:
    """Five months; rows of the second arrive late; the certificate in use changes with what is found."""
    rng = np.random.default_rng([seed, 7])
    source = Tally.from_scores(*POPULATION.draw([0.8, 0.2], 5000, rng), soft=False)
    in_use = calibrate_tally(source, epsilon=0.08, delta=0.3, method="PS")  # ignores shifts
    monitor = Monitor(source, epsilon=EPSILON, delta=DELTA, forever=forever, certificate=in_use)
    made = Stream([], [])
    for month, mix in [*enumerate(MIXES), (1, MIXES[1])]:
        used = monitor.certificate
        assert used is not None
        report = monitor.update(POPULATION.draw(mix, 500, rng)[0], str(month))
        made.wrong.append(not is_right(report, mix, used))
        made.verdicts.append(report.verdict)
        if report.verdict == "broken":
            monitor.adopt(report.fresh)  # chosen by looking at everything, which the theorem allows
    return made


@pytest.mark.montecarlo
def test_forever_a_stream_with_any_wrong_report_is_rare() -> None:
    streams = [run_stream(seed, forever=True) for seed in range(9)]
    wrong = sum(any(stream.wrong) for stream in streams)
    assert binomtest(wrong, len(streams), DELTA, alternative="greater").pvalue > 1e-3
    # Sharp: the shift is found, and quiet months before and after it are recognised.
    assert sum("broken" in stream.verdicts for stream in streams) > 0.8 * len(streams)
    assert sum(stream.verdicts[0] == "kept" for stream in streams) > 0.5 * len(streams)
    assert sum("kept" in stream.verdicts[4:] for stream in streams) > 0.2 * len(streams)


@pytest.mark.long
def test_each_report_by_itself_is_wrong_rarely() -> None:
    streams = [run_stream(seed, forever=False) for seed in range(60)]
    for month in range(len(streams[0].wrong)):
        wrong = sum(stream.wrong[month] for stream in streams)
        assert binomtest(wrong, len(streams), DELTA, alternative="greater").pvalue > 1e-3


@pytest.mark.long
def test_streams_at_full_length() -> None:
    streams = [run_stream(seed, forever=True) for seed in range(1000, 2500)]
    wrong = sum(any(stream.wrong) for stream in streams)
    assert binomtest(wrong, len(streams), DELTA, alternative="greater").pvalue > 1e-3
