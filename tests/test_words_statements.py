"""What a certificate says in words: true for every method, registered or not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from certificates import birds, certify
from pacshift import METHODS, Certificate, Interval
from pacshift.methods import MethodFacts
from pacshift.methods.guarantee import MEANINGS
from pacshift.report import render_report
from pacshift.words.statements import WIDER_THAN_PREVALENCE

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
