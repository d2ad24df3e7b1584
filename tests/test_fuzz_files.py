"""Damaged certificates and tallies: refused with a message, or read as if nothing had happened.

Seeded: the same inputs every time. Warnings are errors here too, so a quiet overflow fails the test.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from damage import damage_bytes, damage_json, outcome, pick, require_message
from pacshift import Certificate, PacshiftError, Tally, calibrate
from pacshift.certificate.file import to_document
from pacshift.methods import usable_methods

RUNS = range(20)  # times the cases of each test


@pytest.mark.parametrize("seed", RUNS)
def test_damaged_certificates_and_tallies(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([2, seed])
    labels = rng.integers(0, 3, 200)
    scores = rng.dirichlet(np.ones(3), 200) * 0.4 + 0.6 * np.eye(3)[labels]
    method = pick(rng, [method.name for method in usable_methods()])
    certificate = calibrate(scores, labels, scores, epsilon=0.2, delta=0.2, method=method).with_set_sizes(scores)
    text = json.dumps(to_document(certificate))
    tally = Tally.from_scores(scores, labels) + Tally.from_target(scores)
    tally.save(tmp_path / "a.tally")
    packed = (tmp_path / "a.tally").read_bytes()
    for case in range(35):
        rng = np.random.default_rng([3, seed, case])
        path = tmp_path / "x"
        if case % 3 == 0:
            path.write_bytes(damage_bytes(packed, rng))
            loaded = outcome(lambda: Tally.load(path))  # noqa: B023
            assert isinstance(loaded, PacshiftError) or loaded == tally
            continue
        path.write_bytes(damage_json(text, rng))
        loaded = outcome(lambda: Certificate.load(path))  # noqa: B023
        if isinstance(loaded, PacshiftError):
            require_message(loaded)
            assert str(path) in str(loaded)
        else:
            assert to_document(loaded) == json.loads(text)  # the damage changed looks, not values: -0.0 is 0.0
