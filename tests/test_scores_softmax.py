"""Logits: one softmax, remembered by the certificate, never two."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax as scipy_softmax

from pacshift import Certificate, InputError, Population, calibrate, compare
from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.softmax import softmax
from pacshift.tables import write_sets


def logits(mix: list[float], rows: int, seed: int) -> tuple[FloatArray, IntArray]:
    scores, labels = Population.synthetic(3, strength=4, rng=0).draw(mix, rows, rng=seed)
    shift = np.random.default_rng(seed).normal(5, 3, (rows, 1))  # a softmax does not see it
    return np.log(scores) + shift, labels


SOURCE, LABELS = logits([0.5, 0.3, 0.2], 3000, 1)
TARGET, _ = logits([0.2, 0.3, 0.5], 3000, 2)


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return calibrate(SOURCE, LABELS, TARGET, softmax=True)


def test_it_is_the_softmax() -> None:
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e3, 1e-8, 1e300):
        wild = rng.normal(size=(9000, 5)) * scale
        assert np.allclose(softmax(wild), scipy_softmax(wild, axis=1), atol=1e-15)
    narrow = rng.normal(size=(50, 5)).astype(np.float32)
    assert softmax(narrow).dtype == np.float32


def test_a_row_has_the_same_bits_alone_and_among_others() -> None:
    wild = np.random.default_rng(0).normal(size=(5000, 7))
    together = softmax(wild)
    for row in (0, 1, 4095, 4096, 4999):
        assert np.array_equal(softmax(wild[row : row + 1])[0], together[row])
    assert np.array_equal(softmax(np.asfortranarray(wild)), together)


def test_all_is_as_if_probabilities_had_been_passed(certificate: Certificate) -> None:
    plain = calibrate(softmax(SOURCE), LABELS, softmax(TARGET))
    assert np.array_equal(certificate.thresholds, plain.thresholds)
    assert np.array_equal(certificate.sets(TARGET), plain.sets(softmax(TARGET)))
    assert certificate.labels(TARGET[:50]) == plain.labels(softmax(TARGET[:50]))
    assert repr(certificate.with_set_sizes(TARGET)) == repr(plain.with_set_sizes(softmax(TARGET)))
    assert certificate.softmax
    assert not plain.softmax
    assert "softmax score" in certificate.explain()


def test_a_file_remembers_it_and_older_files_have_none(certificate: Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "c.json")
    loaded = Certificate.load(tmp_path / "c.json")
    assert loaded.softmax
    assert np.array_equal(loaded.sets(TARGET), certificate.sets(TARGET))


def test_older_versions_would_refuse_logits(certificate: Certificate) -> None:
    """They ignore the word softmax in a file, but they look at the kind of scores."""
    blind = certificate.changed(softmax=False)
    with pytest.raises(InputError, match="probabilities that sum to 1"):
        blind.sets(TARGET)


def test_a_second_softmax_is_refused(certificate: Certificate) -> None:
    with pytest.raises(InputError, match="scores: softmax=True is for logits"):
        certificate.sets(softmax(TARGET))
    with pytest.raises(InputError, match="source: softmax=True is for logits"):
        calibrate(softmax(SOURCE), LABELS, TARGET, softmax=True)
    with pytest.raises(InputError, match="target: softmax=True is for logits"):
        calibrate(SOURCE, LABELS, softmax(TARGET), softmax=True)
    with pytest.raises(InputError, match="softmax must be True or False"):
        calibrate(SOURCE, LABELS, TARGET, softmax="yes")  # type: ignore[arg-type]


def test_scores_that_are_not_numbers_are_refused(certificate: Certificate) -> None:
    for bad in (np.nan, np.inf):
        broken = TARGET[:20].copy()
        broken[3, 1] = bad
        with pytest.raises(InputError, match="the first is row 3"):
            certificate.sets(broken)
        with pytest.raises(InputError, match="NaN or infinite"):
            calibrate(SOURCE, LABELS, broken, softmax=True)
    masked = TARGET[:20].copy()
    masked[3, 1] = -np.inf  # a class that the model rules out
    assert not certificate.sets(masked)[3, 1]


def test_a_frame_with_a_foreign_column_is_refused_before_the_softmax() -> None:
    frame = pd.DataFrame(SOURCE).assign(id=np.arange(len(SOURCE)) + 1000.0)
    with pytest.raises(InputError, match="'id' does not look like scores"):
        calibrate(frame, LABELS, None, method="PS", softmax=True)


def test_tables_and_sql(certificate: Certificate, tmp_path: Path) -> None:
    table = tmp_path / "t.parquet"
    pd.DataFrame(TARGET, columns=["p_0", "p_1", "p_2"]).to_parquet(table)
    write_sets(certificate, table, tmp_path / "sets.parquet")
    found = pd.read_parquet(tmp_path / "sets.parquet")
    assert found["set"].map(len).tolist() == certificate.sets(TARGET).sum(axis=1).tolist()
    with pytest.raises(InputError, match="transforms them first \\(softmax\\)"):
        certificate.to_sql(columns=["a", "b", "c"])


def test_compare_takes_logits() -> None:
    found = compare(SOURCE, LABELS, TARGET, methods=["PS-LW", "APS"], softmax=True, rng=0)
    plain = compare(softmax(SOURCE), LABELS, softmax(TARGET), methods=["PS-LW", "APS"], rng=0)
    assert found.rows == plain.rows
    assert all(made is not None and made.softmax for made in found.certificates)
