"""Every pair of options is proven on a page, or refused with a sentence: the table, and a walk over all of it."""

import re
import warnings
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flat import flat
from pacshift import (
    APS,
    LWCP,
    METHODS,
    PS,
    PSC,
    PSLP,
    PSLW,
    PSR,
    PST,
    PSW,
    WCP,
    Certificate,
    InputError,
    LabelSheet,
    Oracle,
    Population,
    Rows,
    UninformativeWarning,
    calibrate,
    label_sheet,
)
from pacshift.methods import Method
from pacshift.scores.transforms import TRANSFORMS
from test_docs import places

DOCS = Path(__file__).resolve().parents[1] / "docs"
TOGETHER = "methods/trust-proofs.md#which-options-go-together"
LIMIT = "methods/trust-proofs.md#a-limit-per-class"
CONTAMINATION = "methods/trust-proofs.md#contamination"
KNOWN = "methods/assumption.md#known-mix"
LABELS = "methods/few-labels.md#theorem"
BY_LABELS = "methods/ps-t.md#lemmas"
GROUPS = "methods/groups.md#theorem"
TUNED = "methods/ps-lp-proof.md#tuned-thresholds"


@dataclass(frozen=True)
class Proven:
    """Where the page proves what is promised."""

    section: str


@dataclass(frozen=True)
class Refused:
    """What the InputError says."""

    sentence: str


NOT_ABOUT_THE_TARGET = Refused("is about the target, but method {method} promises nothing there")
EVERY_MIX = Refused("target labels cannot help method {method}: what it promises is for every label mix")
NOT_PAC = Refused("target labels cannot help method {method}: what it promises is not PAC on the target")
DISTORTED = Refused("contamination is not proven with method {method}. Use PS-LP")
ASSUMES_NOTHING = Refused("is about label shift, of which method {method} assumes nothing")
TWO_WAYS = Refused("the target has labels, and labelled is a sheet: two ways to say the same")
ADAPTIVE_ONLY = Refused("method APS needs a tally of adaptive scores")

WITH_METHOD: dict[str, dict[str, Proven | Refused]] = {
    "class_epsilon": dict.fromkeys(METHODS, Proven(LIMIT))
    | dict.fromkeys(("PS", "APS", "PS-R"), NOT_ABOUT_THE_TARGET)
    | {"PS-T": Proven("methods/ps-t.md#a-limit-per-class")},
    "contamination": dict.fromkeys(METHODS, Proven(CONTAMINATION))
    | dict.fromkeys(("PS", "APS", "PS-R"), NOT_ABOUT_THE_TARGET)
    | {"WCP": DISTORTED, "PS-T": ASSUMES_NOTHING},
    "known_mix": dict.fromkeys(METHODS, Proven(KNOWN))
    | dict.fromkeys(("PS", "APS", "PS-R"), NOT_ABOUT_THE_TARGET)
    | {"PS-T": ASSUMES_NOTHING},
    "target_labels": dict.fromkeys(METHODS, Proven(LABELS))
    | dict.fromkeys(("PS", "APS", "PS-R", "WCP"), NOT_PAC)
    | {"PS-LW": EVERY_MIX, "LWCP": EVERY_MIX, "PS-T": Proven(BY_LABELS)},
    "softmax": dict.fromkeys(METHODS, Proven(TOGETHER)),
    "groups": dict.fromkeys(METHODS, Proven(GROUPS)),
    "target_groups": dict.fromkeys(METHODS, Proven(GROUPS)),
    "score": dict.fromkeys(METHODS, Proven(TOGETHER)),
    "score=margin": {"APS": ADAPTIVE_ONLY},
    "score=own": {"APS": ADAPTIVE_ONLY},
}
WITH_METHOD["labelled"] = WITH_METHOD["target_labels"]  # the same rows, drawn by a sheet
"""What each option is with each method; ``score=NAME`` where a score differs from others."""

TWO_OPTIONS = {
    ("class_epsilon", "contamination"): LIMIT,
    ("class_epsilon", "known_mix"): LIMIT,
    ("class_epsilon", "target_labels"): LABELS,
    ("contamination", "known_mix"): KNOWN,
    ("contamination", "target_labels"): "methods/few-labels.md#rows-of-a-new-kind",
    ("known_mix", "target_labels"): "methods/few-labels.md#bounds-of-the-mix",
} | {
    tuple(sorted((always, other))): section
    for section, names in ((TOGETHER, ("score", "softmax")), (GROUPS, ("groups", "target_groups")))
    for always in names
    for other in WITH_METHOD
    if always != other and "=" not in other
}
TWO_OPTIONS |= {
    tuple(sorted("labelled" if name == "target_labels" else name for name in pair)): section
    for pair, section in TWO_OPTIONS.items()
    if "target_labels" in pair and "labelled" not in pair
}
"""Where two options are proven together, with PS-LP."""

NEVER_TOGETHER: dict[tuple[str, ...], Refused] = {("labelled", "target_labels"): TWO_WAYS}

