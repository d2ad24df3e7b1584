"""The bets: their least value is below every admissible truth, the test is monotone, the bound holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import AssumptionError
from pacshift.ps_lp.betting import MOST, RATIO, Wealth, quantile
from pacshift.ps_lp.region import prevalence_region
from strategies import mix, rates, seeds


class Case:
    """Counts of a source and a target with a small or large, weak or strong classifier; the truth beside them."""

    def __init__(
        self, seed: int, n_classes: int, accuracy: float, size: int, epsilon: float, delta: float
    ) -> None:
        rng = np.random.default_rng(seed)
        self.table = rates(rng, n_classes, accuracy)
        self.mix = mix(rng, n_classes, float(rng.choice([0.5, 5.0])))
        self.class_counts = rng.multinomial(size, mix(rng, n_classes, float(rng.choice([0.5, 5.0]))))
        self.miss_rates = np.clip(rng.random(n_classes) * 2 * epsilon, 0, 1)
        self.epsilon, self.delta, self.rng, self.size = epsilon, delta, rng, size

    def draw(self) -> tuple[Wealth, IntArray]:
        columns = [
            self.rng.multinomial(m, p / p.sum()) for m, p in zip(self.class_counts, self.table.T, strict=True)
        ]
        target = self.rng.multinomial(self.size, self.table @ self.mix)
        region = prevalence_region(np.array(columns).T, target, delta=self.delta)
        wealth = Wealth(
            region,
            self.class_counts,
            target,
            epsilon=self.epsilon,
            delta=self.delta,
            miss_delta=self.delta,
            included=np.zeros(len(target), bool),
        )
        return wealth, self.rng.binomial(self.class_counts, self.miss_rates)


cases = st.builds(
    Case,
    seeds,
    st.integers(2, 8),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.sampled_from([30, 500, 20_000]),
    st.sampled_from([0.02, 0.1, 0.4]),
    st.sampled_from([0.2, 5e-4]),
)


def log_wealth(wealth: Wealth, stake: float, misses: IntArray, share: FloatArray, rate: FloatArray) -> float:
    """Straight from the definition: one bet an example."""
    stakes = np.where(wealth.bets, stake * share / np.maximum(wealth.class_counts, 1), 0.0)
    gains = (wealth.class_counts - misses) * np.log1p(stakes * rate) + misses * np.log1p(-stakes * (1 - rate))
    return float(gains.sum())


def exact_stake(wealth: Wealth, share: FloatArray) -> float:
    """The stake of a mix before rounding."""
    totals, epsilon = wealth.class_counts[wealth.bets], wealth.epsilon
    spread = np.sqrt(epsilon * (1 - epsilon) * (share[wealth.bets] ** 2 / totals).sum())
    capped = MOST * (totals / np.maximum(share[wealth.bets], 1e-300)).min()
    return float(min(quantile(min(wealth.delta, 0.4)) / spread, capped))


@given(cases)
@settings(deadline=None, max_examples=80)
def test_the_least_log_wealth_is_below_every_member_of_the_region(case: Case) -> None:
    try:
        wealth, misses = case.draw()
    except AssumptionError:
        return
    upper = wealth.miss_rates(misses)
    assert wealth.cells or not wealth.passes(misses) or wealth.mixes.largest(upper) < case.epsilon
    found = {cell.stake: (cell, *wealth.evidence(cell, misses, upper)[:2]) for cell in wealth.cells}
    box = case.rng.dirichlet(np.full(len(misses), 2.0), 400)
    for share in [case.mix, *box]:
        if not wealth.cells or not _member(wealth, share):  # no cells: no bets, and nothing passes by them
            continue
        rate = upper * case.rng.random(len(misses)) ** 0.3
        if share @ rate < case.epsilon:
            continue
        stake = RATIO ** np.rint(np.log(exact_stake(wealth, share)) / np.log(RATIO))
        near = [value for value in found if value == pytest.approx(stake)]
        assert near, "every admissible mix must have its cell"
        cell, least, _ = found[near[0]]
        assert ((cell.prevalence.lower <= share + 1e-9) & (share <= cell.prevalence.upper + 1e-9)).all()
        bonus = wealth.hurdle(cell, upper, case.epsilon)[1]
        reached = log_wealth(wealth, cell.stake, misses, share, rate) + bonus @ (share * rate)
        assert reached >= least - 1e-7


def _member(wealth: Wealth, share: FloatArray) -> bool:
    worst = wealth._worst
    return bool((worst.rows @ share <= worst.limits).all() and (worst.spare @ share <= worst.spare_limits).all())


@given(cases, st.integers(0, 5))
@settings(deadline=None, max_examples=60)
def test_more_misses_never_help(case: Case, steps: int) -> None:
    try:
        wealth, misses = case.draw()
    except AssumptionError:
        return
    passed = wealth.passes(misses)
    for _ in range(steps):
        misses = np.minimum(misses + case.rng.integers(0, 2 + misses // 10), case.class_counts)
        now = wealth.passes(misses)
        assert passed or not now
        passed = now


@given(cases)
@settings(deadline=None, max_examples=60)
def test_the_bound_agrees_with_the_test(case: Case) -> None:
    try:
        wealth, misses = case.draw()
    except AssumptionError:
        return
    bound = wealth.bound(misses, wealth.prices(misses))
    assert 0 <= bound <= 1 + 1e-9
    if not wealth.passes(misses):
        assert bound >= case.epsilon * (1 - 1e-6)
    more = np.minimum(misses + 1 + misses // 5, case.class_counts)
    assert wealth.bound(more, wealth.prices(more)) >= bound * (1 - 0.02) - 1e-9


@pytest.mark.parametrize("included", [False, True])
def test_a_class_in_every_set_is_never_missed(included: bool) -> None:
    confusion, target = np.array([[4500, 0, 0], [500, 5000, 0], [0, 0, 0]]), np.array([1000, 1000, 0])
    wealth = Wealth(
        prevalence_region(confusion, target, delta=0.01),
        confusion.sum(axis=0),
        target,
        epsilon=0.1,
        delta=0.04,
        miss_delta=0.01,
        included=np.array([False, False, included]),
    )
    assert wealth.passes(np.array([100, 100, 0])) == included  # unseen, it may be a tenth of the target and more


WORLDS = [
    # (label counts, recalls, target mix, miss rates in units of epsilon / error)
    ([3000, 3000], [0.8, 0.7], [0.5, 0.5], [1.0, 1.0]),
    ([2000, 60], [0.9, 0.8], [0.7, 0.3], [0.2, 2.5]),
    ([2000, 20], [0.9, 0.8], [0.95, 0.05], [1.0, 1.0]),
    ([800, 800, 3], [0.9, 0.9, 0.9], [0.5, 0.49, 0.01], [1.0, 1.0, 2.0]),
    ([800, 800, 0], [0.9, 0.9, 0.9], [0.5, 0.49, 0.01], [1.0, 1.0, 2.0]),
    ([500] * 6, [0.6] * 6, [0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [2.0, 0.2, 0.2, 0.2, 0.2, 0.2]),
]


def passes_at_epsilon(world: int, epsilon: float, delta: float, repeats: int) -> int:
    """How often the test passes at a threshold whose error is exactly ε: every time is a broken promise.

    Misses go with wrong predictions as far as they can: the noises of t and of e then add up.
    """
    rng = np.random.default_rng([world, repeats])
    totals, recalls, share, relative = (np.array(x, float) for x in WORLDS[world])
    n_classes, epsilon_rates = len(totals), relative / (share @ relative) * epsilon
    table = np.diag(recalls) + (1 - recalls) * (1 - np.eye(n_classes)) / (n_classes - 1)
    hit_wrong = np.minimum(epsilon_rates, 1 - recalls)
    passed = 0
    for _ in range(repeats):
        columns, misses = [], np.zeros(n_classes, int)
        for j in range(n_classes):
            column = rng.multinomial(int(totals[j]), table[:, j])
            wrong = int(column.sum() - column[j])
            both = rng.binomial(wrong, hit_wrong[j] / (1 - recalls[j]))
            rest = (epsilon_rates[j] - hit_wrong[j]) / recalls[j]
            misses[j] = both + rng.binomial(int(column[j]), rest)
            columns.append(column)
        target = rng.multinomial(4000, table @ share)
        try:
            region = prevalence_region(np.array(columns).T, target, delta=0.11 * delta)
        except AssumptionError:
            passed += 1
            continue
        wealth = Wealth(
            region,
            totals.astype(int),
            target,
            epsilon=epsilon,
            delta=0.85 * delta,
            miss_delta=0.01 * delta,
            included=np.zeros(n_classes, bool),
        )
        passed += wealth.passes(misses)
    return passed


@pytest.mark.montecarlo
@pytest.mark.parametrize(("epsilon", "delta", "repeats"), [(0.1, 0.2, 200), (0.05, 5e-4, 100)])
@pytest.mark.parametrize("world", range(len(WORLDS)))
def test_errors_of_epsilon_rarely_pass(world: int, epsilon: float, delta: float, repeats: int) -> None:
    passed = passes_at_epsilon(world, epsilon, delta, repeats)
    assert binomtest(passed, repeats, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.2), (0.3, 0.02), (0.05, 5e-4)])
@pytest.mark.parametrize("world", range(len(WORLDS)))
def test_errors_of_epsilon_rarely_pass_in_many_draws(world: int, epsilon: float, delta: float) -> None:
    passed = passes_at_epsilon(world, epsilon, delta, 4000)
    assert binomtest(passed, 4000, delta, alternative="greater").pvalue > 1e-3
