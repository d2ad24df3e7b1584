"""``pacshift verify``: tables and tallies, verdicts and exit codes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import Data, bad, good, run
from pacshift import Certificate, calibrate, read


@pytest.mark.parametrize(
    "words", [(), ("-m", "WCP", "--score", "aps")], ids=lambda words: " ".join(map(str, words))
)
def test_what_calibrate_made_is_verified(words: tuple[object, ...], data: Data, tmp_path: Path) -> None:
    made = tmp_path / "c.json"
    good("calibrate", data.source, data.target, "-o", made, "--model-id", "net", *words)
    shown = good("verify", made, data.source, data.target).stdout
    assert shown.startswith("matches: recomputed from these data, the certificate is the same.")
    assert "Not verified: created, model_id, command: the maker's word." in shown


def test_other_data_end_with_exit_code_4(data: Data, tmp_path: Path) -> None:
    shorter = tmp_path / "shorter.parquet"
    pa.parquet.write_table(pa.parquet.read_table(data.target).slice(0, 1500), shorter)
    result = run("verify", data.certificate, data.source, shorter)
    assert result.exit_code == 4
    assert "does not match: these data give another certificate" in result.stdout
    assert "n_target: the certificate says" in result.stdout
    assert "Origin: target: other files, or other rows of them, than those on record." in result.stdout


def test_a_rewritten_file_with_the_same_rows_is_a_matter_of_provenance(data: Data, tmp_path: Path) -> None:
    again = tmp_path / "again.parquet"
    pa.parquet.write_table(pa.parquet.read_table(data.source), again, compression="none")
    document = json.loads(good("verify", data.certificate, again, data.target, "--json").stdout)
    assert document["verdict"] == "match-other-files"
    assert document["differences"] == []
    said = "source: other files, or other rows of them, than those on record"
    assert document["provenance_differences"] == [said]


def test_labels_of_the_target_are_asked_for(data: Data, tmp_path: Path) -> None:
    made, table = tmp_path / "c.json", pa.parquet.read_table(data.labelled)
    some = [label if place < 300 else None for place, label in enumerate(table.column("label").to_pylist())]
    target = tmp_path / "target.parquet"
    pa.parquet.write_table(table.set_column(table.column_names.index("label"), "label", pa.array(some)), target)
    good("calibrate", data.source, target, "--target-label", "label", "-o", made)
    assert "pass them as --target-label" in bad("verify", made, data.source, target)
    assert good("verify", made, data.source, target, "--target-label", "label").stdout.startswith("matches: ")


def test_tallies_are_verified_too(data: Data, tmp_path: Path) -> None:
    source, target, made = tmp_path / "s.tally", tmp_path / "t.tally", tmp_path / "c.json"
    good("tally", data.source, "--label", "label", "-o", source)
    good("tally", data.target, "-o", target)
    good("calibrate", source, target, "-o", made)
    assert good("verify", made, source, target).stdout.startswith("matches: ")
    assert run("verify", made, source).exit_code == 2
    assert "tallies and tables do not mix" in bad("calibrate", data.source, target, "-o", tmp_path / "d.json")
    assert "tallies hold no rows" in bad("verify", made, source, target, "--target-label", "label")
    words = "--score", "probability", "--softmax", "-l", "y", "-o", tmp_path / "d.json"
    said = bad("calibrate", source, target, *words)
    assert "--score, --label, --softmax are about rows, but tallies hold no rows. Leave them out" in said
    shown = good("verify", made, data.source, data.target).stdout  # the tables behind the tallies
    assert shown.startswith("matches, other files: ")


def test_what_python_made_from_arrays_is_verified_from_tables(data: Data, tmp_path: Path) -> None:
    source, target = read(data.source, label="label"), read(data.target)
    made = calibrate(*source.arrays(), target.arrays()[0], classes=source.classes)
    made.save(tmp_path / "c.json")
    assert len(np.unique(made.thresholds)) > 1
    shown = good("verify", tmp_path / "c.json", data.source, data.target).stdout
    assert "all numbers of the certificate are the same" in shown or "the certificate is the same" in shown
    logits = replace(made, softmax=True)
    logits.save(tmp_path / "logits.json")
    assert "is for logits, but" in bad("verify", tmp_path / "logits.json", data.source, data.target)
    assert Certificate.load(tmp_path / "c.json").provenance is not None
