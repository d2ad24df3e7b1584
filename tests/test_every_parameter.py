"""Every parameter of every verb changes something or is refused: none is ignored, beside rows or counts."""

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import golden
import pacshift
from certificates import alter
from pacshift import Certificate, LabelSheet, PacshiftError, Tally
from pacshift.certificate.file import to_document

pytestmark = pytest.mark.thorough

NO_VERBS = {"resample": "makes data", "set_scorer": "makes a scorer", "tweak_one": "makes a mix"}
VERBS = [name for name in pacshift.__all__ if inspect.isfunction(getattr(pacshift, name)) and name not in NO_VERBS]
PLANNED = {"target_mix": [0.2, 0.3, 0.5], "n_source": 400, "n_target": 400, "method": "PS-LW"}
GIVEN = ("source", "certificate", "sets", "output")
"""What a verb works on, and where it writes."""
VARIADIC = ("reading",)  # the parameters of read


@cache
def counts() -> Tally:
    rows = golden.data()
    source = Tally.from_scores(rows["s"], rows["s labels"], classes=list(golden.NAMES))
    return source + Tally.from_target(rows["t"], classes=list(golden.NAMES))


def frame(name: str, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(golden.data()[name], columns=["p_a", "p_b", "p_c"]).assign(**columns)


def on_rows() -> dict[str, dict[str, Any]]:
    """What each verb is called with."""
    rows, classes = golden.data(), list(golden.NAMES)
    both = {"source": rows["s"], "labels": rows["s labels"], "target": rows["t"]}
    labelled = frame("l", label=rows["l labels"], patient=rows["l groups"])
    return {
        "accept": {**both, "classes": classes, "error": 0.3},
        "calibrate": {**both, "classes": classes},
        "check": {"certificate": golden.base(), "scores": rows["l"], "labels": rows["l labels"]},
        "compare": {**both, "classes": classes, "methods": ["PS-LW", "PS"]},
        "evaluate": {"sets": golden.base().sets(rows["l"]), "labels": rows["l labels"], "classes": classes},
        "label_sheet": {"target": rows["t"], "budget": 90, "rng": 1, "classes": classes},
        "next_labels": {**both, "classes": classes, "labelled": golden.sheet(rows["t"], classes=classes)},
        "plan": {"pilot": rows["s"], "labels": rows["s labels"], "classes": classes, **PLANNED},
        "prevalence": {**both, "classes": classes},
        "read": {"table": labelled, "label": "label"},
        "verify": {"certificate": golden.base(), **both},
        "write_sets": {"certificate": golden.base(), "table": labelled, "output": "sets.csv"},
    }


def on_tally() -> dict[str, dict[str, Any]]:
    made = pacshift.calibrate(counts())
    return {
        "accept": {"source": counts(), "error": 0.3},
        "calibrate": {"source": counts()},
        "prevalence": {"source": counts()},
        "verify": {"certificate": made, "source": counts()},
    }


def values() -> dict[str, Any]:
    """A value of each parameter that is not what it is by itself."""
    rows = golden.data()
    return {
        "bins": False,
        "budget": 80,
        "by_position": True,
        "class_epsilon": 0.3,
        "classes": ["c", "b", "a"],
        "contamination": 0.01,
        "delta": 0.2,
        "drop_invalid": True,
        "epsilon": 0.2,
        "error": 0.25,
        "grid": False,
        "group": "patient",
        "keep": ["patient"],
        "keep_invalid": True,
        "known_mix": {"c": (0.45, 0.55)},
        "label": "patient",
        "label_error": 0.25,
        "labelled": golden.sheet(rows["t"], classes=list(golden.NAMES)),
        "labels": rows["s labels"][::-1],
        "level": 0.8,
        "like": golden.base(),
        "looks": (50,),
        "method": "PS",
        "methods": ["PS"],
        "n_source": 500,
        "n_target": 500,
        "overwrite": True,
        "rng": 5,
        "score": "margin",
        "scores": "p_b,p_a,p_c",
        "sha256": True,
        "size": 1.2,
        "soft": False,
        "softmax": True,
        "source_mix": [0.1, 0.1, 0.8],
        "table": frame("s", label=rows["s labels"]),
        "target": rows["t"][:2000],
        "target_mix": [0.5, 0.3, 0.2],
    }


def special() -> dict[str, tuple[dict[str, Any], Any]]:
    """Parameters that show only beside others: these, and the value."""
    rows = golden.data()
    own: dict[str, Any] = {"method": "PS-LW", "score": np.log1p}
    lacking = frame("l", label=rows["l labels"], patient=rows["l groups"])
    lacking.iloc[3, 0] = np.nan
    odd = lacking.drop(3).rename(columns={"p_a": "x1", "p_b": "x2", "p_c": "x3"})
    base, names = golden.base(), ["a", "b", "c"]
    source, classes = (rows["s"], rows["s labels"]), list(golden.NAMES)
    made = pacshift.calibrate(*source, rows["t"], classes=classes, **own)
    made.save(custom_file := "custom.json", overwrite=True)
    lacking.drop(3).to_csv("rows.csv")
    return {
        "check scores": ({}, rows["l"][::-1]),
        "check labels": ({}, rows["l labels"][::-1]),
        "evaluate labels": ({}, rows["l labels"][::-1]),
        "label_sheet classes": ({}, names[:2]),
        "label_sheet keep": ({}, {"patient": rows["t groups"]}),
        "next_labels labelled": ({}, golden.sheet(rows["t"], classes=classes).with_labels(["a"] * 150)),
        "plan n_source": ({"n_source": None, "size": 2}, 500),
        "plan n_target": ({"n_target": None, "size": 2}, 500),
        "plan pilot": ({}, rows["s"][::-1]),
        "plan size": ({"n_target": None}, 2),
        "read by_position": ({"table": odd, "scores": "x*", "classes": names}, True),
        "read classes": ({"table": odd, "scores": "x1,x2,x3", "by_position": True}, names),
        "read drop_invalid": ({"table": lacking}, True),
        "read like": ({"label": None}, golden.softmaxed()),
        "verify score": ({"certificate": custom_file}, np.log1p),
        "write_sets by_position": ({"table": odd.drop(columns="label"), "scores": "x*"}, True),
        "write_sets certificate": ({}, replaced(base)),
        "write_sets drop_invalid": ({"table": lacking}, True),
        "write_sets keep_invalid": ({"table": lacking}, True),
        "write_sets overwrite": ({"output": "old.csv"}, True),
        "write_sets scores": ({"table": odd, "by_position": True}, "x3,x2,x1"),
    }


def replaced(certificate: Certificate) -> Certificate:
    return alter(certificate, thresholds=certificate.thresholds / 2)


def shown(value: Any) -> object:
    """All that an answer says."""
    if isinstance(value, Certificate):
        return to_document(value)
    if isinstance(value, pacshift.Rows):
        return shown(value.tally()), shown(value.arrays()), value.has_labels
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: shown(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return str(value)


def outcome(verb: str, asked: dict[str, Any]) -> object:
    """The answer with what was written and told on the way, or the refusal."""
    told: list[int] = []
    if "progress" in asked:
        asked = {**asked, "progress": lambda *_: told.append(1)}
    try:
        answer = getattr(pacshift, verb)(**asked)
        found = shown(answer)
    except PacshiftError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    written = Path("sets.csv")
    text = written.read_text(encoding="utf-8") if written.exists() else ""
    written.unlink(missing_ok=True)
    return repr(found), text, bool(told)


def cases(verbs: Any) -> list[str]:
    return [
        f"{verb} {name}"
        for verb in verbs
        for name in inspect.signature(getattr(pacshift, verb)).parameters
        if name not in (*GIVEN, *VARIADIC)
    ]


def check(case: str, calls: Callable[[], Any], special: Callable[[], Any]) -> None:
    verb, name = case.split()
    more, value = special().get(case) or ({}, values().get(name, lambda *_: None))
    base = {**calls()[verb], **more}
    assert outcome(verb, {**base, name: value}) != outcome(verb, base), f"{verb}({name}=...) does nothing"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    Path("old.csv").write_text("old", encoding="utf-8")


@pytest.mark.parametrize("case", cases(VERBS))
@pytest.mark.filterwarnings("ignore::pacshift.UninformativeWarning")
def test_a_parameter_changes_something_or_is_refused(case: str) -> None:
    check(case, on_rows, special)


@pytest.mark.parametrize("case", cases(["accept", "calibrate", "prevalence", "verify"]))
@pytest.mark.filterwarnings("ignore::pacshift.UninformativeWarning")
def test_a_parameter_beside_a_tally_changes_something_or_is_refused(case: str) -> None:
    check(case, on_tally, special)


def test_other_verbs_take_no_tally() -> None:
    sheet: LabelSheet = golden.sheet(golden.data()["t"])
    for verb, more in {"compare": {}, "next_labels": {"labelled": sheet}}.items():
        with pytest.raises(PacshiftError):
            getattr(pacshift, verb)(counts(), **more)
