"""Sets with one label: the net, the bound, and draws that count how often it holds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from commands import good, make_tables
from pacshift import METHODS, Certificate, Population, Tally, calibrate
from pacshift.arrays import FloatArray
from pacshift.certificate.certificate import ONE_LABEL_SHARE
from pacshift.certification.trust import NET_MISSES, NetPoint, net_below, one_label_error, points_below
from pacshift.paths.labelled import EQUAL_STEPS, equal_miss_thresholds
from pacshift.report import render_report
from pacshift.tally.grid import single_cuts

SCORES = Population.synthetic(3, strength=4, rng=0)
SOURCE, LABELS = SCORES.draw([0.5, 0.3, 0.2], 2000, rng=1)
TARGET, TRUTH = SCORES.draw([0.2, 0.3, 0.5], 2000, rng=2)
TALLY = Tally.from_scores(SOURCE, LABELS) + Tally.from_target(TARGET)


def certify(**options: Any) -> Certificate:
    return calibrate(SOURCE, LABELS, TARGET, **{"epsilon": 0.1, "delta": 0.05, **options})


def true_error(population: Population, certificate: Certificate, mix: FloatArray) -> float:
    """The error among sets with one label, exactly; 0 if there are none."""
    sets, share = certificate.sets(population.scores), population.row_shares(mix)
    one = sets.sum(axis=1) == 1
    missed = one & ~sets[np.arange(len(sets)), population.index]
    return float(share[missed].sum() / max(share[one].sum(), 1e-300))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 0.999))
def test_the_bound_follows_from_the_shares(none: float, few: float, wrong: float, epsilon: float) -> None:
    """Lemma 7: whatever the true shares are, if they are at least the bounds and misses at most epsilon."""
    n = 10_000
    empty, small = round(none * n), round(max(none, few) * n)
    bound = one_label_error(
        [NetPoint(np.zeros(2), 0.5)], [np.array([empty, small - empty, n - small])], epsilon=epsilon
    )
    missed = empty / n + wrong * (small - empty) / n  # all empty sets, and a share of those with one label
    if bound is not None and missed <= epsilon:
        assert wrong <= bound + 1e-3  # at this level the bounds are about the shares themselves


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0.01, 0.4))
def test_the_net_lies_below_and_is_paid_for(cuts: list[float], epsilon: float) -> None:
    """Lemma 6: thresholds at or below the chosen ones, from families that the source alone fixes."""
    chosen = np.array(cuts)
    points = net_below(TALLY, chosen, epsilon, 0.01)
    assert all((point.thresholds <= chosen).all() for point in points)
    sizes = [EQUAL_STEPS, EQUAL_STEPS, (len(NET_MISSES) + 1) ** 3]
    assert sum(2 * point.level * size for point, size in zip(points, sizes, strict=True)) <= 0.01 * (1 + 1e-12)
    source = Tally.from_scores(SOURCE, LABELS)  # without the target it is the same net
    for one, other in zip(points, net_below(source, chosen, epsilon, 0.01), strict=True):
        assert one.thresholds.tolist() == other.thresholds.tolist()


def test_a_chosen_point_of_the_net_is_found() -> None:
    one, equal, each = (np.full(3, 0.25), equal_miss_thresholds(TALLY, 0.037), equal_miss_thresholds(TALLY, 0.05))
    found = net_below(TALLY, one, 0.1, 0.01)[0].thresholds
    assert len(set(found.tolist())) == 1
    assert 0.2 < found[0] <= 0.25
    assert net_below(TALLY, equal, 0.1, 0.01)[1].thresholds.tolist() == single_cuts(equal).tolist()
    assert net_below(TALLY, each, 0.1, 0.01)[2].thresholds.tolist() == single_cuts(each).tolist()


def test_with_many_classes_the_third_family_costs_everything_and_breaks_nothing() -> None:
    population = Population.synthetic(400, strength=6, rows_per_class=5, rng=0)
    tally = Tally.from_scores(*population.draw(np.full(400, 1 / 400), 4000, rng=0))
    points = net_below(tally, np.full(400, 0.1), 0.1, 0.01)
    sizes = [np.array([0, 100, *[0] * 399])] * 3
    assert points[2].level == 0.0
    assert one_label_error(points[2:], sizes[2:], epsilon=0.1) is None
    assert one_label_error(points, sizes, epsilon=0.1) is not None


def test_only_a_pac_promise_about_the_target_bounds_it() -> None:
    for name in METHODS:
        weights = [0.4, 1.0, 2.5] if name == "ORACLE" else None
        score = "aps" if name == "APS" else "probability"
        labels = TRUTH.tolist() if name == "PS-T" else None
        made = certify(method=name, weights=weights, score=score, target_labels=labels)
        assert (made.one_label_error is None) == (made.guarantee != "pac-target"), name
    assert calibrate(TALLY, epsilon=0.1, delta=0.05).one_label_error is None  # no rows to count
    assert certify(delta=0.95).one_label_error is None  # the levels would add up to more than 1
    assert calibrate(SOURCE, LABELS, None, epsilon=0.1, method="PS-LW").one_label_error is None
    with pytest.warns(match="all labels"):
        assert certify(epsilon=1e-4).one_label_error is None


def test_thresholds_that_do_not_know_the_target_need_no_net() -> None:
    made = certify(method="PS-LW")
    (point,) = points_below(made, TALLY, METHODS["PS-LW"]())
    assert point.thresholds is made.thresholds
    assert point.level == pytest.approx(ONE_LABEL_SHARE * 0.05 / 2)
    assert len(points_below(replace(made, n_target_labels=5), TALLY, METHODS["PS-LW"]())) == 3


def test_empty_sets_help_unless_they_are_filled() -> None:
    kept, filled = certify(method="PS-LW", epsilon=0.2), certify(method="PS-LW", epsilon=0.2, never_empty=True)
    assert (kept.sets(TARGET).sum(axis=1) == 0).mean() > 0.05
    assert kept.one_label_error is not None
    assert filled.one_label_error is not None
    assert kept.one_label_error < 0.15 < filled.one_label_error < 0.25


def test_too_few_sets_with_one_label_tell_nothing() -> None:
    assert one_label_error([NetPoint(np.zeros(2), 0.01)], [np.array([0, 9, 91])], epsilon=0.1) is None
    assert one_label_error([NetPoint(np.zeros(2), 0.01)], [np.array([90, 9, 1])], epsilon=0.1) is None
    assert one_label_error([], [], epsilon=0.1) is None


@pytest.mark.usefixtures("undrawn")
def test_words_page_and_file_say_it(tmp_path: Any) -> None:
    made = certify()
    (line,) = [line for line in made.explain().splitlines() if line.startswith("Sets with one label: at most ")]
    assert line.endswith("of them are wrong, with confidence 94.5 %. The 10 % above are about all sets together.")
    page = render_report(made)
    assert "It is not the error of sets with one label. Sets with one label: at most" in page
    assert "wrong if one label" in page
    assert "they may be wrong more often than ε" in render_report(replace(made, one_label_error=None))
    made.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json").one_label_error == made.one_label_error


def test_the_command_counts_it_too(tmp_path: Any) -> None:
    data = make_tables(tmp_path)
    shown = good("calibrate", data.source, data.target, "-o", tmp_path / "c.json").stdout
    made = Certificate.load(tmp_path / "c.json")
    assert "Sets with one label: at most" in shown
    assert made.one_label_error is not None
    assert made.set_sizes is not None
    share = made.set_sizes[1] / made.set_sizes.sum()
    assert (0.1 - made.set_sizes[0] / made.set_sizes.sum()) / share < made.one_label_error < 0.3


@pytest.mark.slow
@pytest.mark.montecarlo
@pytest.mark.parametrize(
    ("method", "n_classes", "strength", "n_draws"),
    [("PS-LP", 3, 3.0, 40), ("PS-W", 3, 3.0, 40), ("ORACLE", 2, 1.5, 200)],
)
def test_the_bound_holds_as_often_as_it_says_and_is_not_merely_large(
    method: str, n_classes: int, strength: float, n_draws: int
) -> None:
    """Validity: wrong in at most 1.1 delta of the draws. Sharpness: near what the exact shares would give.

    ORACLE misses more than epsilon in nearly delta of the draws, and of two classes without empty sets every miss
    is in a set with one label: nothing is to spare there.
    """
    epsilon, delta = 0.1, 0.2
    population = Population.synthetic(n_classes, strength=strength, rows_per_class=400, rng=5)
    source_mix, mix = np.array([0.5, 0.3, 0.2])[:n_classes], np.array([0.2, 0.3, 0.5])[:n_classes]
    source_mix, mix = source_mix / source_mix.sum(), mix / mix.sum()
    weights = mix / source_mix if method == "ORACLE" else None
    wrong, ratios = 0, []
    for draw in range(n_draws):
        rng = np.random.default_rng([7, draw])
        source, labels = population.draw(source_mix, 1500, rng)
        target, _ = population.draw(mix, 1500, rng)
        made = calibrate(source, labels, target, epsilon=epsilon, delta=delta, method=method, weights=weights)
        assert made.one_label_error is not None
        wrong += true_error(population, made, mix) > made.one_label_error
        sizes, share = made.sets(population.scores).sum(axis=1), population.row_shares(mix)
        ideal = (epsilon - share[sizes == 0].sum()) / share[sizes == 1].sum()
        ratios.append(made.one_label_error / ideal)
    assert binomtest(wrong, n_draws, (1 + ONE_LABEL_SHARE) * delta, alternative="greater").pvalue > 0.01
    assert 1 < np.median(ratios) < 1.25
