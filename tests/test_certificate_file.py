"""Certificates as files: they come back bit for bit, or are refused."""

import copy
import json
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certificates import alter, birds, every_shape
from flat import flat
from pacshift import METHODS, Certificate, InputError, Interval, PacshiftError, Population, Rows, calibrate
from pacshift.assumption import Assumption
from pacshift.certificate import file
from pacshift.certificate.file import json_schema, to_document
from pacshift.files.codec import seal
from pacshift.methods import MethodFacts
from pacshift.report import render_report
from pacshift.rows.columns import Columns
from pacshift.scores.check import MIN_RATE
from pacshift.scores.kind import ScoreKind
from pacshift.scores.names import text_of
from pacshift.tally.inputs import MAX_INPUTS, Grouped

FILES = Path(__file__).parent / "files"
DOCS = Path(__file__).resolve().parents[1] / "docs"
Place: TypeAlias = tuple[str | int, ...]
FINITE = st.floats(allow_nan=False, allow_infinity=False)  # subnormal numbers and -0.0 included
POSITIVE = st.floats(0, allow_nan=False) | st.just(5e-324)
RATES = st.floats(MIN_RATE, 1, exclude_max=True)
COUNTS = st.integers(0, 2**55)
NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"))
    | st.integers(-(2**63), 2**64 - 1)
    | FINITE
    | st.booleans(),
    min_size=3,
    max_size=3,
    unique_by=(hash, text_of),
)

SHARES = st.floats(0, 1)


@st.composite
def intervals(draw: st.DrawFn, size: int, numbers: st.SearchStrategy[float] = POSITIVE) -> Interval:
    ends = np.array([sorted(draw(st.tuples(numbers, numbers))) for _ in range(size)])
    return Interval(ends[:, 0].copy(), ends[:, 1].copy())


@st.composite
def certificates(draw: st.DrawFn) -> Certificate:
    """A certificate of three classes, with anything in every field that may hold it."""
    text, counts = st.text(st.characters(codec="utf-8")), np.array(draw(st.tuples(COUNTS, COUNTS, COUNTS)))
    classes, epsilon = tuple(draw(NAMES)), draw(RATES)
    tested: Any = birds().assumption
    guarantee: Any = "pac-target"
    method, facts = "PS-W", birds().facts
    if draw(st.booleans()):  # a method that nobody knows
        method, guarantee = draw(text.filter(lambda name: name not in METHODS)), "none"
        facts = MethodFacts(draw(text), draw(st.booleans()), draw(text), draw(st.booleans()))
    thresholds = np.array(draw(st.tuples(*[FINITE | st.just(-math.inf if method == "PS-W" else math.inf)] * 3)))
    n_source = int(counts.sum())
    ends = sorted(draw(st.tuples(FINITE, FINITE, FINITE)))
    kind = ScoreKind.of(ends[0], ends[2], ends[1], np.array([draw(st.floats(0, 3))]))
    kind = replace(kind, n_rows=n_source, n_sum_to_one=kind.n_sum_to_one * n_source)
    score_kind = draw(st.sampled_from([None, kind])) if n_source else None
    if score_kind is not None and method == "PS-W":  # what is missed at times has a threshold among the scores
        thresholds = np.minimum(thresholds, score_kind.high)
    parts = st.integers(1, max(1, min(9, n_source)))
    return alter(
        birds(),
        method=method,
        guarantee=guarantee,
        facts=facts,
        thresholds=thresholds,
        classes=classes,
        epsilon=epsilon,
        delta=draw(RATES),
        options=draw(st.dictionaries(text, st.none() | FINITE | st.booleans())),
        score=draw(st.sampled_from(["probability", "aps", "margin", "custom"])),
        n_source=n_source,
        class_counts=counts,
        weights=draw(st.none() | intervals(3)),
        prevalence=draw(st.none() | intervals(3, SHARES)),
        accuracy=draw(st.none() | SHARES),
        reasons=tuple(draw(st.lists(text, max_size=2))),
        known_mix=draw(st.none() | intervals(3, SHARES)),
        class_epsilon=draw(st.none() | RATES),
        contamination=draw(st.floats(0, epsilon, exclude_max=True)),
        score_kind=score_kind,
        assumption=draw(st.sampled_from([None, tested.with_largest_differences()])),
        set_sizes=draw(st.none() | st.tuples(*[COUNTS] * 4).map(np.array)),
        never_empty=draw(st.booleans()),
        source_grouped=draw(st.none() | st.builds(Grouped, st.just(max(1, n_source)), parts)),
        columns=draw(st.sampled_from([None, Columns(("probs",)), Columns(("a", "b", "c"), "label")])),
        transform=None,
    )


