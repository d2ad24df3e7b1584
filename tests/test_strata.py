"""Label shift within strata: what is certified holds, in all strata together and in each; the rest is refused."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

import pacshift
from pacshift import (
    AssumptionError,
    InputError,
    UninformativeWarning,
    calibrate,
    calibrate_strata,
    evaluate,
    sets_in_strata,
)
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.scores.transforms import softmax
from pacshift.strata import expand, joint_bounds
from test_docs import ROOT

NAMES = ("young", "middle", "old")
SHIFT, NOISE = np.array([-1.0, 0.0, 1.0]), 1.5
"""The old look sicker than they are, the young less so: P(x given y) depends on the stratum."""
SOURCE_SHARES, SOURCE_SICK = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.4])
SHARES, SICK = np.array([0.2, 0.3, 0.5]), np.array([0.15, 0.3, 0.6])
KNOWN: dict[Any, Any] = {"young": {1: (0, 0.2)}, "middle": {1: (0.1, 0.4)}, "old": {0: (0.3, 0.6)}}
Draw = tuple[FloatArray, IntArray, Any]


def draw(n: int, shares: FloatArray, sick: FloatArray, rng: np.random.Generator) -> Draw:
    """Scores, labels and strata."""
    place = rng.choice(3, n, p=shares)
    labels = (rng.random(n) < sick[place]).astype(int)
    p = 1 / (1 + np.exp(-rng.normal(4 * labels - 2 + SHIFT[place], NOISE)))
    return np.column_stack([1 - p, p]), labels, np.array(NAMES)[place]


def errors(thresholds: FloatArray) -> FloatArray:
    """The true error on the target in each stratum."""
    with np.errstate(divide="ignore"):
        cuts = np.clip(thresholds, 0, 1)
        logits = np.log(cuts) - np.log1p(-cuts)
    missed = norm.cdf((logits - np.column_stack([2 - SHIFT, 2 + SHIFT])) / NOISE)
    return np.asarray((missed * np.column_stack([1 - SICK, SICK])).sum(axis=1))


RNG = np.random.default_rng(3)
SOURCE, LABELS, STRATA = draw(3000, SOURCE_SHARES, SOURCE_SICK, RNG)
TARGET, TRUTH, TARGET_STRATA = draw(3000, SHARES, SICK, RNG)


def made(**changed: Any) -> Any:
    asked = {
        "source_scores": SOURCE,
        "source_labels": LABELS,
        "target_scores": TARGET,
        "strata": STRATA,
        "target_strata": TARGET_STRATA,
        "known_mix": KNOWN,
    }
    return calibrate_strata(**asked | changed)


@pytest.fixture(scope="module", params=[False, True], ids=["together", "per stratum"])
def certificate(request: pytest.FixtureRequest) -> Any:
    return made(per_stratum=request.param)


def thresholds(made: Any) -> FloatArray:
    """By stratum and class."""
    parts = made.values() if isinstance(made, dict) else [made]
    return np.concatenate([one.thresholds for one in parts]).reshape(3, 2)


@pytest.mark.parametrize("per_stratum", [False, True])
def test_where_composition_changed_strata_certify_what_is_refused_without(per_stratum: bool) -> None:
    rng = np.random.default_rng(8)
    source, labels, strata = draw(8000, np.array([0.7, 0.2, 0.1]), SOURCE_SICK, rng)
    target, truth, target_strata = draw(8000, SHARES, SICK, rng)
    with pytest.raises(AssumptionError):
        calibrate(source, labels, target)
    asked = {"strata": strata, "target_strata": target_strata, "known_mix": KNOWN}
    made = calibrate_strata(source, labels, target, per_stratum=per_stratum, **asked)
    found = errors(thresholds(made))
    assert SHARES @ found <= 0.1
    assert found.max() <= 0.1 or not per_stratum
    assert evaluate(sets_in_strata(made, target, target_strata), truth).size < 1.1


def test_bounds_that_the_target_contradicts_are_refused() -> None:
    wrong = KNOWN | {"old": {1: (0, 0.3)}}
    with pytest.raises(AssumptionError, match="'1 in stratum old', but you said at most") as together:
        made(known_mix=wrong)
    with pytest.raises(AssumptionError, match=r"^stratum 'old': label shift is rejected") as apart:
        made(known_mix=wrong, per_stratum=True)
    for refused in (together.value, apart.value):
        assert "More or finer strata do not help" in str(refused)
        assert refused.assumption.refuted


def test_a_stratum_that_changed_within_its_classes_is_refused() -> None:
    broken = np.where((TARGET_STRATA == "old")[:, None], softmax(0.3 * np.log(TARGET)), TARGET)
    for per_stratum in (False, True):
        with pytest.raises(AssumptionError, match="label shift is rejected"):
            made(target_scores=broken, per_stratum=per_stratum)


def tight() -> dict[Any, Any]:
    """Bounds that are just right: the truth is at their ends."""
    return {
        name: {1: (sick, 1) if place else (0, sick)}
        for place, (name, sick) in enumerate(zip(NAMES, SICK, strict=True))
    }


@pytest.mark.slow
@pytest.mark.montecarlo
@pytest.mark.parametrize("per_stratum", [False, True])
def test_the_promise_holds_as_often_as_it_says_and_sets_are_not_merely_large(
    per_stratum: bool,
) -> None:
    found, delta, trials = [], 0.2, 40
    for seed in range(trials):
        rng = np.random.default_rng([5, seed])
        source, target = draw(1500, SOURCE_SHARES, SOURCE_SICK, rng), draw(1500, SHARES, SICK, rng)
        given = {"strata": source[2], "target_strata": target[2], "known_mix": tight()}
        one = calibrate_strata(*source[:2], target[0], delta=delta, per_stratum=per_stratum, **given)
        each = errors(thresholds(one))
        found.append(each.max() if per_stratum else SHARES @ each)
    broken = int((np.array(found) > 0.1).sum())
    assert binomtest(broken, trials, delta, alternative="greater").pvalue > 0.01
    assert np.mean(found) > 0.06


@given(
    st.lists(st.integers(1, 500), min_size=2, max_size=5),
    st.floats(0.001, 0.5),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_joint_bounds_hold_wherever_shares_and_mixes_do(counts: list[int], delta: float, random: Any) -> None:
    """Lemma 2, without chance: any share within its interval, any mix within its bounds."""
    rng = np.random.default_rng(random.randrange(2**32))
    mix = rng.dirichlet(np.ones(3), len(counts))
    low, high = mix * rng.random(mix.shape), mix + (1 - mix) * rng.random(mix.shape)
    share = pacshift.bounds.clopper_pearson(counts, sum(counts), delta=delta / len(counts))
    bounds = joint_bounds(Interval(low, high), np.array(counts), delta=delta)
    for end in (share.lower, share.upper, share.lower + rng.random() * (share.upper - share.lower)):
        assert bounds.contains((end[:, None] * mix).ravel()).all()
    loose = 1e-6 + (share.upper[:, None] * high).ravel()
    assert (bounds.upper <= loose).all()  # never wider than the plain product


@pytest.mark.montecarlo
def test_joint_bounds_fail_as_rarely_as_they_say_and_are_not_merely_wide() -> None:
    rng, known = np.random.default_rng(6), Interval(np.zeros((3, 2)), np.column_stack([np.ones(3), SICK]))
    truth = (SHARES[:, None] * np.column_stack([1 - SICK, SICK])).ravel()
    held = [joint_bounds(known, rng.multinomial(400, SHARES), delta=0.3).contains(truth).all() for _ in range(400)]
    assert binomtest(int(np.sum(held)), 400, 0.7, alternative="less").pvalue > 0.01
    assert not all(held)


@given(st.integers(1, 4), st.integers(2, 4), st.integers(1, 20), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_expansion_keeps_scores_predictions_and_sets(n_strata: int, n_classes: int, n: int, seed: int) -> None:
    """Lemma 1: the true label's score, the top label and the sets of a row are those of its own columns."""
    rng = np.random.default_rng(seed)
    scores, place = rng.dirichlet(np.ones(n_classes), n), rng.integers(n_strata, size=n)
    wide = expand(scores, place, n_strata)
    assert np.array_equal(wide.argmax(axis=1), place * n_classes + scores.argmax(axis=1))
    assert np.allclose(wide.sum(axis=1), 1)
    cuts = rng.random((n_strata, n_classes))
    own = (wide >= cuts.ravel()).reshape(n, n_strata, -1)[np.arange(n), place]
    assert np.array_equal(own, scores >= cuts[place])


