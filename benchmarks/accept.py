"""Accept or ask: how much is accepted beside the best that knows the target, and beside others.

``choices`` compares the constants of plans on simulated worlds alone; ``run`` measures on real scores, on which
nothing was chosen.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab, quiet
from benchmarks.page import report
from pacshift import AssumptionError, Population, accept
from pacshift.acceptance.tops import TopScoreTable, accepted, top_labels
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods import RowAccess, Task
from pacshift.methods.accept import Accept
from pacshift.tally import Tally
from paper.experiments.summary import markdown_table

DELTA = 0.05
PLAN = "pacshift.acceptance.plan"
CHOICES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "share of the rows that plan": (f"{PLAN}.held_out_share", (0.5, 2.0)),
    "rules of a path": (f"{PLAN}.N_RULES", (30, 120)),
    "groups of the curve": (f"{PLAN}.GROUPS", (15, 100)),
    "weight on equal curves": (f"{PLAN}.PULL", (0.1, 2.5)),
    "weight on equal means": (f"{PLAN}.EQUAL_MEANS", (6.0, 600.0)),
    "largest planned bet": (f"{PLAN}.MOST_PLANNED", (0.6, 0.94)),
    "between expected and wrong": (f"{PLAN}.HALF_WAY", (0.0, 1.0)),
    "first rule": (f"{PLAN}.EARLY", (0.7, 1.0)),
    "limits of labels": (f"{PLAN}.SURE", (-1.0, -2.0)),
    "share of the region": ("pacshift.methods.accept.REGION_SHARE", (0.03, 0.3)),
}
"""Constants, and other values of them; of the share of rows multiples."""

LIMIT = 2.5
"""Every label has a limit of so many times the error where the constant of such limits is compared."""

WORLDS = {
    "2 classes": (2, 2.5, [0.5, 0.5], [0.85, 0.15]),
    "4 classes": (4, 3.0, [0.55, 0.25, 0.05, 0.15], [0.35, 0.2, 0.3, 0.15]),
    "3 classes": (3, 3.0, [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]),
    "5 classes": (5, 4.0, [0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.3, 0.3]),
    "10 classes": (10, 5.0, [0.1] * 10, [0.28, *[0.08] * 9]),
}
"""Simulated: number of classes, strength of the classifier, label mixes of source and target."""

REAL = {
    "CIFAR-10, VGG-16": "cifar10/scores_vgg16.npz",
    "CIFAR-10, ResNet-50": "cifar10/scores_resnet50_cv.npz",
    "Entity-13, ResNet-50": "entity13/scores_resnet50.npz",
    "ChestX-ray": "chestxray14/scores.npz",
    "20 Newsgroups": "20news/scores.npz",
    "MNIST": "mnist/scores.npz",
    "heart 2020": "heart/scores_2020.npz",
}
"""Files of real scores. Neither these constants nor the prototype's were chosen on any of them."""

MORE = 3
"""How many times as frequent each class of the half that is recognised worse is in the target as in the file."""


class Truth:
    """A finite population with the target's label mix: what is accepted of it, and how much of that is wrong."""

    def __init__(self, scores: FloatArray, labels: IntArray, mix: Any) -> None:
        self.label, self.top = top_labels(scores)
        mix = np.asarray(mix, float) / np.sum(mix)
        weights = (mix / np.maximum(np.bincount(labels, minlength=len(mix)), 1))[labels]
        self.weights, self.labels, self.wrong = weights / weights.sum(), labels, self.label != labels

    def of(self, answers: IntArray) -> tuple[float, float]:
        """The share that has an answer, and the share of it that is wrong; -1 asks a person."""
        share = float(self.weights @ (answers >= 0))
        wrong = self.weights @ ((answers >= 0) & (answers != self.labels))
        return share, float(wrong) / share if share else 0.0

    def at(self, thresholds: FloatArray) -> tuple[float, float]:
        """The same at thresholds of predicted labels."""
        return self.of(np.where(accepted(self.label, self.top, thresholds), self.label, -1))

    def best_single(self, error: float) -> float:
        """The largest share that one threshold accepts at this error."""
        order = np.argsort(-self.top, kind="stable")
        total, bad = np.cumsum(self.weights[order]), np.cumsum((self.weights * self.wrong)[order])
        ends = np.append(np.diff(self.top[order]) != 0, True)
        return float(total[ends & (bad <= error * total)].max(initial=0.0))

    def best_by_label(self, error: float) -> float:
        """The same with a threshold for each label: along all prices of an error."""
        curves = []
        for label in np.unique(self.label):
            own = self.label == label
            order = np.argsort(-self.top[own], kind="stable")
            ends = np.append(np.diff(self.top[own][order]) != 0, True)
            sums = (np.cumsum((self.weights * part)[own][order])[ends] for part in (1.0, self.wrong))
            curves.append([np.append(0.0, one) for one in sums])
        best = 0.0
        for price in np.append(0.0, np.geomspace(0.5, 5e3, 300)):
            places = [np.argmax(total + price * (error * total - bad)) for total, bad in curves]
            total, bad = (
                sum(curve[side][place] for curve, place in zip(curves, places, strict=True)) for side in (0, 1)
            )
            best = max(best, float(total)) if bad <= error * total + 1e-12 else best
        return best


