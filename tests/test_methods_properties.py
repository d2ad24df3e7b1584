"""Every method against its definition on random tallies, and under renaming of classes."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from pacshift import Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.methods import LWCP, PS, PSC, PSLW, PSR, PSW, WCP, Method, Task
from pacshift.methods.point_weights import bbse_soft
from pacshift.methods.ps_w import example_threshold, merged_majorant, split_delta, worst_class_threshold
from strategies import drawn_scores, seeds, tallies


def task(epsilon: float, delta: float, seed: int = 0) -> Task:
    return Task(epsilon=epsilon, delta=delta, seed=seed)


def next_up(tally: Tally, threshold: float) -> float:
    """The next observed score above; just above everything where there is none."""
    above = tally.values[tally.values > threshold]
    return float(above.min()) if len(above) else np.inf


def pac(errors: float, total: int, epsilon: float, delta: float) -> bool:
    return bool(stats.binom.cdf(errors, total, epsilon) <= delta)


rates = st.sampled_from([(0.1, 0.05), (0.3, 0.2), (0.02, 1e-3), (0.6, 0.5)])


@pytest.mark.slow
@given(tallies(), rates)
def test_ps_and_ps_c_take_the_largest_admissible_threshold(tally: Tally, rate: tuple[float, float]) -> None:
    epsilon, delta = rate
    for method, level in ((PS(), (epsilon, delta)), (PSC(), None)):
        solution = method.solve(tally, task(epsilon, delta))
        if level is None:
            assume(solution.weights is not None)
            assert solution.weights is not None
            share = delta / (tally.n_classes * (tally.n_classes + 1) + 1)
            level = (epsilon / solution.weights.upper.max(), share)
        threshold = float(solution.thresholds[0])
        assert (solution.thresholds == threshold).all()
        assert threshold == -np.inf or pac(tally.misses(threshold).sum(), tally.n_source, *level)
        more = tally.misses(next_up(tally, threshold)).sum()
        assert threshold == np.inf or not pac(more, tally.n_source, *level)


@given(tallies(), rates)
def test_ps_lw_takes_the_largest_threshold_of_each_class(tally: Tally, rate: tuple[float, float]) -> None:
    epsilon, delta = rate
    solution = PSLW().solve(tally, task(epsilon, delta))
    for label, threshold in enumerate(solution.thresholds):
        start = tally.class_counts[:label].sum()
        scores = np.repeat(tally.values, tally.counts)[start:][: tally.class_counts[label]]
        level = (len(scores), epsilon, delta / tally.n_classes)
        assert threshold == -np.inf or pac(int((scores < threshold).sum()), *level)
        above = scores[scores > threshold]
        if len(above):
            assert not pac(int((scores < above.min()).sum()), *level)


@given(tallies(), rates)
def test_wcp_takes_the_largest_admissible_threshold_of_each_class(tally: Tally, rate: tuple[float, float]) -> None:
    epsilon, delta = rate
    assert tally.soft is not None
    unit = tally.soft.target.sum() / tally.n_target
    weights = bbse_soft(
        tally.soft.source / tally.n_source / unit,
        tally.soft.target / tally.n_target / unit,
        ridge=1 / min(tally.n_source, tally.n_target),
    )
    total = weights @ tally.class_counts
    for label, threshold in enumerate(WCP().solve(tally, task(epsilon, delta)).thresholds):
        allowed = epsilon * (total + weights[label]) - weights[label]
        assert threshold == -np.inf or weights @ tally.misses(threshold) <= allowed + 1e-6 * total
        if threshold < np.inf:
            missed = weights @ tally.misses(next_up(tally, float(threshold)))
            assert missed > allowed - 1e-6 * total


@given(tallies(), rates, seeds)
def test_example_wise_threshold_is_the_largest(tally: Tally, rate: tuple[float, float], seed: int) -> None:
    epsilon, delta = rate
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.random((2, tally.n_classes)), axis=0)
    # Shares of 0 and 1 leave nothing to chance: the definition can be checked directly.
    ends[0], ends[1] = np.round(ends[0]), np.maximum(np.round(ends[1]), np.round(ends[0]))
    keep = Interval(ends[0], ends[1])
    threshold, _ = example_threshold(tally, keep, epsilon=epsilon, delta=delta, rng=rng)

    def passes(cut: float) -> bool:
        misses = tally.misses(cut)
        errors = int(keep.upper @ misses)
        return pac(errors, errors + int(keep.lower @ (tally.class_counts - misses)), epsilon, delta)

    assert threshold == -np.inf or passes(threshold)
    assert threshold == np.inf or not passes(next_up(tally, threshold))


def worst_thresholds(
    tally: Tally, keep: Interval, uniform: FloatArray, level: tuple[float, float]
) -> tuple[float, float]:
    """The largest thresholds that pass for every choice of weights, by trying all: per class, per example."""
    label = np.repeat(np.arange(tally.n_classes), tally.class_counts)
    scores = np.repeat(tally.values, tally.counts)
    by_class, by_example = -np.inf, -np.inf
    for cut in np.unique(scores):
        missed = scores < cut
        prefixes = []
        for one in range(tally.n_classes):
            mine = np.flatnonzero(label == one)
            mine = mine[np.argsort(uniform[mine])]
            first, last = (int((uniform[mine] <= end[one]).sum()) for end in (keep.lower, keep.upper))
            prefixes.append([(size, int(missed[mine[:size]].sum())) for size in range(first, last + 1)])
        choices = (map(sum, zip(*choice, strict=True)) for choice in itertools.product(*prefixes))
        if all(pac(errors, total, *level) for total, errors in choices):
            by_class = max(by_class, cut)
        upper, lower = uniform <= keep.upper[label], uniform <= keep.lower[label]
        errors = int((upper & missed).sum())
        if pac(errors, errors + int((lower & ~missed).sum()), *level):
            by_example = max(by_example, cut)
    return by_class, by_example


@pytest.mark.slow
@given(seeds, st.integers(2, 3), st.integers(6, 24), st.sampled_from([(0.5, 0.3), (0.7, 0.2), (0.3, 0.3)]))
def test_class_wise_worst_case_lies_between_the_example_wise_one_and_the_exact_minimum(
    seed: int, n_classes: int, rows: int, level: tuple[float, float]
) -> None:
    rng = np.random.default_rng(seed)
    tally = Tally.from_scores(*drawn_scores(rng, n_classes, rows, 1.0))
    keep = Interval(*np.sort(rng.random((2, n_classes)), axis=0))
    uniform = np.random.default_rng(seed).random(rows)
    rates: Any = dict(zip(("epsilon", "delta"), level, strict=True))
    found, _ = worst_class_threshold(tally, keep, **rates, rng=np.random.default_rng(seed))
    by_class, by_example = worst_thresholds(tally, keep, uniform, level)
    assert by_example <= found <= by_class or found == np.inf  # +inf: even missing all passes


@given(seeds, st.integers(1, 4), st.integers(1, 6))
def test_no_weight_per_class_has_more_errors_than_the_majorant(seed: int, n_classes: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    paths = [rng.integers(0, 2, rng.integers(0, rows + 1)).astype(float) for _ in range(n_classes)]
    majorant = merged_majorant(np.concatenate(paths), np.cumsum([len(path) for path in paths]))
    for sizes in itertools.product(*(range(len(path) + 1) for path in paths)):
        errors = sum(path[:size].sum() for path, size in zip(paths, sizes, strict=True))
        assert errors <= majorant[sum(sizes)] + 1e-9


def test_what_ps_w_assumes_depends_on_its_envelope() -> None:
    assert "read off the data" in PSW().extra_assumption
    assert "read off the data" in PSW(intervals="hull", worst_case="class").extra_assumption
    fixed = PSW(envelope=4.0).extra_assumption
    assert "read off" not in fixed
    assert "exceeds the envelope 4" in fixed


@pytest.mark.slow
@given(tallies(), rates, st.floats(0.0, 1.0))
def test_ps_c_is_never_above_ps_at_a_level_of_its_box(
    tally: Tally, rate: tuple[float, float], part: float
) -> None:
    """The step of PS-C's proof that lets b be read off the data."""
    epsilon, delta = rate
    found: Any = PSC().solve(tally, task(epsilon, delta))
    assume(found.weights is not None)
    largest = max(part * float(found.weights.upper.max()), 1.0)  # the true one, wherever the boxes hold
    fixed = PS().solve(tally, task(epsilon / largest, split_delta(delta, tally.n_classes)))
    assert found.thresholds[0] <= fixed.thresholds[0]


