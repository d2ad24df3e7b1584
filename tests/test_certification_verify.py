"""Certificates made again: the same data give them, other data do not, and what cannot be compared is said."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from certificates import alter
from flat import flat
from pacshift import (
    METHODS,
    PSLP,
    PSW,
    Certificate,
    InputError,
    Interval,
    Oracle,
    Population,
    Rows,
    Tally,
    calibrate,
    verify,
)
from pacshift.certificate.provenance import AskedMethod
from pacshift.files.codec import seal
from pacshift.rows.columns import Columns

NAMES = ["crow", "owl", "wren"]
POPULATION = Population.synthetic(NAMES, strength=4, rng=0)
SOURCE, LABELS = POPULATION.draw([0.5, 0.3, 0.2], 1500, rng=1)
TARGET, TRUTH = POPULATION.draw([0.2, 0.3, 0.5], 1500, rng=2)
SOME_LABELS = [truth if place < 300 else None for place, truth in enumerate(TRUTH.tolist())]
WEIGHTS = [0.4, 1.0, 2.5]


@cache
def certified() -> Certificate:
    """The default: made once for all tests that only look at it."""
    return certify()


def certify(**options: Any) -> Certificate:
    asked = {"epsilon": 0.1, "delta": 0.05, **options}
    made: Certificate = flat(calibrate, SOURCE, LABELS, TARGET, classes=NAMES, **asked)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in METHODS if name != "PS-T"])
def test_every_method_is_made_again(method: str, tmp_path: Path) -> None:
    made = certify(method=method, weights=WEIGHTS if method == "ORACLE" else None, rng=7)
    made.save(tmp_path / "c.json")
    for one in (made, Certificate.load(tmp_path / "c.json"), tmp_path / "c.json"):
        found = verify(one, SOURCE, LABELS, TARGET)
        assert found.verdict == "match", found.text
        assert found.text.startswith("recomputed from these data, the certificate is the same.")
        seen = made.predicted_counts is not None  # PS and APS do not look at the target
        said = () if seen else ("target: there is no SHA-256 to compare",)
        assert found.unverified == ("created: the maker's word", *said)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"score": "aps"},
        {"score": "margin", "method": "PS-LW"},
        {"epsilon": 0.2},  # and without empty sets
        {"class_epsilon": 0.15},
        {"contamination": 0.02},
        {"known_mix": {"owl": (0.1, 0.6)}},
        {"target_labels": SOME_LABELS},
        {"method": PSLP(unseen="include")},
        {"method": PSW(intervals="hull", worst_case="class")},
        {"method": Oracle(weights=pandas.Series([1.0, 2.5, 0.4], index=["owl", "wren", "crow"]))},
        {"rng": np.random.default_rng(3), "method": "PS-W"},
        {"model_id": "net", "note": "first", "valid_until": "2099-01-01"},
    ],
    ids=lambda options: ", ".join(f"{name}" for name in options),
)
def test_every_option_is_remembered(options: Any, tmp_path: Path) -> None:
    made = certify(**options).with_set_sizes(TARGET)
    made = made.without_empty_sets() if "epsilon" in options else made
    made.save(tmp_path / "c.json")
    labels = options.get("target_labels")
    found = verify(tmp_path / "c.json", SOURCE, LABELS, Rows(TARGET, labels))
    assert found.verdict == "match", found.text
    assert ("created, model_id, note, valid_until: the maker's word" in found.text) == ("model_id" in options)
    assert ("the target's labels" in found.text) == ("target_labels" in options)
    fewer = None if labels is None else labels[:-1]
    other = verify(tmp_path / "c.json", SOURCE, LABELS, Rows(TARGET[:-1], fewer))
    assert other.verdict == "mismatch"
    assert "n_target: the certificate says 1500, these data give 1499" in other.differences


def test_rows_in_any_order_and_frames_with_the_columns_of_the_certificate() -> None:
    made, order = certified(), np.random.default_rng(0).permutation(1500)
    assert verify(made, SOURCE[order], np.asarray(LABELS)[order], TARGET[order]).verdict == "match"
    frame = pandas.DataFrame(SOURCE, columns=NAMES)[["wren", "owl", "crow"]].assign(id=1)
    assert verify(made, frame, LABELS, TARGET).verdict == "match"


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("bins", [False, True])
def test_counts_are_made_again_from_counts_and_from_rows(grid: bool, bins: bool) -> None:
    tally = Tally.from_scores(SOURCE, LABELS, classes=NAMES, grid=grid)
    tally = tally + Tally.from_target(TARGET, classes=NAMES, bins=bins)
    made = calibrate(tally, epsilon=0.1, delta=0.05)
    assert verify(made, tally).verdict == "match"
    assert verify(made, SOURCE, LABELS, TARGET).verdict == "match"
    assert verify(made, tally + Tally.from_target(TARGET[:1], classes=NAMES)).verdict == "mismatch"


def test_a_method_and_a_score_of_ones_own_must_be_given() -> None:
    class Mine(PSLP):
        name = "MINE"

    made = certify(method=Mine(), score=np.sqrt)
    with pytest.raises(InputError, match="method MINE is not part of pacshift: pass the method object"):
        verify(made, SOURCE, LABELS, TARGET)
    assert verify(made, SOURCE, LABELS, TARGET, method=Mine(), score=np.sqrt).verdict == "match"
    loaded = replace(made, transform=None)
    with pytest.raises(InputError, match="a score function of your own: pass it as score="):
        verify(loaded, SOURCE, LABELS, TARGET, method=Mine())
    strange = replace(certified(), options={"nonsense": 1})
    with pytest.raises(InputError, match="has no such options"):
        verify(strange, SOURCE, LABELS, TARGET)


def test_what_is_missing_is_asked_for() -> None:
    made = certify(target_labels=SOME_LABELS)
    with pytest.raises(InputError, match=r"labels of 300 target rows: pass them as .* Rows\(target, labels\)"):
        verify(made, SOURCE, LABELS, TARGET)
    tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50)
    with pytest.raises(InputError, match="the data have the classes"):
        verify(certify(method="PS-LW"), tally)


def test_the_weights_of_oracle_are_remembered_where_labels_answer(tmp_path: Path) -> None:
    labels = SOME_LABELS
    certify(method="ORACLE", weights=[1.0, 1.0, 500.0], target_labels=labels).save(tmp_path / "c.json")
    made = Certificate.load(tmp_path / "c.json")
    assert made.method == "PS-T"
    assert made.provenance.asked_method == AskedMethod("ORACLE", {"weights": [1.0, 1.0, 500.0]})
    assert verify(made, SOURCE, LABELS, Rows(TARGET, labels)).verdict == "match"


def tampered(change: Callable[[dict[str, Any]], None], folder: Path) -> Path:
    """A file that was changed and sealed again, as anyone can."""
    path = folder / "c.json"
    certified().save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(seal(document)))
    return path


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda document: document["classes"][1].update(threshold=0.3), "classes.'owl'.threshold"),
        (lambda document: document["classes"][0].update(missed=[0.0, 0.01]), "classes.'crow'.missed"),
        (lambda document: [row.pop("missed") for row in document["classes"]], "classes.'crow'.missed"),
        (lambda document: document.update(epsilon=0.05), "classes.'crow'.threshold"),
        (lambda document: document.update(accuracy_at_least=0.99), "accuracy_at_least"),
        (lambda document: document["assumption"].update(finding="All is well."), "assumption.finding"),
        (lambda document: document.update(notes=["All is well."]), "notes"),
        (lambda document: document.update(in_words=["All is well."]), "in_words"),
    ],
)
def test_a_forged_number_is_found_although_the_checksum_fits(change: Any, named: str, tmp_path: Path) -> None:
    found = verify(tampered(change, tmp_path), SOURCE, LABELS, TARGET)
    assert found.verdict == "mismatch"
    assert any(each.startswith(named) for each in found.differences), found.differences
    assert f"Differs: {named}" in found.text


def test_other_code_and_another_wording_are_matters_of_provenance(tmp_path: Path) -> None:
    path = tampered(lambda document: document["provenance"].update(code="commit 1234"), tmp_path)
    found = verify(path, SOURCE, LABELS, TARGET)
    if found.recomputed is None or found.recomputed.provenance.code is None:
        pytest.skip("the code that runs here is not known")
    assert (found.verdict, found.differences) == ("match-other-files", ())
    assert "Origin: code: made by commit 1234, recomputed by " in found.text
    older = by_another_version(lambda document: document.update(notes=["as they wrote then"]))
    found = verify(tampered(older, tmp_path), SOURCE, LABELS, TARGET)
    assert (found.verdict, found.differences) == ("match-other-files", ())
    assert found.unverified[-1] == "words: other code may write others"


def by_another_version(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def both(document: dict[str, Any]) -> None:
        document["provenance"]["pacshift_version"] = "0.1"
        change(document)

    return both


def test_data_that_refute_label_shift_certify_nothing() -> None:
    made = certified()
    found = verify(made, SOURCE, LABELS, np.tile([[0.34, 0.33, 0.33]], (1500, 1)))
    assert (found.verdict, found.recomputed) == ("mismatch", None)
    assert "nothing can be certified from these data: " in found.differences[0]


def test_rounding_is_no_difference_but_thresholds_are_never_higher() -> None:
    made: Any = certified()
    rounded = Interval(made.class_miss.lower, made.class_miss.upper * (1 + 1e-9))
    assert verify(replace(made, class_miss=rounded), SOURCE, LABELS, TARGET).verdict == "match"
    lower, higher = (np.nextafter(made.thresholds, end) for end in (-np.inf, np.inf))
    assert verify(alter(made, thresholds=lower), SOURCE, LABELS, TARGET).verdict == "match"
    for cuts in (higher, made.thresholds * (1 + 1e-9), made.thresholds * 1e-13):
        found = verify(alter(made, thresholds=cuts), SOURCE, LABELS, TARGET)
        assert found.verdict == "mismatch"
        assert found.differences[0].startswith("classes.'crow'.threshold")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda document: document.update(assumption=None), "assumption"),
        (lambda document: document["assumption"]["mix"].__setitem__(0, 0.1), "assumption.mix"),
    ],
)
def test_another_version_excuses_words_alone(change: Any, named: str, tmp_path: Path) -> None:
    found = verify(tampered(by_another_version(change), tmp_path), SOURCE, LABELS, TARGET)
    assert found.verdict == "mismatch"
    assert any(each.startswith(named) for each in found.differences), found.differences


def test_columns_are_compared_where_there_are_any() -> None:
    names = ("p_crow", "p_owl", "p_wren")
    source, target = (pandas.DataFrame(rows, columns=names) for rows in (SOURCE, TARGET))
    made = replace(certified(), columns=Columns(names))
    swapped = replace(made, columns=Columns(names[::-1]))
    assert "columns" not in verify(made, source, LABELS, target).text
    assert verify(swapped, source, LABELS, target).verdict == "mismatch"
    for each in (made, swapped):
        found = verify(each, SOURCE, LABELS, TARGET)
        assert found.unverified[0] == "columns: the maker's word, because these data have no names of columns"
