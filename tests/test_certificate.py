"""The certificate: sets exactly as the thresholds say, in every type of score."""

import copy
import math
import pickle
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certificates import alter, birds, every_shape, sharpened
from pacshift import Certificate, InputError, Tally, calibrate
from pacshift.errors import install_line

THRESHOLDS = st.floats(allow_nan=False) | st.sampled_from([-math.inf, math.inf, 5e-324, -0.0, 0.1])


@pytest.fixture
def certificate() -> Certificate:
    return birds()


@settings(deadline=None, max_examples=100)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False), THRESHOLDS)
def test_float32_rounding_of_thresholds_is_exact(score: float, threshold: float) -> None:
    cuts = np.full(3, threshold)
    simple, row = alter(birds(), thresholds=cuts, score_kind=None), np.full((1, 3), score, np.float32)
    if not simple.fits_single:
        with pytest.raises(InputError, match="too small or too large for single precision"):
            simple.sets(row)
        return
    sets = simple.sets(row)
    assert sets.tolist() == [[score >= threshold] * 3]


def test_one_threshold_per_class(certificate: Certificate) -> None:
    cut = alter(certificate, thresholds=np.array([0.5, -np.inf, np.inf]), score_kind=None)
    assert cut.sets([[0.5, 0.0, 1.0], [0.4, -1e300, 3e38]]).tolist() == [[True, True, False], [False, True, False]]
    assert not cut.trivial
    assert alter(certificate, thresholds=np.full(3, -np.inf)).trivial


def test_never_empty_adds_the_top_label_to_empty_sets_only(certificate: Certificate) -> None:
    scores = np.array([[0.3, 0.4, 0.3], [0.5, 0.5, 0.0], [0.4, 0.4, 0.2]])
    plain = alter(certificate, thresholds=np.full(3, 0.5))
    assert plain.sets(scores).tolist() == [[False] * 3, [True, True, False], [False] * 3]
    filled = plain.without_empty_sets().sets(scores)
    assert filled.tolist() == [[False, True, False], [True, True, False], [True, False, False]]


def test_never_empty_goes_by_the_model_score_not_the_transform() -> None:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 200)
    made = calibrate(scores, scores.argmax(1), None, epsilon=0.3, delta=0.3, method="PS", score="margin")
    sets = alter(made, thresholds=np.full(3, np.inf)).without_empty_sets().sets(scores)
    assert sets.sum() == 200
    assert np.array_equal(sets.argmax(axis=1), scores.argmax(axis=1))


def test_set_sizes_are_counted(certificate: Certificate) -> None:
    cut = alter(certificate, thresholds=np.full(3, 0.2))
    counted: Any = cut.with_set_sizes([[0.2, 0.3, 0.5], [0.9, 0.05, 0.05], [0.4, 0.3, 0.3]])
    assert counted.set_sizes.tolist() == [0, 1, 0, 2]


def test_wrong_scores_are_refused(certificate: Certificate) -> None:
    with pytest.raises(InputError, match="scores: 2 score columns, but there are 3 classes"):
        certificate.sets(np.ones((2, 2)))
    with pytest.raises(InputError, match=r"scores: 1 row has NaN or infinite scores, the first is row 1"):
        certificate.sets([[0.1, 0.2, 0.7], [0.1, np.nan, 0.2]])


def test_own_score_functions_are_asked_for_after_loading(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.random((100, 2)), rng.integers(0, 2, 100)
    made = calibrate(scores, labels, None, epsilon=0.4, delta=0.4, method="PS", score=np.sqrt)
    made.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    with pytest.raises(InputError, match="score function of your own: pass it as score="):
        loaded.sets(scores)
    assert np.array_equal(loaded.sets(scores, score=np.sqrt), made.sets(scores))


@pytest.mark.parametrize("score", [sharpened, "aps", "probability"])
def test_certificates_survive_pickle_and_joblib(score: Any, tmp_path: Path) -> None:
    scores = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    made = calibrate(scores, scores.argmax(axis=1), None, epsilon=0.2, delta=0.1, method="PS", score=score, rng=0)
    joblib.dump(made, tmp_path / "made.joblib")
    for back in (pickle.loads(pickle.dumps(made)), joblib.load(tmp_path / "made.joblib")):
        assert np.array_equal(back.sets(scores), made.sets(scores))


def test_filled_sets_are_counted_and_bounded_without_looking_at_rows_again(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).dirichlet(np.ones(2) * 0.5, 400)
    plain: Any = calibrate(scores, scores.argmax(axis=1), scores, epsilon=0.4, delta=0.1, method="PS-LW")
    filled: Any = plain.without_empty_sets()
    assert plain.set_sizes[0] > 0
    assert filled.set_sizes.tolist() == filled.sizes_of_rows(scores).tolist()
    assert filled.class_miss.lower.tolist() == [0.0, 0.0]  # a filled set may hold a label that was missed
    assert filled.class_miss.upper.tolist() == plain.class_miss.upper.tolist()
    filled.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json").rule.never_empty is True


def test_plot_draws_what_the_certificate_has(certificate: Certificate) -> None:
    always = ["Label mix", "Missed, class by class"]
    assert titles(certificate) == [*always, "Set sizes"]
    assert titles(replace(certificate, set_sizes=None)) == always


def titles(certificate: Certificate) -> list[str]:
    return [part.get_suptitle() for part in certificate.plot().subfigs]


def test_plot_without_matplotlib_names_its_extra(certificate: Certificate, monkeypatch: Any) -> None:
    for name in [name for name in sys.modules if name.startswith("pacshift.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)  # as if it were not installed
    with pytest.raises(ImportError, match=re.escape(f"needs matplotlib. {install_line('plots')}")):
        certificate.plot()


def arrays_of(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from arrays_of(getattr(value, name))


def test_nobody_can_write_to_a_certificate_or_a_tally(tmp_path: Path) -> None:
    one = every_shape()["default"]
    one.save(tmp_path / "c.json")
    for each in (one, Certificate.load(tmp_path / "c.json"), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        found = list(arrays_of(each))
        assert len(found) > 12
        assert not any(array.flags.writeable for array in found)
        with pytest.raises(ValueError, match="read-only"):
            each.thresholds *= 2  # type: ignore[misc]
    own = np.full(3, 0.5)
    changed = alter(one, thresholds=own)
    own[:] = 0.9  # what was given stays the caller's
    assert changed.thresholds.tolist() == [0.5] * 3
    tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], [0, 1]) + Tally.from_target([[0.9, 0.1]])
    for name in ("values", "counts", "starts", "bins"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tally, name)[:1] = 0
