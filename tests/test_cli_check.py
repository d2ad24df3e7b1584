"""``pacshift check``: counts, intervals and verdicts."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from commands import NAMES, Data, bad, good, run
from pacshift import Certificate


def test_check_counts_and_judges(data: Data) -> None:
    shown = good("check", data.certificate, data.labelled).stdout
    assert "kept: The error is at most the 10 % asked for" in " ".join(shown.split())
    document = json.loads(good("check", data.certificate, data.labelled, "--json").stdout)
    table = pa.parquet.read_table(data.labelled)
    matrix = np.column_stack([table.column(f"p_{name}").to_numpy() for name in NAMES])
    index = np.array([NAMES.index(name) for name in table.column("label").to_pylist()])
    sets = Certificate.load(data.certificate).sets(matrix)
    missed = ~sets[np.arange(2000), index]
    assert document["rows"] == 2000
    assert document["error"] == missed.mean()
    assert document["size"] == sets.sum(axis=1).mean()
    assert [row["error"] for row in document["classes"]] == [missed[index == one].mean() for one in range(3)]
    low, high = document["error_interval"]
    assert low < document["error"] < high < 0.1
    assert document["verdict"] == "kept"
    assert document["missed"] == missed.sum() <= document["kept_up_to"] < document["broken_from"]
    one = sets.sum(axis=1) == 1
    assert document["one_label"]["error"] == missed[one].mean()
    made = Certificate.load(data.certificate)
    assert made.class_miss is not None
    for place, row in enumerate(document["classes"]):
        assert row["stated"] == [made.class_miss.lower[place], made.class_miss.upper[place]]
        assert row["error_interval"][0] <= row["error"] < row["error_interval"][1]
    for heading in ("95 % interval", "the certificate says", "sets with one label"):
        assert heading in shown


def test_check_is_honest_about_small_samples_and_broken_guarantees(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    few = tmp_path / "few.parquet"
    pa.parquet.write_table(table.slice(0, 20), few)
    shown = " ".join(good("check", data.certificate, few).stdout.split())
    assert "consistent: " in shown
    assert "20 rows are too few" in shown
    assert "rows would probably decide" in shown
    wrong = tmp_path / "wrong.parquet"
    shuffled = np.random.default_rng(0).permutation(table.column("label").to_pylist())
    pa.parquet.write_table(table.set_column(table.column_names.index("label"), "label", pa.array(shuffled)), wrong)
    broken = run("check", data.certificate, wrong)
    assert broken.exit_code == 4
    shown = " ".join(broken.stdout.split())
    assert "broken: The error is above the 10 % asked for" in shown
    assert "label shift does not hold" in shown
    good("calibrate", data.source, "-m", "PS", "-o", tmp_path / "ps.json")
    above = run("check", tmp_path / "ps.json", wrong, "--json")
    document = json.loads(above.stdout)
    assert (above.exit_code, document["verdict"]) == (4, "above")
    assert "on the source only" in document["in_words"]
    assert "What it had promised: misses at most 10 % of the source" in document["in_words"]


def test_the_exit_code_tells_a_pipeline_what_to_do(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    few, wrong = tmp_path / "few.parquet", tmp_path / "wrong.parquet"
    pa.parquet.write_table(table.slice(0, 20), few)
    others = [NAMES[(NAMES.index(name) + 1) % 3] for name in table.column("label").to_pylist()]
    pa.parquet.write_table(table.set_column(table.column_names.index("label"), "label", pa.array(others)), wrong)
    good("calibrate", data.source, "-m", "PS", "-o", tmp_path / "ps.json")
    promised, not_promised = data.certificate, tmp_path / "ps.json"
    codes = {
        (made, rows, fail_on): run("check", made, rows, "--fail-on", fail_on).exit_code
        for made, rows in ((promised, data.labelled), (promised, few), (promised, wrong), (not_promised, wrong))
        for fail_on in ("broken", "consistent")
    }
    assert list(codes.values()) == [0, 0, 0, 4, 4, 4, 4, 4]
    assert "--fail-on" in bad("check", promised, few, "--fail-on", "kept")


def test_check_without_rows_of_a_class_and_bad_levels(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    some = tmp_path / "some.parquet"
    pa.parquet.write_table(table.filter(pa.compute.equal(table.column("label"), "owl")), some)
    document = json.loads(good("check", data.certificate, some, "--json").stdout)
    assert [row["error"] is None for row in document["classes"]] == [True, False, True]
    assert "-" in good("check", data.certificate, some).stdout
    assert "--level must lie strictly between 0 and 1" in bad("check", data.certificate, some, "--level", 95)
    assert "'nope'" in bad("check", data.certificate, some, "--label", "nope")


def test_the_files_of_the_certificate_are_known_by_their_hash(data: Data, tmp_path: Path) -> None:
    """Nobody may show the source's own file as evidence."""
    renamed = tmp_path / "later.parquet"
    renamed.write_bytes(data.source.read_bytes())
    shown = run("check", data.certificate, renamed)
    assert shown.exit_code == 4
    assert "no evidence: These are the source's rows, on which the thresholds were" in shown.stdout
    document = json.loads(run("check", data.certificate, renamed, "--json").stdout)
    assert (document["verdict"], document["seen_as"]) == ("no evidence", "source")
    made = tmp_path / "c.json"
    good("calibrate", data.source, data.labelled, "-o", made)
    document = json.loads(good("check", made, data.labelled, "--json").stdout)
    assert (document["verdict"], document["seen_as"]) == ("kept", "target")
    assert json.loads(good("check", data.certificate, data.labelled, "--json").stdout)["seen_as"] is None


def test_rows_of_another_mix_are_no_evidence(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    is_crow = np.array(table.column("label").to_pylist()) == "crow"
    pa.parquet.write_table(table.filter(pa.array(is_crow)), tmp_path / "crows.parquet")
    made = tmp_path / "c.json"
    good("calibrate", data.source, data.target, "-m", "PS-LP", "-o", made)
    assert json.loads(good("check", made, data.labelled, "--json").stdout)["classes_apart"] == []
    shown = run("check", made, tmp_path / "crows.parquet")
    assert shown.exit_code == 4
    said = " ".join(shown.stdout.split())
    assert "no evidence: 'crow' makes up" in said
    assert "not a random sample of the target that the certificate is about, or label shift" in said
