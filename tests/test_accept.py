"""``accept``: lemmas of docs/methods/accept.md, and that the program is what they are about."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from certificates import alter
from flat import flat
from pacshift import (
    AssumptionError,
    Certificate,
    InputError,
    Monitor,
    Population,
    Rows,
    Tally,
    UninformativeWarning,
    accept,
    calibrate,
    check,
    compare,
    label_sheet,
    verify,
)
from pacshift.acceptance.plan import plan_bet, within_limits
from pacshift.acceptance.tops import TALLY_CUTS, TopScoreTable
from pacshift.acceptance.wealth import Bet, WealthTest, label_loss, loss, psi
from pacshift.arrays import FloatArray
from pacshift.certification import certify, delta
from pacshift.certification.delta import ASSUMPTION_SHARE, split_delta_two
from pacshift.certification.request import check_request
from pacshift.files.codec import seal
from pacshift.methods import Task
from pacshift.methods import accept as accepting
from pacshift.methods.accept import Accept, AcceptByLabels
from pacshift.mix.region import prevalence_region
from pacshift.tally.grid import single_cuts
from strategies import seeds

LETTERS = Population.synthetic(["bill", "order", "other"], strength=4, rng=0)
SOURCE, KINDS = LETTERS.draw([0.6, 0.3, 0.1], 4000, rng=1)
TARGET, TRUTH = LETTERS.draw([0.3, 0.3, 0.4], 4000, rng=2)
ASKED: dict[str, Any] = {"error": 0.05, "classes": LETTERS.classes}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UninformativeWarning)
    BIRDS = accept(SOURCE[:300], KINDS[:300], TARGET[:300], **ASKED)


@pytest.fixture(scope="module")
def made() -> Certificate:
    return accept(SOURCE, KINDS, TARGET, **ASKED)


def wrong_among_accepted(certificate: Certificate, scores: Any, labels: Any) -> tuple[float, float]:
    """The share that is accepted, and the share of it that is wrong."""
    sets = certificate.sets(scores)
    one = sets.sum(axis=1) == 1
    names = np.array(certificate.classes, object)[sets.argmax(axis=1)]
    return float(one.mean()), float((names[one] != np.asarray(labels, object)[one]).mean()) if one.any() else 0.0


# The rule


def test_a_case_is_accepted_or_every_label_is_in_its_set(made: Certificate) -> None:
    sets = made.sets(TARGET)
    sizes = sets.sum(axis=1)
    assert set(sizes.tolist()) == {1, 3}
    top = TARGET.argmax(axis=1)
    assert np.array_equal(sizes == 1, TARGET.max(axis=1) >= made.thresholds[top])
    assert sets[np.arange(len(sets)), top].all()
    assert made.set_sizes is not None
    assert made.set_sizes.tolist() == [0, int((sizes == 1).sum()), 0, int((sizes == 3).sum())]
    share, wrong = wrong_among_accepted(made, TARGET, TRUTH)
    assert share > 0.85
    assert wrong < 0.05


NEARLY = float(np.nextafter(0.5, 1))


@pytest.mark.parametrize("row", [(0.5, 0.5, 0.0), (0.5, NEARLY, 0.0), (0.4, 0.4 + 1e-12, 0.2)])
def test_a_tie_asks_in_every_float_type(made: Certificate, row: Any) -> None:
    """In single precision another label would be the top one."""
    always = alter(made, thresholds=np.full(3, -np.inf))
    for kind in (np.float32, np.float64):
        assert always.sets(np.array([row], kind)).all()
    assert always.sets(np.array([[0.4, 0.41, 0.19]])).tolist() == [[False, True, False]]


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_all_that_make_sets_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.full(3, rng.choice([0.2, 1.0, 5.0])), 40).round(rng.integers(1, 17))
    cuts = np.where(rng.random(3) < 0.2, rng.choice([np.inf, -np.inf]), scores[rng.integers(40, size=3), range(3)])
    one = alter(BIRDS, thresholds=np.asarray(single_cuts(cuts)))
    expected = one.sets(scores)
    assert np.array_equal(expected, one.sets(scores.astype(np.float32)))
    predictor = one.predictor()
    assert np.array_equal(expected, np.array([predictor.sets(row) for row in scores]))
    tops = TopScoreTable.of_rows(scores)
    assert tops.tables(one.thresholds[None], 1)[0, 1::2].sum() == (expected.sum(axis=1) == 1).sum()


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_sql_accepts_the_same(made: Certificate, dialect: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = np.vstack([TARGET[:300], [[0.5, 0.5, 0.0], [0.5, NEARLY, 0.0], [0.4, 0.41, 0.19]]])
    one = alter(made, thresholds=np.array([made.thresholds[0], np.inf, -np.inf]))
    expression = one.to_sql(dialect, columns=["a", "b", "c"])
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (i INT, a DOUBLE, b DOUBLE, c DOUBLE)")
        db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(i, *row) for i, row in enumerate(rows.tolist())])
        if dialect == "postgres":  # its lists, without its function
            expression = expression.replace("array_remove(ARRAY", "(").replace(", NULL)", ")")
        found = [labels for (labels,) in db.execute(f"SELECT {expression} FROM t ORDER BY i").fetchall()]
    assert [sorted(each) for each in found] == [sorted(each) for each in one.labels(rows)]


@pytest.mark.parametrize("width", ["float32", "float64"])
def test_onnx_accepts_the_same(made: Certificate, width: Any) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from pacshift.onnx import to_onnx

    rows = np.vstack([TARGET[:300], [[0.5, 0.5, 0.0], [0.5, NEARLY, 0.0], [0.4, 0.41, 0.19]]]).astype(width)
    model = to_onnx(made, dtype=width).SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert np.array_equal(session.run(None, {"scores": rows})[0], made.sets(rows))


def test_a_softmax_elsewhere_is_refused(made: Certificate) -> None:
    """Sets may only grow by another rounding; what is accepted would change."""
    pytest.importorskip("onnx")
    from pacshift.onnx import to_onnx

    with pytest.raises(InputError, match="rounds a softmax otherwise"):
        to_onnx(replace(made, softmax=True))


# Certificates


def test_rows_in_any_order_give_the_same(made: Certificate) -> None:
    order, other = np.random.default_rng(0).permutation(4000), np.random.default_rng(1).permutation(4000)
    again = accept(SOURCE[order], KINDS[order], TARGET[other], **ASKED)
    assert np.array_equal(again.thresholds, made.thresholds)


def test_a_file_remembers_it_and_verify_makes_it_again(made: Certificate, tmp_path: Path) -> None:
    made.save(tmp_path / "a.json")
    loaded = Certificate.load(tmp_path / "a.json")
    assert loaded.rule.kind == "accept"
    assert loaded.accepted is not None
    assert loaded.explain() == made.explain()
    assert verify(tmp_path / "a.json", SOURCE, KINDS, TARGET).verdict == "match"
    assert verify(tmp_path / "a.json", SOURCE, KINDS, TARGET[:-1]).verdict == "mismatch"


def test_a_tally_accepts_at_the_edges_of_its_bins(made: Certificate) -> None:
    classes = LETTERS.classes
    tally = Tally.from_scores(SOURCE, KINDS, classes=classes) + Tally.from_target(TARGET, classes=classes)
    found: Any = accept(tally, error=0.05)
    assert set(found.thresholds.astype(np.float32)) <= set(np.append(TALLY_CUTS, np.inf).astype(np.float32))
    assert found.with_set_sizes(TARGET).set_sizes.tolist() == found.set_sizes.tolist()
    assert 0.8 * made.set_sizes[1] < found.set_sizes[1] <= 1.02 * made.set_sizes[1]  # type: ignore[index]
    assert verify(found, tally).verdict == "match"


def test_a_tally_of_scores_that_may_tie_is_refused() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.random((500, 2)), rng.integers(2, size=500)
    with pytest.raises(InputError, match="probabilities that sum to 1"):
        accept(Tally.from_scores(scores, labels) + Tally.from_target(scores))


def test_check_judges_what_is_accepted(made: Certificate) -> None:
    scores, truth = LETTERS.draw([0.3, 0.3, 0.4], 4000, rng=3)
    found = check(made, scores, truth)
    share, wrong = wrong_among_accepted(made, scores, truth)
    assert (found.verdict, found.n_judged) == ("kept", round(share * 4000))
    assert found.error == pytest.approx(wrong)
    assert "accepted rows" in found.text
    loose = alter(made, thresholds=np.full(3, -np.inf), epsilon=0.01)
    assert check(loose, scores, truth).verdict == "broken"
    nothing = alter(made, thresholds=np.full(3, np.inf))
    assert "None of these" in check(nothing, scores, truth).text


def test_where_label_shift_is_refuted_it_refuses_or_labels_decide() -> None:
    moved = np.roll(TARGET, 1, axis=1)
    with pytest.raises(AssumptionError, match=r"accept\(\.\.\., labelled='to_label.csv'\)") as refusal:
        accept(SOURCE, KINDS, moved, **ASKED)
    assert "contamination" not in str(refusal.value)
    names = np.array(LETTERS.classes, object)
    truth = np.roll(names, -1)[np.searchsorted(names, TRUTH)]  # the class whose column it is now
    labels = [name if row < 1500 else None for row, name in enumerate(truth)]
    found = accept(SOURCE, KINDS, Rows(moved, labels), **ASKED)
    assert found.method == "ACCEPT-T"
    assert not found.facts.assumes_label_shift
    share, wrong = wrong_among_accepted(found, moved, truth)
    assert share > 0.5
    assert wrong < 0.05


def test_a_sheet_certifies() -> None:
    sheet = label_sheet(
        TARGET, budget=1200, looks=(600,), epsilon=0.05, delta=0.05, classes=LETTERS.classes, rng=1
    )
    answers = ["?" if place % 100 == 0 else str(TRUTH[row]) for place, row in enumerate(sheet.rows[:600])]
    found = accept(SOURCE, KINDS, TARGET, **ASKED, labelled=sheet.with_labels(answers))
    share, wrong = wrong_among_accepted(found, TARGET, TRUTH)
    assert share > 0.5
    assert wrong < 0.05


def test_limits_of_labels_cannot_be_chosen_after_a_look(tmp_path: Path) -> None:
    """Each of the certificates would be right; the one that was chosen among them would not."""
    sheet = label_sheet(
        TARGET, budget=1200, looks=(600,), epsilon=0.05, delta=0.05, classes=LETTERS.classes, rng=1
    )
    sheet = sheet.with_labels([str(TRUTH[row]) for row in sheet.rows[:600]])
    sheet.save(tmp_path / "sheet.csv")
    rows = SOURCE, KINDS, TARGET
    first = accept(*rows, **ASKED, labelled=tmp_path / "sheet.csv", label_error={"bill": 0.1, "order": 0.2})
    again = accept(*rows, **ASKED, labelled=tmp_path / "sheet.csv", label_error={"order": 0.2, "bill": 0.1})
    assert again.thresholds.tolist() == first.thresholds.tolist()
    for chosen in (None, 0.1, {"bill": 0.1, "order": 0.3}):
        with pytest.raises(InputError, match="label_error has changed"):
            accept(*rows, **ASKED, labelled=tmp_path / "sheet.csv", label_error=chosen)


@pytest.mark.parametrize("n_rows", [1, 2, 5, 60])
def test_nothing_can_be_accepted(n_rows: int) -> None:
    with pytest.warns(UninformativeWarning, match="no rule passes"):
        found = accept(SOURCE[:n_rows], KINDS[:n_rows], TARGET[:n_rows], **ASKED)
    assert found.trivial
    assert found.sets(TARGET).all()
    assert "every case is left to a person" in found.explain()


def test_other_verbs_refuse_it() -> None:
    for call in (
        lambda: calibrate(SOURCE, KINDS, TARGET, method=Accept()),
        lambda: compare(SOURCE, KINDS, TARGET, methods=[Accept()]),
    ):
        with pytest.raises(InputError, match=r"pacshift\.accept"):
            call()


def test_a_monitor_refuses_it(made: Certificate) -> None:
    with pytest.raises(InputError, match="a monitor watches sets"):
        Monitor(Tally.from_scores(SOURCE, KINDS, classes=LETTERS.classes), certificate=made)


def test_the_report_says_it(made: Certificate) -> None:
    page = pytest.importorskip("pacshift.report", reason="needs pacshift[report]").render_report(made)
    assert "wrong if accepted" in page
    assert "labels in a set" not in page.partition("<h2")[0]
    assert made.plot() is not None


def test_the_command_line_goes_all_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv

    from commands import good, run

    monkeypatch.chdir(tmp_path)
    new, truth = LETTERS.draw([0.3, 0.3, 0.4], 2000, rng=4)
    for name, scores, labels in (("s", SOURCE, KINDS), ("t", TARGET, None), ("l", new, truth)):
        columns = {f"p_{kind}": scores[:, place] for place, kind in enumerate(LETTERS.classes)}
        csv.write_csv(pa.table(columns | ({} if labels is None else {"label": labels.astype(str)})), f"{name}.csv")
    good("accept", "s.csv", "t.csv", "--error", "0.05", "-o", "a.json")
    limited = good("accept", "s.csv", "t.csv", "--label-error", "0.1", "--label", "label", "-o", "limited.json")
    assert "10 % of those accepted as any one label" in " ".join(limited.output.split())
    good("accept", "s.csv", "t.csv", "--label-error", "bill=0.1", "--label-error", "other=0.08", "-o", "two.json")
    assert Certificate.load("two.json").limits.tolist() == [0.1, 1.0, 0.08]  # type: ignore[union-attr]
    for wrong in (["bill"], ["0.1", "bill=0.1"], ["bill=0.1", "bill=0.2"], ["3"]):
        refused = run("accept", "s.csv", "t.csv", *(w for one in wrong for w in ("--label-error", one)), "-o", "c")
        assert refused.exit_code == 2
        assert "--label-error" in refused.output
    assert "accepted" in good("predict", "a.json", "t.csv", "-o", "sets.csv").output
    sizes = [line.rpartition(",")[2] for line in Path("sets.csv").read_text().splitlines()[1:]]
    made: Any = Certificate.load("a.json")
    assert sizes.count("1") == made.set_sizes[1]
    assert "accepted as" in good("check", "a.json", "l.csv").output
    good("verify", "a.json", "s.csv", "t.csv")  # exit code 0: it is the same
    good("report", "a.json", "-o", "a.html")
    refused = run("accept", "s.csv", "l.csv", "--error", "2", "-o", "b.json")
    assert refused.exit_code == 2
    assert "--error" in refused.output


# Limits of labels


@pytest.mark.parametrize("limits", [0.1, {"other": 0.06, "bill": 0.1}])
@pytest.mark.parametrize("n_labels", [0, 1500])
def test_limits_of_labels_are_kept_said_and_made_again(limits: Any, n_labels: int, tmp_path: Path) -> None:
    asked = ASKED | {"label_error": limits}
    if n_labels:
        asked |= {"target_labels": [name if row < n_labels else None for row, name in enumerate(TRUTH)]}
    found: Any = flat(accept, SOURCE, KINDS, TARGET, **asked)
    expected = [0.1, 0.1, 0.1] if limits == 0.1 else [0.1, 1.0, 0.06]
    assert found.limits.tolist() == expected
    sets = found.sets(TARGET)
    one, label = sets.sum(axis=1) == 1, sets.argmax(axis=1)
    wrong = np.array(LETTERS.classes, object)[label] != TRUTH
    rates = [wrong[one & (label == each)].mean() for each in range(3) if (one & (label == each)).any()]
    assert len(rates) == 3
    assert all(rate <= limit for rate, limit in zip(rates, expected, strict=True))
    found.save(tmp_path / "a.json")
    loaded = Certificate.load(tmp_path / "a.json")
    assert loaded.explain() == found.explain()
    assert "of those accepted as" in loaded.explain()
    same = {"target_labels": asked["target_labels"]} if n_labels else {}
    assert verify(tmp_path / "a.json", SOURCE, KINDS, Rows(TARGET, same.get("target_labels"))).verdict == "match"


def test_check_judges_the_limits_of_labels(made: Certificate) -> None:
    scores, truth = LETTERS.draw([0.3, 0.3, 0.4], 4000, rng=3)
    assert made.limits is None
    kept = check(replace(made, limits=np.full(3, 0.2)), scores, truth)
    assert (kept.verdict, kept.classes_kept) == ("kept", LETTERS.classes)
    broken = check(replace(made, limits=np.array([1, 0.001, 0.2])), scores, truth)
    assert (broken.verdict, broken.classes_above, broken.classes_kept) == ("broken", ("order",), ("other",))
    assert "wrong among what is accepted as 'order'" in broken.text
    never = alter(made, thresholds=np.array([np.inf, *made.thresholds[1:]]), limits=np.full(3, 0.2))
    assert check(never, scores, truth).classes_kept == LETTERS.classes
    few = check(replace(made, limits=np.full(3, 0.2)), scores[:60], truth[:60])
    assert "these rows do not tell" in few.text


def test_a_label_that_cannot_keep_its_limit_is_left_to_a_person() -> None:
    """And it does not keep others from being accepted."""
    found: Any = accept(SOURCE, KINDS, TARGET, **ASKED, label_error={"bill": 0.001})
    assert found.thresholds[0] == np.inf
    assert np.isfinite(found.thresholds[1:]).all()
    assert found.accepted.upper[0] == found.accepted_error.upper[0] == 0
    assert "Never accepted: 'bill'" in found.explain(full=True)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (1.5, "label_error must lie strictly between 0 and 1, got 1.5"),
        ({"bill": 0}, "label_error must lie strictly between 0 and 1, got 0"),
        ({"letter": 0.1}, "label_error: 'letter' is not a class"),
        ("0.1 %", "label_error must lie strictly between 0 and 1"),
    ],
)
def test_wrong_limits_are_refused(limits: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        accept(SOURCE, KINDS, TARGET, **ASKED, label_error=limits)


def test_no_limits_are_none_and_odd_ones_are_not_read(made: Certificate, tmp_path: Path) -> None:
    assert np.array_equal(accept(SOURCE, KINDS, TARGET, **ASKED, label_error={}).thresholds, made.thresholds)
    assert accept(SOURCE, KINDS, TARGET, **ASKED, label_error={}).limits is None
    replace(made, limits=np.full(3, 0.2)).save(tmp_path / "a.json")
    for odd, said in (("0.1", "limit"), (0.0, "limit must be above 0"), (1.5, "limit"), ([0.1, 0.2], "limit")):
        document = json.loads((tmp_path / "a.json").read_text())
        document["classes"][0]["limit"] = odd
        (tmp_path / "b.json").write_text(json.dumps(seal(document)))
        with pytest.raises(InputError, match=said):
            Certificate.load(tmp_path / "b.json")
    document = json.loads((tmp_path / "a.json").read_text())
    for wrong, said in (({"rule": "sets"}, "of another kind"), ({"never_empty": True}, "never_empty is about")):
        (tmp_path / "b.json").write_text(json.dumps(seal(document | wrong)))
        with pytest.raises(InputError, match=said):
            Certificate.load(tmp_path / "b.json")


def test_where_no_label_can_keep_its_limit_it_says_so() -> None:
    with pytest.warns(UninformativeWarning, match="no label would be shown to keep its limit"):
        found = accept(SOURCE, KINDS, TARGET, **ASKED, label_error=0.001)
    assert found.trivial
    some = [name if row < 900 else None for row, name in enumerate(TRUTH)]
    with pytest.warns(UninformativeWarning, match="no rule passes"):
        assert accept(SOURCE, KINDS, Rows(TARGET, some), **ASKED, label_error=0.001).trivial


def test_where_the_limit_allows_it_all_is_accepted() -> None:
    assert np.isneginf(accept(SOURCE, KINDS, TARGET, **ASKED | {"error": 0.5}).thresholds).all()


@pytest.mark.parametrize(
    ("n_classes", "limits", "said"),
    [(25, {"label_error": 0.3}, "label_error takes up to 20 labels"), (210, {}, "accept takes up to 200 classes")],
)
def test_what_is_too_much_under_label_shift_labels_alone_certify(n_classes: int, limits: Any, said: str) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, 4000)
    scores = rng.dirichlet(np.full(n_classes, 0.05), 4000)
    scores[np.arange(4000), labels] += 1
    scores /= scores.sum(axis=1, keepdims=True)
    asked: dict[str, Any] = {"error": 0.1, "classes": range(n_classes), **limits}
    with pytest.raises(InputError, match=rf"{said} under label shift, got .* [Ll]abel a random"):
        accept(scores[:2000], labels[:2000], scores[2000:], **asked)
    known = [int(label) if row < 600 else None for row, label in enumerate(labels[2000:])]
    found: Any = accept(scores[:2000], labels[:2000], Rows(scores[2000:], known), **asked)
    assert found.method == "ACCEPT-T"
    assert found.set_sizes[1] > 200
    assert f"{said} under label shift, got {n_classes}. This certificate rests on the 600" in " ".join(found.notes)
    assert verify(found, scores[:2000], labels[:2000], Rows(scores[2000:], known)).verdict == "match"


@pytest.mark.parametrize("how", ["labels", "sheet"])
def test_rules_by_labels_are_planned_at_one_level_at_any_share(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 7: beside label shift at 0.3 delta, after a refusal at delta, and the same rules."""
    levels, paths, planned = list[float](), list[FloatArray](), accepting.planned_by_labels

    def spy(*data: Any, level: float, **asked: Any) -> FloatArray:
        levels.append(level)
        paths.append(planned(*data, level=level, **asked))
        return paths[-1]

    monkeypatch.setattr(accepting, "planned_by_labels", spy)
    more: dict[str, Any] = {"target_labels": [name if row < 900 else None for row, name in enumerate(TRUTH)]}
    if how == "sheet":
        drawn = label_sheet(
            TARGET, budget=900, looks=(500,), epsilon=0.05, delta=0.1, classes=LETTERS.classes, rng=1
        )
        more = {"labelled": drawn.with_labels(TRUTH[drawn.rows])}
    refused = AssumptionError("label shift is rejected.")
    for refusal in (None, refused):
        monkeypatch.setattr(certify, "explain_refusal", lambda *_, refusal=refusal: refusal)
        flat(accept, SOURCE, KINDS, TARGET, **ASKED, delta=0.1, label_error=0.1, **more)
    n_looks = 2 if how == "sheet" else 1
    assert levels == pytest.approx([delta.DIRECT_SHARE * 0.1 / n_looks] * 2)
    beside, alone = paths
    assert np.array_equal(beside, alone)


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_paths_within_limits_are_nested_and_use_sure_thresholds_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = -np.sort(-rng.random((rng.integers(1, 9), 3)), axis=0)
    sure = rng.random(path.shape) < rng.random(3)
    found = within_limits(path, sure)
    assert (found[1:] <= found[:-1]).all()
    assert np.array_equal(found[sure], path[sure])
    for label in range(3):
        assert set(found[:, label]) <= {np.inf, *path[sure[:, label], label]}


