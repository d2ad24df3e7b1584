"""Prevalence on its own: intervals that hold the truth, narrower than a certificate's, with what users know."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from pacshift import (
    AssumptionError,
    InputError,
    Population,
    Tally,
    UnfinishedSheetError,
    calibrate,
    label_sheet,
    prevalence,
)
from pacshift.arrays import BoolArray, FloatArray
from pacshift.bounds import binomial_lower, clopper_pearson
from pacshift.mix.region import prevalence_region
from worlds import make_world


def weak_tally(rng: np.random.Generator, share: float = 0.5, *, accuracy: float = 0.65) -> Tally:
    """Two classes, 500 source and 2,000 target rows, predictions right with probability ``accuracy``."""

    def scores(labels: BoolArray) -> FloatArray:
        right = rng.random(len(labels)) < accuracy
        return np.where((labels == right)[:, None], [0.2, 0.8], [0.8, 0.2])

    labels, hidden = (rng.random(size) < part for size, part in ((500, 0.5), (2000, share)))
    return Tally.from_scores(scores(labels), labels.astype(int)) + Tally.from_target(scores(hidden))


@pytest.mark.slow
def test_two_classes_and_a_weak_classifier_get_a_narrow_interval() -> None:
    rng = np.random.default_rng(0)
    boxes = (prevalence(weak_tally(rng), delta=0.05).mix for _ in range(20))
    widths = [np.ptp([box.lower[0], box.upper[0]]) for box in boxes]
    assert np.mean(widths) <= 0.45


@pytest.mark.montecarlo
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.usefixtures("untested")
def test_the_truth_is_inside_in_all_but_a_delta_share_of_draws(share: float) -> None:
    rng, delta, repeats, missed = np.random.default_rng(1), 0.2, 150, 0
    for _ in range(repeats):
        try:
            found = prevalence(weak_tally(rng, share), delta=delta)
            rates = found.recall.contains([0.65, 0.65]).all() and found.accuracy <= 0.65 <= found.accuracy_at_most
            missed += not (found.mix.contains([1 - share, share]).all() and rates)
        except AssumptionError:
            missed += 1
    assert binomtest(missed, repeats, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.montecarlo
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.usefixtures("untested")
def test_accuracy_and_recalls_are_inside_and_not_much_too_wide(n_classes: int) -> None:
    rng, delta, repeats, missed = np.random.default_rng(n_classes), 0.2, 60, 0
    rates = 0.6 * np.eye(n_classes) + 0.4 * rng.dirichlet(np.ones(n_classes), n_classes).T
    mix, n_source, n_target = rng.dirichlet(np.full(n_classes, 2.0)), 1500, 6000
    truth, widths = float(np.diag(rates) @ mix), []
    for _ in range(repeats):
        confusion = np.array([rng.multinomial(n_source, column) for column in rates.T]).T
        region = prevalence_region(confusion, rng.multinomial(n_target, rates @ mix), delta=delta)
        assert region.recall is not None
        inside = region.recall.contains(np.diag(rates)).all()
        missed += not (inside and region.accuracy <= truth <= region.accuracy_at_most)
        widths.append(region.accuracy_at_most - region.accuracy)
    assert binomtest(missed, repeats, delta, alternative="greater").pvalue > 1e-3
    # One recall and a known mix would need 1.3 deviations on each side; bounds for all at once need more.
    deviation = np.sqrt((np.diag(rates) * (1 - np.diag(rates)) / n_source).max())
    assert np.mean(widths) < 10 * deviation


@pytest.mark.parametrize("n_classes", [2, 4, 7])
def test_it_is_narrower_than_a_certificate_and_holds_the_truth(n_classes: int) -> None:
    world = make_world(n_classes, strength=3, shift=0.3)
    tally = world.draw(3000, 3000, np.random.default_rng(0))
    found, certificate = prevalence(tally, delta=0.05), calibrate(tally, epsilon=0.1, delta=0.05)
    assert found.mix.contains(world.target_mix).all()
    assert found.weights.contains(world.weights).all()
    recall = np.diag(_rates(world.population))
    assert found.recall.contains(recall).all()
    assert found.accuracy <= float(world.target_mix @ recall) <= found.accuracy_at_most
    assert certificate.prevalence is not None
    assert (found.mix.lower >= certificate.prevalence.lower - 1e-9).all()
    assert (found.mix.upper <= certificate.prevalence.upper + 1e-9).all()
    assert found.accuracy >= (certificate.accuracy or 0) - 1e-9


def _rates(population: Population) -> FloatArray:
    predicted, index = population.scores.argmax(axis=1), population.index
    classes = range(len(population.classes))
    return np.array([[np.mean(predicted[index == j] == i) for j in classes] for i in classes])


def test_known_bounds_narrow_the_intervals_of_all_classes() -> None:
    tally = weak_tally(np.random.default_rng(2))
    free, known = (prevalence(tally, delta=0.05, known_mix=each) for each in (None, {1: (0.0, 0.5)}))
    assert known.mix.upper[1] == pytest.approx(0.5)
    assert known.mix.lower[0] == pytest.approx(0.5)
    assert (known.mix.upper <= free.mix.upper + 1e-12).all()
    with pytest.raises(AssumptionError, match="known bounds"):
        prevalence(tally, delta=0.05, known_mix={1: (0.0, 0.05)})


def test_both_samples_and_a_proper_delta_are_needed() -> None:
    source = Tally.from_scores([[0.9, 0.1]], [0])
    with pytest.raises(InputError, match="no target rows"):
        prevalence(source, delta=0.05)
    with pytest.raises(InputError, match="delta"):
        prevalence([[0.9, 0.1]], [0], [[0.9, 0.1]], delta=1.5)


@dataclass(frozen=True)
class Judged:
    """Two classes: how often each is recognised on the source and on the target, and the target's share of 1."""

    rates: tuple[float, float]
    target_rates: tuple[float, float]
    share: float = 0.5
    n_source: int = 300
    n_target: int = 1500
    n_labels: int = 100

    def draw(self, rng: np.random.Generator) -> tuple[Tally, Tally]:
        """Source and target, and the labelled rows among the target."""

        def scores(labels: BoolArray, rates: tuple[float, float]) -> FloatArray:
            right = rng.random(len(labels)) < np.where(labels, rates[1], rates[0])
            return np.where((labels == right)[:, None], [0.2, 0.8], [0.8, 0.2])

        labels, hidden = rng.random(self.n_source) < 0.5, rng.random(self.n_target) < self.share
        both: dict[str, Any] = {"classes": [0, 1]}
        seen = scores(hidden, self.target_rates)
        tally = Tally.from_scores(scores(labels, self.rates), labels.astype(int), **both)
        few = Tally.from_scores(seen[: self.n_labels], hidden[: self.n_labels].astype(int), **both)
        return tally + Tally.from_target(seen, **both), few


