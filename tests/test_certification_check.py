"""Was the promise kept? Verdicts, exact intervals, and what sets and scores are."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

import pacshift
from certificates import alter, birds
from pacshift import Certificate, InputError, Population, check, evaluate
from pacshift.arrays import BoolArray
from pacshift.methods import MethodFacts
from pacshift.rows.columns import Columns

NAMES = ("crow", "owl", "wren")
MADE = birds()


def certificate(**changes: Any) -> Certificate:
    return alter(MADE, thresholds=np.array([0.3, 0.4, 0.2]), columns=None, **changes)


def rows(n: int, missed: int) -> tuple[BoolArray, list[str]]:
    """Sets of one label each, of which some miss."""
    labels = [NAMES[row % 3] for row in range(n)]
    sets = np.array([[name == label for name in NAMES] for label in labels])
    sets[:missed] = ~sets[:missed]
    return sets, labels


@pytest.mark.parametrize(
    ("guarantee", "extra", "verdict", "said"),
    [
        ("pac-target", "", "broken", "label shift does not hold"),
        ("pac-target", "The moon is full.", "broken", "The moon is full."),
        ("pac-source", "", "above-epsilon", "promises nothing about the target"),
        ("marginal", "", "above-epsilon", "promises this on average only"),
        ("none", "", "above-epsilon", "promises nothing about the target"),
    ],
)
def test_an_error_above_epsilon_is_judged_by_the_promise(
    guarantee: Any, extra: str, verdict: str, said: str
) -> None:
    made = certificate(method="TOY", guarantee=guarantee, facts=MethodFacts(extra_assumption=extra))
    found = check(made, *rows(900, 300))
    assert found.verdict == verdict
    assert said in found.text
    assert found.rows_to_decide is None
    kept = check(made, *rows(900, 0))
    assert kept.verdict == ("kept" if guarantee == "pac-target" else "within-epsilon")
    assert (said in kept.text) == (guarantee != "pac-target")


@pytest.mark.slow
@given(st.integers(1, 400), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_are_exact(n: int, data: st.DataObject, level: float) -> None:
    made, missed = certificate(), data.draw(st.integers(0, n))
    sets, labels = rows(n, missed)
    found = check(made, sets, labels, level=level)
    wanted = binomtest(missed, n).proportion_ci(level)
    assert (found.lower, found.upper) == pytest.approx((wanted.low, wanted.high))
    assert (found.error, found.evaluation.n, found.level) == (missed / n, n, level)
    for label in range(3):
        total = int(found.evaluation.class_counts[label])
        misses = len(range(label, missed, 3))
        ends = (found.class_interval.lower[label], found.class_interval.upper[label])
        own = binomtest(misses, total).proportion_ci(level) if total else (0.0, 1.0)
        assert ends == pytest.approx(tuple(own))


def test_the_text_names_the_counts_that_decide() -> None:
    found = check(certificate(), *rows(300, 25))
    assert (found.missed, found.kept_up_to, found.broken_from) == (25, 19, 42)
    assert "25 of 300 rows were missed, 8.33 % (95 % interval: 5.46 to 12.1 %)" in found.text
    assert "among 300 rows 19 misses or fewer would have, and 42 or more would have shown" in found.text
    few = check(certificate(), *rows(5, 1))
    assert (few.kept_up_to, few.broken_from) == (None, 3)
    assert "No number of misses among 5 rows could show it kept, 3 or more broken." in few.text
    one = check(certificate(epsilon=0.5), *rows(1, 1))
    assert (one.kept_up_to, one.broken_from) == (None, None)
    assert one.text.endswith("No number of misses among 1 row could show it kept.")


@given(st.integers(1, 400), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_counts_that_decide_are_those_of_the_verdict(n: int, data: st.DataObject, level: float) -> None:
    missed = data.draw(st.integers(0, n))
    found = check(certificate(facts=MethodFacts()), *rows(n, missed), level=level)
    few, many = found.kept_up_to, found.broken_from
    assert (found.verdict == "kept") == (few is not None and missed <= few)
    assert (found.verdict == "broken") == (many is not None and missed >= many)


@pytest.mark.parametrize(
    ("changes", "judged"),
    [
        ({"class_epsilon": 0.1}, True),
        ({"class_epsilon": 0.5}, False),
        ({"class_epsilon": None}, False),
        ({"class_epsilon": 0.1, "contamination": 0.01}, False),  # the limit is about a part of the target
        ({"facts": MethodFacts(any_mix=True)}, True),
        ({"facts": MethodFacts(any_mix=True), "guarantee": "marginal"}, False),
    ],
)
def test_a_class_that_is_missed_too_often_breaks_its_promise(changes: Any, judged: bool) -> None:
    made = certificate(**changes)
    sets, labels = rows(6000, 0)
    sets[1:1200:3] = False  # a fifth of the owls, a fifteenth of all
    found = check(made, sets, labels)
    assert found.classes_above == (("owl",) if judged else ())
    alone = "kept" if made.guarantee == "pac-target" else "within-epsilon"
    assert found.verdict == ("broken" if judged else alone)
    assert ("% is missed of 'owl' (all of them together" in found.text) == judged


def test_sets_with_one_label_are_counted_by_themselves() -> None:
    sets, labels = rows(900, 0)
    sets[:300] = True
    sets[300:360:2] = np.roll(sets[300:360:2], 1, axis=1)
    sets[360:390] = False
    found = check(certificate(), sets, labels)
    result = found.evaluation
    assert (result.one_label, result.one_label_error) == (570 / 900, 30 / 570)
    wanted = binomtest(30, 570).proportion_ci(0.95)
    ends = found.one_label_interval
    assert (ends.lower, ends.upper) == pytest.approx((wanted.low, wanted.high))
    alone = sets.sum(axis=1) == 1  # by the label that stands alone, whatever the true one is
    assert result.alone_counts.tolist() == [int(sets[alone, label].sum()) for label in range(3)]
    wrong = [sum(label != name for label in np.array(labels)[alone & sets[:, k]]) for k, name in enumerate(NAMES)]
    assert sum(wrong) == 30
    assert result.alone_error.tolist() == (np.array(wrong) / result.alone_counts).tolist()
    assert found.alone_interval.upper[1] == pytest.approx(binomtest(wrong[1], 190).proportion_ci(0.95).high)
    assert np.isnan(check(certificate(), np.ones((3, 3), bool), labels[:3]).evaluation.one_label_error)


@pytest.mark.parametrize(
    ("n", "missed", "guarantee", "starts", "says"),
    [
        (
            20_000,
            1_985,
            "pac-target",
            "within the promise, not proven yet: 1,985 of 20,000 rows were missed, 9.92 % (95 % interval: 9.51 to "
            "10.4 %), within the 10 % that the promise allows. To prove it, about ",
            " rows would probably do; among 20,000 rows 1,916 misses or fewer would have, and 2,085 or more would "
            "have shown that more is missed.",
        ),
        (10, 0, "pac-target", "within the promise, not", "do; no number of misses among 10 rows could, and 4 or"),
        (
            200,
            20,
            "pac-target",
            "within the promise, not",
            "promise allows. To prove it, among 200 rows 11 misses",
        ),
        (200, 15, "pac-source", "within epsilon, not proven yet: 15 of", "promises nothing about the target. To "),
        (200, 21, "pac-target", "not proven: 21 of 200 rows were missed", "200 rows are too few to tell"),
    ],
)
def test_rows_that_prove_nothing_say_first_whether_they_are_within_the_promise(
    n: int, missed: int, guarantee: Any, starts: str, says: str
) -> None:
    found = check(certificate(guarantee=guarantee), *rows(n, missed))
    assert (found.verdict, found.within) == ("not-proven", missed <= 0.1 * n)
    assert repr(found).startswith(starts)
    assert says in found.text


def test_rows_within_the_promise_are_within_the_limit_of_every_class() -> None:
    sets, labels = rows(300, 0)
    sets[:60:3] = ~sets[:60:3]
    assert check(certificate(), sets, labels).shown.word == "within the promise, not proven yet"
    found = check(certificate(class_epsilon=0.15), sets, labels)
    assert (found.verdict, found.within, found.shown.word) == ("not-proven", False, "not proven")


@given(st.integers(1, 5000), st.floats(0, 1))
def test_rows_to_decide_would_probably_decide(n: int, share: float) -> None:
    made = certificate()
    missed = round(share * n)
    found = check(made, *rows(n, missed))
    if found.verdict != "not-proven" or found.rows_to_decide is None:
        assert found.verdict != "not-proven" or abs(found.error - made.epsilon) < 1e-3
        return
    needed = found.rows_to_decide
    assert needed > n
    do = "rows would probably do" if found.within else "would probably decide"
    assert f"about {needed:,} {do}" in found.text
    if needed > 100_000:
        return
    # The chance that the interval of so many rows lies on one side of epsilon, the error being the one seen.
    counts = np.arange(needed + 1)
    ends = pacshift.bounds.clopper_pearson(counts, needed, delta=0.05)
    decides = (ends.lower > made.epsilon) | (ends.upper <= made.epsilon)
    assert binom.pmf(counts, needed, found.error)[decides].sum() > 0.7


def test_sets_and_scores_say_the_same_in_every_container() -> None:
    made = certificate()
    scores, truth = Population.synthetic(NAMES, rng=0).draw([0.5, 0.2, 0.3], 500, rng=1)
    labels = truth.tolist()
    sets = made.sets(scores)
    wanted = evaluate(sets, labels, classes=NAMES)
    frame = pandas.DataFrame(scores, columns=list(NAMES))
    turned = frame[["wren", "crow", "owl"]].assign(id=range(500))
    given_as: list[Any] = [scores, scores.tolist(), frame, turned, polars.DataFrame(turned)]
    given_as += [polars.DataFrame(turned).lazy(), pyarrow.Table.from_pandas(turned)]
    for one in (sets, frame, polars.DataFrame(frame), pyarrow.Table.from_pandas(frame)):
        given_as.append(one if one is sets else made.sets(one))
    of_sets = made.sets(frame)[["owl", "wren", "crow"]].assign(id="x")
    given_as += [sets.tolist(), of_sets, polars.DataFrame(of_sets), pyarrow.Table.from_pandas(of_sets)]
    for given_rows in given_as:
        found = check(made, given_rows, labels).evaluation
        assert (found.error, found.size) == (wanted.error, wanted.size)
        assert found.class_size.tolist() == wanted.class_size.tolist()


def test_score_columns_are_those_of_the_certificate() -> None:
    made = replace(certificate(), columns=Columns(("p_crow", "p_owl", "p_wren")))
    scores, truth = Population.synthetic(NAMES, rng=0).draw([0.5, 0.2, 0.3], 50, rng=1)
    frame = pandas.DataFrame(scores, columns=["p_crow", "p_owl", "p_wren"])
    labels = truth.tolist()
    assert check(made, frame, labels).error == check(made, scores, labels).error
    assert check(made, made.sets(frame), labels).error == check(made, scores, labels).error


def test_what_does_not_fit_is_refused() -> None:
    made = certificate()
    sets, labels = rows(30, 3)
    for wrong, words in (
        (sets[:, :2], r"a column for each of the 3 classes, got shape \(30, 2\)"),
        (sets[:0], "at least one row"),
        (sets[0], "at least one row"),
        ([["crow"], ["owl"]], "scores must be"),
        (pandas.DataFrame({"crow": [True], "owl": [True]}), "no score column for 'wren'"),
    ):
        with pytest.raises(InputError, match=words):
            check(made, wrong, labels)
    with pytest.raises(InputError, match="29 labels for 30 rows"):
        check(made, sets, labels[:-1])
    with pytest.raises(InputError, match="'jay'"):
        check(made, sets, [*labels[:-1], "jay"])
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
        check(made, sets, labels, level=95)
    moved = pandas.Series(labels, index=range(1, 31))
    with pytest.raises(InputError, match="different indexes"):
        check(made, pandas.DataFrame(sets, columns=list(NAMES)), moved)


def test_the_chance_of_an_unlucky_sample_counts_every_test_that_was_made() -> None:
    """The error of all rows is tested, and that of every class where a limit was promised."""
    assert "or with these rows (at most 2.5 %)." in check(certificate(), *rows(900, 300)).text
    for promised in ({"class_epsilon": 0.1}, {"facts": MethodFacts(any_mix=True)}):
        assert "or with these rows (at most 5 %)." in check(certificate(**promised), *rows(900, 300)).text


@pytest.mark.montecarlo
def test_broken_is_said_as_seldom_as_the_text_says() -> None:
    """Errors of exactly epsilon, and of exactly the limit in every class: the worst case of both tests."""
    rng, made, labels = np.random.default_rng(0), certificate(class_epsilon=0.1), np.array([*NAMES] * 200)
    truth = np.array([[name == label for name in NAMES] for label in labels])
    missing = (truth & (rng.random(len(truth)) >= 0.1)[:, None] for _ in range(2000))
    broken = [check(made, sets, labels).verdict == "broken" for sets in missing]
    assert 0.025 < np.mean(broken) < 0.05  # more than the half that was said before, less than the sum


def test_a_limit_for_every_class_is_not_kept_in_silence() -> None:
    sets, labels = rows(3000, 0)
    made = certificate(class_epsilon=0.05)
    found = check(made, sets, labels)
    assert (found.verdict, found.classes_kept) == ("kept", NAMES)
    assert "No more than the promised 5 % is missed of any one class (all of them together" in found.text
    few = [place for place, label in enumerate(labels) if label != "wren"]
    found = check(made, sets[few], np.array(labels)[few])
    assert (found.verdict, found.classes_kept) == ("kept", ("crow", "owl"))
    assert "is missed of 'wren', these rows do not tell (all of them together" in found.text
    assert "every class" not in check(certificate(), sets, labels).text


def sick(n: int, share: float, seed: int) -> tuple[Any, Any]:
    """Scores and diagnoses, whose shift is one of labels alone."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < share).astype(int)
    last = rng.beta(np.where(labels == 1, 6, 2), np.where(labels == 1, 2, 6))
    return np.column_stack([1 - last, last]), labels


