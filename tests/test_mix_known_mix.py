"""What the user knows about the mix: exactly true bounds are never refuted by rounding, and keep every promise."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from pacshift import AssumptionError, InputError, Population, Tally, UninformativeWarning, calibrate, prevalence
from pacshift.assumption.inequalities import JointRows, MixRows
from pacshift.bounds import ROUNDING, Interval
from pacshift.certification.delta import ASSUMPTION_SHARE
from pacshift.labels.labelled import intersect_bounds
from pacshift.mix.prevalence import check_known_mix
from pacshift.mix.region import exact_box, prevalence_region


def decimal_mix(n_classes: int, seed: int, digits: int) -> list[float]:
    """Random shares with so many decimals, as people write them; as decimals they sum to exactly 1."""
    unit = 10**digits
    cuts = np.sort(np.random.default_rng(seed).choice(unit - 1, n_classes - 1, replace=False) + 1)
    parts = np.diff([0, *cuts, unit])
    return [float(f"{part}e-{digits}") for part in parts]


def refuses(tally: Tally, known: dict[int, tuple[float, float]] | None) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            calibrate(tally, epsilon=0.1, delta=0.05, known_mix=known)
    except AssumptionError:
        return True
    return False


def test_34_and_66_per_cent_are_no_contradiction() -> None:
    population = Population.synthetic([0, 1], rng=0)
    known = {0: (0.34, 0.34), 1: (0.66, 0.66)}
    for seed in range(12):
        source, labels = population.draw([0.5, 0.5], 2000, rng=100 + 2 * seed)
        target = population.draw([0.34, 0.66], 2000, rng=101 + 2 * seed)[0]
        certificate = calibrate(source, labels, target, epsilon=0.1, delta=0.05, known_mix=known)
        assert certificate.prevalence is not None
        assert certificate.prevalence.lower.tolist() == [0.34, 0.66] == certificate.prevalence.upper.tolist()
        assert "33.9" not in certificate.explain()  # the room for rounding is not shown


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(st.integers(2, 8), st.integers(0, 10_000), st.integers(2, 6))
def test_an_exactly_true_mix_is_refuted_only_where_data_are(n_classes: int, seed: int, digits: int) -> None:
    mix = decimal_mix(n_classes, seed, digits)
    population = Population.synthetic(n_classes, strength=4, rows_per_class=200, rng=seed)
    tally = Tally.from_scores(*population.draw(np.full(n_classes, 1 / n_classes), 1500, rng=seed))
    tally = tally + Tally.from_target(population.draw(np.array(mix), 1500, rng=seed + 1)[0])
    known = {label: (share, share) for label, share in enumerate(mix)}
    if not refuses(tally, None):
        assert not refuses(tally, known)
        found = prevalence(tally, delta=0.05, known_mix=known)
        assert found.mix.contains(mix).all()


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 12), st.integers(0, 10_000), st.integers(1, 4))
def test_the_region_of_an_exact_mix_holds_it_and_has_a_box(n_classes: int, seed: int, digits: int) -> None:
    mix = np.array(decimal_mix(n_classes, seed, max(digits, 2)))
    rng = np.random.default_rng(seed)
    rates = rng.dirichlet(np.ones(n_classes), n_classes).T
    confusion = np.stack([rng.multinomial(300, rates[:, label]) for label in range(n_classes)], axis=1)
    target = rng.multinomial(400, rates @ mix / (rates @ mix).sum())
    known = Interval(mix, mix)
    region = prevalence_region(confusion, target, delta=1e-6, known=known)  # data that refute it are rare
    assert region.contains(mix)
    for box in (region.prevalence, exact_box(region.rows, region.limits)):
        assert (box.lower <= box.upper).all()
        assert (box.lower <= mix).all()
        assert (mix <= box.upper).all()
        assert np.ptp([box.lower, box.upper], axis=0).max() < 1e-6  # the room for rounding is no more than that


@pytest.mark.montecarlo
def test_sets_with_an_exact_mix_keep_their_promise_and_are_smaller() -> None:
    """Both ways: errors above epsilon in at most a delta share of draws, and knowledge that is worth something."""
    epsilon, delta, repeats, mix = 0.1, 0.1, 80, np.array([0.34, 0.66])
    population = Population.synthetic(2, strength=1.5, rows_per_class=600, rng=3)
    above, refused, sizes = 0, 0, []
    for seed in range(repeats):
        tally = Tally.from_scores(*population.draw([0.6, 0.4], 1200, rng=2 * seed))
        tally = tally + Tally.from_target(population.draw(mix, 1200, rng=2 * seed + 1)[0])
        try:
            cuts = [
                calibrate(tally, epsilon=epsilon, delta=delta, known_mix=known).thresholds
                for known in ({0: (0.34, 0.34), 1: (0.66, 0.66)}, None)
            ]
        except AssumptionError:
            refused += 1
            continue
        above += population.error(cuts[0], mix) > epsilon
        sizes.append([population.size(each, mix) for each in cuts])
    assert binomtest(above, repeats, delta, alternative="greater").pvalue > 1e-3
    assert binomtest(refused, repeats, ASSUMPTION_SHARE * delta, alternative="greater").pvalue > 1e-3
    known_size, free_size = np.mean(sizes, axis=0)
    assert known_size < free_size


def test_a_false_mix_is_still_refuted() -> None:
    tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 1000, [0, 1] * 1000)
    tally = tally + Tally.from_target([[0.9, 0.1]] * 900 + [[0.2, 0.8]] * 2100)
    assert not refuses(tally, {0: (0.3, 0.3), 1: (0.7, 0.7)})
    assert refuses(tally, {0: (0.4, 0.4), 1: (0.6, 0.6)})


@pytest.mark.parametrize(("kind", "n_classes"), [(JointRows, 3), (MixRows, 70)])
def test_a_known_share_above_the_largest_refutes_with_any_classes(kind: type[MixRows], n_classes: int) -> None:
    lower, upper = np.zeros(n_classes), np.ones(n_classes)
    lower[0], upper[0] = 0.01, 0.005
    rows = np.empty((0, n_classes)), np.empty(0)
    assert kind(*rows, Interval(lower, upper)).refuted
    upper[0] = lower[0] - 1e-12
    assert not kind(*rows, Interval(lower, upper)).refuted


@pytest.mark.parametrize(
    ("ends", "expected"),
    [((0.1 + 0.2, 0.3), (0.3, 0.1 + 0.2)), ((0.3 - 0.1 - 0.2, 0.5), (0.0, 0.5)), ((0.5, 1 + 2e-16), (0.5, 1.0))],
)
def test_pairs_may_be_out_of_order_by_rounding(ends: Any, expected: Any) -> None:
    known = check_known_mix({"a": ends}, ("a", "b"))
    assert (known.lower[0], known.upper[0]) == expected


def test_bounds_that_are_wrong_by_more_are_refused() -> None:
    for ends in ((0.3 + 1e-6, 0.3), (-1e-6, 0.5), (0.5, 1 + 1e-6), (float("nan"), 1)):
        with pytest.raises(InputError, match="low <= high"):
            check_known_mix({"a": ends}, ("a", "b"))
    thirds = dict.fromkeys("abc", (0.3333333333, 0.3333333333))
    assert check_known_mix(thirds, tuple("abc")).upper.sum() < 1
    with pytest.raises(InputError, match="these upper bounds only to 0"):
        check_known_mix(dict.fromkeys("abc", (0.333, 0.333)), tuple("abc"))


def test_labels_and_known_mix_may_touch() -> None:
    known = Interval(np.array([0.3, 0.0]), np.array([0.3, 1.0]))
    found = Interval(np.array([np.nextafter(0.3, 1), 0.2]), np.array([0.5, 0.9]))
    both = intersect_bounds(known, found, ("a", "b"), level=0.1)
    assert (both.lower <= both.upper).all()
    with pytest.raises(AssumptionError, match="contradict"):
        intersect_bounds(known, Interval(found.lower + 2 * ROUNDING, found.upper), ("a", "b"), level=0.1)
