"""Bounds of every class's miss rate, right for all thresholds at once; and the error of sets with one label."""

from dataclasses import replace
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from pacshift import METHODS, Certificate, Interval, Population, Tally, calibrate
from pacshift.arrays import FloatArray
from pacshift.bounds import clopper_pearson
from pacshift.certificate.certificate import ONE_LABEL_SHARE
from pacshift.certification.trust import (
    NET_MISSES,
    RANK_STEP,
    NetPoint,
    band_ranks,
    class_miss,
    net_below,
    one_label_error,
    points_below,
    rate_bounds,
)
from pacshift.paths.labelled import EQUAL_STEPS, equal_miss_thresholds
from pacshift.tally.grid import single_cuts, to_grid


def band(total: int, delta: float) -> Interval:
    """Bounds at thresholds with 0, 1, ..., total misses."""
    counts = np.arange(total + 1)
    return rate_bounds(counts, counts, np.full(total + 1, total), level=delta / (2 * len(band_ranks(total))))


def coverage(total: int, delta: float) -> float:
    """Steck's determinant: the probability that all uniform order statistics lie within the band.

    A threshold with k misses has a miss rate between the k-th and the (k+1)-th of them.
    """
    found = band(total, delta)
    low, high = found.lower[1:], found.upper[:-1]
    matrix = np.zeros((total, total))
    for i in range(total):
        for j in range(max(i - 1, 0), total):
            power = j - i + 1
            matrix[i, j] = max(high[i] - low[j], 0.0) ** power / factorial(power) if power else 1.0
    return factorial(total) * float(np.linalg.det(matrix))


@settings(max_examples=60)
@given(st.integers(1, 12), st.sampled_from([0.5, 0.2, 0.05, 1e-3]))
def test_the_band_holds_exactly(total: int, delta: float) -> None:
    assert 1 - delta <= coverage(total, delta) + 1e-9


@given(st.integers(0, 3_000_000))
def test_ranks_of_the_band_ascend_to_the_last(total: int) -> None:
    ranks = band_ranks(total)
    assert (np.diff(ranks) > 0).all()
    if total:
        assert (ranks[0], ranks[-1]) == (1, total)
        assert (np.diff(ranks) <= np.maximum(1, RANK_STEP * np.sqrt(ranks[:-1]))).all()
        assert len(ranks) <= 4.2 * total**0.5 + 16


@pytest.mark.parametrize(("total", "draws"), [(40, 20_000), (1_500, 3_000)])
def test_the_band_holds_for_the_worst_threshold_of_each_draw(total: int, draws: int) -> None:
    delta, rng = 0.2, np.random.default_rng(5)
    found = band(total, delta)
    values = np.sort(rng.random((draws, total)), axis=1)
    too_low = (found.lower[1:] > values).any(axis=1)  # thresholds just above the k-th score
    too_high = (found.upper[:-1] < values).any(axis=1)  # thresholds at the next one
    failures = int((too_low | too_high).sum())
    assert binomtest(failures, draws, delta, alternative="greater").pvalue > 1e-3
    assert failures >= 0.05 * delta * draws  # a band that is merely wide would never fail


def adversarial(tally: Tally, population: Population) -> bool:
    """Whether some thresholds, chosen on the same rows, have a miss rate outside its bounds."""
    cuts = [tally.values[tally.starts[j] : tally.starts[j + 1]] for j in range(tally.n_classes)]
    for share in np.linspace(0, 1, 21):
        for just_above in (False, True):
            chosen = np.array([cut[int(share * (len(cut) - 1))] for cut in cuts])
            chosen = np.nextafter(chosen, np.inf) if just_above else chosen
            if not class_miss(tally, chosen, delta=0.2).contains(rates(population, chosen)).all():
                return True
    return False


def rates(population: Population, thresholds: FloatArray) -> FloatArray:
    mixes = np.eye(len(thresholds))
    return np.array([population.error(thresholds, mix) for mix in mixes])


@pytest.mark.montecarlo
@pytest.mark.parametrize("grid", [False, True])
def test_all_classes_are_right_together_at_thresholds_of_the_same_rows(grid: bool) -> None:
    population = Population.synthetic(3, strength=2, rng=0, rows_per_class=400)
    repeats = 40
    failed = 0
    for seed in range(repeats):
        scores, labels = population.draw([0.5, 0.4, 0.1], 300, rng=seed)
        tally = Tally.from_scores(scores, labels, grid=grid)
        failed += adversarial(tally, population)
    assert binomtest(failed, repeats, 0.2, alternative="greater").pvalue > 1e-3


