"""The certificate: sets exactly as the thresholds say, files that come back bit for bit or are refused."""

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pacshift import Certificate, InputError, Interval, calibrate
from pacshift.bounds import BoundCurve
from pacshift.certificate.file import read_fields, to_document
from pacshift.methods import METHODS

FINITE = st.floats(allow_nan=False, allow_infinity=False)  # subnormal numbers and -0.0 included
THRESHOLDS = FINITE | st.sampled_from([-math.inf, math.inf, 5e-324, -0.0, 2.2250738585072014e-308, 0.1])
POSITIVE = st.floats(0, allow_nan=False) | st.just(5e-324)
RATES = st.floats(0, 1, exclude_min=True, exclude_max=True)
COUNTS = st.integers(0, 2**55)
NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.integers() | FINITE | st.booleans(),
    min_size=2,
    max_size=6,
    unique_by=hash,
)


@st.composite
def intervals(draw: st.DrawFn, size: int) -> Interval:
    ends = np.array([sorted(draw(st.tuples(POSITIVE, POSITIVE))) for _ in range(size)])
    return Interval(ends[:, 0].copy(), ends[:, 1].copy())


@st.composite
def certificates(draw: st.DrawFn) -> Certificate:
    classes = tuple(draw(NAMES))
    size = len(classes)
    method = draw(st.sampled_from(sorted(METHODS)))
    counts, predicted = (np.array(draw(st.lists(COUNTS, min_size=size, max_size=size))) for _ in range(2))
    errors, bounds = np.array(draw(st.lists(st.tuples(THRESHOLDS, st.floats(0, 1)), max_size=5))).reshape(-1, 2).T
    return Certificate(
        thresholds=np.array(draw(st.lists(THRESHOLDS, min_size=size, max_size=size))),
        classes=classes,
        epsilon=draw(RATES),
        delta=draw(RATES),
        method=method,
        options=draw(st.dictionaries(st.text(st.characters(codec="utf-8")), st.none() | FINITE | st.booleans())),
        score=draw(st.sampled_from(["probability", "aps", "margin", "custom"])),
        guarantee=METHODS[method].guarantee,
        n_source=int(counts.sum()),
        n_target=int(predicted.sum()),
        class_counts=counts,
        predicted_counts=predicted,
        weights=draw(st.none() | intervals(size)),
        prevalence=draw(st.none() | intervals(size)),
        accuracy=draw(st.none() | st.floats(0, 1)),
        reasons=tuple(draw(st.lists(st.text(st.characters(codec="utf-8")), max_size=2))),
        curve=draw(st.none() | st.builds(BoundCurve, st.just(errors), st.just(bounds), st.floats(0, 1))),
        set_sizes=draw(
            st.none() | st.lists(COUNTS, min_size=size + 1, max_size=size + 1).map(lambda sizes: np.array(sizes))
        ),
        never_empty=draw(st.booleans()),
    )


