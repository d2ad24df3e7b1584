"""A method that nobody registered: the one on the page "Architecture", and what the package says about it."""

import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from pacshift import PS, PSW, Certificate, InputError, PACClassifier, Rows, Tally, calibrate, compare
from pacshift.certificate.file import to_document
from pacshift.cli import app
from pacshift.methods import Guarantee, Method, Solution, Task
from pacshift.report import render_report
from reports import page_text

PAGE = Path(__file__).resolve().parents[1] / "ARCHITECTURE.md"
EXTRA = "No class is more than 3 times as frequent on the target as on the source."


def known_ratio(**options: Any) -> Method:
    """The method of the page, made by running the page's own code."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    exec(block, names)
    made: Method = names["KnownRatio"](**options)
    return made


def drawn(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 2000)
    p = 1 / (1 + np.exp(-rng.normal(4 * labels - 2.0, 1.5)))
    return np.column_stack([1 - p, p]), labels


def certify(method: Method) -> Certificate:
    scores, labels = drawn()
    target, _ = drawn(1)
    return calibrate(scores, labels, target, epsilon=0.1, delta=0.05, method=method).with_set_sizes(target)


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return certify(known_ratio(largest=3.0))


def test_its_thresholds_are_what_the_page_promises(certificate: Certificate) -> None:
    scores, labels = drawn()
    same = calibrate(scores, labels, None, epsilon=0.1 / 3, delta=0.05, method=PS())
    assert certificate.thresholds.tolist() == same.thresholds.tolist()
    assert (certificate.guarantee, certificate.options) == ("pac-target", {"largest": 3.0})


def test_the_explanation_is_true(certificate: Certificate) -> None:
    said = certificate.explain().splitlines()
    assert said[0].startswith("Promise (KNOWN-RATIO): at most 10 % of target cases get a set without")
    assert said[0].endswith(EXTRA)
    heads = {"Implied change", "Test", "Worst class", "Sets on the target", "More"}
    assert {line.split(":")[0] for line in said[1:]} <= heads
    assert EXTRA in certificate.explain(full=True)


def test_its_certificate_comes_back_from_a_file(certificate: Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["method"] == "KNOWN-RATIO"
    assert document["method_facts"]["extra_assumption"] == EXTRA
    loaded = Certificate.load(tmp_path / "c.json")
    assert loaded.facts == certificate.facts
    assert to_document(loaded) == to_document(certificate)
    assert render_report(loaded) == render_report(certificate)


def test_the_report_says_only_what_is_true_of_it(certificate: Certificate) -> None:
    text = page_text(render_report(certificate))
    assert "Promise about the target" in text
    assert text.count(EXTRA) == 2  # in short, and as an assumption
    assert f"KNOWN-RATIO : {known_ratio().idea}" in text
    assert "it is rejected with probability at most" in text
    assert "--method" not in text  # the command line does not know it
    said_of_others = ("estimated", "the true ones", "and each class", "On average", "PS-", "WCP")
    assert [words for words in said_of_others if words in text] == []


def test_commands_use_its_certificate(certificate: Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "c.json")
    scores, labels = drawn(2)
    np.savez(tmp_path / "rows.npz", probs=scores, labels=labels, class_names=np.array([0, 1]))

    def run(*words: object) -> str:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.stdout

    checked = json.loads(run("check", tmp_path / "c.json", tmp_path / "rows.npz", "--json"))
    assert (checked["certificate"]["method"], checked["verdict"]) == ("KNOWN-RATIO", "kept")
    run("predict", tmp_path / "c.json", tmp_path / "rows.npz", "-o", tmp_path / "sets.parquet")
    run("report", tmp_path / "c.json", "-o", tmp_path / "r.html")
    assert "KNOWN-RATIO" in (tmp_path / "r.html").read_text()


def test_it_can_be_compared_and_wrapped() -> None:
    scores, labels = drawn()
    compared = compare(scores, labels, scores, methods=["PS", known_ratio(), PSW()], epsilon=0.1, delta=0.1)
    assert [row.method for row in compared.rows] == ["PS", "KNOWN-RATIO", "PS-W"]
    model = PACClassifier(LogisticRegression(), epsilon=0.1, delta=0.1, method=known_ratio())
    model.fit(scores, labels).calibrate(scores, labels)
    assert model.certificate_.method == "KNOWN-RATIO"


class EverythingInOneSet(Method):
    """Not a dataclass, but it inherits."""

    name: ClassVar[str] = "ALL"
    idea: ClassVar[str] = ""
    guarantee: ClassVar[Guarantee] = "none"
    any_mix: ClassVar[bool] = False
    default_score: ClassVar[str] = "aps-plain"
    needs_target: ClassVar[bool] = False
    needs_predicted: ClassVar[bool] = False
    needs_soft: ClassVar[bool] = False
    needs_bins: ClassVar[bool] = False
    allows_contamination: ClassVar[bool] = False
    uses_mix_bounds: ClassVar[bool] = False
    needs_weights: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    assumes_label_shift: ClassVar[bool] = True
    version: ClassVar[str] = "7"
    extra_assumption = ""

    def solve(self, tally: Tally, task: Task) -> Solution:
        return Solution(np.full(tally.n_classes, -np.inf))


def test_a_method_need_not_be_a_dataclass(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all labels is what it answers
        certificate = certify(EverythingInOneSet())
    assert certificate.score == "aps-plain"  # its own default
    certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json").facts.version == "7"
    words = Certificate.load(tmp_path / "c.json").explain()
    assert words.splitlines()[1].startswith("No promise (ALL): these sets may miss more than")
    assert "Assumption" not in Certificate.load(tmp_path / "c.json").explain(full=True)
    text = page_text(render_report(certificate))
    assert "No promise" in text
    assert "estimated" not in words + text
    assert "reasons are listed" not in text  # it gives none


@dataclass(frozen=True)
class ByLabels(Method):
    """Its promise rests on labelled target rows, as PS-T's does."""

    name = "BY-LABELS"
    guarantee = "pac-target"
    assumes_label_shift = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        assert task.labelled is not None
        return Solution(np.full(tally.n_classes, 0.125))


