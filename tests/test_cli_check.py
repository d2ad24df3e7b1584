"""``pacshift check``: counts, intervals and verdicts."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import NAMES, Data, bad, good, run
from pacshift import Certificate, calibrate, check


def test_check_counts_and_judges(data: Data) -> None:
    shown = good("check", data.certificate, data.labelled).stdout
    assert shown.startswith("kept: 43 of 2,000 rows were missed, 2.15 % (95 % interval: 1.56 to 2.89 %);")
    for heading in ("95 % interval", "certificate", "labels per set", "one-label sets"):
        assert heading in shown
    document = json.loads(good("check", data.certificate, data.labelled, "--json").stdout)
    made, table = Certificate.load(data.certificate), pa.parquet.read_table(data.labelled)
    scores = np.column_stack([table.column(f"p_{name}").to_numpy() for name in NAMES])
    found = check(made, scores, table.column("label").to_pylist())
    names = ("verdict", "error", "lower", "upper", "missed", "kept_up_to", "broken_from")
    assert [document[name] for name in names] == [getattr(found, name) for name in names]
    assert document["verdict"] == "kept"
    assert document["evaluation"]["class_error"] == found.evaluation.class_error.tolist()
    assert made.class_miss is not None
    stated = np.column_stack([made.class_miss.lower, made.class_miss.upper]).tolist()
    assert document["certificate"]["class_miss"] == stated


def test_the_exit_code_tells_a_pipeline_what_to_do(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    few, wrong = tmp_path / "few.parquet", tmp_path / "wrong.parquet"
    pa.parquet.write_table(table.slice(0, 20), few)
    others = [NAMES[(NAMES.index(name) + 1) % 3] for name in table.column("label").to_pylist()]
    pa.parquet.write_table(table.set_column(table.column_names.index("label"), "label", pa.array(others)), wrong)
    good("calibrate", data.source, "-m", "PS", "-o", tmp_path / "ps.json")
    promised, not_promised = data.certificate, tmp_path / "ps.json"
    found = {
        (made, rows, fail_on): run("check", made, rows, "--fail-on", fail_on)
        for made, rows in ((promised, data.labelled), (promised, few), (promised, wrong), (not_promised, wrong))
        for fail_on in ("broken", "not-proven")
    }
    assert [one.exit_code for one in found.values()] == [0, 0, 0, 4, 4, 4, 4, 4]
    said = [" ".join(one.stdout.split()) for one in found.values()][::2]
    assert said[1].startswith("within the promise, not proven yet: ")
    assert said[2].startswith("broken: ")
    assert said[3].startswith("above epsilon: ")
    assert "10 % was asked for, but PS promises nothing about the target." in said[3]
    assert "--fail-on" in bad("check", promised, few, "--fail-on", "kept")


def test_check_without_rows_of_a_class_and_bad_levels(data: Data, tmp_path: Path) -> None:
    table = pa.parquet.read_table(data.labelled)
    some = tmp_path / "some.parquet"
    pa.parquet.write_table(table.filter(pa.compute.equal(table.column("label"), "owl")), some)
    document = json.loads(good("check", data.certificate, some, "--json").stdout)
    assert [error is None for error in document["evaluation"]["class_error"]] == [True, False, True]
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
    assert (document["verdict"], document["seen_as"]) == ("no-evidence", "source")
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


def test_of_many_classes_the_most_missed_are_shown(tmp_path: Path) -> None:
    names, rng = [f"c{place:02}" for place in range(20)], np.random.default_rng(0)
    labels = rng.integers(0, 20, 2000)
    scores = rng.dirichlet(np.full(20, 0.3), 2000) + 3 * np.eye(20)[labels]
    scores /= scores.sum(axis=1, keepdims=True)
    made = calibrate(scores, np.array(names)[labels], None, method="PS", classes=names)
    made.save(tmp_path / "c.json")
    columns = {f"p_{name}": scores[::2, place] for place, name in enumerate(names)}
    table = pa.table(columns | {"label": np.array(names)[labels][::2]})
    pa.parquet.write_table(table, tmp_path / "l.parquet")
    words = ("check", tmp_path / "c.json", tmp_path / "l.parquet", "--scores", "p_*", "--label", "label")
    shown = run(*words).stdout
    assert sum(f"'{name}'" in shown or f"│ {name} " in shown for name in names) == 6


@pytest.mark.parametrize("share", ["nan", "-0.1", "1.5", "inf"])
def test_the_share_of_rows_left_out_is_named_as_the_option(share: str, data: Data) -> None:
    said = bad("check", data.certificate, data.labelled, "--drop-invalid", share)
    assert said.startswith("error: --drop-invalid SHARE must lie between 0 and 1, got ")
