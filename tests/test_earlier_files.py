"""Files of every earlier form are read for ever, and give the sets that they gave when they were written.

``files/earlier`` has one folder per form: the first one, then with facts about the method, with tallies in cells,
with the test of label shift, with a checksum, with columns and provenance, with kinds of scores, with logits. Each
holds what the code of its time wrote, and in ``expected.json`` what that code answered.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pacshift import Certificate, Tally, calibrate_tally
from pacshift.certificate import file as certificate_file
from pacshift.report import render_report
from pacshift.tally import file as tally_file

EARLIER = Path(__file__).parent / "files" / "earlier"
FORMS = sorted(folder.name for folder in EARLIER.iterdir())
CERTIFICATES = [f"{form}/{path.stem}" for form in FORMS for path in sorted((EARLIER / form).glob("ps-*.json"))]


def expected(form: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EARLIER / form / "expected.json").read_text())
    return document


@pytest.mark.parametrize("name", CERTIFICATES)
def test_an_earlier_certificate_gives_the_sets_it_gave_then(name: str, tmp_path: Path) -> None:
    form, _, method = name.partition("/")
    answers = expected(form)
    certificate = Certificate.load(EARLIER / f"{name}.json")
    assert certificate.guarantee == answers[method]["guarantee"]
    certificate.save(tmp_path / "again.json")
    for one in (certificate, Certificate.load(tmp_path / "again.json")):
        assert [repr(float(cut)) for cut in one.thresholds] == answers[method]["thresholds"]
        sets = one.sets(answers["probe"])
        assert ["".join(map(str, row)) for row in sets.astype(int)] == answers[method]["sets"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", CERTIFICATES)
def test_an_earlier_certificate_is_explained_and_has_a_page(name: str) -> None:
    certificate = Certificate.load(EARLIER / f"{name}.json")
    assert certificate.explain().startswith(f"Guarantee ({certificate.method}): the set contains")
    assert "Guaranteed on the target" in render_report(certificate)


@pytest.mark.parametrize("form", FORMS)
def test_an_earlier_tally_still_counts(form: str) -> None:
    tally, then = Tally.load(EARLIER / form / "counts.tally"), expected(form)["counts"]
    assert tally.confusion.tolist() == then["confusion"]
    assert tally.target.tolist() == then["target"]
    assert tally.class_counts.tolist() == then["class_counts"]
    doubled = tally + replace(tally, inputs=())  # the same rows twice would be refused
    assert doubled.n_source == 2 * tally.n_source
    # PS does not ask the test of label shift, which may doubt rows that are counted twice.
    made = calibrate_tally(doubled, epsilon=0.3, delta=0.2, method="PS")
    assert np.isfinite(made.thresholds).all()


def test_only_tallies_of_the_first_forms_know_nothing_about_top_scores() -> None:
    bins = [Tally.load(EARLIER / form / "counts.tally").source_cells.bins for form in FORMS]
    assert bins == ["none", "none", *["confidence"] * 4, "top scores", "confidence"]


def test_every_version_that_can_be_read_has_a_file() -> None:
    documents = [json.loads((EARLIER / f"{name}.json").read_text()) for name in CERTIFICATES]
    assert {document["version"] for document in documents} == set(certificate_file.READABLE_VERSIONS)
    headers = [json.loads(str(np.load(EARLIER / form / "counts.tally")["header"])) for form in FORMS]
    assert {header["version"] for header in headers} == set(tally_file.READABLE_VERSIONS)