def choices(lab: Lab) -> Blocks:
    """Share accepted over the best by label, for other values of each constant, in simulated worlds."""
    trials = lab.trials or lab.choose(6, 1)
    sizes = lab.choose((2_000, 10_000), (1_000,))
    usual, limited = mean_shares(sizes, trials), mean_shares(sizes, trials, LIMIT)
    rows = [("as it is", "", *(f"{one:.3f}" for one in usual))]
    rows.append(("with limits of labels", f"{LIMIT:g} times", *(f"{one:.3f}" for one in limited)))
    for name, (where, values) in CHOICES.items():
        limit, base_line = (LIMIT, limited) if where.endswith("SURE") else (None, usual)
        for value in values[: lab.choose(2, 1)]:
            with change(where, value):
                found = mean_shares(sizes, trials, limit)
            shown = f"{value:g} times" if "held_out" in where else f"{value:g}"
            rows.append((name, shown, *(f"{one - base:+.3f}" for one, base in zip(found, base_line, strict=True))))
            lab.say(f"accept: {rows[-1]}")
    headings = "constant", "value", *(f"{size:,} rows" for size in sizes)
    title = (
        "Share accepted over that of the best thresholds per label, which know the target; mean over "
        f"{len(WORLDS)} simulated worlds, errors of 5 and 10 %, and {trials} draws; and what others change."
    )
    yield "accept-choices", report("accept-choices", title, markdown_table(headings, rows))


@contextmanager
def change(where: str, value: Any) -> Iterator[None]:
    """Another value of a constant, in its module and wherever it was imported."""
    module, _, name = where.rpartition(".")
    homes = [import_module(one) for one in dict.fromkeys([module, PLAN, "pacshift.methods.accept"])]
    homes = [one for one in homes if hasattr(one, name)]
    before = getattr(homes[0], name)
    new: Any = (lambda n_rows: min(0.5, value * before(n_rows))) if callable(before) else value
    try:
        for one in homes:
            setattr(one, name, new)
        yield
    finally:
        for one in homes:
            setattr(one, name, before)


def mean_shares(sizes: tuple[int, ...], trials: int, limit: float | None = None) -> list[float]:
    """The mean share at each number of rows, without the test of label shift, which holds.

    ``limit``: every label has a limit of so many times the error.
    """
    found: dict[int, list[float]] = {size: [] for size in sizes}
    for number, (k, strength, before, after) in enumerate(WORLDS.values()):
        population = Population.synthetic(k, strength=strength, rng=number)
        everyone, truths = population.draw(after, 50_000, rng=[number, 1])
        truth = Truth(np.asarray(everyone, float), truths, after)
        for error in (0.05, 0.1):
            best = truth.best_by_label(error)
            for size in sizes:
                for trial in range(trials):
                    rng = np.random.default_rng([number, size, trial])
                    source, labels = population.draw(before, size, rng)
                    target, _ = population.draw(after, size, rng)
                    tally = Tally.from_scores(source, labels) + Tally.from_target(target)
                    tops = TopScoreTable.of_rows(source, labels), TopScoreTable.of_rows(target)
                    rows = RowAccess(top_scores=lambda tops=tops: tops)  # type: ignore[misc]
                    limits = None if limit is None else np.full(k, limit * error)
                    task = Task(error, DELTA, rows=rows, limits=limits)
                    found[size].append(truth.at(Accept().solve(tally, task).thresholds)[0] / best)
    return [float(np.mean(found[size])) for size in sizes]


Contestant = Callable[[FloatArray, IntArray, FloatArray, float], Callable[[FloatArray], IntArray]]
"""From source, labels, target and an error to what is answered: a label, or -1 for a person."""