SAME, WORSE = Judged((0.9, 0.7), (0.9, 0.7)), Judged((0.94, 0.78), (0.6, 0.9))


def test_labels_alone_answer_whatever_the_shift_is_and_label_shift_stands_beside_them() -> None:
    for world, refuted in ((SAME, False), (WORSE, True)):
        tally, few = world.draw(np.random.default_rng(3))
        found = prevalence(tally, delta=0.05, labelled=few)
        exact = clopper_pearson(few.class_counts, world.n_labels, delta=0.05)
        np.testing.assert_allclose(found.mix.lower, exact.lower)
        np.testing.assert_allclose(found.mix.upper, exact.upper)
        assert (found.rests_on, found.n_labels) == ("labels", world.n_labels)
        assert (found.accuracy, found.accuracy_at_most) == (0.0, 1.0)
        assert found.recall.contains([0.0, 1.0]).all()
        assert np.isposinf(found.weights.upper).all()
        if found.by_label_shift is not None:  # a statement of its own, the one without labels
            alone = prevalence(tally, delta=0.05)
            assert found.by_label_shift.mix.lower.tolist() == alone.mix.lower.tolist()
        assert refuted or found.by_label_shift is not None
        assert bool(found.refusal) == (found.by_label_shift is None)


def test_a_refusal_names_the_sheet_whose_labels_answer() -> None:
    tally, _ = SAME.draw(np.random.default_rng(7))
    with pytest.raises(AssumptionError, match=r"label_sheet draws .* prevalence\(\.\.\., labelled=sheet\)"):
        prevalence(tally + Tally.from_target([[0.9, 0.1]] * 20000), delta=0.05, known_mix={0: (0.0, 0.1)})


def test_a_sheet_counts_rows_that_nobody_can_label_for_every_class() -> None:
    rng = np.random.default_rng(8)
    scores = rng.dirichlet([1, 1], 600)
    labels = scores.argmax(axis=1)
    target = rng.dirichlet([1, 1], 800)
    sheet = label_sheet(target, budget=200, looks=(100,), rng=1)
    texts = ["?" if place % 10 == 0 else str(target[row].argmax()) for place, row in enumerate(sheet.rows[:150])]
    found = prevalence(scores, labels, target, labelled=sheet.with_labels(texts))
    counts = np.array([sum(text == name for text in texts[:100]) for name in ("0", "1")])
    lower = binomial_lower(counts, 100, delta=0.05 / 4)  # half of δ for each of two looks
    np.testing.assert_allclose(found.mix.lower, lower)
    np.testing.assert_allclose(found.mix.upper, 1 - lower[::-1])
    with pytest.raises(UnfinishedSheetError, match="first look"):
        prevalence(scores, labels, target, labelled=sheet.with_labels(texts[:90]))


def test_classes_without_source_rows_do_not_overflow() -> None:
    """Warnings are errors here; of a class that the source does not have, the whole range is possible."""
    rng = np.random.default_rng(0)
    labels, hidden = rng.integers(0, 2, (2, 1000))
    source, target = (0.6 * np.eye(4)[own] + 0.4 * rng.dirichlet(np.ones(4), 1000) for own in (labels, hidden))
    found = prevalence(source, labels, target, classes=range(4))
    assert (found.mix.upper[2:] > 0.1).all()
    assert found.mix.lower[2:].tolist() == [0.0, 0.0]
