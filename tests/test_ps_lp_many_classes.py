"""Many classes: the better of two rules that hold for every mix, chosen from the label counts alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from pacshift import PSLP, PSLW, Tally
from pacshift.bounds import Interval, binomial_cut
from pacshift.methods import Task
from pacshift.ps_lp.equal_miss_rate import equal_miss_ranks
from pacshift.ps_lp.many_classes import ranks_for_any_mix
from pacshift.ps_lp.method import EQUAL_MISS_RATE, ONE_THRESHOLD
from pacshift.ps_lp.programs import MixProgram
from pacshift.ps_lp.reasons import reasons_for_many_classes
from strategies import seeds


def test_a_few_small_classes_do_not_drag_down_the_others() -> None:
    counts = np.array([2000] * 245 + [60] * 5)
    every_mix = MixProgram(np.empty((0, 250)), np.empty(0)), Interval(np.zeros(250), np.ones(250))
    equal = equal_miss_ranks(*every_mix, counts, epsilon=0.1, delta=0.05)
    assert equal[0] == 65
    ranks = ranks_for_any_mix(counts, epsilon=0.1, delta=0.05)
    assert ranks[0] == 154 == binomial_cut(2000, epsilon=0.1, delta=0.05 / 250) + 1


def test_classes_of_one_size_keep_the_equal_miss_rate() -> None:
    counts = np.full(250, 2000)
    ranks = ranks_for_any_mix(counts, epsilon=0.1, delta=0.05)
    assert (ranks > binomial_cut(2000, epsilon=0.1, delta=0.05 / 250) + 1).all()


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


def test_ps_lp_is_never_behind_ps_lw_in_such_a_case() -> None:
    size, rng = 201, np.random.default_rng(0)
    labels = np.repeat(np.arange(size), [150] * 196 + [40] * 5)
    scores = rng.dirichlet(np.full(size, 0.05), len(labels))
    scores[np.arange(len(labels)), labels] += rng.random(len(labels))
    tally = Tally.from_scores(scores, labels, soft=False) + Tally.from_target(scores[:500], soft=False)
    task = Task(0.1, 0.05)
    ours, plain = PSLP().solve(tally, task), PSLW().solve(tally, task)
    assert (ours.thresholds >= plain.thresholds).all()


@pytest.mark.montecarlo
def test_errors_above_epsilon_are_as_rare_as_promised() -> None:
    """Scores are uniform within each class, so that the miss rate below a threshold is the threshold."""
    counts, epsilon, delta, repeats = np.array([300] * 30 + [40] * 2), 0.1, 0.1, 1000
    ranks = ranks_for_any_mix(counts, epsilon=epsilon, delta=delta)
    rng = np.random.default_rng(1)
    share, used = rng.dirichlet(np.ones(32)), ranks > 0
    rates = np.zeros((repeats, 32))
    rates[:, used] = rng.beta(ranks[used], counts[used] + 1 - ranks[used], (repeats, int(used.sum())))
    failed = int((rates @ share > epsilon).sum())
    assert binomtest(failed, repeats, delta, alternative="greater").pvalue > 1e-3


def test_what_is_said_about_the_target_is_true() -> None:
    tally = Tally.from_scores(np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10)
    cuts = np.full(3, 0.5)

    def said(kind: str, *, tried: bool, contamination: float = 0.0) -> str:
        return " ".join(reasons_for_many_classes(tally, cuts, kind=kind, tried=tried, contamination=contamination))

    assert said(ONE_THRESHOLD, tried=True) == ""
    chosen = said(EQUAL_MISS_RATE, tried=True)
    assert "did not give smaller sets on the target" in chosen
    assert "too few" not in chosen
    assert "No threshold depends" not in chosen
    assert "rows are too few" in said(EQUAL_MISS_RATE, tried=False)
    contaminated = said(EQUAL_MISS_RATE, tried=False, contamination=0.02)
    assert "does not allow for contamination" in contaminated
    assert "too few" not in contaminated
