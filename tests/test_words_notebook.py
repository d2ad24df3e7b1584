"""Certificates at a prompt and in a notebook: short, true, and safe whatever the class names."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from certificates import HOSTILE, certify, every_shape
from pacshift import Certificate, Tally, evaluate
from pacshift.words.statements import ABOVE, MAX_NOTES, statements

CERTIFICATES = every_shape()
MAX_EXPLAIN_LINES = 40


class Page(HTMLParser):
    """Collects tags, and rows of cells; fails on tags that the page did not write itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("div", "p", "table", "tr", "th", "td")
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.mark.parametrize("shape", CERTIFICATES)
def test_print_is_five_lines_without_arrays(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    shown = repr(certificate)
    assert str(certificate) == shown
    assert len(shown.splitlines()) == 5
    assert len(shown) < 600
    assert "array(" not in shown
    assert certificate.method in shown.splitlines()[0]
    assert f"{len(certificate.classes)} classes" in shown.splitlines()[0]
    n_notes = len(certificate.notes) + len(certificate.reasons)
    assert f"notes:   {n_notes};" in shown


def test_print_says_what_is_promised_and_how_large_the_sets_are() -> None:
    promises = {
        "binary": "misses at most 10 % of the target, with confidence 95 %, if label shift holds",
        "source only": "misses at most 10 % of the source, with confidence 95 %; nothing about the target",
        "marginal": "misses at most 10 % of the target on average over many calibrations, if label shift holds",
        "no guarantee": "promise: none",
    }
    for shape, promise in promises.items():
        assert promise in repr(CERTIFICATES[shape])
    sizes = CERTIFICATES["binary"].set_sizes
    assert sizes is not None
    assert f"{sizes @ [0, 1, 2] / sizes.sum():.3f} labels on average" in repr(CERTIFICATES["binary"])
    assert "every set contains all labels" in repr(CERTIFICATES["trivial"])
    assert "labels with a score of at least" in repr(CERTIFICATES["bare"])


@pytest.mark.parametrize("shape", CERTIFICATES)
def test_html_shows_one_row_per_class_up_to_twelve(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    page = Page(certificate._repr_html_())
    assert len(page.rows) == 1 + min(len(certificate.classes), 12)
    left_out = len(certificate.classes) - 12
    assert (f"… and {left_out:,} more" in page.text) == (left_out > 0)


@pytest.mark.parametrize("shape", CERTIFICATES)
def test_html_says_what_the_certificate_says(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    shown = " ".join(Page(certificate._repr_html_()).text.split())
    said = {one.name: " ".join(str(one).split()) for one in statements(certificate)}
    assert [name for name in ABOVE if name in said and said[name] not in shown] == []
    assert ("On the target: " in shown) == (certificate.set_sizes is not None and certificate.set_sizes.sum() > 0)


def test_html_escapes_hostile_names() -> None:
    page = Page(replace(CERTIFICATES["hostile"], notes=HOSTILE)._repr_html_())
    shown = [row[0] for row in page.rows[1:]]
    assert shown[0] == HOSTILE[0]
    assert shown[3] == r"two\nlines\x08\u202e"  # nothing breaks or turns the line
    assert shown[5] == "x" * 79 + "…"
    assert len(shown) == len(HOSTILE)


def test_html_shows_the_numbers_of_the_certificate() -> None:
    certificate = CERTIFICATES["default"]
    assert certificate.class_miss is not None
    rows = Page(certificate._repr_html_()).rows[1:]
    for row, cut, count, upper in zip(
        rows, certificate.thresholds, certificate.class_counts, certificate.class_miss.upper, strict=True
    ):
        assert float(row[3]) == pytest.approx(cut, rel=1e-5)
        assert float(row[1].split()[0]) == pytest.approx(100 * count / certificate.n_source, rel=0.01)
        assert 100 * upper <= float(row[4].split()[2]) <= 100 * upper * 1.011  # rounded up, never down


def test_many_classes_show_those_that_may_be_missed_most() -> None:
    certificate = CERTIFICATES["many"]
    assert certificate.class_miss is not None
    shown = [row[0] for row in Page(certificate._repr_html_()).rows[1:]]
    worst = np.sort(certificate.class_miss.upper)[-12:].min()
    assert all(certificate.class_miss.upper[certificate.classes.index(name)] >= worst for name in shown)


@pytest.mark.slow
def test_explain_never_grows_long() -> None:
    certificate = certify(1000, "PS-LW", n=3000)
    assert len(certificate.reasons) > 900
    lines = certificate.explain().splitlines()
    assert len(lines) <= MAX_EXPLAIN_LINES
    assert lines[-1] == (
        f"... and {len(certificate.reasons) + len(certificate.notes) - MAX_NOTES:,} more notes: "
        "certificate.reasons and certificate.notes hold them all."
    )
    few = replace(certificate, reasons=certificate.reasons[:3])
    assert [line for line in few.explain().splitlines() if line.startswith("... and")] == []


def test_other_results_are_short_too() -> None:
    certificate: Certificate = CERTIFICATES["many"]
    rng = np.random.default_rng(0)
    scores, labels = rng.dirichlet(np.ones(200), 2000), rng.integers(0, 200, 2000)
    results = [
        certificate.assumption,
        certificate.class_miss,
        evaluate(certificate.sets(scores), labels),
        Tally.from_scores(scores, labels),
    ]
    for result in results:
        assert result is not None
        assert len(repr(result)) < 1200
        assert type(result).__name__ in repr(result)
    assert repr(results[-1]) == "Tally(200 classes, 2,000 source rows, 0 target rows, score 'probability')"
