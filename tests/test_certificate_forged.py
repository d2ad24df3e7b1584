"""A certificate stays what it is: nobody can write to its arrays, files with impossible numbers are refused."""

import copy
import json
import pickle
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift import Certificate, InputError, PacshiftError, Population, Tally, calibrate
from pacshift.certificate.file import to_document
from pacshift.files.codec import seal
from pacshift.report import render_report

NAMES = ["a", "b"]
POPULATION = Population.synthetic(NAMES, strength=4, rng=0)
SOURCE, LABELS = POPULATION.draw([0.6, 0.4], 600, rng=1)
TARGET, TRUTH = POPULATION.draw([0.4, 0.6], 600, rng=2)


def made(kind: str) -> Certificate:
    options: dict[str, Any] = {"classes": NAMES, "epsilon": 0.1}
    if kind == "PS-T":
        known = [truth if place < 200 else None for place, truth in enumerate(TRUTH.tolist())]
        return calibrate(SOURCE, LABELS, TARGET, method="PS-T", target_labels=known, **options)
    said: dict[str, Any] = {"note": "n", "model_id": "m", "valid_until": "2099-01-01", "groups": np.arange(600)}
    promise: dict[str, Any] = {"contamination": 0.02, "class_epsilon": 0.3, "known_mix": {"a": (0, 0.9)}}
    return calibrate(SOURCE, LABELS, TARGET, **options, **said, **promise).with_set_sizes(TARGET).with_curves()


CERTIFICATES = {kind: made(kind) for kind in ("PS-LP", "PS-T")}
FORGED: tuple[Any, ...] = ("inf", "-inf", "nan", -1, 1e308, 0.5, 2, "x", {}, [], None, True)

TEXTS = """
in_words[] method method_facts.idea method_facts.extra_assumption method_facts.version
method_facts.tuned_on provenance.pacshift_version provenance.model_id provenance.note
provenance.inputs[].name provenance.command provenance.code provenance.solver assumption.groups[]
assumption.finding assumption.noticeable[] reasons[] notes[]
"""
SHARES = """
epsilon delta accuracy_at_least one_label_error_at_most class_epsilon assumption.level assumption.mix[]
assumption.observed[] assumption.explained[] assumption.allowed[][] source_scores.least_top
classes[].prevalence[] classes[].missed[] classes[].known_share[] bound_curve.source_errors[]
bound_curve.bounds[] bound_curve.chosen sensitivity.contamination[] sensitivity.bounds[]
"""
COUNTS = """
provenance.seed provenance.inputs[].rows provenance.inputs[].left_out n_target_labels source_grouped.rows
source_grouped.parts source_grouped.shared target_set_sizes[] source_scores.sums.near[]
"""
FLAGS = """
provenance.counting.grid provenance.counting.bins provenance.counting.rows provenance.counting.sample
never_empty softmax source_scores.whole source_scores.sums.of_exponentials
"""
NULL = """
method_facts provenance provenance.model_id provenance.note provenance.valid_until
provenance.inputs[].name provenance.inputs[].rows provenance.inputs[].sha256 provenance.inputs[].left_out
provenance.seed provenance.command provenance.code provenance.counting provenance.asked_method
provenance.solver columns source_grouped target_grouped accuracy_at_least one_label_error_at_most
class_epsilon assumption source_scores source_scores.sums source_scores.tops target_set_sizes bound_curve
sensitivity
"""
OTHERS: dict[str, tuple[Any, ...]] = {
    "classes[].name": ("inf", "-inf", "nan", -1, 1e308, 0.5, 2, "x", True),
    "classes[].threshold": ("-inf", -1, 1e308, 0.5, 2),
    "classes[].weight[]": ("inf", 1e308, 0.5, 2),
    "source_scores.low": (-1, 0.5),
    "source_scores.high": (1e308, 2),
    "source_scores.sums.least": (-1, 0.5),
    "source_scores.sums.largest": (1e308, 2),
    "source_scores.tops[]": (-1, 1e308, 0.5, 2),
    "options": ({},),
    "options.unseen": FORGED,
    "options.class_balance": FORGED,
    "assumption.noticeable": ([],),
    "in_words": ([],),
    "reasons": ([],),
    "notes": ([],),
    "provenance.inputs": ([],),
    "provenance.inputs[].columns": ([],),
    "provenance.inputs[].left_out_why": ({},),
}