def test_shares_that_are_not_those_of_the_certificate_are_no_evidence() -> None:
    target, _ = sick(3000, 0.3, 2)
    made = pacshift.calibrate(*sick(3000, 0.1, 1), target, epsilon=0.12, delta=0.05, method="PS-LP")
    found = check(made, *sick(2000, 0.3, 3))
    assert (found.verdict, found.classes_apart) == ("not-proven", ())
    scores, labels = sick(2000, 0.06, 4)
    few = check(made, np.ones_like(scores, bool), labels)
    assert (few.verdict, few.classes_apart, few.upper < 0.12) == ("no-evidence", (0, 1), True)
    assert "these rows are not a random sample of the target that the certificate is about, or label" in few.text
    assert "at most the 12 %" not in few.text
    # With contamination the bounds are about the rest: what is added may be of any class.
    assert check(replace(made, contamination=0.5), *sick(2000, 0.6, 4)).classes_apart == ()
    worse = check(made, np.zeros_like(scores, bool), labels)
    assert worse.verdict == "broken"
    assert "these rows are not a random sample" in worse.text


@pytest.mark.parametrize("options", [{}, {"softmax": True}, {"score": "aps"}, {"method": "PS-LW"}])
def test_the_rows_that_a_certificate_was_made_from_are_no_evidence(options: dict[str, Any], tmp_path: Any) -> None:
    (source, labels), (target, truth) = sick(1500, 0.3, 1), sick(1500, 0.3, 2)
    if "softmax" in options:
        source, target = np.log(source), np.log(target)
    made = pacshift.calibrate(source, labels, target, epsilon=0.2, **options)
    made.save(tmp_path / "c.json")
    made, order = Certificate.load(tmp_path / "c.json"), np.random.default_rng(0).permutation(1500)
    found = check(made, source[order], labels[order])
    assert (found.verdict, found.seen_as) == ("no-evidence", "source")
    assert "the source's rows, on which the thresholds were found: they prove nothing" in found.text
    assert "at most the" not in found.text
    other = source.copy()
    other[0] = source[1]
    found = check(made, other, labels)
    assert found.seen_as is None  # one row differs, but the counts of labels are those of the source
    assert "exactly as many cases of every class as the source: if they are its rows" in found.text
    found = check(made, target, truth)
    assert found.seen_as == "target"
    assert found.verdict != "no-evidence"  # their labels were not seen
    said = "made from the scores of these rows, which the interval does not take into account"
    assert (said in found.text) == (made.method != "PS-LW")  # which never looks at the target
    if made.method == "PS-LW":
        return
    used = pacshift.calibrate(source, labels, pacshift.Rows(target, truth), epsilon=0.2, **options)
    found = check(used, target, truth)
    assert found.verdict == "no-evidence"
    assert "with 1,500 of whose labels the thresholds were found. Check labelled rows" in found.text
    some = [int(label) if row < 300 else None for row, label in enumerate(truth)]
    used = pacshift.calibrate(source, labels, pacshift.Rows(target, some), epsilon=0.2, method="PS-T", **options)
    found = check(used, target, truth)
    assert (found.verdict, found.seen_as) == ("no-evidence", "target")
    assert "with 300 of whose labels the thresholds were found. Leave out the 300 labelled rows (" in found.text
    assert check(used, target[300:], truth[300:]).verdict != "no-evidence"
