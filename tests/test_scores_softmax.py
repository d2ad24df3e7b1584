"""Logits: one softmax, remembered by the certificate, never two."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax as scipy_softmax

from commands import bad, good
from pacshift import (
    Certificate,
    InputError,
    Monitor,
    Population,
    Rows,
    Tally,
    calibrate,
    compare,
    plan,
    prevalence,
    read,
    write_sets,
)
from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.check import round_to_single
from pacshift.scores.transforms import softmax


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
        assert np.allclose(softmax(wild), scipy_softmax(round_to_single(wild), axis=1), atol=1e-15)
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
    assert "softmax score" in certificate.explain(full=True)


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
    for value in (np.nan, np.inf):
        broken = TARGET[:20].copy()
        broken[3, 1] = value
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


def test_a_table_is_counted_as_rows_in_memory_bit_for_bit(tmp_path: Path) -> None:
    for width, name in ((np.float32, "narrow"), (np.float64, "wide")):
        rows: FloatArray = SOURCE.astype(width)
        frame = pd.DataFrame(rows, columns=["p_0", "p_1", "p_2"])
        frame.assign(label=LABELS).to_parquet(tmp_path / f"{name}.parquet", row_group_size=700)
        for score in ("probability", "aps"):
            table = read(tmp_path / f"{name}.parquet", label="label", softmax=True)
            counted = table.tally(score, grid=False)
            assert counted == Tally.from_scores(rows, LABELS, score=score, softmax=True)
            plain = Tally.from_scores(softmax(rows), LABELS, score=score)
            assert replace(plain, softmax=True) == counted
        target = read(tmp_path / f"{name}.parquet", softmax=True).tally()
        assert target == Tally.from_target(rows, softmax=True)
        assert target == replace(Tally.from_target(softmax(rows)), softmax=True)
        assert read(tmp_path / f"{name}.parquet", softmax=True).arrays()[0].tolist() == softmax(rows).tolist()


def test_wide_rows_are_counted_alike(tmp_path: Path) -> None:
    """More classes than lie column after column, and lists instead of columns."""
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(2, 3, (3000, 40)).astype(np.float32), rng.integers(0, 40, 3000)
    expected = Tally.from_scores(softmax(rows), labels)
    np.savez(tmp_path / "a.npz", logits=rows, labels=labels)
    made = read(tmp_path / "a.npz", label="labels", scores="logits", softmax=True).tally(grid=False)
    assert made == replace(expected, softmax=True)


def test_tallies_remember_it_and_do_not_mix(tmp_path: Path) -> None:
    source, target = Tally.from_scores(SOURCE, LABELS, softmax=True), Tally.from_target(TARGET, softmax=True)
    assert "softmax of logits" in repr(source)
    source.save(tmp_path / "s.tally")
    assert Tally.load(tmp_path / "s.tally") == source != Tally.from_scores(softmax(SOURCE), LABELS)
    assert calibrate(source + target).softmax
    with pytest.raises(InputError, match=r"do not add\. Count all of them from logits with softmax=True"):
        source + Tally.from_target(softmax(TARGET))
    labelled = Tally.from_scores(softmax(TARGET[:50]), LABELS[:50])
    with pytest.raises(InputError, match="and with softmax=True if the source was"):
        calibrate(source + target, labelled=labelled)


def test_a_class_may_be_ruled_out_in_a_table_too(certificate: Certificate, tmp_path: Path) -> None:
    rows = SOURCE[:300].copy()
    rows[::7, 1] = -np.inf
    rows[5] = np.nan, 1.0, 2.0
    rows[6] = -np.inf
    frame = pd.DataFrame(rows, columns=["p_0", "p_1", "p_2"])
    usable = [place for place in range(300) if place not in (5, 6)]
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="2 rows cannot be used"):
        read(tmp_path / "t.parquet", softmax=True).tally()
    counted = read(tmp_path / "t.parquet", softmax=True, drop_invalid=True).tally()
    assert counted == Tally.from_target(rows[usable], softmax=True)
    written = write_sets(certificate, tmp_path / "t.parquet", tmp_path / "sets.parquet", drop_invalid=True)
    assert written.n_rows == 298
    found = pd.read_parquet(tmp_path / "sets.parquet")["set_size"]
    assert found.tolist() == certificate.sets(rows[usable]).sum(axis=1).tolist()
    with pytest.raises(InputError, match=r"2 rows have NaN or infinite scores, the first is row 5"):
        Tally.from_target(rows, softmax=True)


def test_a_table_of_probabilities_goes_through_no_second_softmax(tmp_path: Path) -> None:
    pd.DataFrame(softmax(TARGET), columns=["p_0", "p_1", "p_2"]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="target: softmax=True is for logits"):
        read(tmp_path / "t.parquet", softmax=True).tally()
    with pytest.raises(InputError, match="the target: softmax=True is for logits"):
        read(tmp_path / "t.parquet", softmax=True).arrays()


def test_raw_logits_get_a_note_with_the_remedy(caplog: pytest.LogCaptureFixture) -> None:
    made = calibrate(SOURCE, LABELS, TARGET)
    (note,) = (note for note in made.notes if "logits" in note)
    assert "take their softmax" in note
    assert note in made.explain()
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [note]
    caplog.clear()
    calibrate(Tally.from_scores(SOURCE, LABELS) + Tally.from_target(TARGET))
    assert "take their softmax" in caplog.text


@pytest.mark.parametrize("scores", [softmax(SOURCE), np.log(softmax(SOURCE)), 100 * softmax(SOURCE)])
def test_other_scores_get_no_such_note(scores: FloatArray, caplog: pytest.LogCaptureFixture) -> None:
    assert not any("logits" in note for note in calibrate(scores, LABELS, None, method="PS").notes)
    assert not any("logits" in note for note in calibrate(SOURCE, LABELS, TARGET, softmax=True).notes)
    assert not any(record.levelname == "WARNING" for record in caplog.records)


def test_prevalence_compare_plan_and_the_monitor_take_logits() -> None:
    methods = ["PS-LW", "APS"]
    compared = compare(SOURCE, LABELS, TARGET, methods=methods, softmax=True, rng=0)
    assert compared.rows == compare(softmax(SOURCE), LABELS, softmax(TARGET), methods=methods, rng=0).rows
    assert all(made is not None and made.softmax for made in compared.certificates)
    sizes: dict[str, Any] = {"target_mix": [0.2, 0.3, 0.5], "n_source": 2000, "n_target": 2000, "rng": 0}
    pilots = Rows(SOURCE, LABELS, softmax=True), Rows(softmax(SOURCE), LABELS)
    first, second = (plan(pilot, method="PS-LW", **sizes).size for pilot in pilots)
    assert first == second
    found = prevalence(SOURCE, LABELS, TARGET, softmax=True)
    plain = prevalence(softmax(SOURCE), LABELS, softmax(TARGET))
    assert np.array_equal(found.mix.lower, plain.mix.lower)
    watch = Monitor(Tally.from_scores(SOURCE, LABELS, softmax=True))
    report: Any = watch.update(TARGET)
    assert report.fresh.softmax
    with pytest.raises(InputError, match="tallies of logits, of which the softmax was counted, and of scores as"):
        watch.update(Tally.from_target(softmax(TARGET)))
    with pytest.raises(InputError, match="has softmax=False, but the source softmax=True"):
        watch.adopt(replace(report.fresh, softmax=False))


@pytest.mark.slow
def test_commands_take_logits_by_one_flag_and_name_it(tmp_path: Path) -> None:
    """Tables with one list column, as a network writes them."""
    source, target, twice = (tmp_path / f"{name}.parquet" for name in ("source", "target", "twice"))
    for path, rows in ((source, SOURCE), (target, TARGET), (twice, softmax(TARGET))):
        pd.DataFrame({"z": list(rows), "label": LABELS}).to_parquet(path)
    made, of_logits, plain = tmp_path / "c.json", tmp_path / "s.tally", tmp_path / "t.tally"
    asked = ("calibrate", source, target, "--scores", "z", "-o", made)
    assert "take their softmax; sets are often" in " ".join(good(*asked).stdout.split())
    good(*asked, "--softmax", "--force")
    assert Certificate.load(made).softmax
    counting = ("--label", "label", "--scores", "z", "-o")
    assert "take their softmax; sets are often" in good("tally", target, *counting, plain).stderr
    assert good("tally", source, *counting, of_logits, "--softmax").stderr == ""
    said = bad("calibrate", of_logits, plain, "-o", tmp_path / "d.json")
    assert "do not add. Count all of them from logits with --softmax" in said
    assert "(of logits: --softmax)" in bad("compare", source, target, "--scores", "z")  # APS adds them up
    assert (
        "--softmax is for logits, but these scores are probabilities that sum to 1 already. Leave it out"
        in bad("tally", twice, "--scores", "z", "--softmax", "-o", tmp_path / "a.tally")
    )
    watched = ("monitor", source, target, "--scores", "z", "--certificate", made, "-o", tmp_path / "m.html")
    good(*watched, "--json")  # the certificate says that it takes the softmax