def ours(source: FloatArray, labels: IntArray, target: FloatArray, error: float) -> Any:
    """``accept``: the label of sets with one label, else a person."""
    certificate = accept(source, labels, target, error=error, delta=DELTA)

    def answer(scores: FloatArray) -> IntArray:
        sets = certificate.sets(scores)
        return np.where(sets.sum(axis=1) == 1, sets.argmax(axis=1), -1)

    return answer


def mapie_abstains(source: FloatArray, labels: IntArray, target: FloatArray, error: float) -> Any:
    """MAPIE controls the precision of "the top label is right" on the source. It has no shift."""
    from mapie.risk_control import BinaryClassificationController

    def chance(scores: Any) -> Any:
        return np.column_stack([1 - np.max(scores, axis=1), np.max(scores, axis=1)])

    controller = BinaryClassificationController(
        chance, risk="precision", target_level=1 - error, confidence_level=1 - DELTA
    )
    controller.calibrate(source, (source.argmax(axis=1) == labels).astype(int))
    if controller.best_predict_param is None:
        return lambda scores: np.full(len(scores), -1)
    return lambda scores: np.where(np.asarray(controller.predict(scores), bool), scores.argmax(axis=1), -1)


def contestants() -> tuple[dict[str, Contestant], str]:
    """Who can be asked here, and why others cannot."""
    if find_spec("mapie"):
        return {"accept": ours, "MAPIE, no shift": mapie_abstains}, ""
    return {"accept": ours}, " MAPIE is not installed here, and was left out."


def run(lab: Lab) -> Blocks:
    """Shares and errors on real scores, of everybody."""
    if not lab.data:
        lab.say("accept: real scores are needed (--data)")
        return
    size, trials = lab.choose(10_000, 1_500), lab.trials or lab.choose(8, 1)
    everybody, why = contestants()
    rows = []
    for name, file in list(REAL.items())[: lab.choose(len(REAL), 1)]:
        stored = np.load(Path(lab.data) / file)
        scores, labels = stored["probs"].astype(float), stored["labels"].astype(int)
        truth = Truth(scores, labels, harder_mix(scores, labels))
        for error in (0.05, 0.1)[: lab.choose(2, 1)]:
            row = [name, f"{error:g}", f"{truth.best_single(error):.2f}", f"{truth.best_by_label(error):.2f}"]
            for contestant in everybody.values():
                shares, errors = measure(contestant, scores, truth, size, trials, error)
                above = int(np.sum(errors > error))
                row.append(f"{np.mean(shares):.2f}, {np.mean(errors):.3f}" + (f" (**{above}**)" if above else ""))
            rows.append(tuple(row))
            lab.say(f"accept: {rows[-1]}")
    headings = "scores", "error", "best, one threshold", "best by label", *everybody
    title = (
        f"{size:,} rows a side, δ = {DELTA}, {trials} draws of each; in the target each class of the half that is "
        f"recognised worse is {MORE} times as frequent. Mean share accepted and mean error among the "
        f"accepted; in brackets how many of {trials} draws erred more than that. The best know the target.{why}"
    )
    yield "accept", report("accept", title, markdown_table(headings, rows, left=1))


def harder_mix(scores: FloatArray, labels: IntArray) -> FloatArray:
    """The label mix of a file with more of the classes that are recognised worse."""
    counts = np.bincount(labels, minlength=scores.shape[1])
    recall = np.bincount(labels[scores.argmax(axis=1) == labels], minlength=len(counts)) / counts
    worse = np.argsort(recall, kind="stable")[: len(counts) // 2]
    return np.asarray(counts * np.where(np.isin(np.arange(len(counts)), worse), MORE, 1.0))


def measure(
    contestant: Contestant, scores: FloatArray, truth: Truth, size: int, trials: int, error: float
) -> tuple[FloatArray, FloatArray]:
    """Shares and errors of all draws; a refusal accepts nothing."""
    labels, found = truth.labels, []
    for trial in range(trials):
        rng = np.random.default_rng([trial, size])
        own, others = rng.choice(len(labels), size), rng.choice(len(labels), size, p=truth.weights)
        try:
            with quiet():
                keep = contestant(scores[own], labels[own], scores[others], error)
            found.append(truth.of(keep(scores)))
        except AssumptionError:
            found.append((0.0, 0.0))
    shares, errors = np.array(found).T
    return shares, errors
