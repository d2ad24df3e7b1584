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
from certificates import birds
from pacshift import Certificate, InputError, Population, check, evaluate
from pacshift.arrays import BoolArray
from pacshift.certificate.columns import Columns
from pacshift.certification.check import check_evaluation
from pacshift.methods import MethodFacts

NAMES = ("crow", "owl", "wren")
MADE = birds()


def certificate(**changes: Any) -> Certificate:
    return replace(MADE, thresholds=np.array([0.3, 0.4, 0.2]), columns=None, **changes)


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
        ("pac-source", "", "above", "on the source only"),
        ("marginal", "", "above", "only on average over many calibrations"),
        ("none", "", "above", "does not guarantee this"),
    ],
)
def test_an_error_above_epsilon_is_judged_by_what_was_promised(
    guarantee: Any, extra: str, verdict: str, said: str
) -> None:
    made = certificate(method="TOY", guarantee=guarantee, facts=MethodFacts(extra_assumption=extra))
    found = check(made, *rows(900, 300))
    assert found.verdict == verdict
    assert said in found.text
    assert ("What it had promised: " in found.text) == (verdict == "above")
    assert found.rows_to_decide is None
    kept = check(made, *rows(900, 0))
    assert kept.verdict == "kept"
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
    said = "Of 300 rows 25 are missed: up to 19 show an error of at most 10 %, 42 or more one above it."
    assert said in found.text
    few = check(certificate(), *rows(5, 1))
    assert (few.kept_up_to, few.broken_from) == (None, 3)
    assert "not even none shows an error of at most 10 %, 3 or more one above it" in few.text
    one = check(certificate(epsilon=0.5), *rows(1, 1))
    assert (one.kept_up_to, one.broken_from) == (None, None)
    assert "not even all of them one above it" in one.text


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
    assert found.verdict == ("broken" if judged else "kept")
    assert ("promised for every class are missed of 'owl'" in found.text) == judged


def test_sets_with_one_label_are_counted_by_themselves() -> None:
    sets, labels = rows(900, 0)
    sets[:300] = True
    sets[300:360:2] = np.roll(sets[300:360:2], 1, axis=1)
    sets[360:390] = False
    found = check(certificate(one_label_error=0.2), sets, labels)
    result = found.evaluation
    assert (result.one_label, result.one_label_error) == (570 / 900, 30 / 570)
    wanted = binomtest(30, 570).proportion_ci(0.95)
    ends = found.one_label_interval
    assert (ends.lower, ends.upper) == pytest.approx((wanted.low, wanted.high))
    assert np.isnan(check(certificate(), np.ones((3, 3), bool), labels[:3]).evaluation.one_label_error)


@given(st.integers(1, 5000), st.floats(0, 1))
def test_rows_to_decide_would_probably_decide(n: int, share: float) -> None:
    made = certificate()
    missed = round(share * n)
    found = check_evaluation(made, evaluate(*rows(n, missed), classes=NAMES), level=0.95)
    if found.verdict != "consistent" or found.rows_to_decide is None:
        assert found.verdict != "consistent" or abs(found.error - made.epsilon) < 1e-3
        return
    needed = found.rows_to_decide
    assert needed > n
    assert f"about {needed:,} rows" in found.text
    if needed > 100_000:
        return
    # The chance that the interval of so many rows lies on one side of epsilon, the error being the one seen.
    counts = np.arange(needed + 1)
    ends = pacshift.bounds.clopper_pearson(counts, needed, delta=0.05)
    decides = (ends.lower > made.epsilon) | (ends.upper <= made.epsilon)
    assert binom.pmf(counts, needed, found.error)[decides].sum() > 0.7


def test_an_error_of_epsilon_is_never_decided() -> None:
    found = check(certificate(), *rows(600, 60))
    assert (found.verdict, found.rows_to_decide) == ("consistent", None)
    assert "600 rows are too few" in found.text
    assert "probably decide" not in found.text


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


def test_a_check_shows_itself_on_one_line() -> None:
    shown = repr(check(certificate(), *rows(900, 300)))
    assert shown.startswith("Check(verdict='broken', lower=0.30")
    assert len(shown.splitlines()) == 1
    assert len(shown) < 300
