"""Many classes: the better of two rules that hold for every mix, chosen from the label counts alone."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from pacshift import AssumptionError, Population, Tally, calibrate
from pacshift.bounds import Interval, binomial_cut
from pacshift.methods import Task
from pacshift.methods.ps_lp import reasons_for_many_classes
from pacshift.ps_lp.equal_miss_rate import known_box, ranks_for_any_mix
from pacshift.ps_lp.theorem import EQUAL_MISS_RATE, ONE_THRESHOLD
from strategies import seeds
from worlds import proven


@given(seeds, st.sampled_from([0.05, 0.2]), st.sampled_from([0.1, 1e-3]))
@settings(deadline=None, max_examples=20)
def test_never_behind_ps_lw_and_every_single_class_keeps_its_tail(seed: int, epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(seed)
    counts = np.floor(np.exp(rng.uniform(2, 8, 40))).astype(int)
    ranks = ranks_for_any_mix(counts, epsilon=epsilon, delta=delta)
    cuts = np.array([binomial_cut(int(m), epsilon=epsilon, delta=delta / 40) for m in counts])
    assert (ranks / (counts + 1)).mean() >= ((cuts + 1) / (counts + 1)).mean()
    used = ranks > 0
    # The target may consist of one class alone.
    assert np.all(beta.sf(epsilon, ranks[used], counts[used] + 1 - ranks[used]) <= delta * 1.001)


@given(seeds, st.floats(0, 0.5))
def test_the_box_of_what_is_known_holds_every_mix_within_the_bounds(seed: int, share: float) -> None:
    """Contaminated rows may be of any class or of none; shares of all rows, or of those with a class."""
    rng = np.random.default_rng(seed)
    mix, other = rng.dirichlet(np.full(6, 0.5)), rng.dirichlet(np.full(7, 0.5))
    shares = (1 - share) * mix + share * other[:6]
    shares = shares if rng.random() < 0.5 else shares / shares.sum()
    slack = rng.exponential(0.05, (2, 6)) * rng.integers(0, 2, (2, 6))
    known = Interval(np.clip(shares - slack[0], 0, 1), np.clip(shares + slack[1], 0, 1))
    box = known_box(known, share)
    assert box.contains(mix).all()
    assert box.upper.sum() >= 1
    assert (box.upper <= known.upper / (1 - share) + 2e-9).all()


def test_without_known_bounds_the_box_changes_nothing() -> None:
    counts, anything = np.full(250, 500), Interval(np.zeros(250), np.ones(250))
    plain = ranks_for_any_mix(counts, epsilon=0.1, delta=0.05)
    assert np.array_equal(ranks_for_any_mix(counts, epsilon=0.1, delta=0.05, box=anything), plain)


@pytest.mark.parametrize("method", ["known_mix", "labels"])
def test_what_is_known_makes_sets_smaller_above_200_classes(method: str) -> None:
    size, rng = 210, np.random.default_rng(0)
    shares = np.full(size, 0.4 / (size - 2))
    shares[:2] = 0.3
    population = Population.synthetic(size, strength=7, rows_per_class=40, rng=1)
    counts = np.where(np.arange(size) < 2, 400, 30)
    source = np.repeat(np.arange(size), counts)
    rows = source * 40 + rng.integers(0, 40, len(source))
    scores, labels = population.scores[rows], population.index[rows]
    target, truth = population.draw(shares, 4000, rng)
    asked: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05}
    plain = calibrate(scores, labels, target, **asked)
    if method == "known_mix":
        better = calibrate(scores, labels, target, **asked, known_mix={0: (0.29, 0.31), 1: (0.29, 0.31)})
    else:
        tally = Tally.from_scores(scores, labels) + Tally.from_target(target)
        known = Tally.from_scores(target[:100], truth[:100])  # counts: with rows PS-T has the smaller sets
        better = calibrate(tally, **asked, labelled=known)
        assert better.method == "PS-LP"
    assert better.sets(target).sum() < 0.97 * plain.sets(target).sum()
    assert population.error(better.thresholds, shares) <= 0.1
    assert any("within the bounds that are known" in reason for reason in better.reasons)


@pytest.mark.parametrize("n_classes", [70, 210])
def test_bounds_that_the_target_contradicts_refute(n_classes: int) -> None:
    """Above 60 classes the test looks at classes one by one; above 200 there is no region."""
    population = Population.synthetic(n_classes, strength=9, rows_per_class=60, rng=1)
    target = population.draw(np.full(n_classes, 1 / n_classes), 4000, rng=2)[0]
    tally = Tally.from_scores(population.scores, population.index, soft=False)
    tally = tally + Tally.from_target(target, soft=False)
    with pytest.raises(AssumptionError, match="but you said at least 50 %"):
        calibrate(tally, known_mix={0: (0.5, 1)})


@pytest.mark.slow
def test_between_50_and_200_classes_the_region_passes_known_bounds_on() -> None:
    population = Population.synthetic(60, strength=7, rows_per_class=150, rng=1)
    even = np.full(60, 1 / 60)
    target = population.draw(even, 20_000, rng=2)[0]
    tally = Tally.from_scores(population.scores, population.index, soft=False)
    tally = tally + Tally.from_target(target, soft=False)
    sizes = []
    for known in (None, Interval(0.95 * even, 1.05 * even)):
        kinds = proven(tally, known=known)
        sizes.append([population.size(kinds[kind], even) for kind in ("one threshold", "rescaled")])
    assert (np.array(sizes[1]) < np.array(sizes[0])).all()


@pytest.mark.montecarlo
@pytest.mark.parametrize("few", [0, 10])
def test_known_bounds_keep_the_promise_and_raise_the_ranks(few: int) -> None:
    """210 classes, ``few`` of them with 40 examples: then the counts alone choose the ranks of PS-LW."""
    counts, epsilon, delta, repeats = np.full(210, 300), 0.1, 0.1, 2000
    counts[:few] = 40
    rng = np.random.default_rng(1)
    share = rng.dirichlet(np.full(210, 0.3))
    known = Interval(0.9 * share, np.minimum(1.1 * share, 1.0))
    plain = ranks_for_any_mix(counts, epsilon=epsilon, delta=delta)
    ranks = ranks_for_any_mix(counts, epsilon=epsilon, delta=delta, box=known_box(known, 0.0))
    assert (ranks / (counts + 1)).mean() > 1.1 * (plain / (counts + 1)).mean()
    rates = rng.beta(ranks, counts + 1 - ranks, (repeats, 210))
    errors = rates @ share
    assert binomtest(int((errors > epsilon).sum()), repeats, delta, alternative="greater").pvalue > 1e-3
    assert errors.mean() > 0.8 * epsilon


def test_what_is_said_about_the_target_is_true() -> None:
    tally = Tally.from_scores(np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10)
    cuts = np.full(3, 0.5)

    def said(kind: str, *, tried: bool, contamination: float = 0.0) -> str:
        task = Task(0.1, 0.05, contamination=contamination)
        return " ".join(reasons_for_many_classes(tally, task, cuts, kind=kind, tried=tried))

    assert said(ONE_THRESHOLD, tried=True) == ""
    chosen = said(EQUAL_MISS_RATE, tried=True)
    assert "did not give smaller sets on the target" in chosen
    assert "too few" not in chosen
    assert "No threshold depends" not in chosen
    assert "rows are too few" in said(EQUAL_MISS_RATE, tried=False)
    contaminated = said(EQUAL_MISS_RATE, tried=False, contamination=0.02)
    assert "does not allow for contamination" in contaminated
    assert "too few" not in contaminated


# What theory allows


@given(seeds, st.floats(0.05, 0.6))
def test_a_hidden_part_of_a_class_changes_neither_the_target_nor_likely_sources(seed: int, part: float) -> None:
    """The world of "What theory allows": a part of class 0 looks like class 1, and the target is the same."""
    rng = np.random.default_rng(seed)
    looks, mix = rng.dirichlet(np.full(6, 0.5), 4), rng.dirichlet(np.ones(4))
    hidden = mix[0] * part / (1 - part)
    other, other_mix = looks.copy(), mix.copy()
    other[0] = (1 - part) * looks[0] + part * looks[1]
    other_mix[0], other_mix[1] = mix[0] / (1 - part), mix[1] - hidden
    assert other_mix @ other == pytest.approx(mix @ looks)
    in_set = rng.random((4, 6)) < 0.5
    errors = [float((m[:, None] * law * ~in_set).sum()) for m, law in ((mix, looks), (other_mix, other))]
    gained = hidden * float(looks[1] @ (~in_set[0] * 1.0 - ~in_set[1]))
    assert errors[1] - errors[0] == pytest.approx(gained, abs=1e-12)
