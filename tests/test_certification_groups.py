"""Rows of one patient are not independent: without groups promises break, with groups they hold."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import beta, binomtest, norm

import pacshift
from flat import flat
from pacshift import (
    AssumptionError,
    Certificate,
    InputError,
    Monitor,
    Rows,
    Tally,
    check,
    label_sheet,
    read,
    verify,
)
from pacshift.arrays import FloatArray, IntArray
from pacshift.estimator import PACClassifier
from pacshift.labels.labelled import sheet_scores
from pacshift.report import render_report
from pacshift.rows.arrow.find import ReadOptions
from pacshift.rows.arrow.table import read_rows
from pacshift.tally.inputs import Grouped

VERBS = pacshift.calibrate, pacshift.compare, pacshift.prevalence
calibrate, compare, prevalence = (partial(flat, verb) for verb in VERBS)

EPSILON, DELTA = 0.1, 0.05
EFFECT, NOISE = 1.2, 0.6
"""How much patients and visits of one patient differ."""


def patients(n: int, visits: Any, sick: float, rng: np.random.Generator) -> tuple[FloatArray, IntArray, list[str]]:
    """Scores, labels and ids: a patient is sick or not, and looks more or less so at every visit.

    Two patients of different populations never have the same id.
    """
    label = (rng.random(n) < sick).astype(int)
    own = np.repeat(np.arange(n), visits)
    logit = (3 * label - 1.5 + rng.normal(0, EFFECT, n))[own] + rng.normal(0, NOISE, len(own))
    p = 1 / (1 + np.exp(-logit))
    called = rng.integers(2**60)
    return np.column_stack([1 - p, p]), label[own], [f"{called}-{patient}" for patient in own]


def error(certificate: Certificate, sick: float) -> float:
    """How often the set of a random visit of a random patient misses the truth."""
    with np.errstate(divide="ignore"):
        cuts = np.clip(certificate.thresholds, 0, 1)
        missed = norm.cdf((np.log(cuts) - np.log1p(-cuts) - 1.5) / np.hypot(EFFECT, NOISE))
    return float(missed @ [1 - sick, sick])


RNG = np.random.default_rng(1)
SOURCE, LABELS, IDS = patients(400, 5, 0.3, RNG)
TARGET, TRUTH, TARGET_IDS = patients(400, 5, 0.6, RNG)
BOTH: dict[str, Any] = {"groups": IDS, "target_groups": TARGET_IDS}


def run(seed: int, *, grouped: bool) -> float | None:
    """True error of a certificate by 300 patients of 20 visits on both sides; None where it is refused."""
    rng = np.random.default_rng([7, seed])
    source, labels, ids = patients(300, 20, 0.3, rng)
    target, _, others = patients(300, 20, 0.6, rng)
    asked: dict[str, Any] = {"groups": ids, "target_groups": others} if grouped else {}
    try:
        return error(calibrate(source, labels, target, epsilon=EPSILON, delta=DELTA, **asked), 0.6)
    except AssumptionError:
        return None


@pytest.mark.slow
@pytest.mark.montecarlo
def test_with_groups_promises_hold_and_without_they_break() -> None:
    rows = [
        run(seed, grouped=False) for seed in range(200)
    ]  # most are refused, so that 60 would leave few to judge
    groups = [run(seed, grouped=True) for seed in range(60)]
    refused = sum(found is None for found in rows)
    certified = [found for found in rows if found is not None]
    assert refused > 40  # label shift holds exactly: 0.5 % would be allowed
    broken = sum(found > EPSILON for found in certified)
    assert binomtest(broken, len(certified), DELTA, alternative="greater").pvalue < 0.01
    kept = [found for found in groups if found is not None]
    assert len(kept) >= 59
    assert binomtest(sum(found > EPSILON for found in kept), len(kept), DELTA, alternative="greater").pvalue > 0.01
    assert np.mean(kept) > 0.5 * EPSILON  # not merely cautious


@pytest.mark.montecarlo
def test_ids_that_come_in_every_sample_keep_the_promise() -> None:
    """Patients 0 to 598 with 20 visits, scores of one decimal, 10.1 % of them below 0.5: PS-LW at 0.5 is wrong."""
    n, law = 599, beta(4, 1.7134850561931168)
    ids = np.repeat(np.arange(n + 600), np.repeat([20, 1], [n, 600]))
    labels, broken = (ids < n).astype(int), 0
    for seed in range(40):
        rng = np.random.default_rng([3, seed])
        own = np.round(np.append(law.rvs(20 * n, random_state=rng), rng.uniform(0, 0.4, 600)), 1)
        made = calibrate(Rows(np.column_stack([1 - own, own]), labels, groups=ids), None, method="PS-LW")
        broken += law.cdf(made.thresholds[1] - 0.05) > EPSILON
    assert binomtest(broken, 40, DELTA, alternative="greater").pvalue > 0.01


@pytest.mark.montecarlo
def test_visits_that_look_alike_count_as_often_as_they_are() -> None:
    """One patient of seven is missed at 38 of 40 visits, which all look alike: sets without them miss 14 %."""
    broken = 0
    for seed in range(30):
        rng = np.random.default_rng([9, seed])
        hard = rng.random(400) < 1 / 7
        scores = [[0.3] * 38 + [0.9, 0.8] if own else rng.uniform(0.5, 1, rng.integers(1, 5)) for own in hard]
        own = np.repeat(np.arange(400), [len(each) for each in scores])
        of_truth = np.concatenate(scores)
        labels = rng.integers(0, 2, 400)[own]
        rows = np.where(labels[:, None] == [0, 1], of_truth[:, None], 1 - of_truth[:, None])
        made = calibrate(Rows(rows, labels, groups=own), None, method="PS", epsilon=EPSILON, delta=DELTA)
        broken += made.thresholds[0] > 0.3
    assert binomtest(broken, 30, DELTA, alternative="greater").pvalue > 0.01


def test_the_certificate_says_whom_it_is_about() -> None:
    made = calibrate(SOURCE, LABELS, TARGET, **BOTH)
    assert (made.n_source, made.n_target) == (400, 400)
    assert made.source_grouped == made.target_grouped == Grouped(2000)
    words, full = made.explain(), made.explain(full=True)
    assert "at most 10 % of target cases (one random case per group) get a set" in words
    assert "if only the label mix has changed and groups are independent." in words
    assert "one random row per group was counted: 400 of 2,000 source rows, 400 of 2,000 target rows." in full
    assert "A group with many rows counts no more than the others." in full
    assert "not rows (source and target), and no group is in both source and target." in full
    page = render_report(made)
    assert "one random case per group" in page
    assert "400 of 2,000 source rows" in page


def test_groups_of_one_side_alone() -> None:
    made = calibrate(Rows(SOURCE, LABELS, groups=IDS), TARGET[::5])
    assert "one random case" not in made.explain()
    assert "source groups and target rows are independent" in made.explain()
    assert "The independent draws are groups, not rows (source)." in made.explain(full=True)
    only_source = calibrate(Rows(SOURCE, LABELS, groups=IDS), None, method="PS")
    assert "10 % of source cases (one random case per group) get a set" in only_source.explain()
    other = calibrate(SOURCE[::5], LABELS[::5], Rows(TARGET, groups=TARGET_IDS))
    assert (other.n_source, other.n_target, other.source_grouped) == (400, 400, None)


def test_equal_rows_of_a_group_with_and_without_labels_in_any_order() -> None:
    coarse, order = np.round(TARGET, 1), np.random.default_rng(3).permutation(len(TARGET))
    labels = np.array([label if place < 1000 else None for place, label in enumerate(TRUTH.tolist())], object)
    ids = np.array(TARGET_IDS)
    source = Rows(SOURCE, LABELS, groups=IDS)
    first, second = (
        calibrate(source, Rows(coarse[rows], labels[rows], groups=ids[rows]), method="PS-T")
        for rows in (np.arange(len(order)), order)
    )
    assert first.n_target_labels == second.n_target_labels
    assert np.array_equal(first.thresholds, second.thresholds)


def test_a_label_that_is_no_class_is_refused_although_its_row_is_not_chosen() -> None:
    labels = ["no class", *TRUTH.tolist()[1:]]
    with pytest.raises(InputError, match="target labels: 1 label"):
        calibrate(SOURCE, LABELS, Rows(TARGET, labels), **BOTH)


def test_a_class_that_a_logit_rules_out_is_no_fault_with_groups_either(tmp_path: Path) -> None:
    source, target = np.log(SOURCE) + 1, np.log(TARGET) + 1
    source[np.flatnonzero(LABELS == 0)[:50], 1] = target[np.flatnonzero(TRUTH == 0)[:50], 1] = -np.inf
    made = calibrate(source, LABELS, target, softmax=True, **BOTH)
    made.save(tmp_path / "c.json")
    assert flat(partial(verify, tmp_path / "c.json"), source, LABELS, target, **BOTH).verdict == "match"
    assert check(made, Rows(target, TRUTH, groups=TARGET_IDS)).evaluation.n == made.n_target
    tally = Rows(source, LABELS, groups=IDS, softmax=True).tally()
    tally += Rows(target, groups=TARGET_IDS, softmax=True).tally()
    assert (tally.n_source, tally.n_target) == (made.n_source, made.n_target)
    source[0] = -np.inf
    with pytest.raises(InputError, match="1 row"):
        calibrate(source, LABELS, target, softmax=True, **BOTH)


def test_ids_that_are_in_both_earn_a_note() -> None:
    made = calibrate(Rows(SOURCE, LABELS, groups=IDS), Rows(TARGET, groups=[*IDS[:10], *TARGET_IDS[10:]]))
    assert any("2 group ids are in source and target" in note for note in made.notes)
    assert not any("group id" in note for note in calibrate(SOURCE, LABELS, TARGET, **BOTH).notes)


def test_tallies_give_the_same_certificate_and_say_what_was_not_checked() -> None:
    made = calibrate(SOURCE, LABELS, TARGET, **BOTH)
    target = Rows(TARGET, groups=TARGET_IDS).tally()
    again = calibrate(Rows(SOURCE, LABELS, groups=IDS).tally() + target)
    assert np.array_equal(made.thresholds, again.thresholds)
    halves = [
        Rows(SOURCE[part], LABELS[part], groups=IDS[part]).tally() for part in (slice(1000), slice(1000, None))
    ]
    added = calibrate(halves[0] + halves[1] + target)  # each half throws its own coins
    assert (added.n_source, added.n_target) == (400, 400)
    assert "No group is in two of the 2 source tallies that were added; this" in added.explain(full=True)
    assert "not checked" not in again.explain(full=True)


def test_target_labels_are_those_of_the_chosen_rows() -> None:
    labels = [label if place < 1000 else None for place, label in enumerate(TRUTH.tolist())]
    made = calibrate(SOURCE, LABELS, TARGET, target_labels=labels, **BOTH)
    assert made.n_target_labels == 200
    with pytest.raises(InputError, match=r"target labels must have one entry per target row \(2,000\)"):
        calibrate(SOURCE, LABELS, Rows(TARGET, labels[:5]), **BOTH)
    tally = Rows(SOURCE, LABELS, groups=IDS).tally() + Rows(TARGET, groups=TARGET_IDS).tally()
    with pytest.raises(InputError, match="must both be counted with groups="):
        calibrate(tally, labelled=Tally.from_scores(TARGET[:100], TRUTH[:100]))


def test_labels_of_rows_that_are_not_counted_are_refused_with_the_remedy() -> None:
    first = np.arange(0, 2000, 5) + np.random.default_rng(4).integers(0, 5, 400)  # one of each patient
    labels = [label if row in set(first[::2]) else None for row, label in enumerate(TRUTH.tolist())]
    with pytest.raises(InputError, match=r"labels on rows that are not the counted one of their group.* sheet"):
        calibrate(SOURCE, LABELS, Rows(TARGET, labels, groups=TARGET_IDS))


def test_labels_of_whole_patients_and_of_counted_rows_need_no_design() -> None:
    ids = np.array(TARGET_IDS)
    whole = [label if row < 500 else None for row, label in enumerate(TRUTH.tolist())]
    assert calibrate(SOURCE, LABELS, TARGET, target_labels=whole, **BOTH).n_target_labels == 100
    sheet = label_sheet(Rows(TARGET, groups=ids), budget=100, rng=1)
    counted = [label if row in set(sheet.rows) else None for row, label in enumerate(TRUTH.tolist())]
    assert calibrate(SOURCE, LABELS, TARGET, target_labels=counted, **BOTH).n_target_labels == 100


def test_compare_and_prevalence_count_one_row_per_group() -> None:
    found = compare(SOURCE, LABELS, TARGET, target_labels=TRUTH, methods=["PS-LW", "PS"], **BOTH)
    assert all(made is not None and made.n_target == 400 for made in found.certificates)
    assert found.rows[0].error is not None
    assert prevalence(SOURCE, LABELS, TARGET, **BOTH).class_counts.sum() == 400


def test_check_compares_one_row_per_group() -> None:
    made = calibrate(SOURCE, LABELS, TARGET, **BOTH)
    found = check(made, Rows(TARGET, TRUTH, groups=TARGET_IDS))
    assert found.evaluation.n == 400
    order = np.random.default_rng(3).permutation(len(TARGET))
    again = check(made, Rows(TARGET[order], TRUTH[order], groups=np.array(TARGET_IDS)[order]))
    assert again.text == found.text
    assert check(made, Rows(made.sets(TARGET), TRUTH, groups=TARGET_IDS)).evaluation.n == 400
    assert (found.seen_as, found.verdict) == ("target", again.verdict)


def test_check_notices_rows_of_groups_that_the_certificate_was_made_from() -> None:
    """Other rows of the same groups are chosen where they are a target, so they are chosen once more."""
    source, target = Rows(SOURCE, LABELS, groups=IDS), Rows(TARGET, TRUTH, groups=TARGET_IDS)
    made = calibrate(source, target, method="PS-T")
    assert made.n_target_labels == 400
    assert (check(made, target).seen_as, check(made, target).verdict) == ("target", "no-evidence")
    assert (check(made, source).seen_as, check(made, source).verdict) == ("source", "no-evidence")
    other, truth, ids = patients(300, 5, 0.6, np.random.default_rng(8))
    assert check(made, Rows(other, truth, groups=ids)).seen_as is None


def test_the_estimator_passes_groups_on() -> None:
    logits = np.log(SOURCE[:, 1:] / SOURCE[:, :1]), np.log(TARGET[:, 1:] / TARGET[:, :1])
    model = PACClassifier().fit(logits[0][:1000], LABELS[:1000])
    model.calibrate(logits[0][1000:], LABELS[1000:], logits[1], groups=IDS[1000:], target_groups=TARGET_IDS)
    assert (model.certificate_.n_source, model.certificate_.n_target) == (200, 400)
    given: dict[str, Any] = {"groups": IDS[1000:], "target_groups": TARGET_IDS, "target_labels": TRUTH}
    model.calibrate(logits[0][1000:], LABELS[1000:], logits[1], **given)
    made, target = model.certificate_, Rows(model.estimator_.predict_proba(logits[1]), groups=TARGET_IDS)
    assert made.n_target_labels == 400
    expected = made.with_set_sizes(target).set_sizes
    assert made.set_sizes is not None
    assert expected is not None
    assert np.array_equal(made.set_sizes, expected)
    with pytest.raises(InputError, match="are about X_target, which is None"):
        model.calibrate(logits[0][1000:], LABELS[1000:], target_groups=TARGET_IDS)


def test_the_monitor_counts_one_row_per_group_and_period() -> None:
    monitor = Monitor(Rows(SOURCE, LABELS, groups=IDS).tally())
    report: Any = monitor.update(Rows(TARGET, groups=TARGET_IDS), period="May")
    assert report.rows == 400
    assert report.fresh.target_grouped == Grouped(2000)
    june, _, ids = patients(300, 5, 0.6, np.random.default_rng(8))
    assert monitor.update(Rows(june, groups=ids), period="June").rows == 300


def test_groups_of_a_target_that_is_not_there_or_of_other_rows_are_refused() -> None:
    frame = pd.DataFrame(SOURCE).assign(patient=IDS)
    with pytest.raises(InputError, match="different indexes"):
        calibrate(Rows(frame[[0, 1]], LABELS, groups=frame["patient"][::-1]), TARGET)


def test_a_sheet_by_group_draws_one_row_of_each_group_and_comes_back() -> None:
    """The rows of a sheet are among those that calibrate counts, in memory and in tables."""
    asked: dict[str, Any] = {"budget": 200, "looks": (100,), "rng": 1}
    sheet = label_sheet(Rows(TARGET, groups=TARGET_IDS), keep={"who": TARGET_IDS}, **asked)
    who = [TARGET_IDS[row] for row in sheet.rows]
    assert len(set(who)) == 200
    assert sheet.n_target == 400
    assert sheet.kept["who"] == tuple(who)
    filled = sheet.with_labels(TRUTH[sheet.rows].tolist())
    made = calibrate(SOURCE, LABELS, TARGET, labelled=filled, method="PS-T", **BOTH)
    assert made.n_target_labels == 200
    assert made.n_target == 400
    with pytest.raises(InputError, match="another target"):
        calibrate(SOURCE, LABELS, TARGET, labelled=filled, method="PS-T")
    table = pa.table({"p_0": TARGET[:, 0], "p_1": TARGET[:, 1], "who": TARGET_IDS})
    again = label_sheet(read(table, group="who"), keep=["who"], **asked)
    assert np.array_equal(again.rows, sheet.rows)
    assert again.target_sha256 == sheet.target_sha256
    assert again.kept == sheet.kept
    found, others = sheet_scores(read_rows(table, ReadOptions(group="who")), again)
    assert np.array_equal(found, TARGET[sheet.rows])
    assert len(others) == 200
    assert not {tuple(row) for row in found} & {tuple(row) for row in others}


def test_a_refusal_prints_the_line_that_draws_by_group() -> None:
    strange = np.clip(TARGET + np.array([0.3, -0.3]), 0.01, 0.99)
    with pytest.raises(AssumptionError, match=r"label_sheet\(.*groups=target_groups\)\.save"):
        calibrate(SOURCE, LABELS, strange / strange.sum(axis=1, keepdims=True), **BOTH)
