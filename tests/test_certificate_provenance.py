"""Provenance: what a certificate says about its origin, and when it warns."""

import hashlib
import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from commands import NAMES, Data, bad, good
from flat import flat
from pacshift import Certificate, InputError, Tally, __version__, calibrate
from pacshift.certificate.provenance import Counting, Provenance
from pacshift.files.origin import current_time
from pacshift.report import render_report
from pacshift.tally.inputs import MAX_INPUTS, Input, shorten_inputs
from pacshift.tally.same_rows import counts_sha256

FILES = Path(__file__).resolve().parent / "files"
SCORES, LABELS = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 40, [0, 1, 1] * 40


def certify(**said: Any) -> Certificate:
    made: Certificate = flat(calibrate, SCORES, LABELS, epsilon=0.4, delta=0.1, method="PS", **said)
    return made


def origin(certificate: Certificate) -> Provenance:
    return certificate.provenance


def test_every_certificate_knows_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    made = origin(certify(note="first", model_id="net 3", valid_until=date(2030, 1, 31), rng=np.int64(5)))
    assert made.created == "1970-01-02T00:00:00Z"
    assert (made.note, made.model_id, made.valid_until, made.seed) == ("first", "net 3", "2030-01-31", 5)
    (source,) = made.inputs
    assert (source.role, source.name, source.rows, source.columns) == ("source", None, 120, ())
    assert origin(certify(rng=np.random.default_rng(0))).seed == np.random.default_rng(0).integers(2**63)
    assert origin(certify()).seed == 0
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert abs(datetime.fromisoformat(origin(certify()).created) - current_time()) < timedelta(minutes=1)


def test_the_hash_of_counts_depends_on_the_rows_only() -> None:
    whole = Tally.from_scores(SCORES, LABELS) + Tally.from_target(SCORES)
    parts = Tally.from_scores(SCORES[60:], LABELS[60:]) + Tally.from_target(SCORES[:30])
    parts += Tally.from_scores(SCORES[:60], LABELS[:60], soft=False) + Tally.from_target(SCORES[30:], bins=False)
    made = [origin(calibrate(one, epsilon=0.4, delta=0.1, method="PS-LW")).inputs for one in (whole, parts)]
    assert made[0] == made[1]
    assert [(one.role, one.rows) for one in made[0]] == [("source", 120), ("target", 120)]
    other = Tally.from_scores(SCORES, [1, *LABELS[1:]]) + Tally.from_target([[0.7, 0.3], *SCORES[1:]])
    for role in ("source", "target"):
        assert counts_sha256(other, role) != counts_sha256(whole, role)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"note": ""}, "note must be a text of 1 to 10,000 characters, got ''"),
        ({"note": "x" * 10_001}, "note must be a text"),
        ({"model_id": 3}, "model_id must be a text .* got '3'"),
        ({"model_id": "\ud800"}, "model_id must be a text"),
        ({"valid_until": "31.1.2027"}, "valid_until must be a day such as 2027-01-31, got '31.1.2027'"),
        ({"valid_until": 2027}, "valid_until must be a day"),
        ({"valid_until": "1999-12-31"}, "valid_until is 1999-12-31, but the certificate is made on 20"),
    ],
)
def test_what_cannot_be_kept_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        certify(**said)


@pytest.mark.parametrize("text", ["soon", "1e9", "9" * 30])
def test_a_clock_that_cannot_be_read_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", text)
    with pytest.raises(InputError, match="whole number of seconds since 1970"):
        certify()


def test_warnings_begin_the_day_after_and_name_both_models() -> None:
    made = origin(certify(valid_until="2030-01-31", model_id="a"))
    assert made.warnings(today=date(2030, 1, 31)) == []
    (expired,) = made.warnings(today=date(2030, 2, 1), model_id="a")
    assert "valid until 2030-01-31; today is 2030-02-01" in expired
    (other,) = made.warnings(today=date(2030, 1, 1), model_id="b")
    assert "is for model 'a'" in other
    assert "scores are from 'b'" in other
    (unnamed,) = origin(certify()).warnings(model_id="b")
    assert "names no model" in unnamed
    assert origin(certify()).warnings() == []