def test_sets_compare_each_score_with_the_threshold_of_its_stratum(certificate: Any) -> None:
    wanted = thresholds(certificate)[[NAMES.index(name) for name in TARGET_STRATA]] <= TARGET
    assert np.array_equal(sets_in_strata(certificate, TARGET, TARGET_STRATA), wanted)
    assert sets_in_strata(certificate, TARGET[:1], TARGET_STRATA[:1]).tolist() == wanted[:1].tolist()
    frame = pd.DataFrame(TARGET, columns=[0, 1], index=[f"row {row}" for row in range(len(TARGET))])
    sets = sets_in_strata(certificate, frame[[1, 0]], pd.Series(TARGET_STRATA, index=frame.index))
    assert sets.index.equals(frame.index)
    assert [str(name) for name in sets] == ["0", "1"]
    assert np.array_equal(sets, wanted)


def test_strata_are_matched_by_value_and_source_rows_of_others_left_out() -> None:
    numbers = {"young": 1, "middle": 2.0, "old": "3"}
    known = {1: KNOWN["young"], "2": KNOWN["middle"], 3: KNOWN["old"]}
    own = [numbers[name] for name in STRATA] + ["4"] * 50
    one = made(
        source_scores=np.vstack([SOURCE, SOURCE[:50, ::-1]]),
        source_labels=np.append(LABELS, LABELS[:50]),
        strata=own,
        target_strata=np.array([numbers[name] for name in TARGET_STRATA], object),
        known_mix=known,
    )
    assert one.classes[::2] == ("0 in stratum 1", "0 in stratum 2", "0 in stratum 3")
    assert np.array_equal(one.thresholds, made().thresholds)
    assert one.n_source == 3000


