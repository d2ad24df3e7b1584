"""What kind of numbers scores are, and that another kind is refused: every pair of kinds on purpose.

Kinds are read off ranges and sums of rows, and add up in any order. Ordinary scores of one kind are never refused.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pacshift import Certificate, InputError, Monitor, Tally, calibrate
from pacshift.arrays import FloatArray, IntArray
from pacshift.files.codec import record
from pacshift.scores.kind import OTHER, PROBABILITIES, UNIT, ScoreKind, kind_of_all, require_same_kind
from score_kinds import MAKERS, softmax

MATRICES = st.builds(
    lambda kind, seed, rows: MAKERS[kind](np.random.default_rng(seed).normal(size=(rows, 3)) * 2),
    st.sampled_from(sorted(MAKERS)),
    st.integers(0, 9),
    st.integers(1, 5),
)
KINDS = MATRICES.map(lambda rows: Tally.from_target(rows).target_kind)


@pytest.mark.parametrize("n_classes", [2, 10, 300])
def test_three_kinds_are_told_apart(n_classes: int) -> None:
    logits = np.random.default_rng(0).normal(size=(500, n_classes)) * 3
    probabilities = softmax(logits)
    cases = [
        (probabilities, PROBABILITIES),
        (softmax(logits).astype(np.float16).astype(np.float32), PROBABILITIES),
        (probabilities.round(4), PROBABILITIES),
        (np.eye(n_classes)[logits.argmax(axis=1)], PROBABILITIES),
        (1 / (1 + np.exp(-logits)), UNIT),
        (np.where(probabilities == probabilities.max(axis=1, keepdims=True), probabilities, 0.0), UNIT),
        (100 * probabilities, OTHER),
        (np.log(probabilities), OTHER),
        (np.round(255 / (1 + np.exp(-logits))), OTHER),
        (logits, OTHER),
        (-(logits**2), OTHER),
    ]
    for scores, kind in cases:
        of_rows, counted = ScoreKind.of_rows(scores), Tally.from_target(scores).target_kind
        assert of_rows is not None
        assert counted is not None
        assert of_rows.name == counted.name == kind
        assert (counted.low, counted.high) == (scores.min(), scores.max())
        assert counted.least_top == scores.max(axis=1).min()


def test_a_few_odd_rows_do_not_change_the_kind() -> None:
    scores = softmax(np.random.default_rng(0).normal(size=(500, 4)))
    scores[7:10] = 0.0
    kind = ScoreKind.of_rows(scores)
    assert kind is not None
    assert (kind.name, kind.n_sum_to_one) == (PROBABILITIES, 497)


@given(st.lists(KINDS, min_size=1, max_size=6), st.randoms())
def test_kinds_add_up_in_any_order(kinds: list[ScoreKind], random: Random) -> None:
    shuffled = list(kinds)
    random.shuffle(shuffled)
    assert kind_of_all(kinds) == kind_of_all(shuffled)
    pairs = [kind_of_all(kinds[start : start + 2]) for start in range(0, len(kinds), 2)]
    assert kind_of_all(pairs) == kind_of_all(kinds)
    assert kind_of_all([*kinds, None]) is None
    assert kind_of_all([]) is None


@pytest.mark.parametrize("n_classes", [2, 9, 40])
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_parts_of_a_tally_have_the_kind_of_the_whole(kind: str, n_classes: int, tmp_path: object) -> None:
    scores = MAKERS[kind](np.random.default_rng(1).normal(size=(1000, n_classes)) * 3)
    whole = Tally.from_target(scores)
    for step in (7, 130):
        parts = Tally.sum(Tally.from_target(scores[start : start + step]) for start in range(0, 1000, step))
        assert parts.target_kind == whole.target_kind
    path = f"{tmp_path}/a.tally"
    whole.save(path)
    assert Tally.load(path) == whole


def test_rows_at_the_edge_of_a_sum_of_1_count_alike_in_any_blocks() -> None:
    rows = np.array([[0.5, 0.4799997], [0.5, 0.5200003], [0.5, 0.1], [0.5, 0.479999]])
    whole: Any = Tally.from_target(rows).target_kind
    assert whole == kind_of_all([Tally.from_target(row[None]).target_kind for row in rows])
    assert whole.n_sum_to_one == 2


@given(KINDS)
def test_kinds_come_back_from_files(kind: ScoreKind) -> None:
    for one in (kind, replace(kind, tops=(0.5, 2.0))):
        assert record(ScoreKind).read(json.loads(json.dumps(record(ScoreKind).write(one))), "") == one


N_CLASSES = 5


def drawn(seed: int, rows: int, mix: Any = None, n_classes: int = N_CLASSES) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(n_classes, rows, p=mix)
    return 1.5 * rng.normal(size=(rows, n_classes)) + 3 * np.eye(n_classes)[labels], labels


SOURCE, LABELS = drawn(0, 2000)
TARGET, _ = drawn(1, 2000, [0.5, 0.2, 0.1, 0.1, 0.1])
LARGE = ("percentages", "bytes", "logits", "large logits")

# Only these pairs of different kinds are let through: other numbers of about the same size, which could be either.
# The test of label shift looks at them next.
ACCEPTED_MANY = {
    ("percentages", "bytes"),
    ("percentages", "logits"),
    ("percentages", "large logits"),
    ("bytes", "percentages"),
    ("bytes", "large logits"),
    ("large logits", "percentages"),
    ("large logits", "bytes"),
}

# What one row cannot tell: a sigmoid row may sum to 1, and other numbers may be anything but a softmax.
ACCEPTED_ROW = {
    *((source, target) for source in MAKERS for target in MAKERS if source in LARGE and target != "probabilities"),
    *(("small logits", target) for target in MAKERS),
    ("sigmoids", "probabilities"),
    ("sigmoids", "small logits"),
}


def refused(made_from: ScoreKind | None, given_: ScoreKind | None, n_rows: int) -> bool:
    try:
        require_same_kind(made_from, given_, name="scores", n_rows=n_rows)
    except InputError:
        return True
    return False


@pytest.mark.parametrize("made_from", MAKERS)
@pytest.mark.parametrize("given_", MAKERS)
def test_source_and_target_of_different_kinds_are_refused(made_from: str, given_: str) -> None:
    source = Tally.from_scores(MAKERS[made_from](SOURCE), LABELS)
    target = Tally.from_target(MAKERS[given_](TARGET))
    wanted = made_from != given_ and (made_from, given_) not in ACCEPTED_MANY
    assert refused(source.full_source_kind, target.full_target_kind, target.n_target) == wanted
    of_rows = ScoreKind.of_rows(MAKERS[given_](TARGET))
    assert refused(source.full_source_kind, of_rows, len(TARGET)) == wanted


@pytest.mark.parametrize("made_from", MAKERS)
@pytest.mark.parametrize("given_", MAKERS)
def test_a_single_row_is_refused_where_it_can_be_told(made_from: str, given_: str) -> None:
    source = Tally.from_scores(MAKERS[made_from](SOURCE), LABELS).full_source_kind
    rows = MAKERS[given_](TARGET[:100])
    share = np.mean([refused(source, ScoreKind.of_rows(row[None]), 1) for row in rows])
    if made_from == given_ or (made_from, given_) in ACCEPTED_ROW:
        assert share == 0
    else:
        assert share > 0.9  # a row of logits may lie between -1 and 2


def certified(kind: str) -> Certificate:
    return calibrate(MAKERS[kind](SOURCE), LABELS, MAKERS[kind](TARGET))


@pytest.mark.parametrize("kind", MAKERS)
def test_certificates_keep_the_kind_in_their_file(kind: str, tmp_path: Any) -> None:
    certificate = certified(kind)
    certificate.save(tmp_path / "a.json")
    loaded = Certificate.load(tmp_path / "a.json")
    assert loaded.score_kind == certificate.score_kind
    loaded.sets(MAKERS[kind](TARGET))
    loaded.sets(MAKERS[kind](TARGET[:1]))
    other = "probabilities" if kind != "probabilities" else "percentages"
    with pytest.raises(InputError, match=r"scores: these scores are .*, but the source's are "):
        loaded.sets(MAKERS[other](TARGET))


@pytest.mark.parametrize(
    ("made_from", "given_", "remedy"),
    [
        ("probabilities", "percentages", "rows sum to 1: the softmax of logits, .*percentages divided by 100, or"),
        ("probabilities", "sigmoids", "rows sum to 1: the softmax of logits"),
        ("sigmoids", "logits", "such as the sigmoid of each logit, or"),
        ("logs", "probabilities", "Pass the raw scores as in the source, such as logits, or"),
        ("logits", "small logits", "Pass scores of the same scale as the source, or"),
    ],
)
def test_the_message_says_how_to_mend_it(made_from: str, given_: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        calibrate(MAKERS[made_from](SOURCE), LABELS, MAKERS[given_](TARGET))


def test_a_single_softmax_row_is_no_logits() -> None:
    certificate = calibrate(SOURCE, LABELS, TARGET, softmax=True)
    for rows in (1, 3, 2000):
        with pytest.raises(InputError, match="softmax=True is for logits"):
            certificate.sets(MAKERS["probabilities"](TARGET[:rows]).astype(np.float32))
    certificate.sets([[0.3, 0.6, 0.05, 0.04, 0.2]])  # logits may lie between 0 and 1
    certificate.sets([[0.0, 1.0, 0.0, 0.0, 0.0]])  # whole numbers may be logits


def top_only(scores: FloatArray, kept: int) -> FloatArray:
    """Probabilities that lack mass: only the largest ones are kept."""
    return np.where(scores >= np.sort(scores, axis=1)[:, [-kept]], scores, 0.0)


ORDINARY: dict[str, Callable[[FloatArray], FloatArray]] = {
    "as they are": lambda scores: scores,
    "half precision": lambda scores: scores.astype(np.float16).astype(np.float64),
    "two decimals": lambda scores: scores.round(2),
    "three decimals": lambda scores: scores.round(3),
    "an empty row": lambda scores: np.vstack([scores[:-1], 0 * scores[:1]]) if len(scores) > 30 else scores,
}


@given(
    st.sampled_from(sorted(MAKERS)),
    st.sampled_from(sorted(ORDINARY)),
    st.integers(0, 2**32 - 1),
    st.sampled_from([(30, 1), (30, 3), (100, 8), (400, 40), (40, 400)]),
    st.integers(2, 12),
)
@example("logits", "as they are", 0, (30, 1), 2)
def test_ordinary_scores_of_one_kind_are_never_refused(
    kind: str, form: str, seed: int, sizes: tuple[int, int], n_classes: int
) -> None:
    rng = np.random.default_rng(seed)
    strength, shapes = rng.choice([0.5, 2.0, 8.0]), rng.choice([0.3, 1.0, 10.0], 2)
    made: list[Any] = []
    for place, (rows, shape) in enumerate(zip(sizes, shapes, strict=True)):
        labels = rng.choice(n_classes, rows, p=rng.dirichlet(np.full(n_classes, shape)))
        # Classes differ in how sure the classifier is about them.
        sure = strength * np.linspace(0.3, 1, n_classes)[labels][:, None]
        logits = sure * np.eye(n_classes)[labels] + rng.gumbel(size=(rows, n_classes))
        change = ORDINARY["as they are" if place == 0 and form == "an empty row" else form]
        made.append(change(MAKERS[kind](logits)))
        made.append(labels)
    source, target = Tally.from_scores(made[0], made[1]), Tally.from_target(made[2])
    require_same_kind(source.full_source_kind, target.full_target_kind, name="target", n_rows=sizes[1])
    require_same_kind(source.full_source_kind, ScoreKind.of_rows(made[2]), name="scores", n_rows=sizes[1])
    for row in made[2][:5]:
        require_same_kind(source.full_source_kind, ScoreKind.of_rows(row[None]), name="scores", n_rows=1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([1, 8, 200]))
def test_probabilities_that_lack_mass_are_never_refused(seed: int, kept: int, rows: int) -> None:
    source, labels = drawn(seed, 300, n_classes=8)
    target, _ = drawn(seed + 1, rows, [0.65, *[0.05] * 7], n_classes=8)
    made_from = Tally.from_scores(top_only(MAKERS["probabilities"](source), kept), labels).full_source_kind
    cut = top_only(MAKERS["probabilities"](target), kept)
    require_same_kind(made_from, Tally.from_target(cut).full_target_kind, name="target", n_rows=rows)
    require_same_kind(made_from, ScoreKind.of_rows(cut), name="scores", n_rows=rows)


def test_a_row_whose_columns_were_rounded_is_ordinary() -> None:
    made_from = ScoreKind.of_rows(MAKERS["probabilities"](SOURCE))
    assert not refused(made_from, ScoreKind.of_rows(np.array([[0.35, 0.35, 0.34]])), 1)
    assert refused(made_from, ScoreKind.of_rows(np.array([[0.45, 0.45, 0.3]])), 1)


@pytest.mark.parametrize("kind", ["probabilities"])
def test_a_few_empty_rows_among_many_are_ordinary(kind: str) -> None:
    made_from = Tally.from_scores(MAKERS[kind](SOURCE), LABELS).full_source_kind
    with_empty = MAKERS[kind](TARGET)
    with_empty[::50] = 0.0
    assert not refused(made_from, Tally.from_target(with_empty).full_target_kind, len(TARGET))
    assert refused(made_from, ScoreKind.of_rows(with_empty[:1]), 1)


@pytest.mark.parametrize("scale", [-1.0, 1.0, 100.0])
def test_a_class_that_the_source_hardly_has_may_have_other_top_scores(scale: float) -> None:
    """Five rows of it say too little about its range, and the target may hold nothing else."""
    rng = np.random.default_rng(0)
    for factor in (0.3, 1.6):
        labels = np.repeat([0, 1], [400, 5])
        logits = [scale * np.array([1, factor])[own][:, None] * rng.uniform(8, 12, (len(own), 3)) for own in
                  (labels, np.ones(300, int))]  # fmt: skip
        made_from = Tally.from_scores(logits[0], labels).full_source_kind
        target = Tally.from_target(logits[1]).full_target_kind
        assert not refused(made_from, target, 300)
        assert refused(made_from, Tally.from_target(100 * logits[1]).full_target_kind, 300)
        assert refused(made_from, Tally.from_target(logits[1] / 100).full_target_kind, 300)


def test_a_period_of_another_kind_is_refused() -> None:
    monitor = Monitor(Tally.from_scores(MAKERS["percentages"](SOURCE), LABELS))
    with pytest.raises(InputError, match=r"period: .* the source's are other numbers"):
        monitor.update(Tally.from_target(MAKERS["probabilities"](TARGET[:1])))