def bits(value: Any) -> Any:
    """A value that is equal exactly where every bit is."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (Interval, BoundCurve)):
        return tuple(bits(getattr(value, field.name)) for field in fields(value))
    return repr(value)


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
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 600)
    scores = rng.dirichlet(np.ones(3), 600) + 2 * np.eye(3)[labels]
    names = ["crow", "owl", "wren"]
    made = calibrate(
        scores / 3,
        np.array(names)[labels],
        scores / 3,
        epsilon=0.1,
        delta=0.1,
        method="PS-W",
        classes=names,
        rng=0,
    )
    return made.with_set_sizes(scores / 3)


def test_a_person_can_read_the_file(certificate: Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["in_words"] == certificate.explain().splitlines()
    assert [row["name"] for row in document["classes"]] == ["crow", "owl", "wren"]
    assert sum(document["target_set_sizes"]) == document["n_target"] == 600


def put(*path: str | int, value: Any) -> Callable[[Any], Any]:
    def change(document: Any) -> Any:
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return document

    return change


def drop(*path: str | int) -> Callable[[Any], Any]:
    def change(document: Any) -> Any:
        place = document
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        return document

    return change


CURVE = {"source_errors": [0.01], "bounds": [0.02], "chosen": 0.01}
TAMPERED = {
    "newer version": (put("version", value=2), "certificate version 2, this pacshift reads 1. Update pacshift"),
    "no version": (drop("version"), "certificate version None"),
    "other format": (put("format", value="pacshift-tally"), "is not a certificate: it lacks the mark"),
    "a list": (lambda document: [document], "lacks the mark"),
    "a number": (lambda document: 3, "lacks the mark"),
    "NaN threshold": (put("classes", 0, "threshold", value=math.nan), "NaN is no JSON number"),
    "text threshold": (put("classes", 0, "threshold", value="0.5"), "'0.5' where a number belongs"),
    "true threshold": (put("classes", 0, "threshold", value=True), "True where a number belongs"),
    "no threshold": (drop("classes", 0, "threshold"), "it lacks 'threshold'"),
    "a class less": (drop("classes", 0), "do not add up to n_source"),
    "no classes": (put("classes", value=[]), "damaged certificate"),
    "classes a dict": (put("classes", value={"a": 1}), "damaged certificate"),
    "same class twice": (put("classes", 1, "name", value="crow"), "class names must differ"),
    "class null": (put("classes", 1, "name", value=None), "class names must be strings"),
    "count negative": (put("classes", 0, "source_examples", value=-1), "-1 where a count belongs"),
    "count a fraction": (put("classes", 0, "source_examples", value=1.5), "1.5 where a count belongs"),
    "count too large": (put("classes", 0, "source_examples", value=2**63), "where a count belongs"),
    "n_source": (put("n_source", value=601), "do not add up to n_source"),
    "n_target": (put("n_target", value=0), "do not add up to n_target"),
    "epsilon 0": (put("epsilon", value=0), "epsilon must lie strictly between 0 and 1"),
    "epsilon 2": (put("epsilon", value=2), "epsilon must lie strictly between 0 and 1"),
    "epsilon NaN": (put("epsilon", value=math.nan), "NaN is no JSON number"),
    "half a character": (put("reasons", value=["\ud800"]), "is not JSON"),
    "delta null": (put("delta", value=None), "delta must lie strictly between 0 and 1"),
    "epsilon huge": (put("epsilon", value=10**400), "damaged certificate"),
    "unknown method": (put("method", value="PS-X"), "unknown method 'PS-X'"),
    "unknown score": (put("score", value="os.system"), "unknown score"),
    "better guarantee": (put("method", value="PS"), "method PS does not give guarantee 'pac-target'"),
    "unknown guarantee": (put("guarantee", value="sure"), "unknown guarantee"),
    "weights swapped": (put("classes", 0, "weight", value=[2, 1]), "0 <= lower <= upper"),
    "weights negative": (put("classes", 0, "weight", value=[-1, 1]), "0 <= lower <= upper"),
    "weight of three": (put("classes", 0, "weight", value=[1, 1, 2]), "damaged certificate"),
    "weight missing": (drop("classes", 0, "weight"), "it lacks 'weight'"),
    "sizes too short": (put("target_set_sizes", value=[600]), "target_set_sizes must count sizes 0 to"),
    "accuracy 2": (put("accuracy_at_least", value=2), "where a share between 0 and 1 belongs"),
    "curve uneven": (
        put("bound_curve", value={**CURVE, "bounds": []}),
        "the bound curve's two lists differ in length",
    ),
    "curve without point": (put("bound_curve", value={**CURVE, "chosen": None}), "None where a number belongs"),
    "curve beyond 1": (
        put("bound_curve", value={**CURVE, "chosen": 1.5}),
        "1.5 where a share between 0 and 1 belongs",
    ),
    "curve below 0": (
        put("bound_curve", value={**CURVE, "chosen": -0.1}),
        "-0.1 where a share between 0 and 1 belongs",
    ),
    "curve of text": (put("bound_curve", value={**CURVE, "bounds": ["0.1"]}), "'0.1' where a number belongs"),
    "curve of thresholds": (
        put("bound_curve", value={"thresholds": [1], "bounds": [1]}),
        "it lacks 'source_errors'",
    ),
    "never_empty text": (put("never_empty", value="no"), "'no' where true or false belongs"),
    "reasons number": (put("reasons", value=[1]), "1 where a text belongs"),
    "options list": (put("options", value=[["a", 1]]), "where options belong"),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_tampered_files_are_refused(case: str, certificate: Certificate, tmp_path: Path) -> None:
    change, message = TAMPERED[case]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(change(to_document(certificate))))
    with pytest.raises(InputError) as caught:
        Certificate.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


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
    ],
    ids=["empty", "binary", "brace", "text", "cut short", "deep", "UTF-16", "long number"],
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
    with pytest.raises(InputError, match=r"exists already. Choose another name or allow overwriting"):
        certificate.save(path, overwrite=False)
    with pytest.raises(TypeError):  # not a JSON value: fails while writing
        replace(certificate, options={"f": print}).save(path)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_float32_scores_are_compared_as_if_in_float64(certificate: Certificate) -> None:
    rng = np.random.default_rng(0)
    for size in (1e-45, 1e-38, 1e-3, 1.0, 1e37):
        scores = (rng.normal(size=(4000, 3)) * size).astype(np.float32)
        exact = scores.astype(np.float64)
        near = exact[rng.integers(0, 4000, 5), rng.integers(0, 3, 5)]
        for threshold in [
            *near,
            *np.nextafter(near, np.inf),
            *np.nextafter(near, -np.inf),
            0.1 * size,
            -1e300,
            1e300,
        ]:
            sets = replace(certificate, thresholds=np.array([threshold, -threshold, np.inf])).sets(scores)
            assert np.array_equal(sets, exact >= [threshold, -threshold, np.inf])


@settings(deadline=None, max_examples=100)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False), THRESHOLDS)
def test_float32_rounding_of_thresholds_is_exact(score: float, threshold: float) -> None:
    simple = Certificate(
        thresholds=np.array([threshold, threshold]),
        classes=(0, 1),
        epsilon=0.1,
        delta=0.1,
        method="PS",
        options={},
        score="probability",
        guarantee="pac-source",
        n_source=1,
        n_target=0,
        class_counts=np.array([1, 0]),
        predicted_counts=np.array([0, 0]),
    )
    sets = simple.sets(np.full((1, 2), score, np.float32))
    assert sets.tolist() == [[score >= threshold] * 2]


def test_float16_and_float32_calibration_give_the_sets_of_float64() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 500)
    for dtype in (np.float16, np.float32):
        scores = (rng.dirichlet(np.ones(3), 500) * 0.5 + 0.5 * np.eye(3)[labels]).astype(dtype)
        narrow = calibrate(scores, labels, None, epsilon=0.1, delta=0.1, method="PS-LW")
        wide = calibrate(scores.astype(np.float64), labels, None, epsilon=0.1, delta=0.1, method="PS-LW")
        assert np.array_equal(narrow.thresholds, wide.thresholds)
        assert np.array_equal(narrow.sets(scores), wide.sets(scores.astype(np.float64)))


def test_one_threshold_a_class(certificate: Certificate) -> None:
    cut = replace(certificate, thresholds=np.array([0.5, -np.inf, np.inf]))
    assert cut.sets([[0.5, 0.0, 1.0], [0.4, -1e300, 1e300]]).tolist() == [
        [True, True, False],
        [False, True, False],
    ]
    assert not cut.trivial
    assert replace(certificate, thresholds=np.full(3, -np.inf)).trivial


def test_never_empty_adds_the_top_label_to_empty_sets_only(certificate: Certificate) -> None:
    scores = np.array([[0.1, 0.3, 0.2], [0.9, 0.8, 0.0], [0.4, 0.4, 0.1]])
    plain = replace(certificate, thresholds=np.full(3, 0.5))
    assert plain.sets(scores).tolist() == [[False] * 3, [True, True, False], [False] * 3]
    filled = replace(plain, never_empty=True).sets(scores)
    assert filled.tolist() == [[False, True, False], [True, True, False], [True, False, False]]


def test_never_empty_goes_by_the_model_score_not_the_transform() -> None:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 200)
    made = calibrate(
        scores, scores.argmax(1), None, epsilon=0.3, delta=0.3, method="PS", score="margin", never_empty=True
    )
    sets = replace(made, thresholds=np.full(3, np.inf)).sets(scores)
    assert sets.sum() == 200
    assert np.array_equal(sets.argmax(axis=1), scores.argmax(axis=1))


def test_set_sizes_are_counted(certificate: Certificate) -> None:
    cut = replace(certificate, thresholds=np.full(3, 0.5))
    counted = cut.with_set_sizes([[0.1, 0.2, 0.3], [0.9, 0.1, 0.1], [0.9, 0.9, 0.9]])
    assert counted.set_sizes is not None
    assert counted.set_sizes.tolist() == [1, 1, 0, 1]


def test_columns_of_a_frame_are_found_by_name(certificate: Certificate) -> None:
    scores = np.array([[0.9, 0.1, 0.2], [0.0, 0.6, 0.6]])
    cut = replace(certificate, thresholds=np.full(3, 0.5))
    shuffled = pd.DataFrame(scores[:, ::-1], columns=["wren", "owl", "crow"])
    assert np.array_equal(cut.sets(shuffled), cut.sets(scores))


def test_wrong_scores_are_refused(certificate: Certificate) -> None:
    with pytest.raises(InputError, match="scores: 2 score columns but 3 class names"):
        certificate.sets(np.ones((2, 2)))
    with pytest.raises(InputError, match=r"scores: 1 row\(s\) hold NaN or infinite scores, the first is row 1"):
        certificate.sets([[0.1, 0.2, 0.3], [0.1, np.nan, 0.2]])


def test_own_score_functions_are_asked_for_after_loading(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.random((100, 2)), rng.integers(0, 2, 100)
    made = calibrate(scores, labels, None, epsilon=0.4, delta=0.4, method="PS", score=np.sqrt)
    made.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    with pytest.raises(InputError, match="score function of your own: pass it as score="):
        loaded.sets(scores)
    assert np.array_equal(loaded.sets(scores, score=np.sqrt), made.sets(scores))


def test_loading_runs_nothing_of_the_file(tmp_path: Path, certificate: Certificate) -> None:
    document = to_document(certificate)
    document["options"] = {"__reduce__": "os.system", "intervals": "hull"}
    (tmp_path / "c.json").write_text(json.dumps(document))
    assert read_fields(tmp_path / "c.json")["options"] == document["options"]
