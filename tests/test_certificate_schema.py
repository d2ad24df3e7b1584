"""The JSON Schema of certificates: what is written fits it, damaged files do not.

``UPDATE_DOCS=1 pytest tests/test_certificate_schema.py`` writes it as the fields of the file say.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from certificates import every_shape
from pacshift import Population, calibrate
from pacshift.certificate import file
from pacshift.certificate.file import json_schema, to_document

ROOT = Path(__file__).resolve().parents[1]
PATH = Path(file.__file__).parent / "certificate.schema.json"
SCHEMA: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
STORED = ROOT / "tests" / "files" / "certificate-version-1.json"


@cache
def text() -> str:
    """What is written today, with every part that can be there."""
    population = Population.synthetic(3, strength=4, rng=0)
    source, labels = population.draw([0.5, 0.3, 0.2], 1000, rng=1)
    target, _ = population.draw([0.2, 0.3, 0.5], 1000, rng=2)
    made = calibrate(source, labels, target, class_epsilon=0.3, known_mix={0: (0.0, 0.9)}, model_id="net")
    return json.dumps(to_document(made.with_set_sizes(target).with_curves()))


def document() -> dict[str, Any]:
    written: dict[str, Any] = json.loads(text())
    return written


def test_the_schema_is_one_and_the_docs_link_it() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert (ROOT / "docs" / "certificate.schema.json").read_bytes() == PATH.read_bytes()
    assert "](certificate.schema.json)" in (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def test_the_stored_file_fits() -> None:
    VALIDATOR.validate(json.loads(STORED.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ["full", "default", "trivial", "hostile", "source only", "bare", "never empty"])
def test_what_is_written_today_fits(name: str) -> None:
    VALIDATOR.validate(json.loads(json.dumps(to_document(every_shape()[name]))))


def test_it_is_what_the_fields_of_the_file_say() -> None:
    said = json.dumps(json_schema(), indent=1) + "\n"
    if os.environ.get("UPDATE_DOCS"):
        PATH.write_text(said, encoding="utf-8")
    run = "run UPDATE_DOCS=1 pytest tests/test_certificate_schema.py and read the difference"
    assert PATH.read_text(encoding="utf-8") == said, run
    assert set(document()) == set(SCHEMA["properties"])
    VALIDATOR.validate(document())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "other"),
        ("version", 2),
        ("epsilon", 0),
        ("guarantee", "all"),
        ("n_source", -1),
        ("n_source", 1.5),
        ("checksum", "abc"),
        ("classes", []),
        ("never_empty", "yes"),
        ("one_label_error_at_most", 1.5),
        ("provenance", {"created": "yesterday"}),
        ("reasons", [1]),
    ],
)
def test_what_cannot_be_does_not_fit(field: str, value: object) -> None:
    wrong = document() | {field: value}
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(wrong)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({name: part for name, part in wrong.items() if name not in ("epsilon", field)})


def test_thresholds_may_be_infinite() -> None:
    made = document()
    made["classes"][0]["threshold"] = "-inf"
    VALIDATOR.validate(made)
    made["classes"][0]["threshold"] = "nan"
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(made)
