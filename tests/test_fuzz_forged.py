"""Files that were forged, with seals made again: refused with a message, or read and then used without a crash.

Seeded: the same files every time. The soak runs many more.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forge import certificate_bytes, forge, trial
from pacshift import Certificate, accept, calibrate, check, label_sheet, verify
from pacshift.certificate.file import to_document
from pacshift.report.build import render_report

CLASSES = ("ant", "bee", "cow")
TIMES = [1, pytest.param(50, marks=pytest.mark.soak)]
"""How many times the cases of the default run."""


def rows(n_rows: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])
    scores = np.exp(rng.normal(size=(n_rows, 3)) + 3 * np.eye(3)[labels])
    return np.round(scores / scores.sum(axis=1, keepdims=True), 6), labels


SOURCE, TARGET, FRESH = rows(600, 1), rows(600, 2), rows(200, 3)


def named(labels: Any) -> Any:
    return np.array(CLASSES)[labels]


@cache
def certificates() -> list[dict[str, Any]]:
    """Documents of all kinds of rules and fields."""
    names, rates = named(SOURCE[1]), {"epsilon": 0.1, "delta": 0.1, "classes": CLASSES, "rng": 0}
    sheet = label_sheet(TARGET[0], budget=120, epsilon=0.1, delta=0.1, rng=0)
    sheet = sheet.with_labels(named(TARGET[1])[sheet.rows])
    options: list[dict[str, Any]] = [
        {"method": "PS"},
        {"method": "PS-W", "class_epsilon": 0.3},
        {"method": "PS-LP", "contamination": 0.01, "model_id": "net", "note": "x", "valid_until": "2027-01-31"},
        {"method": "PS-LW", "never_empty": True, "score": "margin"},
        {"method": "PS-T", "labelled": sheet},
        {"method": "WCP", "groups": np.arange(600) // 2, "target_groups": np.arange(600) // 3},
    ]
    made = [calibrate(SOURCE[0], names, TARGET[0], **rates, **each) for each in options]
    made[2] = made[2].with_curves()
    made.append(accept(SOURCE[0], names, TARGET[0], error=0.1, delta=0.1, classes=CLASSES, rng=0))
    return [to_document(one.with_set_sizes(TARGET[0])) for one in made]


def explain(certificate: Certificate) -> None:
    for text in (certificate.explain(), certificate.explain(full=True), repr(certificate)):
        assert text
    certificate._repr_html_()


CERTIFICATE_USES: dict[str, Callable[[Certificate], object]] = {
    "explain": explain,
    "sets": lambda made: (made.sets(FRESH[0]), made.labels(FRESH[0])),
    "check": lambda made: check(made, FRESH[0], named(FRESH[1])),
    "verify": lambda made: verify(made, SOURCE[0], named(SOURCE[1]), TARGET[0]),
    "report": render_report,
    "SQL": lambda made: made.to_sql(),
    "predictor": lambda made: made.predictor().labels(FRESH[0][0]),
    "again": lambda made: to_document(made),
}


@pytest.mark.parametrize("times", TIMES)
def test_forged_certificates(times: int, tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    path = tmp_path / "forged.json"
    for case in range(40 * times):
        rng = np.random.default_rng([11, case])
        document = certificates()[case % len(certificates())]
        path.write_bytes(certificate_bytes(forge(document, rng), rng))
        found[trial(lambda: Certificate.load(path), *CERTIFICATE_USES.values())] += 1
    assert min(found.values()) > 5