def bits(value: Any) -> Any:
    """A value that is equal exactly where every bit is."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (Interval, Assumption)):
        return tuple(bits(getattr(value, field.name)) for field in fields(value))
    return repr(value)


@pytest.mark.slow
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(certificates())
def test_every_field_comes_back_bit_for_bit(tmp_path: Path, certificate: Certificate) -> None:
    certificate.save(tmp_path / "a.json")
    loaded = Certificate.load(tmp_path / "a.json")
    for field in fields(Certificate):
        assert bits(getattr(loaded, field.name)) == bits(getattr(certificate, field.name)), field.name
    loaded.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.fixture
def certificate() -> Certificate:
    return birds()


def test_a_person_can_read_the_file(certificate: Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["in_words"] == certificate.explain().splitlines()[:-1]
    assert [row["name"] for row in document["classes"]] == ["crow", "owl", "wren"]
    assert sum(document["target_set_sizes"]) == document["n_target"] == 600


def spoilt(document: dict[str, Any], path: Place, value: Any) -> dict[str, Any]:
    """The document with another value at a place, or none."""
    document = copy.deepcopy(document)
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    if value is ABSENT:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


ABSENT = object()
TAMPERED: dict[Place, tuple[tuple[Any, str], ...]] = {
    ("version",): (
        (3, "certificate version 3, this pacshift reads 1. Update"),
        (True, "certificate version True"),
        ("2", "certificate version '2'"),
        (ABSENT, "certificate version None"),
    ),
    ("format",): (("pacshift-tally", "is not a certificate: it does not say format"),),
    ("epsilon",): (
        (-math.inf, "it is not JSON (-Infinity is not a JSON number"),
        (0, "epsilon: 0 where a share above 0 and below 1 belongs"),
        (10**400, "damaged certificate"),
    ),
    ("classes",): (([], "damaged certificate"),),
    ("classes", 0): ((ABSENT, "the source rows of the classes add up to their number"),),
    ("classes", 0, "threshold"): (
        (math.nan, "NaN is not a JSON number"),
        ("0.5", "'0.5' where a threshold belongs"),
        ("inf", "a threshold of method PS-W is infinite"),
        (2.5, "a threshold of method PS-W is 2.5, above all scores"),
        (ABSENT, "it lacks 'threshold'"),
    ),
    ("classes", 0, "weight"): (
        ([2, 1], "0 <= lower <= upper"),
        ([1, 1, 2], "damaged certificate"),
        (ABSENT, "it lacks 'weight'"),
    ),
    ("classes", 1, "name"): (("crow", "class names must differ"),),
    ("columns",): (
        ({"scores": ["a", "b"], "label": None, "group": None}, "one list column or 3 different columns"),
        ({"scores": "abc", "label": None, "group": None}, "columns.scores: 'abc' where a list belongs"),
        ("abc", "columns: 'abc' where an object belongs"),
    ),
    ("n_source",): ((601, "the source rows of the classes add up to their number"),),
    ("reasons",): ((["\ud800"], "is not JSON"),),
    ("method",): (("PS", "method PS does not give guarantee 'pac-target'"),),
    ("method_facts",): ((ABSENT, "it lacks 'method_facts'"),),
    ("method_facts", "extra_assumption"): ((ABSENT, "it lacks 'extra_assumption'"),),
    ("method_facts", "any_mix"): ((True, "method PS-W has any_mix False, not True"),),
    ("score",): (("os.system", "score: 'os.system' where one of probability, "),),
    ("target_set_sizes",): (([600], "target_set_sizes must count sizes 0 to"),),
    ("checksum",): ((ABSENT, "the content has no checksum"), ([1], "does not match its checksum")),
}


@pytest.mark.parametrize("place", TAMPERED, ids=str)
def test_tampered_files_are_refused(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    for value, message in TAMPERED[place]:
        path.write_text(json.dumps(spoilt(to_document(birds()), place, value)))
        with pytest.raises(InputError) as caught:
            Certificate.load(path)
        assert message in str(caught.value)
        assert str(path) in str(caught.value)


def leaves(document: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value that is neither a list nor an object, and where it stands."""
    if isinstance(document, (dict, list)):
        inside = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in inside:
            yield from leaves(value, (*path, key))
    else:
        yield path, document