POPULATION = Population.synthetic(3, strength=3, rng=0, rows_per_class=400)
MIXES = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
SOURCE, SOURCE_LABELS = POPULATION.draw(MIXES[0], 500, rng=1)
TARGET, TRUTH = POPULATION.draw(MIXES[1], 500, rng=2)
SCORES = [*(name for name in TRANSFORMS if name != "probability"), "own"]


def filled_in(target: Any, groups: Any = None) -> LabelSheet:
    """The labels of 200 rows, by a sheet with two looks."""
    sheet = label_sheet(Rows(target, groups=groups), budget=200, looks=(120,), epsilon=0.1, delta=0.1, rng=0)
    return sheet.with_labels(TRUTH[sheet.rows].tolist())


VALUES: dict[str, Any] = {
    "class_epsilon": 0.15,
    "contamination": 0.02,
    "known_mix": {0: (0.1, 0.6), 2: (0.2, 0.7)},
    "target_labels": [*TRUTH[:200].tolist(), *[None] * 300],
    "labelled": filled_in(TARGET),
    "softmax": True,
    "groups": [f"source {place // 2}" for place in range(500)],
    "target_groups": [f"target {place // 2}" for place in range(500)],
} | {f"score={name}": name for name in SCORES}
VARIANTS: list[Method] = [
    *(PSLP(unseen=unseen, class_balance=times) for unseen in ("all", "include") for times in (3, 6, "none")),
    *(
        PSW(intervals=intervals, worst_case=worst, envelope=envelope)
        for intervals in ("elimination", "strict", "hull")
        for worst in ("example", "class")
        for envelope in (None, 3.0)
    ),
    *(PSC(intervals=intervals) for intervals in ("elimination", "strict", "hull")),
    *(kind(estimate=estimate) for kind in (PSR, WCP) for estimate in ("bbse-soft", "bbse", "bbse-ridge")),
    *(PSLW(), PST(), Oracle(weights=MIXES[1] / MIXES[0]), PS(), APS(), LWCP()),
]


def own_score(scores: Any) -> Any:
    return np.sqrt(scores)


def certify(method: Method, values: dict[str, Any], *, counted: bool) -> Certificate:
    """A certificate by arrays or, if ``counted``, by tallies."""
    asked: dict[str, Any] = {"method": method, "epsilon": 0.1, "delta": 0.1, "rng": 0}
    if method.needs_labels and "labelled" not in values:
        asked["target_labels"] = VALUES["target_labels"]
    score: Any = None
    for name, value in values.items():
        if name.startswith("score="):
            score = own_score if value == "own" else value
        else:
            asked[name] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        if not counted:
            rows = [np.log(rows) if asked.get("softmax") else rows for rows in (SOURCE, TARGET)]
            if "labelled" in asked:
                asked["labelled"] = filled_in(rows[1], asked.get("target_groups"))
            made: Certificate = flat(calibrate, rows[0], SOURCE_LABELS, rows[1], score=score, **asked)
            return made
        how: dict[str, Any] = {"score": method.default_score if score is None else score}
        own, others = asked.pop("groups", None), asked.pop("target_groups", None)
        source = Rows(SOURCE, SOURCE_LABELS, groups=own).tally(soft=True, **how)
        tally = source + Rows(TARGET, groups=others).tally(soft=True)
        if "target_labels" in asked:
            some = None if others is None else others[:200]
            asked["labelled"] = Rows(TARGET[:200], TRUTH[:200], groups=some).tally(**how)
            del asked["target_labels"]
        return calibrate(tally, **asked)


def name_of(option: str) -> str:
    """The option without its value."""
    return option.partition("=")[0]


def verdict(method: str, option: str) -> Proven | Refused:
    return WITH_METHOD.get(option, {}).get(method) or WITH_METHOD[name_of(option)][method]


def check(method: Method, options: tuple[str, ...], expected: Proven | Refused, *, counted: bool) -> None:
    values = {option: VALUES[option] for option in options}
    if isinstance(expected, Refused):
        with pytest.raises(InputError, match=re.escape(expected.sentence.format(method=method.name))):
            certify(method, values, counted=counted)
        return
    made: Any = certify(method, values, counted=counted)
    assert made.guarantee == method.guarantee
    assert not np.isnan(made.thresholds).any()
    words = made.explain(full=True)
    if made.limits is not None:
        assert (made.class_miss.upper <= made.limits).all()
    about_part = "contamination" in options and made.facts.assumes_label_shift
    about_part = about_part and (made.guarantee == "pac-target" or not made.trivial)
    assert ("the cases of a class among them may all be missed." in words) == about_part
    halved = "target_groups" in options and "labelled" not in options  # of two rows of a group one is counted
    n_labels = 100 if halved else 200
    has_labels = {"target_labels", "labelled"} & set(options) or method.needs_labels
    assert made.n_target_labels == (n_labels if has_labels else 0)
    assert ("one random row per group was counted" in words) == bool({"groups", "target_groups"} & set(options))
    assert made.n_source == (250 if "groups" in options else 500)
    assert made.n_target == (250 if "target_groups" in options else 500)