def test_certificates_say_what_is_promised_and_what_it_rests_on() -> None:
    """Of the whole, and of each stratum: the delta that was asked for, and its share."""
    one, each = made(), made(per_stratum=True)
    assert (one.delta, [part.delta for part in each.values()]) == (0.05, [0.05 / 3] * 3)
    assert one.assumption.level == pytest.approx(0.1 * 0.95 * 0.05)
    words = one.explain()
    assert "the strata are 'young', 'middle', 'old', and label shift is assumed within them; nothing" in words
    assert "one may be missed more often" in words
    assert "'1 in stratum young' 0 to" in one.explain(full=True)
    assert "this is stratum 'old', one of 3, and label shift is assumed within it" in each["old"].explain()
    assert "All 3 hold at once with confidence 95 %" in each["old"].explain()


@pytest.mark.parametrize("per_stratum", [False, True])
def test_a_limit_for_every_class_of_every_stratum(per_stratum: bool) -> None:
    limited = made(class_epsilon=0.15, per_stratum=per_stratum)
    assert all(one.class_epsilon == 0.15 for one in (limited.values() if per_stratum else [limited]))
    sets = sets_in_strata(limited, TARGET, TARGET_STRATA)
    for name in NAMES:
        rows = np.equal(TARGET_STRATA, name)
        assert evaluate(sets[rows], TRUTH[rows]).class_error.max() <= 0.2


@pytest.mark.parametrize("method", ["PS-W", pacshift.PSC(intervals="hull")])
def test_other_methods_that_rest_on_label_shift(method: Any) -> None:
    found = errors(thresholds(made(method=method)))
    assert SHARES @ found <= 0.1


def test_logits_become_probabilities_first(certificate: Any) -> None:
    logits = [np.log(scores) + 3 for scores in (SOURCE, TARGET)]
    each = {"per_stratum": isinstance(certificate, dict)}
    one = made(source_scores=logits[0], target_scores=logits[1], softmax=True, **each)
    same = made(source_scores=softmax(logits[0]), target_scores=softmax(logits[1]), **each)
    assert np.allclose(thresholds(one), thresholds(same))
    again = [
        sets_in_strata(one, logits[1], TARGET_STRATA),
        sets_in_strata(same, softmax(logits[1]), TARGET_STRATA),
    ]
    assert np.array_equal(*again)
    with pytest.raises(InputError, match="softmax=True is for logits"):
        made(softmax=True, **each)
    with pytest.raises(InputError, match="softmax=True is for logits"):
        sets_in_strata(one, TARGET, TARGET_STRATA)


def test_strata_on_their_own_may_have_any_scores() -> None:
    one = made(source_scores=SOURCE - 5, target_scores=TARGET - 5, per_stratum=True)
    assert np.isfinite(thresholds(one)).all()