def is_possible(path: str, value: Any) -> bool:
    """Whether a field may hold a value, whatever the other fields say."""
    if value is None:
        return path in NULL.split() or path.startswith("options.")
    return any(
        (
            path in TEXTS.split() and isinstance(value, str),
            path in SHARES.split() and value == 0.5,
            path in COUNTS.split() and value == 2,
            path in FLAGS.split() and value is True,
            any(value is one or (type(value) is type(one) and value == one) for one in OTHERS.get(path, ())),
        )
    )


def forgeries(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """One place of every field, with its name."""
    if path:
        yield re.sub(r"\.?\[\]", "[]", ".".join("[]" if isinstance(part, int) else part for part in path)), path
    if isinstance(document, dict):
        for name, inner in document.items():
            yield from forgeries(inner, (*path, name))
    elif isinstance(document, list) and document:
        yield from forgeries(document[-1], (*path, len(document) - 1))


def forged(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = inner = copy.deepcopy(document)
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return seal(changed)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", CERTIFICATES)
def test_files_with_impossible_values_are_refused(kind: str, tmp_path: Path) -> None:
    document, path = to_document(CERTIFICATES[kind]), tmp_path / "c.json"
    n_refused = 0
    for name, place in dict(forgeries(document)).items():
        for value in FORGED if name not in ("checksum", "format", "version") else ():
            if forged(document, place, value) == document:
                continue
            path.write_text(json.dumps(forged(document, place, value)))
            try:
                loaded = Certificate.load(path)
            except InputError:
                n_refused += 1
                continue
            assert is_possible(name, value), (name, value)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    loaded.explain()
                    loaded.sets(TARGET[:3])
                    if value in ("nan", 0.5) and name.startswith(("assumption", "classes", "bound", "sens")):
                        render_report(loaded)
                except PacshiftError:
                    pass
    assert n_refused > 500


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contamination": 0.1}, "contamination 0.1 is not below epsilon 0.1"),
        ({"method": "PS-T", "options": {}, "assumption": None}, "needs labels of target rows"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    document = to_document(CERTIFICATES["PS-LP"]) | change
    if change.get("method"):
        facts = to_document(CERTIFICATES["PS-T"])["method_facts"]
        document |= {"method_facts": facts, "n_target_labels": 0}
    (tmp_path / "c.json").write_text(json.dumps(seal(document)))
    with pytest.raises(InputError, match=message):
        Certificate.load(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("assumption", "refuted"), True, "label shift is refuted, and the promise rests on it"),
        (("classes", 0, "threshold"), "inf", "it would miss a class always"),
        (("method_facts", "assumes_label_shift"), False, "PS-LP has assumes_label_shift True"),
        (("assumption", "level"), "nan", "assumption.level: 'nan' where a share above 0 and below 1 belongs"),
    ],
)
def test_what_is_wrong_is_said(place: Any, value: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(forged(to_document(CERTIFICATES["PS-LP"]), place, value)))
    with pytest.raises(InputError, match=message):
        Certificate.load(tmp_path / "c.json")


def arrays_of(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from arrays_of(getattr(value, name))


def test_nobody_can_write_to_a_certificate(tmp_path: Path) -> None:
    one = CERTIFICATES["PS-LP"]
    one.save(tmp_path / "c.json")
    for each in (one, Certificate.load(tmp_path / "c.json"), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        found = list(arrays_of(each))
        assert len(found) > 15
        assert not any(array.flags.writeable for array in found)
        with pytest.raises(ValueError, match="read-only"):
            each.thresholds *= 2  # type: ignore[misc]


def test_what_was_given_stays_the_callers() -> None:
    own = np.array([0.5, 0.5])
    changed = replace(CERTIFICATES["PS-LP"], thresholds=own)
    own[:] = 0.9
    assert changed.thresholds.tolist() == [0.5, 0.5]


def test_nobody_can_write_to_a_tally() -> None:
    tally = Tally.from_scores(SOURCE, LABELS, classes=NAMES) + Tally.from_target(TARGET, classes=NAMES)
    for name in ("values", "counts", "starts", "bins"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tally, name)[:1] = 0
