"""What a method does not need is not counted: the same thresholds, and nothing is stated that nobody counted."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pacshift import Certificate, InputError, Population, Tally, calibrate, check, read, verify
from pacshift.certificate.file import to_document
from pacshift.certification.counting import count
from pacshift.certification.request import check_request
from pacshift.methods import METHODS, Method, Solution, Task
from pacshift.rows.rows import bind_pair
from pacshift.scores.transforms import TRANSFORMS

POPULATION = Population.synthetic(4, strength=3, rng=0)
SOURCE, LABELS = POPULATION.draw([0.4, 0.3, 0.2, 0.1], 3000, rng=1)
TARGET, _ = POPULATION.draw([0.1, 0.2, 0.3, 0.4], 3000, rng=2)
FORMS: dict[str, Any] = {
    "float64": lambda scores: scores,
    "float32": lambda scores: scores.astype(np.float32),
    "by class": np.asfortranarray,
    "every other": lambda scores: np.repeat(scores, 2, axis=1)[:, ::2],
    "rounded": lambda scores: scores.round(2),
    "logits": lambda scores: np.log(scores + 1e-9) + 3,
    "sigmoids": lambda scores: 1 / (1 + np.exp(-4 * scores)),
    "one-hot": lambda scores: (scores == scores.max(axis=1, keepdims=True)).astype(float),
    "zeros": lambda scores: np.where(scores < 0.2, -0.0, scores),
}


def made(method: str, form: str, *, whole: bool, **more: Any) -> Certificate:
    """A certificate of counts made for this method alone, or of all counts."""
    turn = FORMS[form]
    source, target = turn(SOURCE), None if method in ("PS-LW", "LWCP") else turn(TARGET)
    if not whole:
        return calibrate(source, LABELS, target, method=method, **more)
    score = METHODS[method].default_score
    tally = Tally.from_scores(source, LABELS, score=score, **more)
    return calibrate(tally if target is None else tally + Tally.from_target(target, **more), method=method)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["PS", "APS", "PS-LW", "LWCP"])
def test_the_certificate_is_that_of_all_counts(method: str, form: str) -> None:
    if (method, form) == ("APS", "logits"):
        pytest.skip("adaptive scores add up probabilities")
    few, all_of_them = made(method, form, whole=False), made(method, form, whole=True)
    assert few.thresholds.tolist() == all_of_them.thresholds.tolist()
    for name in ("class_counts", "n_source", "n_target", "reasons", "notes"):
        assert str(getattr(few, name)) == str(getattr(all_of_them, name))
    assert few.class_miss is not None
    assert all_of_them.class_miss is not None
    assert few.class_miss.upper.tolist() == all_of_them.class_miss.upper.tolist()
    assert few.score_kind is not None
    assert all_of_them.score_kind is not None
    for name in ("name", "low", "high", "n_sum_to_one", "is_constant", "sums"):
        assert getattr(few.score_kind, name) == getattr(all_of_them.score_kind, name)
    if form in ("logits", "sigmoids"):  # by top scores they are told from others of another scale
        assert few.score_kind.tops == all_of_them.score_kind.tops
    assert few.predicted_counts is None
    assert "target_predicted" not in str(to_document(few)["classes"])


def test_softmax_of_logits_is_counted_alike() -> None:
    few, all_of_them = (made("PS", "logits", whole=whole, softmax=True) for whole in (False, True))
    assert few.thresholds.tolist() == all_of_them.thresholds.tolist()


@pytest.mark.parametrize("method", ["PS", "PS-LW"])
def test_rows_are_known_again_in_any_order(method: str) -> None:
    target = None if method == "PS-LW" else TARGET
    one = calibrate(SOURCE, LABELS, target, method=method)
    order = np.random.default_rng(0).permutation(len(SOURCE))
    source, labels = SOURCE[order], LABELS[order]
    found = verify(one, source, labels, target)
    assert (found.verdict, found.provenance_differences) == ("match", ())
    assert verify(one, *POPULATION.draw([0.4, 0.3, 0.2, 0.1], 3000, rng=9), target).verdict == "mismatch"
    assert check(one, source, labels).seen_as == "source"
    if target is not None:
        assert any("no SHA-256" in said for said in found.unverified)


@pytest.mark.parametrize("method", ["PS", "APS"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_rows_are_checked_all_the_same(method: str, side: str) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        rows = {"source": SOURCE.copy(), "target": TARGET.copy()}
        rows[side][1234, 2] = bad
        with pytest.raises(InputError, match=f"{side}.*row 1234"):
            calibrate(rows["source"], LABELS, rows["target"], method=method)
    with pytest.raises(InputError, match=r"target: these scores are .*, but the source's are probabilities"):
        calibrate(SOURCE, LABELS, np.log(TARGET + 1e-9), method=method)


def test_who_asks_for_what_was_not_counted_is_told() -> None:
    source, target = bind_pair(SOURCE, LABELS, TARGET)
    request = check_request(epsilon=0.1, delta=0.05)
    tally = count(source, target, METHODS["PS"](), request, TRANSFORMS["probability"]).tally
    assert (tally.n_source, tally.n_target) == (3000, 3000)
    assert np.array_equal(tally.values, Tally.from_scores(SOURCE, LABELS).values)  # sorted when asked for
    for name in ("confusion", "target"):
        with pytest.raises(InputError, match=r"predicted labels were not counted.*Count the rows again"):
            getattr(tally, name)
    with pytest.raises(InputError, match="predicted labels were not counted"):
        tally + Tally.from_target(TARGET)
    with pytest.raises(InputError, match="predicted labels were not counted"):
        calibrate(tally, method="PS-LP")


def test_where_label_shift_is_tested_predicted_labels_are_counted() -> None:
    made = [calibrate(SOURCE, LABELS, TARGET, method=method) for method in ("PS-LW", "LWCP", "PS-W", "PS")]
    assert [one.predicted_counts is None for one in made] == [False, False, False, True]
    assert made[0].assumption is not None


CUTS = [np.full(4, 0.4), np.array([0.1, 0.5, 0.9, 0.2])]


@dataclass(frozen=True)
class Curious(Method):
    """Asks how large sets would be, and certifies nothing."""

    answers: list[list[float] | None] = field(default_factory=list)

    name = "CURIOUS"

    def solve(self, tally: Tally, task: Task) -> Solution:
        self.answers.append(None if task.rows.mean_sizes is None else task.rows.mean_sizes(CUTS))
        return Solution(np.full(tally.n_classes, 0.5))


def test_methods_can_count_exact_sizes_on_the_target() -> None:
    method = Curious()
    calibrate(SOURCE, LABELS, TARGET, method=method)
    calibrate(np.log(SOURCE), LABELS, np.log(TARGET), method=method, softmax=True)
    calibrate(SOURCE, LABELS, None, method=method)
    calibrate(SOURCE, LABELS, TARGET, method=method, score="margin")  # sizes would be those of other scores
    plain, from_logits, *others = method.answers
    assert plain == [float((cut <= TARGET).sum(axis=1).mean()) for cut in CUTS]
    assert from_logits == plain
    assert others == [None, None]


@pytest.mark.parametrize("score", ["margin", "probability", np.log1p])
def test_a_score_beside_a_tally_is_refused(score: Any) -> None:
    scores, labels = np.tile([[0.9, 0.1], [0.2, 0.8]], (500, 1)), np.tile([0, 1], 500)
    tally = Tally.from_scores(scores, labels, score="margin") + Tally.from_target(scores)
    assert calibrate(tally).score == "margin"
    with pytest.raises(InputError, match="score is about rows, but a tally holds counts alone"):
        calibrate(tally, score=score)


def test_a_score_function_cannot_replace_a_score_by_name() -> None:
    scores, labels = np.tile([[0.9, 0.1], [0.2, 0.8]], (500, 1)), np.tile([0, 1], 500)
    made = calibrate(scores, labels, scores)
    with pytest.raises(InputError, match="score= is for a function of your own; this certificate compares"):
        made.sets(scores, score=np.log1p)


@pytest.mark.parametrize("softmax", [False, True])
def test_a_table_gives_what_arrays_give_but_for_the_grid(tmp_path: Path, softmax: bool) -> None:
    """Raw logits have no bins: without a look at the rows one threshold would serve classes of other scales."""
    rng, classes = np.random.default_rng(0), ["a", "b", "c", "d", "e"]

    def draw(mix: list[float]) -> tuple[Any, Any]:
        labels = rng.choice(5, 4000, p=mix)
        return 3 * (rng.normal(0, 1, (4000, 5)) + 2 * np.eye(5)[labels] + [0, 1, 2, -1, -2]), labels

    (source, labels), (target, _) = draw([0.5, 0.2, 0.1, 0.1, 0.1]), draw([0.05, 0.1, 0.2, 0.3, 0.35])
    names = np.array(classes)[labels]
    of_arrays = calibrate(source, names, target, classes=classes, softmax=softmax)
    tables = {"s.csv": source, "t.csv": target}
    for name, scores in tables.items():
        frame = pd.DataFrame(scores, columns=[f"p_{one}" for one in classes])
        (frame.assign(label=names) if name == "s.csv" else frame).to_csv(tmp_path / name, index=False)
    of_rows = read(tmp_path / "s.csv", label="label", softmax=softmax)
    of_tables = calibrate(of_rows, read(tmp_path / "t.csv", like=of_rows))
    sizes = [float(one.sets(target).sum(axis=1).mean()) for one in (of_arrays, of_tables)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.005)
    assert len(set(of_tables.thresholds)) > 1
