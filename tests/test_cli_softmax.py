"""Logits on the command line: ``--softmax`` wherever scores are read, remembered by what is written."""

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import bad, good
from pacshift import Certificate, Population, Tally, calibrate
from pacshift.scores.transforms import softmax


class Logits(NamedTuple):
    source: Path
    target: Path
    labelled: Path
    tally: Tally
    scores: np.ndarray


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Logits:
    """Tables with one list column of logits, as a network writes them, and their counts as probabilities."""
    folder, population = tmp_path_factory.mktemp("logits"), Population.synthetic(3, strength=4, rng=0)
    drawn = []
    for name, mix, rows in (("source", [0.5, 0.3, 0.2], 3000), ("target", [0.2, 0.3, 0.5], 3000)):
        scores, labels = population.draw(mix, rows, rng=rows)
        shift = np.random.default_rng(rows).normal(5, 3, (rows, 1))
        logits = (np.log(scores) + shift).astype(np.float32)
        columns = {"logits": list(logits), "label": labels, "id": np.arange(rows)}
        pa.parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
        drawn.append((logits, labels))
    (source, labels), (target, _) = drawn
    counted = Tally.from_scores(softmax(source), labels, grid=True) + Tally.from_target(softmax(target))
    return Logits(folder / "source.parquet", folder / "target.parquet", folder / "target.parquet", counted, target)


def test_calibrate_predict_and_check_with_one_flag(data: Logits, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    call = ("--scores", "logits", "--softmax", "--method", "PS-W")  # rows or counts alone make no difference to it
    good("calibrate", data.source, data.target, *call, "-o", out)
    made = Certificate.load(out)
    assert made.softmax
    assert np.array_equal(made.thresholds, calibrate(data.tally, method="PS-W").thresholds)
    good("predict", out, data.target, "-o", tmp_path / "sets.parquet")
    sizes = pa.parquet.read_table(tmp_path / "sets.parquet").column("set_size").to_numpy()
    assert np.array_equal(sizes, made.sets(data.scores).sum(axis=1))
    assert json.loads(good("check", out, data.labelled, "--json").stdout)["rows"] == 3000


def test_raw_logits_are_certified_with_a_note_that_names_the_flag(data: Logits, tmp_path: Path) -> None:
    call = ("--scores", "logits")
    shown = good("calibrate", data.source, data.target, *call, "-o", tmp_path / "c.json").stdout
    assert "take their softmax: --softmax." in " ".join(shown.split())
    counted = good("tally", data.source, "--label", "label", *call, "-o", tmp_path / "a.tally")
    assert "take their softmax: --softmax." in counted.stderr
    with_flag = good("tally", data.source, "--label", "label", *call, "--softmax", "-o", tmp_path / "b.tally")
    assert with_flag.stderr == ""


def test_compare_refuses_raw_logits_with_the_remedy(data: Logits) -> None:
    """One of its methods adds up probabilities."""
    call = ("compare", data.source, data.target, "--scores", "logits")
    assert "(of logits: --softmax)" in bad(*call)
    good(*call, "--softmax")


def test_tallies_remember_it_and_do_not_mix(data: Logits, tmp_path: Path) -> None:
    source, target, plain = (tmp_path / f"{name}.tally" for name in ("source", "target", "plain"))
    good("tally", data.source, "--label", "label", "--scores", "logits", "--softmax", "-o", source)
    good("tally", data.target, "--scores", "logits", "--softmax", "-o", target)
    good("tally", data.target, "--scores", "logits", "-o", plain)
    assert Tally.load(source) + Tally.load(target) == replace(data.tally, softmax=True)
    good("calibrate", source, target, "-o", tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json").softmax
    said = bad("calibrate", source, plain, "-o", tmp_path / "d.json")
    assert "do not add. Count all of them from logits with --softmax" in said


@pytest.mark.slow
def test_a_monitor_asks_the_certificate(data: Logits, tmp_path: Path) -> None:
    call = ("--scores", "logits", "--softmax")
    certificate = tmp_path / "c.json"
    good("calibrate", data.source, data.target, *call, "-o", certificate)
    monitor = ("monitor", data.source, data.target, "--scores", "logits", "-o", tmp_path / "m.html")
    shown = good(
        *monitor, "--certificate", certificate, "--json"
    ).stdout  # the certificate says that it is softmax
    assert json.loads(shown)


def test_probabilities_go_through_no_second_softmax(data: Logits, tmp_path: Path) -> None:
    table = tmp_path / "p.parquet"
    pa.parquet.write_table(pa.table({"p": list(softmax(data.scores))}), table)
    said = bad("tally", table, "--scores", "p", "--softmax", "-o", tmp_path / "a.tally")
    assert "leave --softmax out" in said
