"""Accept or ask: how much is accepted beside the best that knows the target, and beside others.

On real scores, on which nothing was chosen.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab, quiet
from benchmarks.page import report
from pacshift import AssumptionError, accept
from pacshift.acceptance.tops import reaches_threshold, top_labels
from pacshift.arrays import FloatArray, IntArray
from paper.experiments.summary import markdown_table

DELTA = 0.05

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
        return self.of(np.where(reaches_threshold(self.label, self.top, thresholds), self.label, -1))

    def best_by_label(self, error: float) -> float:
        """The largest share that thresholds by label accept at this error: along all prices of an error."""
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


def run(lab: Lab) -> Blocks:
    """Shares and errors on real scores, of everybody."""
    if not lab.data:
        lab.say("accept: real scores are needed (--data)")
        return
    size, trials = lab.choose(10_000, 1_500), lab.trials or lab.choose(8, 1)
    everybody: dict[str, Contestant] = {"accept": ours}
    if find_spec("mapie"):
        everybody["MAPIE, no shift"] = mapie_abstains
    rows = []
    for name, file in list(REAL.items())[: lab.choose(len(REAL), 1)]:
        stored = np.load(Path(lab.data) / file)
        scores, labels = stored["probs"].astype(float), stored["labels"].astype(int)
        truth = Truth(scores, labels, harder_mix(scores, labels))
        for error in (0.05, 0.1)[: lab.choose(2, 1)]:
            row = [name, f"{error:g}", f"{truth.best_by_label(error):.2f}"]
            for contestant in everybody.values():
                shares, errors = measure(contestant, scores, truth, size, trials, error)
                above = int(np.sum(errors > error))
                row.append(f"{np.mean(shares):.2f}, {np.mean(errors):.3f}" + (f" (**{above}**)" if above else ""))
            rows.append(tuple(row))
            lab.say(f"accept: {rows[-1]}")
    headings = "scores", "error", "best by label", *everybody
    title = (
        f"{size:,} rows a side, δ = {DELTA}, {trials} draws of each; in the target each class of the half that is "
        f"recognised worse is {MORE} times as frequent. Mean share accepted and mean error among the "
        f"accepted; in brackets how many of {trials} draws erred more than that. The best know the target."
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