def test_a_method_that_rests_on_labels_runs_itself_and_asks_for_them() -> None:
    scores, labels = drawn()
    target, truth = drawn(1)
    some: list[Any] = [label if place < 300 else None for place, label in enumerate(truth.tolist())]
    made = calibrate(scores, labels, Rows(target, some), method=ByLabels())
    assert made.method == "BY-LABELS"
    assert made.thresholds == pytest.approx(0.125, abs=1e-6)
    with pytest.raises(InputError, match="needs labelled target rows"):
        calibrate(scores, labels, target, method=ByLabels())


@dataclass(frozen=True)
class Impostor(Method):
    """Claims a name that is taken, for a better promise."""

    name = "PS"
    guarantee = "pac-target"

    def solve(self, tally: Tally, task: Task) -> Solution:
        raise NotImplementedError


class BetterPS(PS):
    guarantee = "pac-target"  # type: ignore[assignment]


class NoPromise(PS):
    name = "OTHER"
    guarantee = "certain"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Impostor(), "uses the name of another method, PS"),
        (BetterPS(), "uses the name of another method, PS"),
        (PSW, r"got the class PSW: write PSW\(\)"),
        (3, "got 3. A method of your own inherits from"),
        (NoPromise(), "guarantee must be one of"),
        ("PS-X", "unknown method 'PS-X'.* The methods are PS-LP, PS-T, PS-W"),
    ],
    ids=["impostor", "subclass", "class", "number", "promise", "name"],
)
def test_what_is_not_a_method_is_refused(method: Any, message: str) -> None:
    tally = Tally.from_scores(*drawn())
    with pytest.raises(InputError, match=message):
        calibrate(tally, epsilon=0.1, delta=0.05, method=method)
