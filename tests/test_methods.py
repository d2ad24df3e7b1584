"""Every method on small cases by hand, what it says when nothing can be certified, and what guarantees mean."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from certificates import alter, birds
from flat import with_weights
from pacshift import InputError, Tally, UninformativeWarning, calibrate
from pacshift.arrays import FloatArray
from pacshift.bounds import Interval, clopper_pearson
from pacshift.methods import (
    APS,
    LWCP,
    METHODS,
    PS,
    PSC,
    PSLW,
    PSR,
    PSW,
    WCP,
    Method,
    Oracle,
    Task,
    method_name,
    resolve_method,
)
from pacshift.methods.guarantee import MEANINGS, Guarantee, promises_target
from pacshift.methods.point_weights import bbse_soft
from pacshift.methods.ps_w import example_threshold, worst_class_threshold
from pacshift.methods.weight_box import Intervals, eliminate
from pacshift.scores.check import MIN_RATE
from strategies import drawn_scores, drawn_tally


def task(epsilon: float, delta: float, seed: int = 0) -> Task:
    return Task(epsilon=epsilon, delta=delta, seed=seed)


def binary(first: list[float], second: list[float], target: tuple[int, int] = (50, 50)) -> Tally:
    """K = 2: the true-label scores of label 0 and of label 1; the other score is the rest to 1."""
    scores = [[score, 1 - score] for score in first] + [[1 - score, score] for score in second]
    labels = [0] * len(first) + [1] * len(second)
    shown = np.repeat([[0.9, 0.1], [0.1, 0.9]], target, axis=0)
    return Tally.from_scores(np.array(scores), labels) + Tally.from_target(shown)


def ladder(size: int, start: float = 0.5) -> list[float]:
    return [start + 0.001 * step for step in range(size)]


NONE = -np.inf
BY_HAND: list[tuple[Method, list[float], list[float], tuple[float, float], list[float]]] = [
    # 0.9**29 = 0.0471 <= 0.05 < 0.9**28: 29 examples allow no miss, 28 allow nothing.
    (PS(), ladder(29), [], (0.1, 0.05), [0.5, 0.5]),
    (PS(), ladder(28), [], (0.1, 0.05), [NONE, NONE]),
    # P(Binomial(46, 0.1) <= 1) = 0.0480: one miss in 46, so the second smallest score.
    (PS(), ladder(20), ladder(26, 0.6), (0.1, 0.05), [0.501, 0.501]),
    # One miss is allowed, but 0.5 comes twice: 0.501 would miss two.
    (PS(), [0.5, 0.5, *ladder(44, 0.501)], [], (0.1, 0.05), [0.5, 0.5]),
    # delta / K = 0.05 for each class: 46 examples allow one miss, 29 none, 28 nothing.
    (PSLW(), ladder(46), ladder(29, 0.7), (0.1, 0.1), [0.501, 0.7]),
    (PSLW(), ladder(46), ladder(28, 0.7), (0.1, 0.1), [0.501, NONE]),
    # floor(0.1 * 20) - 1 = 1 miss of 19, floor(0.1 * 10) - 1 = 0 of 9, -1 of 8.
    (LWCP(), ladder(19), ladder(9, 0.7), (0.1, 0.5), [0.501, 0.7]),
    (LWCP(), ladder(19), ladder(8, 0.7), (0.1, 0.5), [0.501, NONE]),
]


@pytest.mark.parametrize(("method", "first", "second", "rates", "expected"), BY_HAND)
def test_methods_of_the_source_alone_by_hand(
    method: Method, first: list[float], second: list[float], rates: tuple[float, float], expected: list[float]
) -> None:
    solution = method.solve(binary(first, second), task(*rates))
    np.testing.assert_allclose(solution.thresholds, expected, rtol=1e-12)
    if expected[1] == NONE < expected[0]:
        assert "class 1 is in every set" in solution.reasons[0]
        assert ("28 source rows, at least 29" in solution.reasons[0]) == (method == PSLW())


def test_oracle_with_a_weight_of_zero_is_ps_on_the_other_class() -> None:
    tally = binary(ladder(29, 0.6), ladder(100, 0.51))
    assert Oracle(weights=[2.0, 0.0]).solve(tally, task(0.1, 0.05)).thresholds[0] == pytest.approx(0.6)
    even = Oracle(weights=[1.0, 1.0]).solve(tally, task(0.1, 0.05))
    assert even.thresholds[0] == PS().solve(tally, task(0.1, 0.05)).thresholds[0]
    with pytest.raises(InputError, match="ORACLE needs the true weights, each class's share"):
        Oracle().solve(tally, task(0.1, 0.05))


def test_wcp_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.methods.point_weights.estimate_weights", lambda *_: np.array([2.0, 0.5]))
    # All weight: 4 * 2 + 8 * 0.5 = 12. Label 0 may miss 0.25 * 14 - 2 = 1.5, label 1 0.25 * 12.5 - 0.5 = 2.625.
    tally = binary([0.62, 0.7, 0.8, 0.9], [0.51, 0.52, 0.63, 0.64, 0.65, 0.66, 0.67, 0.68])
    # Below 0.62 lie two examples of label 1 (weight 1); the next in line, 0.62, weighs 2 and makes 3.
    assert WCP().solve(tally, task(0.25, 0.5)).thresholds.tolist() == [0.62, 0.62]
    # With epsilon = 0.4: 0.4 * 14 - 2 = 3.6 and 0.4 * 12.5 - 0.5 = 4.5, so 3 + 0.5 and 3 + 1.5 are the most.
    assert WCP().solve(tally, task(0.4, 0.5)).thresholds.tolist() == [0.64, 0.66]


def test_example_wise_worst_case_by_hand() -> None:
    # Label 0 is kept for sure. Label 1 may or may not be: its misses count, its hits do not.
    tally = binary(ladder(40, 0.6), [0.55, 0.601, *ladder(30, 0.9)])
    keep = Interval(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    threshold, sure = example_threshold(tally, keep, epsilon=0.1, delta=0.05, rng=np.random.default_rng(0))
    assert sure == 40
    # At 0.55: 0 misses of 40, 0.9**40 = 0.015 passes. At 0.6: 1 miss of 41, P(Bin(41, 0.1) <= 1) = 0.074 fails.
    assert threshold == 0.55


def test_class_wise_worst_case_by_hand() -> None:
    # As above, but label 1 joins in the order of its V, hits and misses alike, so its one miss at 0.6 may come
    # alone at worst (P(Bin(41, 0.1) <= 1) > 0.05: fails) if it comes first, and not if it comes late.
    tally = binary(ladder(40, 0.6), [0.55, *ladder(30, 0.9)])
    keep = Interval(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    order: dict[bool, set[bool]] = {}
    for seed in range(40):
        first_of_label_1 = np.argmin(np.random.default_rng(seed).random(71)[40:])
        found, _ = worst_class_threshold(tally, keep, epsilon=0.1, delta=0.05, rng=np.random.default_rng(seed))
        order.setdefault(bool(first_of_label_1 == 0), set()).add(bool(found >= 0.6))
    assert order == {True: {False}, False: {False, True}}


def test_aps_is_ps_on_adaptive_scores() -> None:
    rng = np.random.default_rng(5)
    scores, labels = drawn_scores(rng, 4, 500, 2.0)
    adaptive = Tally.from_scores(scores, labels, score="aps-plain")
    one, other = (method.solve(adaptive, task(0.1, 0.05)).thresholds for method in (APS(), PS()))
    np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match="APS needs a tally of adaptive scores"):
        APS().solve(Tally.from_scores(scores, labels), task(0.1, 0.05))


def test_ps_r_is_oracle_with_the_authors_estimate() -> None:
    tally: Any = drawn_tally(np.random.default_rng(1), 3, 2000, 2.0)
    unit = tally.soft.target.sum() / tally.n_target  # scores sum to 1
    shares = tally.soft.source / tally.n_source / unit, tally.soft.target / tally.n_target / unit
    estimate = bbse_soft(*shares, ridge=1 / 2000)
    told = Oracle(weights=estimate).solve(tally, task(0.1, 0.05))
    np.testing.assert_array_equal(PSR().solve(tally, task(0.1, 0.05)).thresholds, told.thresholds)


def test_ps_c_divides_epsilon_by_the_largest_weight() -> None:
    rng = np.random.default_rng(3)
    tally = drawn_tally(rng, 2, 4000, 4.0)
    share = 0.05 / 7  # K(K+1) + 1 parts
    boxes = (clopper_pearson(counts, 4000, delta=share) for counts in (tally.confusion, tally.target))
    weights = eliminate(*boxes)
    allowed = np.count_nonzero(stats.binom.cdf(np.arange(4000), 4000, 0.1 / weights.upper.max()) <= share) - 1
    threshold = np.sort(np.repeat(tally.values, tally.counts))[allowed]
    assert PSC().solve(tally, task(0.1, 0.05)).thresholds.tolist() == [threshold] * 2


def test_a_known_envelope_takes_the_place_of_the_largest_weight() -> None:
    tally = drawn_tally(np.random.default_rng(3), 2, 4000, 4.0)
    box: Any = PSW().solve(tally, task(0.1, 0.05)).weights
    same = PSW(envelope=float(box.upper.max())).solve(tally, task(0.1, 0.05))
    np.testing.assert_array_equal(same.thresholds, PSW().solve(tally, task(0.1, 0.05)).thresholds)
    narrow: Any = PSW(envelope=1.05).solve(tally, task(0.1, 0.05)).weights
    assert narrow.upper.max() == 1.05


@pytest.mark.parametrize("method", [PSW(), PSC(), PSW("elimination"), PSC("elimination")], ids=str)
def test_class_that_cannot_be_weighed_is_named(method: Method) -> None:
    # Label "c" was never seen on the source, so nothing bounds its weight.
    rng = np.random.default_rng(0)
    scores, labels = drawn_scores(rng, 2, 500, 4.0)
    wide = np.column_stack([scores * 0.9, np.full(500, 0.02)])
    tally = Tally.from_scores(wide, np.array(["a", "b"])[labels], classes=["a", "b", "c"])
    tally += Tally.from_target(wide, classes=["a", "b", "c"])
    with pytest.warns(UninformativeWarning, match=r"class 'c': 0 source rows"):
        certificate = calibrate(tally, epsilon=0.1, delta=0.05, method=method, rng=0)
    assert certificate.trivial
    assert certificate.sets(wide).all()


@pytest.mark.parametrize(
    ("method", "cause"),
    [
        ("PS", "20 source rows cannot promise 10 %"),
        ("ORACLE", "rows kept by rejection sampling cannot promise"),
        ("PS-R", "rows kept by rejection sampling cannot promise"),
        ("PS-LW", "in every set"),
        ("PS-W", "cannot bound its weight|cannot promise"),
        ("PS-C", "cannot bound its weight|cannot promise"),
    ],
)
def test_too_little_data_is_said_aloud(method: str, cause: str) -> None:
    tally = binary(ladder(10), ladder(10, 0.7), target=(10, 10))
    with pytest.warns(UninformativeWarning, match=cause):
        certificate = calibrate(tally, epsilon=0.1, delta=0.05, rng=0, method=with_weights(method, [1.0, 1.0]))
    assert certificate.trivial


def swapped_classes() -> tuple[Tally, FloatArray]:
    """Of a good classifier whose three outputs are named in another order; and the weights."""
    rng = np.random.default_rng(0)
    (scores, labels), (target, hidden) = (drawn_scores(rng, 3, 4000, 5.0) for _ in range(2))
    meant = [1, 2, 0]
    tally = Tally.from_scores(scores[:, meant], labels) + Tally.from_target(target[:, meant])
    return tally, np.bincount(hidden) / np.bincount(labels)


@pytest.mark.parametrize("intervals", ["hull", "elimination"])
@pytest.mark.parametrize("method", [PSW, PSC])
def test_classifier_that_permutes_its_classes(method: type[PSW] | type[PSC], intervals: Intervals) -> None:
    tally, weights = swapped_classes()
    certificate: Any = calibrate(tally, epsilon=0.1, delta=0.05, method=method(intervals), rng=0)
    assert certificate.weights.contains(weights).all()
    assert (certificate.weights.upper < 1.25 * weights).all()
    assert not certificate.trivial


def test_the_advice_is_what_helps() -> None:
    tally, _ = swapped_classes()
    with pytest.warns(UninformativeWarning, match=r'The default, intervals="hull", needs no pivots'):
        calibrate(tally, epsilon=0.1, delta=0.05, method=PSW("strict"), rng=0)
    few = binary(ladder(10), ladder(10, 0.7), target=(10, 10))
    with pytest.warns(UninformativeWarning, match=r"class 0 may be up to .* more than its 10 source rows"):
        calibrate(few, epsilon=0.1, delta=0.05, method=PSW(), rng=0)


def test_more_classes_than_linear_programs_take_are_eliminated() -> None:
    scores = np.full((402, 201), 0.001) + np.repeat(np.eye(201), 2, axis=0) * 0.8
    labels = np.repeat(np.arange(201), 2)
    tally = Tally.from_scores(scores, labels) + Tally.from_target(scores)
    with pytest.warns(UninformativeWarning, match=r"its pivot may be 0.*More data or fewer classes would help"):
        calibrate(tally, epsilon=0.1, delta=0.05, method=PSW(), rng=0)


@pytest.mark.parametrize("method", [PSR, WCP])
def test_estimates_from_counts_work_on_scores_that_are_no_probabilities(method: type[PSR] | type[WCP]) -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, 2000)
    logits = rng.normal(size=(2000, 3)) + 4 * np.eye(3)[labels]
    asked: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05, "rng": 0}
    with pytest.raises(InputError, match='use estimate="bbse" or "bbse-ridge"'):
        calibrate(logits, labels, logits, method=method(), **asked)
    methods = method(estimate="bbse"), method(estimate="bbse-ridge")
    found = [calibrate(logits, labels, logits, method=each, **asked) for each in methods]
    for certificate in found:
        assert np.isfinite(certificate.thresholds).all()
    with pytest.raises(InputError, match="estimate must be 'bbse-soft', 'bbse' or 'bbse-ridge', got 'guess'"):
        method(estimate="guess")  # type: ignore[arg-type]


def test_a_typo_gets_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"unknown method 'orcale'. Did you mean ORACLE\? The methods are PS-LP"):
        method_name("orcale")
    with pytest.raises(InputError, match=r"unknown method 'zzz'\. The methods are"):
        method_name("zzz")
    assert len({method_name(name) for name in METHODS}) == len(METHODS)
    assert resolve_method("Ps_r") == PSR()


@pytest.mark.parametrize("envelope", ["2", 0.5, np.inf, np.nan, True, [2.0], 1j])
def test_an_envelope_is_a_number(envelope: Any) -> None:
    with pytest.raises(InputError, match=r"envelope must be a finite number >= 1 \(weights average 1\), got"):
        PSW(envelope=envelope)
    assert PSW(envelope=np.float32(2)).envelope == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "PS-T"])
@pytest.mark.parametrize(("epsilon", "delta"), [(MIN_RATE, 0.05), (0.1, MIN_RATE), (MIN_RATE, MIN_RATE)])
@pytest.mark.filterwarnings("ignore::pacshift.UninformativeWarning")
def test_the_smallest_rates_are_answered_without_nonsense(name: str, epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    scores = np.eye(3)[labels] * 0.5 + rng.dirichlet(np.ones(3), 600) * 0.5
    method = with_weights(name, np.ones(3))
    options: dict[str, Any] = {"method": method, "epsilon": epsilon, "delta": delta, "rng": 0}
    with np.errstate(all="raise", under="ignore"):
        made = calibrate(scores[:300], labels[:300], scores[300:], **options)
    assert "nan" not in made.explain()
    with pytest.raises(InputError, match="epsilon must be at least 1e-100"):
        calibrate(scores[:300], labels[:300], scores[300:], **options | {"epsilon": 5e-324})


@pytest.mark.parametrize("guarantee", MEANINGS)
def test_the_words_are_filled_in(guarantee: Guarantee) -> None:
    for cap, share in product((None, 0.15), (0.0, 0.02)):
        certificate = alter(birds(), guarantee=guarantee, class_epsilon=cap, contamination=share)
        for said in (certificate.explain(), certificate.explain(full=True)):
            assert "{" not in said
            assert "  " not in said


def test_what_is_promised_about_the_target_can_be_asked_of_guarantees_methods_and_certificates() -> None:
    for method in METHODS.values():
        assert promises_target(method()) == promises_target(method.guarantee)
    assert promises_target(birds())
    assert [guarantee for guarantee in MEANINGS if not promises_target(guarantee)] == ["pac-source", "none"]