# The lemmas


def hard_case(seed: int) -> tuple[Bet, FloatArray, FloatArray, FloatArray, float]:
    """A bet of any kind, the laws of cells given the label, a mix, and numbers of rows."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    laws = rng.dirichlet(np.full(2 * k, rng.choice([0.05, 0.3, 2.0])), k).T
    mix = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0])))
    rows, n_target = rng.integers(1, 400, k).astype(float), float(rng.integers(1, 400))
    phi, correction = loss(k, float(rng.uniform(0.01, 0.5))), rng.uniform(-1.5, 1.5, 2 * k)
    phi = phi if rng.random() < 0.5 else label_loss(k, int(rng.integers(k)), -float(phi.min()))
    rest = phi - correction[:, None]
    centres = rng.uniform(rest.min(axis=0), rest.max(axis=0))
    on = rng.random(k) < 0.8
    bet = Bet(phi, correction, centres, float(rng.uniform(correction.min(), correction.max())), 1.0, on)
    largest = np.append(np.where(on, mix * bet.unit / rows, 0.0), bet.target_unit / n_target).max()
    bet = Bet(phi, correction, centres, bet.target_centre, float(rng.uniform(0.05, 0.98) / largest), on)
    return bet, laws, mix, rows, n_target


@settings(max_examples=300, deadline=None)
@given(seed=seeds)
def test_lemma_2_the_wealth_has_a_mean_of_at_most_one(seed: int) -> None:
    """The logarithm of E exp(θ (Ψ - X) - G), computed exactly: rows are independent."""
    bet, laws, mix, rows, n_target = hard_case(seed)
    truth = float((laws * bet.loss).sum(axis=0) @ mix)
    log_mean: Any = bet.stake * truth
    for j in range(len(mix)):
        if not bet.on[j]:
            log_mean -= bet.stake * mix[j] * bet.rest[:, j].max()
            continue
        staked = bet.stake * mix[j] * bet.unit[j] / rows[j]
        x = (bet.rest[:, j] - bet.centres[j]) / bet.unit[j]
        term = -bet.stake * mix[j] / rows[j] * bet.rest[:, j] - psi(staked) * x**2
        log_mean += rows[j] * np.log(laws[:, j] @ np.exp(term))
    staked = bet.stake * bet.target_unit / n_target
    x = (bet.correction - bet.target_centre) / bet.target_unit
    term = -bet.stake / n_target * bet.correction - psi(staked) * x**2
    log_mean += n_target * np.log((laws @ mix) @ np.exp(term))
    assert log_mean <= 1e-9


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_lemma_3_no_mix_of_the_region_is_worse(seed: int) -> None:
    bet, laws, mix, rows, n_target = hard_case(seed)
    rng = np.random.default_rng(seed)
    k = len(mix)
    source = np.stack([rng.multinomial(int(m), law) for m, law in zip(rows, laws.T, strict=True)], axis=1)
    target = rng.multinomial(int(n_target), laws @ mix)
    confusion = source[0::2] + source[1::2]
    try:
        region = prevalence_region(confusion, target[0::2] + target[1::2], delta=0.1)
    except AssumptionError:
        return
    test = WealthTest.over(region, rows, n_target)
    on_source = np.where(bet.on, region.prevalence.upper * bet.unit / rows, 0.0)
    largest = np.append(on_source, bet.target_unit / n_target)
    bet = replace(bet, stake=0.9 / largest.max())
    bound = test.excess(bet, source.astype(float), target.astype(float))
    for t in rng.dirichlet(np.ones(k), 400):
        if not region.contains(t):
            continue
        staked = np.where(bet.on, bet.stake * t * bet.unit / rows, 0.0)
        squares = (source * ((bet.rest - bet.centres) / bet.unit) ** 2).sum(axis=0)
        means = np.where(bet.on, (source * bet.rest).sum(axis=0) / rows, bet.rest.max(axis=0))
        on_target = bet.stake * bet.target_unit / n_target
        target_squares = target @ ((bet.correction - bet.target_centre) / bet.target_unit) ** 2
        value = bet.stake * (target @ bet.correction / n_target + t @ means)
        value += psi(staked) @ np.where(bet.on, squares, 0.0) + psi(on_target) * target_squares
        assert value <= bound + 1e-7 * (1 + abs(bound))


def test_bets_beyond_the_box_never_pass() -> None:
    """If a bet were 1 or more at the true mix, Lemma 2 would say nothing: then the mix is not in the region."""
    named: dict[str, Any] = {"classes": LETTERS.classes}
    tally = Tally.from_scores(SOURCE, KINDS, **named) + Tally.from_target(TARGET, **named)
    region = prevalence_region(tally.confusion, tally.target, delta=0.01)
    rows = tally.class_counts.astype(float)
    source = TopScoreTable.of_cells(tally.source_cells, tally.source_kind).tables(np.full((1, 3), 0.9), 3)[0]
    target = TopScoreTable.of_cells(tally.target_cells, tally.target_kind).tables(np.full((1, 3), 0.9), 1)[0, :, 0]
    planned = plan_bet(loss(3, 0.05), source, np.full(3, 1 / 3), rows, 4000.0, level=0.05).bet
    test = WealthTest.over(region, rows, 4000.0)
    assert test.passes(planned, source, target, delta=0.05)
    too_bold = replace(planned, stake=planned.stake * 100)
    assert test.excess(too_bold, source, target) == np.inf


def test_without_a_target_row_the_mean_of_the_correction_is_not_known() -> None:
    """Lemma 1 needs E_Q u; a coin may hold out the only target row."""
    region = prevalence_region(np.diag([400, 400]), np.array([1, 0]), delta=0.5)
    rows, correction = np.full(2, 400.0), np.array([0.3, -0.3, 0.3, -0.3])
    bet = Bet(loss(2, 0.3), correction, np.full(2, -0.1), 0.0, 2.0, np.ones(2, bool))
    source, test = np.zeros((4, 2)), WealthTest.over(region, rows, 1.0)
    source[0, 0] = source[3, 1] = 400  # label 0 always asks, label 1 is always accepted
    of_none, of_worst = (test.excess(bet, source, seen) for seen in (np.zeros(4), np.array([1.0, 0, 0, 0])))
    priced = float(psi(2.0 * bet.target_unit)) * (0.3 / bet.target_unit) ** 2
    assert of_none == pytest.approx(of_worst - priced)


@pytest.mark.parametrize("unknown", ["epsilon", "alpha", "error_rate"])
def test_the_limit_is_called_error(unknown: str) -> None:
    with pytest.raises(TypeError, match=rf"accept\(\) has no parameter '{unknown}'. Did you mean 'error'"):
        accept(SOURCE, KINDS, TARGET, **{unknown: 0.1})  # type: ignore[arg-type]


def test_the_table_pays_for_the_bounds_of_the_mix() -> None:
    """Of either candidate the table may be kept; that under label shift rests on the mix by labels too."""
    request = check_request(epsilon=0.05, delta=0.1)
    shares = split_delta_two(request, Accept())
    assert ASSUMPTION_SHARE * 0.1 + shares.mix + 2 * shares.misses <= 0.1 + 1e-12


def test_a_row_throws_one_coin_whatever_the_others_are() -> None:
    """Held-out and other rows of an entry are independent if its count is Poisson: no fixed number per entry."""
    rng, parts = np.random.default_rng(0), []
    for number in range(3000):
        counts = rng.poisson(20, 2)
        predicted, labels = np.array([0, 1]), np.array([0, 0])
        tops = TopScoreTable(predicted, np.array([0.9, 0.8]), labels, np.append(counts[:1], number + 1))
        held, rest = tops.split("source", 0.3, 0)
        parts.append([part.counts[part.predicted == 0].sum() for part in (held, rest)])
    found = np.array(parts)
    assert abs(np.corrcoef(found.T)[0, 1]) < 0.06
    assert found.mean(axis=0) == pytest.approx([6, 14], rel=0.03)
    assert found[:, 0].var() == pytest.approx(6, rel=0.1)  # a fixed number per entry has less


def test_both_sides_have_coins_of_their_own() -> None:
    tops = TopScoreTable.of_rows(TARGET)
    held = [tops.split(role, 0.3, 0)[0] for role in ("source", "target")]
    assert not np.array_equal(held[0].top, held[1].top)


def test_without_labels_there_is_nothing_to_test() -> None:
    with pytest.raises(InputError, match="needs labelled target rows"):
        AcceptByLabels().solve(Tally.from_scores(SOURCE, KINDS, classes=LETTERS.classes), Task(0.1, 0.1))


def test_blank_rows_count_as_wrong_where_they_are_accepted() -> None:
    """So a sheet with blanks never accepts more than it would with all labels, whichever rows are blank."""
    target, truth = (
        np.roll(TARGET, 1, axis=1),
        np.roll(np.array(LETTERS.classes, object), -1)[np.searchsorted(np.array(LETTERS.classes, object), TRUTH)],
    )
    sheet = label_sheet(target, budget=1500, epsilon=0.05, delta=0.05, classes=LETTERS.classes, rng=2)
    in_test, top = np.arange(1500) >= sheet.n_pilot, target[sheet.rows].max(axis=1)
    shares = []
    for blank in (top < 0, top < 0.6, np.arange(1500) % 60 == 0):
        answers = [None if left else name for left, name in zip(blank & in_test, truth[sheet.rows], strict=True)]
        found = accept(SOURCE, KINDS, target, **ASKED, labelled=sheet.with_labels(answers))
        assert found.method == "ACCEPT-T"
        shares.append(wrong_among_accepted(found, target, truth)[0])
    everything, unsure, some = shares
    assert everything >= unsure > 0.5  # cases that are asked need no label
    assert everything > some
