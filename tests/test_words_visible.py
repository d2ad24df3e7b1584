"""Text from files and tables is shown to people with escapes for what a terminal would obey."""

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certificates import birds, draw
from damage import nodes
from pacshift import (
    AssumptionError,
    Certificate,
    InputError,
    Tally,
    UninformativeWarning,
    calibrate,
    check,
    compare,
    prevalence,
    read,
    verify,
)
from pacshift.certificate.file import to_document
from pacshift.files.codec import seal
from pacshift.report import write_report

EVIL = "\x1b[2J\u202e\r\x07"
NAMES = [f"{name}{EVIL}" for name in ("ant", "bee", "cow")]


def require_visible(*texts: object) -> None:
    for text in texts:
        assert all(char.isprintable() or char == "\n" for char in str(text)), repr(text)


def forged(made: Certificate, path: Path) -> tuple[Certificate, int]:
    """The certificate with control characters in every text that it is still read with, and how many these are."""
    document, n_forged = to_document(made), 0
    for *way, last in list(nodes(document)):
        place: Any = document
        for key in way:
            place = place[key]
        if isinstance(place[last], str):
            before, place[last] = place[last], f"{place[last]}{EVIL}"
            path.write_text(json.dumps(seal(document)))
            try:
                Certificate.load(path)
                n_forged += 1
            except InputError as error:
                require_visible(error)
                place[last] = before
    path.write_text(json.dumps(seal(document)))
    return Certificate.load(path), n_forged


def test_a_forged_certificate_says_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    found, n_forged = forged(birds(), tmp_path / "c.json")
    assert n_forged > 20
    require_visible(found.explain(), found.explain(full=True), repr(found), found._repr_html_())
    assert "\\x1b[2J\\u202e" in found.explain(full=True)
    write_report(found, tmp_path / "report.html")
    assert "\x1b" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(InputError) as refused:
        found.sets(np.ones((2, 5)))
    require_visible(refused.value)


def test_names_of_a_table_are_shown_everywhere(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (source, labels), (target, hidden) = (draw(3, 600, np.full(3, 1 / 3), rng) for _ in range(2))
    names = np.array(NAMES)
    made = calibrate(source, names[labels], target, classes=NAMES, epsilon=0.2)
    made = made.annotate(note=EVIL, model_id=f"net{EVIL}")
    checked, answer = check(made, target, names[hidden]), prevalence(source, names[labels], target, classes=NAMES)
    again = verify(made, source, names[labels], target)
    require_visible(made.explain(full=True), repr(made), checked, checked.text, again, again.text, answer)
    require_visible(repr(compare(source, names[labels], target, classes=NAMES, methods=["PS", "PS-LP"])))
    require_visible(repr(Tally.from_scores(source, names[labels], classes=NAMES)))
    path = tmp_path / f"table{EVIL}.csv"
    with pytest.raises(InputError) as missing:
        Tally.load(path)
    require_visible(missing.value)
    lines = [",".join(f'"p_{name}"' for name in NAMES), *(",".join(map(str, row)) for row in target.tolist())]
    path.write_text("\n".join(lines))
    require_visible(repr(read(path)))
    with pytest.raises(InputError) as unknown:
        Tally.from_scores(source, ["\x1b[2J"] * len(source), classes=NAMES)
    require_visible(unknown.value)


def test_errors_and_warnings_hide_nothing() -> None:
    refused = AssumptionError(f"refused {EVIL}", f"do {EVIL}")
    error = pickle.loads(pickle.dumps(InputError(f"no column {EVIL}")))
    require_visible(refused, refused.refusal, refused.next_steps, error)
    assert "\\x1b" in str(error)
    assert str(refused).count("\n") == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"class {EVIL}", UninformativeWarning, stacklevel=1)
    require_visible(*(warning.message for warning in caught))