def test_words_and_page_say_it() -> None:
    certificate = certify(note="after\nthe  new scanner", model_id="net 3", valid_until="2099-01-31")
    made = origin(certificate)
    assert made.pacshift_version == __version__  # of the code that runs, whatever is installed
    line = f"Made: {made.created} with pacshift {made.pacshift_version} for model 'net 3'. Valid until 2099-01-31."
    assert f"{line} Maker's note: 'after the new scanner'" in certificate.explain(full=True).splitlines()
    page = render_report(certificate)
    for said in ("net 3", "2099-01-31", made.created, "version 1 of the method", made.code or "not known"):
        assert said in page
    not_stated = "the certificate does not say which classifier the scores come from"
    assert not_stated not in page
    assert not_stated in render_report(certify())


def test_it_says_how_rows_were_counted() -> None:
    rows = origin(calibrate(SCORES, LABELS, SCORES, epsilon=0.4, delta=0.1, method="PS-LW")).counting
    assert rows == Counting(grid=False, bins=False, rows=True, sample=True)
    tally = Tally.from_scores(SCORES, LABELS, grid=True) + Tally.from_target(SCORES)
    counts = origin(calibrate(tally, epsilon=0.4, delta=0.1, method="PS-LW")).counting
    assert counts == Counting(grid=True, bins=True, rows=False, sample=False)


def test_tallies_say_when_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    Tally.from_scores(SCORES, LABELS).save(tmp_path / "a.tally")
    with np.load(tmp_path / "a.tally") as arrays:
        header = json.loads(str(arrays["header"]))
    assert header["created"] == "1970-01-02T00:00:00Z"
    assert header["pacshift_version"] == origin(certify()).pacshift_version
    assert Tally.load(tmp_path / "a.tally").n_source == len(SCORES)


def test_many_files_are_limited_and_still_identified() -> None:
    files = [Input("target", f"{place}.csv", None, (), f"{place:064x}") for place in range(1000)]
    found = shorten_inputs(files)
    assert len(found) == MAX_INPUTS
    assert found[-1].name == "801 more files"
    changed = [*files[:-1], Input("target", "999.csv", None, (), "f" * 64)]
    assert shorten_inputs(changed)[-1] != found[-1]
    assert shorten_inputs(files[:MAX_INPUTS]) == tuple(files[:MAX_INPUTS])


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_commands_record_files_and_command(data: Data, tmp_path: Path) -> None:
    made = tmp_path / "a certificate.json"
    both = (data.source, data.target)
    good("calibrate", *both, "-m", "PS-LW", "--model-id", "net", "-o", made)
    found: Any = origin(Certificate.load(made))
    source, target = found.inputs
    scores = tuple(f"p_{name}" for name in NAMES)
    assert (source.name, source.columns, source.sha256) == (
        "source.parquet", ("label", *scores), sha256(data.source))  # fmt: skip
    assert (target.role, target.columns, target.sha256) == ("target", scores, sha256(data.target))
    assert source.rows == pyarrow.parquet.read_metadata(data.source).num_rows
    assert found.seed == 0
    assert found.command.startswith("pacshift calibrate ")
    assert "--model-id net" in found.command
    assert f"'{made}'" in found.command  # can be copied into a shell
    good("tally", data.source, "--label", "label", "-o", tmp_path / "s.tally")
    good("tally", data.target, "-o", tmp_path / "t.tally")
    good("calibrate", tmp_path / "s.tally", tmp_path / "t.tally", "-m", "PS-LW", "-o", made, "-f")
    inputs = origin(Certificate.load(made)).inputs
    assert [(one.role, one.name, one.sha256) for one in inputs] == [
        (role, f"{role[0]}.tally", sha256(tmp_path / f"{role[0]}.tally")) for role in ("source", "target")
    ]


def test_commands_warn_of_old_certificates_and_refuse_those_of_another_model(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, out = tmp_path / "c.json", tmp_path / "sets.parquet"
    with monkeypatch.context() as then:
        then.setenv("SOURCE_DATE_EPOCH", "86400")
        said = ("--valid-until", "1999-12-31", "--model-id", "a")
        good("calibrate", data.source, "-m", "PS-LW", *said, "-o", made)
    uses = (("predict", data.target, "-o", out), ("check", data.labelled))
    for command, *words in uses:
        how = "-f" if command != "check" else "--json"
        assert "is for model 'a'" in bad(command, made, *words, "--model-id", "b", how, code=5)
        warned = good(command, made, *words, "--model-id", "a", how).stderr
        assert "note: this certificate was valid until 1999-12-31" in warned
    assert "valid until 1999-12-31" in good("report", made, "-o", tmp_path / "r.html").stderr
    quiet = good("check", data.certificate, data.labelled)
    assert quiet.stderr == ""