def test_a_stratum_with_too_few_rows_gets_all_labels_and_says_so() -> None:
    few = np.concatenate([np.flatnonzero(STRATA != "young"), np.flatnonzero(STRATA == "young")[:9]])
    with pytest.warns(UninformativeWarning, match="every set of stratum 'young' contains all labels: "):
        one = made(source_scores=SOURCE[few], source_labels=LABELS[few], strata=STRATA[few], per_stratum=True)
    assert np.isneginf(thresholds(one)[0]).all()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"known_mix": None},
            "known_mix is needed with strata",
        ),
        ({"known_mix": {}}, "known_mix is needed with strata"),
        ({"known_mix": {1: (0, 0.3)}}, "stratum 1: known_mix must be a dictionary"),
        ({"known_mix": KNOWN | {"old": {}}}, "known_mix says nothing about stratum 'old'"),
        ({"known_mix": KNOWN | {"old": {1: (0, 1)}}}, "known_mix says nothing about stratum 'old'"),
        ({"known_mix": KNOWN | {"old": {"ill": (0, 0.1)}}}, "stratum 'old': known_mix: 'ill' is not a class"),
        ({"known_mix": KNOWN | {None: {1: (0, 0.1)}}}, "strata must be texts, numbers or booleans"),
        ({"known_mix": {1: KNOWN["old"], "1": KNOWN["old"]}}, "'0 in stratum 1' occurs twice"),
        ({"known_mix": {"x in stratum y": KNOWN["old"]}}, "no stratum may be called ' in stratum '"),
        (
            {"known_mix": {"young": {1: (0, 0.2)}}},
            "target_strata: .* rows of strata that known_mix does not name",
        ),
        ({"known_mix": KNOWN | {"newborn": {1: (0, 0.1)}}}, "strata without any source rows: 'newborn'"),
        ({"strata": np.where(STRATA == "old", "Old", STRATA)}, "strata without any source rows: 'old'"),
        (
            {"target_strata": np.where(TARGET_STRATA == "old", "young", TARGET_STRATA)},
            "without any target rows: 'old'",
        ),
        ({"strata": STRATA[1:]}, "strata: one stratum per row is needed .3,000., got shape .2999,."),
        ({"strata": [None, *STRATA[1:]]}, r"strata: 1 row has no stratum"),
        ({"target_strata": ["", *TARGET_STRATA[1:]]}, r"target_strata: 1 row has no stratum"),
        ({"target_strata": [[1], *TARGET_STRATA[1:]]}, "target_strata"),
        ({"target_scores": None}, "strata need target scores. Pass target_scores"),
        ({"source_scores": SOURCE - 0.5, "target_scores": TARGET - 0.5}, "scores below 0"),
        ({"source_scores": np.where(LABELS[:, None] == 2, 0, SOURCE * [1, np.nan])}, "source: 3,000 rows"),
        ({"epsilon": 2}, "epsilon must lie strictly between 0 and 1"),
        ({"per_stratum": "yes"}, "per_stratum must be True or False"),
        *(
            ({"method": name}, f"strata are proven with PS-LP, PS-W or PS-C, not with {name}")
            for name in pacshift.METHODS
            if not pacshift.METHODS[name].allows_strata
        ),
    ],
)
def test_what_nothing_proves_is_refused_with_a_sentence(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        made(**changed)


def test_a_series_of_strata_must_have_the_index_of_the_scores() -> None:
    scores = pd.DataFrame(SOURCE, columns=[0, 1])
    with pytest.raises(InputError, match="the scores and the strata have different indexes"):
        made(source_scores=scores, strata=pd.Series(STRATA)[::-1])


def test_sets_refuse_strata_that_nothing_is_promised_about(certificate: Any) -> None:
    with pytest.raises(InputError, match="strata that known_mix does not name, such as 'newborn'"):
        sets_in_strata(certificate, TARGET[:2], ["newborn", "old"])
    with pytest.raises(InputError, match="one stratum per row"):
        sets_in_strata(certificate, TARGET[:2], ["old"])
    with pytest.raises(InputError, match=r"1 row has NaN or infinite scores, the first is row 1"):
        sets_in_strata(certificate, [[0.5, 0.5], [np.nan, 1]], ["old", "young"])
    with pytest.raises(InputError, match="the source's are probabilities"):
        sets_in_strata(certificate, 5 * TARGET[:20], TARGET_STRATA[:20])
    with pytest.raises(InputError, match="this certificate has no strata"):
        sets_in_strata(calibrate(SOURCE, LABELS, None, method="PS"), TARGET[:1], ["old"])


def test_the_refusal_without_bounds_says_what_was_measured() -> None:
    table = (ROOT / "benchmarks" / "results" / "strata-danger.md").read_text(encoding="utf-8")
    found = re.search(r"no bounds worth the name \| (\d+) of 20 \| (\d+) \|", table)
    assert found is not None
    with pytest.raises(InputError, match=f"of {found[1]} real populations .* {found[2]} had an error above 12 %"):
        made(known_mix=None)
