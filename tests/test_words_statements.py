"""What a certificate says in words, at a prompt and in a notebook: true for every method, short, safe to show."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from certificates import HOSTILE, birds, certify, every_shape
from pacshift import METHODS, Certificate, Interval
from pacshift.methods import MethodFacts
from pacshift.methods.guarantee import MEANINGS
from pacshift.report import render_report
from pacshift.words.statements import ABOVE, MAX_NOTES, WIDER_THAN_PREVALENCE, statements

LABEL_SHIFT = MEANINGS["pac-target"].assumption


def lines(certificate: Certificate) -> dict[str, str]:
    """The words by their heads, in the order of the lines."""
    return dict(line.split(": ", 1) for line in certificate.explain().splitlines() if ": " in line)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "PS-T"])
def test_every_method_is_explained_by_its_facts(method: str) -> None:
    facts = METHODS[method]()
    certificate = certify(3, method, n=500, weights=[1, 1, 1] if facts.needs_weights else None)
    said = lines(certificate)
    assert next(iter(said)) == f"Guarantee ({method})"
    on_target = facts.guarantee in ("pac-target", "marginal")
    assert (LABEL_SHIFT in certificate.explain()) == ("Test of label shift" in said) == on_target
    assert facts.extra_assumption in certificate.explain()
    assert ("Any target label mix is covered." in certificate.explain()) == facts.any_mix
    assert said["Data"].startswith("500 labelled source examples")


@pytest.mark.parametrize(
    ("guarantee", "words", "never"),
    [
        ("pac-target", "at least 90 % of the target population, with confidence 90 %", "average"),
        ("pac-source", "at least 90 % of the source population, with confidence 90 %", "Assumption"),
        ("marginal", "on average over many calibrations", "confidence"),
        ("none", "nothing is guaranteed, even if label shift holds.", "%"),
    ],
)
def test_the_guarantee_in_words(guarantee: Any, words: str, never: str) -> None:
    certificate = replace(birds(), method="TOY", guarantee=guarantee, facts=MethodFacts())
    assert words in lines(certificate)["Guarantee (TOY)"]
    assert never not in lines(certificate)["Guarantee (TOY)"]
    assert ("Assumption" in lines(certificate)) == (guarantee != "none")
    assert "importance weights" not in certificate.explain()


@pytest.mark.usefixtures("undrawn")
def test_with_contamination_classes_are_spoken_of_in_the_label_shifted_part() -> None:
    plain = certify(3, "PS-LP", n=2000, class_epsilon=0.15)
    made = certify(3, "PS-LP", n=2000, class_epsilon=0.15, contamination=0.02)
    for other in ("label-shifted part", "may all be missed", "of the rest"):
        assert other not in plain.explain()
    said = lines(made)
    missed = next(text for head, text in said.items() if head.startswith("Missed, class by class"))
    all_missed = "A class's cases among the other 2 % may all be missed."
    assert "misses at most 15 % of every class of the label-shifted part, with" in said["Guarantee (PS-LP)"]
    assert said["Guarantee (PS-LP)"].endswith(all_missed)
    assert missed.endswith(f"They are about the label-shifted part. {all_missed}")
    assert "Label mix and weights are those of the rest." in said["Assumption"]
    assert "of every class of the label-shifted part" in repr(made)
    page = render_report(made)
    for words in ("misses at most 15 % of every class of the label-shifted part", "may all be missed"):
        assert words in page.replace("&#39;", "'")
    marginal = certify(3, "LWCP", n=2000, class_epsilon=0.15, contamination=0.02).explain()
    assert "No class of the label-shifted part is missed more than 15 %" in marginal


def test_an_extra_assumption_is_said_under_every_guarantee() -> None:
    for guarantee in ("pac-target", "pac-source", "marginal", "none"):
        facts = MethodFacts(extra_assumption="The moon is full.")
        certificate = replace(birds(), method="TOY", guarantee=guarantee, facts=facts)
        assert certificate.explain().count("The moon is full.") == 1


def test_the_sets_in_words() -> None:
    certificate = replace(birds(), set_sizes=None)
    one = replace(certificate, thresholds=np.full(3, 0.25))
    assert lines(one)["Sets"] == "all labels whose score is at least 0.25."
    own = replace(certificate, thresholds=np.array([0.1, -np.inf, 0.3]), score="aps")
    assert "aps score" in lines(own)["Sets"]
    assert "In every set: 'owl'." in lines(own)["Sets"]


def test_reasons_are_promised_only_where_there_are_some() -> None:
    trivial = replace(birds(), thresholds=np.full(3, -np.inf), reasons=(), notes=())
    assert "notes" not in trivial.explain()
    said = replace(trivial, reasons=("too few owls.", "too few wrens.")).explain()
    assert "The notes say why." in said
    assert said.endswith("Note: too few owls.\nNote: too few wrens.")


@pytest.mark.usefixtures("undrawn")
def test_an_accuracy_that_guessing_reaches_is_left_out() -> None:
    mix = Interval(np.array([0.4, 0.3, 0.1]), np.array([0.55, 0.5, 0.5]))
    for least, said in ((0.3, False), (0.39, False), (0.41, True)):
        made = replace(birds(), accuracy=least, prevalence=mix)
        assert ("accuracy" in made.explain()) == said
        assert ("classifier’s accuracy" in render_report(made)) == said
    assert "at least 41 % (same confidence, same assumption); always naming" in made.explain()
    assert "the most frequent class would be right for at most 55 %." in made.explain()
    assert "accuracy" not in replace(birds(), accuracy=0.33, prevalence=None).explain()
    assert "accuracy" not in replace(birds(), accuracy=None).explain()
    assert "at least 71.2 %" in replace(birds(), accuracy=0.7129).explain()


@pytest.mark.parametrize("guarantee", ["pac-target", "marginal"])
@pytest.mark.parametrize("cap", [None, 0.15])
@pytest.mark.parametrize("contamination", [0.0, 0.02])
def test_what_else_is_promised_is_said_and_nothing_more(
    guarantee: Any, cap: float | None, contamination: float
) -> None:
    certificate = replace(birds(), guarantee=guarantee, class_epsilon=cap, contamination=contamination)
    said = certificate.explain().splitlines()[0]
    assert ("even if up to 2 % of it is not label-shifted at all" in said) == bool(contamination)
    assert ("15 %" in said) == (cap is not None)
    assert ("class" in said) == (cap is not None)
    assert ("This need not hold for 2 % of the target." in certificate.explain()) == bool(contamination)


def test_how_often_label_shift_is_refused_although_it_holds_is_said_for_the_test_and_for_the_method() -> None:
    own = "itself refuses only where its own bounds of the mix fail, which is part of the 5 %"
    by_method = {method: certify(2, method, n=500) for method in ("PS-LP", "PS-LW")}
    for method, certificate in by_method.items():
        said = lines(certificate)["Test of label shift"]
        assert "If label shift holds, the test refuses with probability at most 0.5 %" in said
        assert (own in said) == (method == "PS-LP")  # PS-LW has no bounds of the mix
    known = replace(by_method["PS-LP"], known_mix=Interval(np.zeros(2), np.ones(2)))
    assert "holds and what you said about the mix is right, the test" in lines(known)["Test of label shift"]


def test_the_implied_change_is_the_largest_sure_one() -> None:
    certificate = replace(birds(), class_counts=np.array([300, 60, 240]))
    moved = replace(certificate, prevalence=Interval(np.array([0.4, 0.3, 0.1]), np.array([0.55, 0.5, 0.5])))
    assert lines(moved)["Implied change"].startswith(
        "class 'owl' makes up 10 % of the source and 30 to 50 % of the target (others: 'crow' 40 to 55 %,"
    )
    assert lines(moved)["Implied change"].endswith(WIDER_THAN_PREVALENCE)
    spared = lines(replace(moved, contamination=0.02))["Implied change"]
    assert "of the target's label-shifted part (" in spared
    assert not spared.endswith(WIDER_THAN_PREVALENCE)
    still = replace(certificate, prevalence=Interval(np.zeros(3), np.ones(3)))
    assert lines(still)["Implied change"].startswith("no class is shown to be more or less frequent")
    assert "Implied change" not in lines(replace(moved, guarantee="pac-source"))
    two = replace(certificate, prevalence=None)
    assert "about" in lines(two)["Implied change"]
    assert not lines(two)["Implied change"].endswith(WIDER_THAN_PREVALENCE)


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
    shown = str(certificate)
    assert (len(shown.splitlines()), len(shown) < 600, "array(" in shown) == (5, True, False)
    assert f"notes:   {len(certificate.notes) + len(certificate.reasons)};" in shown


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
def test_a_notebook_shows_what_the_certificate_says_and_a_row_per_class_up_to_twelve(shape: str) -> None:
    certificate = CERTIFICATES[shape]
    page = Page(certificate._repr_html_())
    assert len(page.rows) == 1 + min(len(certificate.classes), 12)
    assert (f"… and {len(certificate.classes) - 12:,} more" in page.text) == (len(certificate.classes) > 12)
    shown = " ".join(page.text.split())
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
    assert len(lines) <= 40
    assert lines[-1] == (
        f"... and {len(certificate.reasons) + len(certificate.notes) - MAX_NOTES:,} more notes: "
        "certificate.reasons and certificate.notes hold them all."
    )
    few = replace(certificate, reasons=certificate.reasons[:3])
    assert [line for line in few.explain().splitlines() if line.startswith("... and")] == []
