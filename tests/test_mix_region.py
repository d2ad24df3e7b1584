"""The region of label mixes: it holds the truth whenever its events do, and they do often enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from lp_solvers import each_solver  # noqa: F401  tests run with both
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.errors import AssumptionError
from pacshift.mix.region import (
    BOX_SHARE,
    SetCounts,
    _least_squares,
    exact_upper,
    predicted_sets,
    prevalence_region,
    quick_box,
)
from pacshift.mix.tails import bernstein_upper
from strategies import Truth, mix, rates, seeds


@pytest.mark.parametrize("n_classes", range(2, 17))
def test_sets_read_backwards_are_the_complements(n_classes: int) -> None:
    for sets in predicted_sets(n_classes):
        assert np.array_equal(sets[::-1], 1 - sets)
        assert len(np.unique(sets, axis=0)) == len(sets)
    total = sum(len(sets) for sets in predicted_sets(n_classes))
    assert total == 2**n_classes - 2 if n_classes <= 12 else total <= 4096


def events_hold(truth: Truth, confusion: IntArray, target: IntArray, delta: float) -> bool:
    """Whether all the events of the proof hold, the sums measured against the true mix and its variance."""
    parts = [sets for sets in predicted_sets(len(target)) if len(sets)]
    point = Interval(truth.mix, truth.mix)
    for sets, bound in zip(parts, (exact_upper, bernstein_upper), strict=False):
        counts = SetCounts.of(sets, confusion, target, bound=bound, delta=delta * BOX_SHARE / len(parts))
        rate, share = sets @ truth.rates, sets @ truth.rates @ truth.mix
        if not (_inside(counts.rate, rate) and _inside(counts.share, share)):
            return False
        exact = SetCounts(
            Interval(rate, rate),
            Interval(share, share),
            counts.observed,
            counts.observed_share,
            counts.class_counts,
            counts.n_target,
        )
        level = delta * (1 - BOX_SHARE) / len(parts) / len(sets)
        seen = truth.class_counts > 0
        sums = (counts.observed - rate)[:, seen] @ truth.mix[seen] + share
        if not (sums <= exact.sums(point, level)[1] + 1e-12).all():
            return False
    return True


def _inside(interval: Interval, value: FloatArray) -> bool:
    return bool(((interval.lower <= value + 1e-12) & (value <= interval.upper + 1e-12)).all())


@pytest.mark.slow
@given(
    seeds,
    st.integers(2, 9),
    st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    st.sampled_from([3, 40, 400, 20_000]),
    st.sampled_from([3, 40, 400, 20_000]),
)
@settings(deadline=None, max_examples=120)
def test_the_true_mix_is_inside_whenever_the_events_hold(
    seed: int, n_classes: int, accuracy: float, n_source: int, n_target: int
) -> None:
    truth = Truth(seed, n_classes, accuracy, n_source, n_target)
    for delta in (0.5, 1e-3):
        confusion, target = truth.draw()
        if not events_hold(truth, confusion, target, delta):
            continue
        region = prevalence_region(confusion, target, delta=delta)
        assert (region.rows @ truth.mix <= region.limits + 1e-9).all()
        assert (region.extra_rows @ truth.mix <= region.extra_limits + 1e-9).all()
        assert _inside(region.prevalence, truth.mix)
        assert region.accuracy <= np.diag(truth.rates) @ truth.mix + 1e-9


def test_sums_stay_below_their_limits_as_often_as_they_should_and_not_much_more() -> None:
    rng, level, repeats = np.random.default_rng(5), 0.05, 20_000
    table, share, totals, n_target = rates(rng, 3, 0.7), np.array([0.2, 0.5, 0.3]), np.array([900, 300, 600]), 700
    sets = predicted_sets(3)[0]
    columns = [rng.multinomial(m, p, repeats) / m for m, p in zip(totals, table.T, strict=True)]
    target = rng.multinomial(n_target, table @ share, repeats) / n_target
    sums = (sum(part * column for part, column in zip(share, columns, strict=True)) - target) @ sets.T
    point, rate = Interval(share, share), sets @ table
    exact, of_target = Interval(rate, rate), Interval(rate @ share, rate @ share)
    known = SetCounts(exact, of_target, rate, 0 * sets[:, 0], totals, n_target)
    above = (sums > known.sums(point, level)[1]).mean(axis=0)
    assert (above <= level).all()
    assert (above >= level / 4).all()


@pytest.mark.montecarlo
@pytest.mark.parametrize(("n_classes", "accuracy", "size"), [(2, 0.6, 300), (3, 0.8, 60), (5, 0.3, 1000)])
def test_the_region_misses_the_truth_in_at_most_delta_of_draws(n_classes: int, accuracy: float, size: int) -> None:
    delta, repeats = 0.2, 150
    truth = Truth(n_classes, n_classes, accuracy, size, size)
    missed = 0
    for _ in range(repeats):
        try:
            missed += not prevalence_region(*truth.draw(), delta=delta).contains(truth.mix)
        except AssumptionError:
            missed += 1
    assert binomtest(missed, repeats, delta, alternative="greater").pvalue > 1e-3


def test_the_region_is_sharp() -> None:
    confusion, target = np.array([[9000, 1000], [1000, 9000]]), np.array([5000, 5000])
    box = prevalence_region(confusion, target, delta=0.05).prevalence
    deviation = np.sqrt(0.25 / 10_000 + 2 * 0.25 * 0.09 / 10_000) / 0.8
    assert box.contains([0.5, 0.5]).all()
    assert (box.upper - box.lower < 2 * 2.6 * deviation).all()  # a normal law would need 2.0 at the whole delta


TABLE = np.array([[0.9, 0.1, 0.05], [0.05, 0.8, 0.05], [0.05, 0.1, 0.9]])


@pytest.mark.montecarlo
def test_a_changed_classifier_is_refused_and_an_unchanged_one_is_not() -> None:
    rng, repeats, delta = np.random.default_rng(7), 80, 0.1
    changed = TABLE.copy()
    changed[:, 1] = 0.02, 0.96, 0.02  # p(x given y = 1) has changed: its rows are easier on the target
    refused = [0, 0]
    for _ in range(repeats):
        confusion = np.array([rng.multinomial(2000, column) for column in TABLE.T]).T
        for case, columns in enumerate((TABLE, changed)):
            target = rng.multinomial(2000, columns @ [0.05, 0.9, 0.05])
            try:
                prevalence_region(confusion, target, delta=delta)
            except AssumptionError:
                refused[case] += 1
    assert binomtest(refused[0], repeats, delta, alternative="greater").pvalue > 1e-3
    assert refused[1] == repeats


def test_the_refusal_names_the_predicted_class_and_by_how_much() -> None:
    confusion = np.rint(TABLE * 2000).astype(int)
    with pytest.raises(AssumptionError, match=r"100 % of the target is predicted 'b'; .* more than about 8\d"):
        prevalence_region(confusion, np.array([0, 3000, 0]), delta=0.1, classes=["a", "b", "c"])
    with pytest.raises(AssumptionError, match=r"0 % of the target is predicted 1; .* less than about [1-9]"):
        prevalence_region(confusion, np.array([1500, 0, 1500]), delta=0.1)


def test_a_class_without_examples_may_be_anything() -> None:
    confusion, target = np.array([[900, 0, 0], [100, 0, 100], [0, 0, 900]]), np.array([300, 400, 300])
    region = prevalence_region(confusion, target, delta=0.05)
    assert region.prevalence.upper[1] > 0.35
    assert region.contains(np.array([0.3, 0.4, 0.3]))
    assert region.contains(np.array([0.25, 0.5, 0.25]))


def test_larger_sets_can_refute_what_single_classes_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    # No label is predicted 0 or 1 more often than half of the time, so together they are at most half.
    columns = np.array([[2, 0, 0, 0], [0, 2, 0, 0], [1, 1, 4, 0], [1, 1, 0, 4]]) / 4
    confusion, target = (columns * 1_000_000).astype(int), np.array([3120, 3120, 2880, 2880])
    with pytest.raises(AssumptionError, match=r"48 % of the target is predicted 2 or 3; no mix .* less than"):
        prevalence_region(confusion, target, delta=0.05)
    alone = predicted_sets(4, most=8)
    monkeypatch.setattr("pacshift.mix.region.predicted_sets", lambda _: alone)
    prevalence_region(confusion, target, delta=0.05)


@given(seeds, st.integers(2, 30))
@settings(deadline=None, max_examples=60)
def test_the_quick_box_holds_every_mix(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    table, share = rates(rng, n_classes, float(rng.choice([0.0, 0.6, 0.95]))), mix(rng, n_classes, 1.0)
    rows = np.clip(np.vstack([table, 1 - table]) - 0.01, 0, 1)
    limits = np.concatenate([table @ share, 1 - table @ share]) + 0.01
    quick = quick_box(rows, limits)
    inside = [one for one in rng.dirichlet(np.ones(n_classes), 300) if (rows @ one <= limits).all()]
    for one in [share, *inside]:
        assert quick.contains(one).all()


def test_the_quick_box_of_a_perfect_classifier_is_exact() -> None:
    quick = quick_box(np.vstack([np.eye(3), 1 - np.eye(3)]), np.array([0.6, 0.3, 0.2, 0.5, 0.75, 0.85]))
    assert np.allclose(quick.upper, [0.6, 0.3, 0.2])
    assert np.allclose(quick.lower, [0.5, 0.25, 0.15])


def test_many_classes_get_nearly_the_region_that_exact_boxes_give(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table, share = rates(rng, 20, 0.9), mix(rng, 20, 3.0)
    confusion = np.array([rng.multinomial(800, column) for column in table.T]).T
    target = rng.multinomial(20_000, table @ share)
    exact = prevalence_region(confusion, target, delta=0.05)
    monkeypatch.setattr("pacshift.mix.region.MAX_EXACT_BOX_CLASSES", 10)
    quick = prevalence_region(confusion, target, delta=0.05)
    assert quick.contains(share)
    widths = [float((box.upper - box.lower).mean()) for box in (exact.prevalence, quick.prevalence)]
    assert widths[0] <= widths[1] <= 1.2 * widths[0]


def test_known_bounds_join_the_region_and_can_refute() -> None:
    confusion, target = np.diag([900, 900, 900]), np.array([300, 300, 400])
    free = prevalence_region(confusion, target, delta=0.05)
    known = Interval(np.array([0.0, 0.29, 0.0]), np.array([0.31, 1.0, 1.0]))
    told = prevalence_region(confusion, target, delta=0.05, known=known)
    assert told.prevalence.upper[0] <= 0.31 + 2e-9 < free.prevalence.upper[0]
    assert told.prevalence.lower[1] >= 0.29 - 2e-9 > free.prevalence.lower[1]
    assert told.contains(np.array([0.3, 0.3, 0.4]))
    assert not told.contains(np.array([0.32, 0.3, 0.38]))
    with pytest.raises(AssumptionError, match="or the known bounds are wrong"):
        prevalence_region(confusion, target, delta=0.05, known=Interval(np.zeros(3), np.array([0.2, 1.0, 1.0])))


@pytest.mark.montecarlo
def test_the_mix_of_the_label_shifted_part_is_inside_whatever_the_rest_is() -> None:
    rng, eta, delta, repeats, outside = np.random.default_rng(2), 0.2, 0.3, 60, 0
    for seed in range(repeats):
        truth = Truth(seed, int(rng.integers(2, 5)), 0.8, int(rng.choice([60, 3000])), int(rng.choice([60, 3000])))
        confusion, _ = truth.draw()
        junk = np.eye(len(truth.mix))[int(rng.integers(len(truth.mix)))]
        law = (1 - eta) * truth.rates @ truth.mix + eta * junk
        target = rng.multinomial(truth.n_target, law / law.sum())
        try:
            region = prevalence_region(confusion, target, delta=delta, contamination=eta)
        except AssumptionError:
            outside += 1
            continue
        accuracy = (1 - eta) * np.diag(truth.rates) @ truth.mix  # the rest is predicted wrongly at worst
        kept = region.accuracy - 1e-9 <= float(accuracy) <= region.accuracy_at_most - eta + 1e-9
        outside += int(not region.contains(truth.mix) or not kept)
    assert binomtest(outside, repeats, delta, alternative="greater").pvalue > 1e-3


def test_contamination_loosens_each_row_as_the_page_says() -> None:
    confusion, target, eta = np.array([[900, 100], [100, 900]]), np.array([400, 600]), 0.2
    plain, loose = (prevalence_region(confusion, target, delta=0.05, contamination=share) for share in (0.0, eta))
    assert np.allclose((1 - eta) * loose.limits[:2], plain.limits[:2])  # boxes
    share = target / target.sum()
    widths = (1 - eta) * loose.limits[2:] - share
    assert (widths > 0.5 * (plain.limits[2:] - share)).all()  # sums: the observed share plus a width
    assert (widths < 1.5 * (plain.limits[2:] - share)).all()
    assert loose.accuracy <= (1 - eta) * 0.9


@given(seeds, st.integers(2, 8))
@settings(deadline=None, max_examples=60)
def test_the_least_variance_is_below_that_of_every_mix(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    coefficients = rng.exponential(size=(6, n_classes)) * (rng.random((6, n_classes)) > 0.1)
    low = rng.dirichlet(np.ones(n_classes)) * rng.choice([0.0, 0.5, 0.99])
    shares = low + (1 - low.sum()) * rng.dirichlet(np.full(n_classes, 0.5), 200)
    least = _least_squares(coefficients, low, 1.0)
    assert (least <= (shares**2 @ coefficients.T).min(axis=0) + 1e-12).all()