def thin_by_score(counts: IntArray, tally: Tally, keep: FloatArray, rng: np.random.Generator) -> IntArray:
    """Thinning whose V is a fixed function of the score, so that it does not depend on the order of classes."""
    label = np.repeat(np.arange(tally.n_classes), np.diff(tally.starts))
    return counts * (np.modf(tally.values * 997.0)[0] <= keep[label])


@pytest.mark.parametrize(
    "method", [PS(), PSC(), PSLW(), LWCP(), WCP(), PSW(), PSR(), PSC("hull"), PSW("hull")], ids=str
)
def test_permuting_classes_permutes_the_answer(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.methods.ps_w.thin", thin_by_score)
    monkeypatch.setattr("pacshift.methods.point_weights.thin", thin_by_score)
    rng = np.random.default_rng(11)
    for n_classes in (2, 3, 6):
        scores, labels = drawn_scores(rng, n_classes, 6000, 4.0)
        target = drawn_scores(rng, n_classes, 6000, 4.0)[0]
        order = rng.permutation(n_classes)
        tally = Tally.from_scores(scores, labels) + Tally.from_target(target)
        permuted = Tally.from_scores(scores[:, order], np.argsort(order)[labels])
        permuted += Tally.from_target(target[:, order])
        before, after = (method.solve(one, task(0.1, 0.05)) for one in (tally, permuted))
        assert np.isfinite(before.thresholds).all()
        np.testing.assert_array_equal(after.thresholds, before.thresholds[order])


@pytest.mark.montecarlo
def test_permuting_classes_leaves_the_law_of_the_class_wise_worst_case_alone() -> None:
    rng = np.random.default_rng(2)
    scores, labels = drawn_scores(rng, 3, 1500, 4.0)
    target = drawn_scores(rng, 3, 1500, 4.0)[0]
    order = np.array([2, 0, 1])
    one = Tally.from_scores(scores, labels) + Tally.from_target(target)
    other = Tally.from_scores(scores[:, order], np.argsort(order)[labels]) + Tally.from_target(target[:, order])
    method = PSW(worst_case="class")
    levels = [task(0.2, 0.2, seed) for seed in range(100, 160)]
    before, after = ([float(method.solve(tally, each).thresholds[0]) for each in levels] for tally in (one, other))
    assert stats.ks_2samp(before, after).pvalue > 1e-3