def test_scores_that_repeat_and_thresholds_between_grid_points() -> None:
    scores = np.repeat([[0.3, 0.7], [0.7001, 0.2999]], 500, axis=0)
    exact = Tally.from_scores(scores, np.zeros(1000, int))
    coarse = Tally.from_scores(scores, np.zeros(1000, int), grid=True)
    for cut in (0.3, np.nextafter(0.3, 1), 0.70005, 0.7001, 0.8):
        thresholds = np.array([cut, -np.inf])
        one, other = class_miss(exact, thresholds, delta=0.05), class_miss(coarse, thresholds, delta=0.05)
        assert other.lower[0] <= one.lower[0] <= one.upper[0] <= other.upper[0]
    assert class_miss(exact, np.array([0.5, -np.inf]), delta=0.05).contains([0.5, 0.0]).all()


def test_ends_that_are_known_without_data() -> None:
    tally = Tally.from_scores([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]] * 50, [0, 1] * 50)
    found = class_miss(tally, np.array([-np.inf, np.inf, 0.5]), delta=0.05)
    assert found.lower.tolist() == [0.0, 1.0, 0.0]
    assert found.upper.tolist() == [0.0, 1.0, 1.0]  # nothing is known of a class without rows
    filled = class_miss(tally, np.array([-np.inf, 0.95, 0.5]), delta=0.05, never_empty=True)
    assert not filled.lower.any()


def uniform_tally(rng: np.random.Generator, counts: tuple[int, int], *, grid: bool = False) -> Tally:
    """True-label scores are uniform, so the miss rate at a threshold is the threshold."""
    labels = np.repeat([0, 1], counts)
    own = rng.random(len(labels))
    scores = np.where(np.eye(2)[labels] == 1, own[:, None], 0.5)
    return Tally.from_scores(scores, labels, grid=grid, soft=False)


def test_the_band_costs_little_more_than_bounds_at_one_fixed_threshold() -> None:
    tally = uniform_tally(np.random.default_rng(1), (20_000, 20_000))
    cut = np.array([0.1, 0.1])
    band = class_miss(tally, cut, delta=0.01)
    fixed = clopper_pearson(tally.misses(cut), 20_000, delta=0.01)
    assert (band.lower <= fixed.lower).all()
    assert ((band.upper - band.lower) < 2.2 * (fixed.upper - fixed.lower)).all()


def test_on_a_grid_a_class_that_is_in_every_set_is_never_missed() -> None:
    """The grid has no point below -inf: the sets in use must not be called broken for a class they always hold."""
    tally = uniform_tally(np.random.default_rng(3), (200, 200), grid=True)
    for cuts in ([-np.inf, 0.5], [-np.inf, -np.inf], [np.inf, -np.inf]):
        band = class_miss(tally, np.array(cuts), delta=0.1)
        exact = class_miss(replace(tally, grid=False), np.array(cuts), delta=0.1)
        assert (band.lower == exact.lower).all()
        assert (band.lower <= band.upper).all()


def test_rounded_scores_never_raise_the_lower_bound() -> None:
    """A threshold just below a grid point: rounding counts the rows up to the point before it as missed."""
    value = float(to_grid(np.array([0.3]))[0])
    point = float(np.nextafter(value, 1))
    labels = np.zeros(200, np.int64)
    scores = np.column_stack([np.full(200, value * (1 + 2e-5)), np.full(200, 0.9)])
    tally = Tally.from_scores(scores, labels, grid=True, soft=False)
    assert tally.misses(np.array([point, 0.0]))[0] == 200  # by rounding only: none of the scores is below
    band = class_miss(tally, np.array([point, 0.0]), delta=0.1)
    assert band.lower[0] == 0


def test_who_pays_on_real_scores_is_said_and_can_be_limited(shared_data: Path) -> None:
    """PathMNIST at epsilon 0.05: one class bears most of the misses."""
    file = np.load(shared_data / "pathmnist" / "scores.npz")
    names = [str(name) for name in file["class_names"]]
    population = Population(file["probs"].astype(float), file["labels"])
    source, labels = population.draw(np.full(9, 1 / 9), 10_000, rng=1)
    target, _ = population.draw(np.random.default_rng(1).dirichlet(np.full(9, 0.7)), 10_000, rng=2)
    request: dict[str, Any] = {"epsilon": 0.05, "delta": 0.05, "classes": names, "method": "PS-W", "rng": 0}
    truth = np.array(names)[labels]
    plain = calibrate(source, truth, target, **request)
    assert "missed (highest bound: 'cancer-associated stroma')" in plain.explain()
    assert plain.class_miss is not None
    assert plain.class_miss.contains(rates(population, plain.thresholds)).all()
    capped = calibrate(source, truth, target, **request, class_epsilon=0.15)
    assert capped.notes == ()
    assert rates(population, capped.thresholds).max() <= 0.15
    assert (capped.thresholds <= plain.thresholds + 1e-12).sum() >= 8  # the method itself has a little less delta


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
