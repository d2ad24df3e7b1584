"""Labelled target rows that are in the source too are refused by every verb that takes both."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import pacshift
from pacshift import InputError, LabelSheet, PACClassifier, Tally
from refused import world

SOURCE, SOURCE_LABELS = world(2000, 1, shifted=False)
TARGET, TRUTH = world(1500, 2, shifted=False)
N_LABELS = 300
SAID = "labelled target rows are in the source too: .* Leave these rows out of the source"


def some(labels: Any) -> list[Any]:
    """Labels of the first rows, which are random."""
    return [*labels[:N_LABELS].tolist(), *[None] * (len(labels) - N_LABELS)]


def sheet() -> LabelSheet:
    made = pacshift.label_sheet(TARGET, budget=N_LABELS, epsilon=0.1, rng=1)
    return made.with_labels(TRUTH[made.rows])


def tallies(source: Any, labels: Any) -> tuple[Tally, Tally]:
    counted = Tally.from_scores(TARGET[:N_LABELS], TRUTH[:N_LABELS])
    return Tally.from_scores(source, labels) + Tally.from_target(TARGET), counted


def verified(source: Any, labels: Any) -> object:
    made = pacshift.calibrate(SOURCE, SOURCE_LABELS, LABELLED, method="PS-T")
    return pacshift.verify(made, source, labels, LABELLED)


def estimated(source: Any, labels: Any) -> object:
    model = PACClassifier(LogisticRegression().fit(SOURCE, SOURCE_LABELS), method="PS-T")
    return model.calibrate(source, labels, TARGET, target_labels=some(TRUTH))


def by_tallies(verb: Callable[..., object], source: Any, labels: Any) -> object:
    counted, labelled = tallies(source, labels)
    return verb(counted, labelled=labelled)


LABELLED = pacshift.Rows(TARGET, some(TRUTH))
VERBS: dict[str, Callable[[Any, Any], object]] = {
    "calibrate": lambda source, labels: pacshift.calibrate(source, labels, LABELLED),
    "calibrate with a sheet": lambda source, labels: pacshift.calibrate(source, labels, TARGET, labelled=sheet()),
    "calibrate from tallies": lambda source, labels: by_tallies(pacshift.calibrate, source, labels),
    "accept": lambda source, labels: pacshift.accept(source, labels, LABELLED),
    "accept with a sheet": lambda source, labels: pacshift.accept(
        source, labels, TARGET, error=0.1, labelled=sheet()
    ),
    "accept from tallies": lambda source, labels: by_tallies(pacshift.accept, source, labels),
    "prevalence": lambda source, labels: pacshift.prevalence(source, labels, LABELLED),
    "prevalence with a sheet": lambda source, labels: pacshift.prevalence(
        source, labels, TARGET, labelled=sheet()
    ),
    "prevalence from tallies": lambda source, labels: by_tallies(pacshift.prevalence, source, labels),
    "compare": lambda source, labels: pacshift.compare(
        source, labels, pacshift.Rows(TARGET[:N_LABELS], TRUTH[:N_LABELS])
    ),
    "verify": verified,
    "PACClassifier": estimated,
    "next_labels": lambda source, labels: pacshift.next_labels(source, labels, TARGET, labelled=sheet()),
}

HOW = ("the source", "added to the source", "half of them")


def with_labelled(how: str, rows: Any) -> tuple[Any, Any]:
    """A source that holds labelled rows, or half of them."""
    scores, labels = TARGET[rows], TRUTH[rows]
    if how == "the source":
        return scores, labels
    step = 2 if how == "half of them" else 1
    return np.vstack([SOURCE, scores[::step]]), np.append(SOURCE_LABELS, labels[::step])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_labelled_rows_that_are_in_the_source(verb: str, how: str) -> None:
    rows = sheet().rows if "sheet" in verb or verb == "next_labels" else np.arange(N_LABELS)
    if how == "half of them" and ("tallies" in verb or verb == "compare"):
        return  # half of them are seen only where there are rows, and unlabelled ones beside them
    with pytest.raises(InputError, match=SAID):
        VERBS[verb](*with_labelled(how, rows))
    VERBS[verb](SOURCE, SOURCE_LABELS)
