"""What a certificate says in words, at a prompt and in a notebook: true for every method, short, safe to show."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from certificates import HOSTILE, alter, birds, certify, every_shape
from flat import with_weights
from pacshift import METHODS, Certificate, Interval
from pacshift.methods import MethodFacts
from pacshift.report import render_report
from pacshift.words.statements import MAX_NOTES, short_lines

LABEL_SHIFT = "within each class, target cases look like source cases; only the label mix has changed."


def lines(certificate: Certificate, *, full: bool = False) -> dict[str, str]:
    """The words by their heads, in the order of the lines."""
    said = certificate.explain(full=full).splitlines()
    return dict(line.split(": ", 1) for line in said if line)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "PS-T"])
def test_every_method_is_explained_by_its_facts(method: str) -> None:
    facts = METHODS[method]()
    certificate = certify(3, with_weights(method, [1, 1, 1]), n=500)
    full, said = certificate.explain(full=True), lines(certificate)
    promised = f"{'No promise' if facts.guarantee == 'none' else 'Promise'} ({method})"
    on_target = facts.guarantee in ("pac-target", "marginal")
    assert {promised, "More"} <= set(said)
    assert ("Test" in said) == (LABEL_SHIFT in full) == ("Test of label shift" in full) == on_target
    assert facts.extra_assumption in said[promised]  # also where little is said: a promise without it is none
    assert facts.extra_assumption in full
    assert ("The promise holds for every target label mix." in full) == facts.any_mix
    assert "Data: 500 labelled source rows" in full


@pytest.mark.parametrize("shape", list(every_shape()))
def test_the_short_form_has_five_lines_and_says_promise_change_test_worst_class_and_sets(shape: str) -> None:
    certificate = every_shape()[shape]
    said = lines(certificate)
    heads = [head.split(" (")[0].removesuffix(" on the target") for head in said]
    assert heads[-1] == "More"
    assert len(" ".join(line for line in short_lines(certificate) if len(line) < 1000).split()) < 200
    wanted = ["Promise", "Implied change", "Test", "Worst class", "Sets"]
    if certificate.trivial:
        wanted = ["Sets", "Why", "Promise", "Implied change", "Test"]
    if certificate.guarantee not in ("pac-target", "marginal"):
        wanted = [head for head in wanted if head not in ("Implied change", "Test")]
    found = [head.removeprefix("No ").capitalize() for head in heads if head not in ("More", "Note")]
    assert [head for head in wanted if head in found] == found
    assert {"Promise", "Sets"} <= set(found)


@pytest.mark.parametrize(
    ("guarantee", "words", "never"),
    [
        (
            "pac-target",
            "at most 10 % of target cases get a set without their true label. Confidence 90 %",
            "average",
        ),
        (
            "pac-source",
            "at most 10 % of source cases get a set without their true label. Confidence 90 %",
            "average",
        ),
        ("marginal", "on average over many calibrations, at most 10 % of target cases", "Confidence"),
        ("none", "these sets may miss more than 10 % of the target", "at most"),
    ],
)
def test_the_promise_in_words(guarantee: Any, words: str, never: str) -> None:
    certificate = replace(birds(), method="TOY", guarantee=guarantee, facts=MethodFacts())
    head = "No promise (TOY)" if guarantee == "none" else "Promise (TOY)"
    assert words in lines(certificate)[head]
    assert never not in lines(certificate)[head]
    assert ("Assumption" in certificate.explain(full=True)) == (guarantee != "none")
    assert "weights" not in certificate.explain(full=True)


@pytest.mark.usefixtures("undrawn")
def test_with_contamination_classes_are_spoken_of_outside_of_it() -> None:
    plain = certify(3, "PS-LP", n=2000, class_epsilon=0.15)
    made = certify(3, "PS-LP", n=2000, class_epsilon=0.15, contamination=0.02)
    for other in ("outside those", "may all be missed", "of the rest"):
        assert other not in plain.explain() + plain.explain(full=True)
    said, full = lines(made), lines(made, full=True)
    assert said["Promise (PS-LP)"].startswith(
        "even if up to 2 % of the target breaks label shift, at most 10 % of target cases, and at most 15 % of "
        "any one class outside those 2 %, get a set"
    )
    assert "missed outside those 2 %" in said["Worst class"]
    assert "Implied change outside those 2 %" in said
    all_missed = "the cases of a class among them may all be missed."
    assert full["Promise (PS-LP)"].endswith(all_missed)
    assert full["Missed outside those 2 %, by class"].endswith(all_missed)
    assert "the label mix is that of the rest." in full["Assumptions"]
    assert "outside those 2 %" in repr(made)
    page = render_report(made).replace("&#39;", "'")
    assert "at most 15 % of any one class outside those 2 %" in page
    marginal = certify(3, "LWCP", n=2000, class_epsilon=0.15, contamination=0.02).explain()
    assert "With confidence 95 %, at most 15 % of any one class outside those 2 % are missed." in marginal


def test_an_extra_assumption_is_said_under_every_guarantee() -> None:
    for guarantee in ("pac-target", "pac-source", "marginal", "none"):
        facts = MethodFacts(extra_assumption="The moon is full.")
        certificate = replace(birds(), method="TOY", guarantee=guarantee, facts=facts)
        assert certificate.explain().count("The moon is full.") == 1
        assert "The moon is full." in certificate.explain(full=True)


def test_the_sets_in_words() -> None:
    certificate = replace(birds(), set_sizes=None)
    one = alter(certificate, thresholds=np.full(3, 0.25))
    assert lines(one)["Sets"] == "a label is in the set if its score is at least 0.25. Sizes were not counted."
    own = alter(certificate, thresholds=np.array([0.1, -np.inf, 0.3]), score="aps")
    assert "aps score is at least the threshold of its class" in lines(own)["Sets"]
    assert "In every set: 'owl'." in lines(own)["Sets"]
    counted = replace(certificate, set_sizes=np.array([10, 60, 20, 10]))
    said = "60 % name one label, 30 % several, 10 % are empty; 1.300 labels on average."
    assert lines(counted)["Sets on the target"] == said
    assert "without_empty_sets()" in lines(counted, full=True)["Sets"]
    full = alter(counted, set_sizes=np.array([0, 70, 20, 10]), never_empty=True)
    assert "none is empty (filled with the top label)" in lines(full)["Sets on the target"]


def test_the_worst_class_is_named_and_its_range_given_where_it_surely_is_the_worst() -> None:
    misses = Interval(np.array([0.05, 0.3, 0.0]), np.array([0.1, 0.4, 0.2]))
    sure = replace(birds(), class_miss=misses)
    assert lines(sure)["Worst class"] == "'owl', 30 to 40 % missed; confidence 90 %."
    full = lines(sure, full=True)["Missed, by class"]
    assert full.startswith("'owl' 30 to 40 %, 'wren' at most 20 %, 'crow' 5 to 10 %. These bounds hold together")
    assert full.endswith(
        "confidence 90 %; together with the promise, with at least 80 %. To limit every class, set "
        "class_epsilon=; sets become larger."
    )
    unsure = replace(sure, class_miss=Interval(misses.lower * 0.5, misses.upper))
    assert lines(unsure)["Worst class"] == "at most 40 % missed (highest bound: 'owl'); confidence 90 %."
    empty = replace(sure, class_miss=Interval(np.zeros(3), np.array([0.1, 1.0, 0.2])))
    assert lines(empty)["Worst class"].startswith("not bounded, by too few rows of 'owl'.")
    for limit, told in ((None, True), (0.4, False)):
        assert ("class_epsilon=" in alter(sure, class_epsilon=limit).explain(full=True)) == told
    assert "class_epsilon=" not in replace(sure, epsilon=0.2).explain(full=True)


def test_reasons_are_said_where_there_are_some() -> None:
    trivial = alter(birds(), thresholds=np.full(3, -np.inf), reasons=(), notes=())
    assert "Why" not in trivial.explain()
    said = replace(trivial, reasons=("too few owls.", "too few wrens."))
    assert said.explain().splitlines()[:2] == [
        "Sets: every set contains all 3 labels. That is always right, and says nothing.",
        "Why: too few owls. (and 1 more reason)",
    ]
    assert "Note: too few owls.\n\nNote: too few wrens." in said.explain(full=True)


def test_the_first_note_is_said_at_once_and_the_others_are_counted() -> None:
    noted = replace(birds(), notes=("look here.", "and here."))
    assert lines(noted)["Note"] == "look here. (and 1 more note)"
    assert "Note: and here." in noted.explain(full=True)
    narrow = replace(noted, notes=(*noted.notes, "rows are blank. So the promise is that few are missed."))
    assert narrow.explain().splitlines()[-2] == f"Note: {narrow.notes[2]} (and 1 more note)"


@pytest.mark.usefixtures("undrawn")
def test_an_accuracy_that_naming_one_class_reaches_is_left_out() -> None:
    mix = Interval(np.array([0.4, 0.3, 0.1]), np.array([0.55, 0.5, 0.5]))
    for least, said in ((0.3, False), (0.55, False), (0.56, True)):
        made = replace(birds(), accuracy=least, prevalence=mix)
        assert ("Accuracy" in made.explain(full=True)) == said
        assert "ccuracy" not in made.explain()
        assert ("Accuracy" in render_report(made)) == said
    assert "right for at least 56 % of target cases" in made.explain(full=True)
    assert "Accuracy" not in replace(birds(), accuracy=0.33, prevalence=None).explain(full=True)
    assert "Accuracy" not in replace(birds(), accuracy=None).explain(full=True)
    assert "at least 71.2 %" in replace(birds(), accuracy=0.7129).explain(full=True)


@pytest.mark.parametrize("guarantee", ["pac-target", "marginal"])
@pytest.mark.parametrize("cap", [None, 0.15])
@pytest.mark.parametrize("contamination", [0.0, 0.02])
def test_what_else_is_promised_is_said_and_no_more(
    guarantee: Any, cap: float | None, contamination: float
) -> None:
    certificate = alter(birds(), guarantee=guarantee, class_epsilon=cap, contamination=contamination)
    said = certificate.explain().splitlines()[0]
    assert ("even if up to 2 % of the target breaks label shift" in said) == bool(contamination)
    assert ("15 %" in said) == ("class" in said) == (cap is not None)
    full = certificate.explain(full=True)
    assert ("This need not hold for 2 % of the target" in full) == bool(contamination)
    assert "  " not in certificate.explain() + full


def test_the_test_says_what_it_could_have_missed_and_how_often_it_rejects() -> None:
    made: Any = certify(2, "PS-LP", n=2000)
    sizes = [one.size for one in made.assumption.noticeable]
    assert len(sizes) == 2
    least = f"less than about {math.ceil(100 * max(sizes))} % of cases or looks like another label mix."
    assert lines(made)["Test"].endswith(least)
    full = lines(made, full=True)["Test of label shift"]
    assert "would very likely have noticed: a kind of case that the source does not have" in full
    assert "If label shift holds, it is rejected with probability at most 0.5 %." in full
    unknown = replace(made, assumption=replace(made.assumption, noticeable=()))
    assert lines(unknown)["Test"].endswith("what else it could have missed is not known.")
    known = replace(made, known_mix=Interval(np.zeros(2), np.ones(2)))
    assert "and the stated shares are right, it is rejected" in lines(known, full=True)["Test of label shift"]


def test_the_implied_change_is_the_largest_shown_and_always_has_its_interval() -> None:
    certificate = replace(birds(), class_counts=np.array([300, 60, 240]))
    moved = replace(certificate, prevalence=Interval(np.array([0.4, 0.3, 0.1]), np.array([0.55, 0.5, 0.5])))
    otherwise = "If you know otherwise, do not use this certificate."
    narrower = "pacshift prevalence gives narrower"
    said = f"'owl' rose from 10 % to between 30 and 50 %. {otherwise}"
    assert lines(moved)["Implied change"] == said
    assert narrower in moved.explain(full=True)
    spared = replace(moved, contamination=0.02).explain(full=True)
    assert "Implied change outside those 2 %: 'owl' rose" in spared
    assert narrower not in spared
    fell = replace(certificate, prevalence=Interval(np.array([0.1, 0.08, 0.1]), np.array([0.2, 0.5, 0.8])))
    assert lines(fell)["Implied change"].startswith("'crow' fell from 50 % to between 10 and 20 %.")
    still = replace(certificate, prevalence=Interval(np.zeros(3), np.array([0.6, 0.9, 0.5])))
    said = f"uncertain. 'owl' may make up 0 to 90 % of the target (source: 10 %). {otherwise}"
    assert lines(still)["Implied change"] == said
    assert "0 to 90 % of the target (source: 10 %), 'crow' 0 to 60 %" in lines(still, full=True)["Implied change"]
    assert "Implied change" not in lines(replace(moved, guarantee="pac-source"))
    two = replace(certificate, prevalence=None)
    assert re.match(r"'.*' went from .* % to about .* % \(an estimate\)\.", lines(two)["Implied change"])
    assert narrower not in two.explain(full=True)


CERTIFICATES = every_shape()


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
def test_print_is_short(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    head, *lines = str(certificate).splitlines()
    assert f", {len(certificate.notes) + len(certificate.reasons)} note" in head
    assert (2 <= len(lines) <= 4, len(str(certificate)) < 800, "array(" in str(certificate)) == (True, True, False)
    assert {line.strip() for line in lines} <= set(short_lines(certificate))  # a third form would say it otherwise


def test_print_says_what_is_promised_and_how_large_the_sets_are() -> None:
    promises = {
        "binary": "at most 10 % of target cases get a set without their true label. Confidence 95 %, if only the",
        "source only": "at most 10 % of source cases get a set without their true label. Confidence 95 %, if rows",
        "marginal": "on average over many calibrations, at most 10 % of target cases get a set without",
        "no guarantee": "No promise (",
    }
    for shape, promise in promises.items():
        assert promise in repr(CERTIFICATES[shape])
    sizes: Any = CERTIFICATES["binary"].set_sizes
    assert f"{sizes @ [0, 1, 2] / sizes.sum():.3f} labels on average" in repr(CERTIFICATES["binary"])
    assert "every set contains all 12 labels" in repr(CERTIFICATES["trivial"])
    assert "Sizes were not counted" in repr(CERTIFICATES["bare"])


@pytest.mark.parametrize("shape", CERTIFICATES)
def test_a_notebook_shows_what_the_certificate_says_and_a_row_per_class_up_to_twelve(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    page = Page(certificate._repr_html_())
    assert len(page.rows) == 1 + min(len(certificate.classes), 12)
    assert (f"… and {len(certificate.classes) - 12:,} more" in page.text) == (len(certificate.classes) > 12)
    shown = " ".join(page.text.split())
    for line in short_lines(certificate):
        assert line.startswith("Note: ") or " ".join(line.split()) in shown


def test_html_escapes_hostile_names() -> None:
    page = Page(replace(CERTIFICATES["hostile"], notes=HOSTILE)._repr_html_())
    shown = [row[0] for row in page.rows[1:]]
    assert shown[0] == HOSTILE[0]
    assert shown[3] == r"two\nlines\x08\u202e"  # nothing breaks or turns the line
    assert shown[5] == "x" * 79 + "…"
    assert len(shown) == len(HOSTILE)


def test_html_shows_the_numbers_of_the_certificate() -> None:
    certificate: Any = CERTIFICATES["default"]
    rows = Page(certificate._repr_html_()).rows[1:]
    columns = certificate.thresholds, certificate.class_counts, certificate.class_miss.upper
    for row, cut, count, upper in zip(rows, *columns, strict=True):
        assert float(row[4]) == pytest.approx(cut, rel=1e-5)
        assert float(row[1].split()[0]) == pytest.approx(100 * count / certificate.n_source, rel=0.01)
        assert 100 * upper <= float(row[3].split()[2]) <= 100 * upper * 1.011  # rounded up, never down


def test_many_classes_show_those_that_may_be_missed_most() -> None:
    certificate: Any = CERTIFICATES["many"]
    shown = [row[0] for row in Page(certificate._repr_html_()).rows[1:]]
    worst = np.sort(certificate.class_miss.upper)[-12:].min()
    assert all(certificate.class_miss.upper[certificate.classes.index(name)] >= worst for name in shown)


@pytest.mark.slow
def test_explain_never_grows_long() -> None:
    certificate = certify(1000, "PS-LW", n=3000)
    assert len(certificate.reasons) > 900
    assert len(certificate.explain().splitlines()) <= 8
    paragraphs = certificate.explain(full=True).split("\n\n")
    assert len(paragraphs) <= 40
    left = len(certificate.reasons) + len(certificate.notes) - MAX_NOTES
    assert f"{left:,} more notes: certificate.reasons and certificate.notes hold them all." in paragraphs
    few = replace(certificate, reasons=certificate.reasons[:3])
    assert "more notes" not in few.explain(full=True)
