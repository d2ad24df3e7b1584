"""The JSON Schema of certificates: every stored form fits it, damaged ones do not, and it knows every field."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from certificates import every_shape
from pacshift import METHODS, Population, calibrate
from pacshift.certificate import file
from pacshift.certificate.file import to_document
from pacshift.certificate.reading import CLASS_INTERVALS
from pacshift.methods.guarantee import MEANINGS
from pacshift.scores.transforms import TRANSFORMS

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


def test_it_knows_every_field_and_every_value() -> None:
    written, parts = document(), SCHEMA["$defs"]
    assert set(written) == set(SCHEMA["properties"])
    assert set().union(*written["classes"]) <= set(parts["class"]["properties"])
    assert set(CLASS_INTERVALS) <= set(parts["class"]["properties"])
    assert set(written["provenance"]) == set(parts["provenance"]["properties"])
    assert set(written["provenance"]["inputs"][0]) == set(parts["input"]["properties"])
    for name in ("method_facts", "assumption", "source_scores", "sensitivity", "bound_curve"):
        described = SCHEMA["properties"][name]
        described = described.get("anyOf", [described])[0]
        assert set(written[name]) == set(described["properties"]), name
    assert SCHEMA["properties"]["score"]["enum"] == [*TRANSFORMS, "custom"]
    assert set(SCHEMA["properties"]["guarantee"]["enum"]) == set(MEANINGS)
    assert SCHEMA["properties"]["version"]["const"] == file.VERSION
    assert {made.guarantee for made in METHODS.values()} <= set(SCHEMA["properties"]["guarantee"]["enum"])
    VALIDATOR.validate(written)


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