ROWS_ONLY = {"softmax", "labelled"}
"""A tally holds counts of probabilities, and no rows that a sheet could name."""


@pytest.mark.thorough
@pytest.mark.parametrize("counted", [False, True], ids=["rows", "tally"])
@pytest.mark.parametrize("method", VARIANTS, ids=repr)
def test_every_option_with_every_method(method: Method, counted: bool) -> None:
    for option in VALUES:
        if not (counted and option in ROWS_ONLY):
            check(method, (option,), verdict(method.name, option), counted=counted)


PAIRS = [pair for pair in combinations(VALUES, 2) if name_of(pair[0]) != name_of(pair[1])]


@pytest.mark.thorough
@pytest.mark.parametrize("counted", [False, True], ids=["rows", "tally"])
@pytest.mark.parametrize("first", [option for option in VALUES if any(pair[0] == option for pair in PAIRS)])
def test_every_two_options_together(first: str, counted: bool) -> None:
    for pair in (pair for pair in PAIRS if pair[0] == first and not (counted and ROWS_ONLY & set(pair))):
        names = tuple(sorted(map(name_of, pair)))
        check(PSLP(), pair, NEVER_TOGETHER.get(names) or Proven(TWO_OPTIONS[names]), counted=counted)


def test_what_is_refused_alone_is_refused_together() -> None:
    """With every other method, a pair is refused if one of the two is, and with the same sentence."""
    for method in (METHODS[name]() for name in ("PS-LW", "WCP", "PS")):
        for pair in combinations(("class_epsilon", "contamination", "known_mix", "target_labels"), 2):
            reasons = [found for found in (verdict(method.name, option) for option in pair) if is_refused(found)]
            if reasons:
                said = "|".join(re.escape(reason.sentence.format(method=method.name)) for reason in reasons)  # type: ignore[union-attr]
                with pytest.raises(InputError, match=said):
                    certify(method, {option: VALUES[option] for option in pair}, counted=True)
            else:
                check(method, pair, Proven(TOGETHER), counted=True)


def is_refused(found: Proven | Refused) -> bool:
    return isinstance(found, Refused)


def test_a_class_without_source_rows_is_in_every_set_where_there_is_a_limit() -> None:
    four, target = (np.column_stack([rows, np.full(len(rows), 1e-3)]) for rows in (SOURCE, TARGET))
    for unseen in ("all", "include"):
        method = PSLP(unseen=unseen)
        made = calibrate(four, SOURCE_LABELS, target, method=method, class_epsilon=0.15, classes=range(4))
        assert np.isneginf(made.thresholds[3])
        assert made.class_miss is not None
        assert made.class_miss.upper[3] == 0


def test_every_section_that_proves_something_exists() -> None:
    found = [each for row in WITH_METHOD.values() for each in row.values()]
    sections = {each.section for each in found if isinstance(each, Proven)} | set(TWO_OPTIONS.values())
    for section in sections:
        page, _, place = section.partition("#")
        assert place in places(DOCS / page), section


def test_the_page_shows_the_same_table() -> None:
    page = (DOCS / "methods" / "trust-proofs.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in page.splitlines() if line[:1] == "|"]
    start = next(place for place, row in enumerate(rows) if row[0] == "method")
    columns, table = [re.findall(r"`(\w+)`", cell) for cell in rows[start][1:]], rows[start + 2 :]
    assert {row[0] for row in table} == set(METHODS)
    for method, *cells in table:
        for options, cell in zip(columns, cells, strict=True):
            for option in options:
                assert (cell == "refused") == is_refused(verdict(method, option)), (method, option)
    shown = {pair for row in rows[:start] for pair in combinations(sorted(re.findall(r"`(\w+)`", row[0])), 2)}
    in_one_row = TOGETHER, GROUPS
    mentioned = {pair for pair, section in TWO_OPTIONS.items() if section not in in_one_row}
    assert mentioned | {("groups", "target_groups")} <= shown


def test_every_option_of_calibrate_and_of_the_methods_is_walked() -> None:
    from dataclasses import fields
    from inspect import signature

    not_about_promises = {"epsilon", "delta", "method", "classes", "rng", "progress"}
    options = {name for name, each in signature(calibrate).parameters.items() if each.kind == each.KEYWORD_ONLY}
    of_rows = {"groups", "target_groups", "target_labels"}
    assert options - not_about_promises == {name_of(option) for option in VALUES} - of_rows
    assert {type(method) for method in VARIANTS} == set(METHODS.values())
    for kind in METHODS.values():
        for field in fields(kind):  # type: ignore[arg-type]
            given = {getattr(each, field.name) for each in VARIANTS if isinstance(each, kind)}
            assert len(given | {field.default}) > 1