def another(value: Any) -> Any:
    """A value of the same type that a reader could not tell from the right one."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    return value + 1 if isinstance(value, int) else f"{value} "


def test_no_value_can_be_changed_unnoticed(certificate: Certificate, tmp_path: Path) -> None:
    later = {"later": {"note": "of a later version", "rows": [1, 2]}}
    path, document = tmp_path / "c.json", seal(to_document(certificate) | later)
    path.write_text(json.dumps(document))
    assert Certificate.load(path).epsilon == certificate.epsilon  # fields that are not known do no harm
    for place, value in leaves(document):
        path.write_text(json.dumps(spoilt(document, place, another(value))))
        with pytest.raises(InputError):
            Certificate.load(path)


def test_the_checksum_covers_the_content_and_not_its_looks(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    document = to_document(certificate)
    turned = dict(reversed(document.items()))
    for text in (
        json.dumps(document),
        json.dumps(document, indent=4, ensure_ascii=True).replace("\n", "\r\n"),
        json.dumps(turned, ensure_ascii=False),
        json.dumps(document).replace(".0,", ","),  # as JavaScript writes whole numbers
    ):
        path.write_text(text, encoding="utf-8")
        assert bits(Certificate.load(path).thresholds) == bits(certificate.thresholds)


def test_files_of_version_1_stay_readable() -> None:
    """Whoever changes how the checksum is computed makes every certificate unreadable."""
    path = FILES / "certificate-version-1.json"
    written = [row["threshold"] for row in json.loads(path.read_text())["classes"]]
    assert Certificate.load(path).thresholds.tolist() == written


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\1\2",
        b"{",
        b"not json",
        b'{"format": "pacshift-certificate"',
        b"[" * 100_000,
        b"\xff\xfe",
        b"9" * 5000,
        b'[{"format": "pacshift-certificate"}]',
    ],
    ids=["empty", "binary", "brace", "text", "cut short", "deep", "UTF-16", "long number", "list"],
)
def test_what_is_not_json_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a certificate"):
        Certificate.load(path)


def test_missing_files_and_folders(tmp_path: Path, certificate: Certificate) -> None:
    with pytest.raises(InputError, match=r"cannot read .*No such file"):
        Certificate.load(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"cannot read .*directory"):
        Certificate.load(tmp_path)
    with pytest.raises(InputError, match=r"cannot write .*folder that exists"):
        certificate.save(tmp_path / "no" / "c.json")
    with pytest.raises(InputError, match=r"cannot write"):
        certificate.save(tmp_path)


def test_no_half_files(tmp_path: Path, certificate: Certificate) -> None:
    path = tmp_path / "c.json"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        certificate.save(path, overwrite=False)
    with pytest.raises(ValueError, match="Out of range float"):  # JSON has no NaN: fails while writing
        replace(certificate, accuracy=math.nan).save(path)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_options_without_a_json_form_become_text(tmp_path: Path, certificate: Certificate) -> None:
    options = {"rates": np.array([0.5, np.inf]), "count": np.int64(3), "pair": (1, {"f": len}), "none": None}
    replace(certificate, options=options).save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json").options
    assert loaded == {"rates": [0.5, "inf"], "count": 3, "pair": [1, {"f": repr(len)}], "none": None}


NAMED = ["a", "b"]
POPULATION = Population.synthetic(NAMED, strength=4, rng=0)
SOURCE, LABELS = POPULATION.draw([0.6, 0.4], 600, rng=1)
TARGET, TRUTH = POPULATION.draw([0.4, 0.6], 600, rng=2)


@cache
def written(method: str) -> dict[str, Any]:
    """What is written today, with every part that can be there."""
    options: dict[str, Any] = {"classes": NAMED, "epsilon": 0.1}
    if method == "PS-T":
        known = [truth if place < 200 else None for place, truth in enumerate(TRUTH.tolist())]
        return to_document(calibrate(SOURCE, LABELS, Rows(TARGET, known), method="PS-T", **options))
    options |= {"note": "n", "model_id": "m", "valid_until": "2099-01-01", "groups": np.arange(600)}
    options |= {"contamination": 0.02, "class_epsilon": 0.3, "known_mix": {"a": (0, 0.9)}}
    made = flat(calibrate, SOURCE, LABELS, TARGET, **options).with_set_sizes(TARGET)
    return to_document(made)


SCHEMA_FILE = Path(file.__file__).parent / "certificate.schema.json"
SCHEMA: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_what_the_fields_of_the_file_say_and_the_docs_link_it() -> None:
    """``UPDATE_DOCS=1 pytest tests/test_certificate_file.py`` writes it."""
    said = json.dumps(json_schema(), indent=1) + "\n"
    if os.environ.get("UPDATE_DOCS"):
        SCHEMA_FILE.write_text(said, encoding="utf-8")
    run = "run UPDATE_DOCS=1 pytest tests/test_certificate_file.py and read the difference"
    assert SCHEMA_FILE.read_text(encoding="utf-8") == said, run
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert (DOCS / "certificate.schema.json").read_bytes() == SCHEMA_FILE.read_bytes()
    assert "](certificate.schema.json)" in (DOCS / "files.md").read_text(encoding="utf-8")


def test_files_fit_the_schema() -> None:
    VALIDATOR.validate(json.loads((FILES / "certificate-version-1.json").read_text(encoding="utf-8")))
    shapes = ("full", "default", "trivial", "hostile", "source only", "bare", "never empty")
    for document in (*map(written, ("PS-LP", "PS-T")), *(to_document(every_shape()[name]) for name in shapes)):
        VALIDATOR.validate(json.loads(json.dumps(document)))
    assert set(written("PS-LP")) == set(SCHEMA["properties"])


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("format",), "other"),
        (("version",), 2),
        (("epsilon",), 0),
        (("guarantee",), "all"),
        (("n_source",), -1),
        (("n_source",), 1.5),
        (("checksum",), "abc"),
        (("classes",), []),
        (("classes", 0, "threshold"), "nan"),
        (("never_empty",), "yes"),
        (("provenance",), {"created": "yesterday"}),
        (("provenance", "valid_until"), "20300131"),
        (("provenance", "inputs"), [None] * (MAX_INPUTS + 1)),
        (("provenance", "command"), ABSENT),
        (("provenance", "counting"), {"grid": 1, "bins": True, "rows": True}),
        (("provenance", "asked_method"), {"name": "PS-LP", "options": []}),
        (("reasons",), [1]),
        (("epsilon",), ABSENT),
    ],
)
def test_what_cannot_be_neither_fits_nor_loads(place: Place, value: Any, tmp_path: Path) -> None:
    wrong = spoilt(written("PS-LP"), place, value)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(wrong)
    (tmp_path / "c.json").write_text(json.dumps(wrong if place == ("checksum",) else seal(wrong)))
    with pytest.raises(InputError, match=r"damaged certificate|is not a certificate|certificate version 2"):
        Certificate.load(tmp_path / "c.json")


FORGED: tuple[Any, ...] = ("inf", "-inf", "nan", -1, 1e308, 0.5, 2, "x", {}, [], None, True)


def fields_of(document: Any, path: Place = ()) -> Iterator[tuple[str, Place]]:
    """One place of every field, with its name."""
    if path:
        yield ".".join("[]" if isinstance(part, int) else part for part in path).replace(".[]", "[]"), path
    if isinstance(document, dict):
        for name, inner in document.items():
            yield from fields_of(inner, (*path, name))
    elif isinstance(document, list) and document:
        yield from fields_of(document[-1], (*path, len(document) - 1))


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["PS-LP", "PS-T"])
def test_files_with_impossible_values_are_refused(method: str, tmp_path: Path) -> None:
    """What loads, under a seal that fits, fits the schema, and can be explained and used or is refused then."""
    document, path, n_refused = written(method), tmp_path / "c.json", 0
    for name, place in dict(fields_of(document)).items():
        for value in FORGED if name not in ("checksum", "format", "version") else ():
            forged = seal(spoilt(document, place, value))
            path.write_text(json.dumps(forged))
            try:
                loaded = Certificate.load(path)
            except InputError:
                n_refused += 1
                continue
            VALIDATOR.validate(forged)
            with warnings.catch_warnings(), suppress(PacshiftError):
                warnings.simplefilter("ignore")
                loaded.explain()
                loaded.sets(TARGET[:3])
                if value in ("nan", 0.5) and name.startswith(("assumption", "classes", "bound", "sens")):
                    render_report(loaded)
    assert n_refused > 500


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("n_target_labels",), 0, "needs labels of target rows, but there are none"),
        (("contamination",), 0.1, "contamination 0.1 is not below epsilon 0.1"),
        (("assumption", "refuted"), True, "label shift is rejected, and the promise rests on it"),
        (("classes", 0, "threshold"), "inf", "it would miss a class always"),
        (("classes", 0, "limit"), 0.1, "prediction sets have one limit for all classes"),
        (("method_facts", "assumes_label_shift"), False, "PS-LP has assumes_label_shift True"),
        (("assumption", "level"), "nan", "assumption.level: 'nan' where a share above 0 and below 1 belongs"),
    ],
)
def test_what_contradicts_the_promise_is_said(place: Place, value: Any, message: str, tmp_path: Path) -> None:
    document = written("PS-T" if place == ("n_target_labels",) else "PS-LP")
    (tmp_path / "c.json").write_text(json.dumps(seal(spoilt(document, place, value))))
    with pytest.raises(InputError, match=message):
        Certificate.load(tmp_path / "c.json")


def test_a_class_that_is_missed_always_may_have_a_threshold_above_all_scores(tmp_path: Path) -> None:
    rng, sides = np.random.default_rng(0), list[Any]()
    for mix in ([0.5, 0.3, 0.2], [0.2, 0.2, 0.6]):
        labels, noise = rng.choice(3, 3000, p=mix), rng.normal(size=(3000, 3))
        noise[np.arange(3000), labels] += 3
        shares = np.exp(noise) / np.exp(noise).sum(axis=1, keepdims=True)
        sides.append(
            (np.exp(-shares) / np.exp(-shares).sum(axis=1, keepdims=True), labels)
        )  # the true label is last
    (source, labels), (target, _) = sides
    certificate: Any = calibrate(source, labels, target, epsilon=0.5, delta=0.05)
    assert certificate.thresholds.max() > certificate.score_kind.high
    certificate.save(tmp_path / "c.json")
    assert np.array_equal(Certificate.load(tmp_path / "c.json").thresholds, certificate.thresholds)
