"""What is tried in a world: every method with every option that promises something, and what came of it."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from benchmarks.hunt_laws import NEW_KIND, Atoms, as_logits, as_they_are
from benchmarks.hunt_routes import ROUTES, WITH_GROUPS, both_sides
from benchmarks.hunt_worlds import SIZES, Sample, World, sizes_in_words
from pacshift import AssumptionError, Certificate, InputError, UninformativeWarning
from pacshift.acceptance.tops import top_labels
from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption import check_assumption
from pacshift.bounds import Interval
from pacshift.certification.prevalence import prevalence
from pacshift.methods import METHODS, Method, Oracle
from pacshift.methods.accept import Accept
from pacshift.mix.prevalence import check_known_mix
from pacshift.scores.transforms import TRANSFORMS
from pacshift.tally import Tally

ROUNDING = 1e-9
"""A sum of shares may be wrong by this much."""

ON_COUNTS = ("PS-LP", "PS-LW", "LWCP", "PS-T")
"""Methods whose proof is conditional on the source's label counts: these may be anything. Others get independent
rows."""

NOT_JUDGED = {"WCP": "promises something only if its estimated weights are the true ones, which they never are"}
"""Methods whose promise cannot be broken, and why."""

TEST, MIX = "test of label shift", "prevalence"
"""What promises something besides the methods: refusals at a level, and intervals of the label mix."""


def tried() -> dict[str, type[Method]]:
    """Every method, and what ``pacshift.accept`` runs: with target labels it accepts by them, too."""
    return METHODS | {Accept.name: Accept}


NUMBERS: dict[str, Callable[[World], Any]] = {"envelope": lambda world: max(1.0, float(world.weights.max()))}
"""Options of methods that are numbers, with a true value."""


@dataclass(frozen=True)
class Subject:
    """A method with its options, or one of the other promises."""

    name: str
    method: str = ""
    choices: tuple[tuple[str, Any], ...] = ()

    def make(self, world: World) -> Method:
        """The method itself."""
        given = {name: NUMBERS[name](world) if name in NUMBERS else value for name, value in self.choices}
        return tried()[self.method](**given)

    @property
    def is_marginal(self) -> bool:
        """Whether the promise is about the mean error alone."""
        return self.method in METHODS and METHODS[self.method].guarantee == "marginal"


def subjects() -> list[Subject]:
    """Everything that promises something; methods are found by themselves, with all values of their options."""
    found = [Subject(TEST), Subject(MIX)]
    for method, kind in tried().items():
        if kind.guarantee != "none" and method not in NOT_JUDGED:
            for choices in _choices(kind):
                shown = [name if name in NUMBERS else f"{name}={value}" for name, value in choices]
                found.append(Subject(", ".join([method, *shown]), method, choices))
    return found


def _choices(method: type[Method]) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Every combination of the values of a method's options; defaults are left out."""
    options: tuple[Any, ...] = fields(method) if is_dataclass(method) else ()
    hints, lists = get_type_hints(method), []
    for option in options:
        values = get_args(hints[option.name]) if get_origin(hints[option.name]) is Literal else ()
        values += ("true",) if option.name in NUMBERS else ()
        lists.append([None, *((option.name, value) for value in values if value != option.default)])
    for chosen in product(*lists):
        yield tuple(choice for choice in chosen if choice is not None)


def custom_score(scores: FloatArray) -> FloatArray:
    """A score function of a user's own, which turns neighbours into ties."""
    return np.asarray(np.round(np.sqrt(scores), 2), np.float64)


Option = Callable[["Try", Sample, np.random.Generator], dict[str, Any]]


def _some_labels(case: "Try", sample: Sample, rng: np.random.Generator) -> dict[str, Any]:
    """Labels of random target rows, or of all rows of random groups.

    A row of a new kind has none of the labels, so it gets none.
    """
    units = np.arange(len(sample.target))
    if case.route in WITH_GROUPS:
        _, units = np.unique(np.asarray(sample.target_groups), return_inverse=True)
    order = rng.permutation(int(units.max()) + 1)
    is_chosen = np.isin(units, order[: int(np.ceil(case.label_share * len(order)))])
    known = [
        int(y) if chosen and y != NEW_KIND else None
        for chosen, y in zip(is_chosen, sample.target_labels, strict=True)
    ]
    return {"target_labels": known} if any(label is not None for label in known) else {}


def _known_mix(case: "Try", sample: Sample, rng: np.random.Generator) -> dict[str, Any]:
    """Bounds that are true of the target and of its label-shifted part, exact ones among them."""
    slack = case.slack + case.strangers
    return {
        "known_mix": {
            label: (max(0.0, share - slack), min(1.0, share + slack)) for label, share in enumerate(case.world.mix)
        }
    }


IDS: dict[str, Callable[[IntArray, int], list[str]]] = {
    "numbers": lambda groups, draw: [str(number) for number in groups],
    "patient_": lambda groups, draw: [f"patient_{number}" for number in groups],
    "random text": lambda groups, draw: [f"{draw:x} {number}" for number in groups],
}
"""What groups go by. Both sides are numbered alike; the ids of the first two kinds are the same in all draws."""

FLOATS = (("float64", "float64"), ("float64", "float32"), ("float32", "float64"))
"""Types of the scores where sets are made, and where they are used."""

WHOLE_GROUPS = "labels of whole groups"

DESIGNS = (
    *(f"{ids} as ids" for ids in IDS),
    *(sizes_in_words(sizes) for sizes in SIZES),
    WHOLE_GROUPS,
    *(route for route in ROUTES if route.startswith("sheet, ")),
    *(f"made in {made}, used in {used}" for made, used in FLOATS[1:]),
)
"""How data come about, and are used: what has no part in a proof that forgets it."""

OPTIONS: dict[str, Option] = {
    "class_epsilon": lambda case, sample, rng: {"class_epsilon": case.class_epsilon},
    "label_error": lambda case, sample, rng: {"label_error": case.class_epsilon},
    "contamination": lambda case, sample, rng: {"contamination": case.strangers},
    "known_mix": _known_mix,
    "target_labels": _some_labels,
    "never_empty": lambda case, sample, rng: {"never_empty": True},
    "softmax": lambda case, sample, rng: {"softmax": True},
    **{
        f"score={name}": lambda case, sample, rng, name=name: {"score": name}  # type: ignore[misc]
        for name in TRANSFORMS
        if name != "probability"
    },
    "score=custom": lambda case, sample, rng: {"score": custom_score},
}
"""What a user may ask for: a new option is one more entry."""

CLOSED_FORM = {"class_epsilon", "contamination", "known_mix", "target_labels"}
"""Options with which thresholds are compared with plain scores, and that is all."""

OF_OTHERS = {
    TEST: {"contamination", "known_mix"},
    MIX: {"known_mix", "target_labels"},
    Accept.name: {"known_mix", "target_labels", "softmax", "label_error"},
}
"""Options of what is no method, or of one that has few."""


@dataclass(frozen=True, eq=False)
class Try:
    """A promise in a world: what is asked for, by which route, with which seed."""

    name: str
    world: World
    subject: Subject
    delta: float
    options: tuple[str, ...] = ()
    route: str = "rows"
    seed: int | None = None
    cap: float = 1.5
    """``class_epsilon``, or ``label_error``, as a multiple of epsilon."""
    slack: float = 0.0
    """How far bounds of ``known_mix`` lie from the truth."""
    label_share: float = 0.1
    ids: str = "random text"
    floats: tuple[str, str] = FLOATS[0]

    @property
    def strangers(self) -> float:
        """Share of the target that is not label-shifted."""
        return 0.4 * self.world.epsilon if "contamination" in self.options else 0.0

    @property
    def class_epsilon(self) -> float:
        """The limit per class, or per label that is accepted."""
        return min(self.cap * self.world.epsilon, 0.9)

    @cached_property
    def method(self) -> Method:
        """The method that is tried."""
        return self.subject.make(self.world)

    def run(self, rng: np.random.Generator) -> "Outcome":
        """One draw, and what became of the promises."""
        sample, draw = self.world.draw(rng, strangers=self.strangers), int(rng.integers(2**63))
        sample = replace(
            sample,
            source=self._shown(sample.source, self.floats[0]),
            target=self._shown(sample.target, self.floats[0]),
            groups=IDS[self.ids](sample.groups, draw),
            target_groups=IDS[self.ids](sample.target_groups, draw),
        )
        asked: dict[str, Any] = {}
        for option in self.options:
            asked |= OPTIONS[option](self, sample, rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UninformativeWarning)  # all labels is a valid answer
                return OTHERS.get(self.subject.name, _calibrated)(self, sample, asked)
        except AssumptionError:
            return Outcome(refused=True)
        except InputError as error:
            return Outcome(not_offered=str(error))

    def __str__(self) -> str:
        seed = "" if self.seed is None else f", rng = {self.seed}"
        asked = "".join(f", {option}" for option in self.options)
        designs = "".join(f", {design}" for design in self.designs if design != self.route)
        return f"{self.world}{asked}, by {self.route}{seed}{designs}"

    @property
    def designs(self) -> list[str]:
        """Which of the ``DESIGNS`` this is."""
        found = [self.route, f"made in {self.floats[0]}, used in {self.floats[1]}"]
        if self.route in WITH_GROUPS:
            found += [f"{self.ids} as ids", sizes_in_words(self.world.sizes)]
        if "target_labels" in self.options and self.route in WITH_GROUPS:
            found.append(WHOLE_GROUPS)
        return [design for design in DESIGNS if design in found]

    def served(self, scores: FloatArray) -> FloatArray:
        """Rows as they come where sets are used."""
        return self._shown(scores, self.floats[1])

    def _shown(self, scores: FloatArray, kind: str) -> FloatArray:
        """Rows as a user has them: the same numbers, probabilities or logits, rounded to a float type."""
        return (as_logits(scores) if "softmax" in self.options else scores).astype(kind)


@dataclass(frozen=True)
class Outcome:
    """What one draw showed: the promises that were broken, and the error as a multiple of ε."""

    broken: frozenset[str] = field(default_factory=frozenset)
    error: float = float("nan")
    refused: bool = False
    not_offered: str = ""


ERROR, CLASS_MISS, PREVALENCE = "error", "bounds by class", "bounds of the label mix"
"""Promises of a certificate: the error (and the limit per class), and two that stand beside it."""


def _calibrated(case: Try, sample: Sample, asked: dict[str, Any]) -> Outcome:
    method, world = case.method, case.world
    request = asked | {"epsilon": world.epsilon, "delta": case.delta, "rng": case.seed}
    if method.needs_weights:
        method = Oracle(weights=world.weights)
    certificate = ROUTES[case.route](sample, method, request)
    return judge(case, certificate)


def judge(case: Try, certificate: Certificate) -> Outcome:
    """Compare what a certificate promises with the truth.

    Where label shift is false, only what rests on labelled target rows alone promises something.
    """
    world = case.world
    look = truth_of_accepted if certificate.rule.of_labels else truth_of_sets
    error, limits_hold, bounds_hold = look(case, certificate)
    if world.other_law is not None and certificate.facts.assumes_label_shift:
        return Outcome(error=error / world.epsilon)
    is_broken = {
        # One confidence for both.
        ERROR: (error > world.epsilon * (1 + ROUNDING) and not case.subject.is_marginal) or not limits_hold,
        CLASS_MISS: not bounds_hold,
        PREVALENCE: not _within(certificate.prevalence, np.array(world.mix)),
    }
    return Outcome(frozenset(name for name, broken in is_broken.items() if broken), error / world.epsilon)


def truth_of_sets(case: Try, certificate: Certificate) -> tuple[float, bool, bool]:
    """The error, and whether limits and bounds by class hold; under label shift these are about that part."""
    given = {"score": custom_score} if certificate.score == "custom" else {}
    is_plain = "softmax" not in case.options and case.floats == FLOATS[0]
    table = case.world.target_law.missed(certificate, served=as_they_are if is_plain else case.served, **given)
    misses = np.diag(table) if certificate.facts.assumes_label_shift else class_misses(case, table)
    limits_hold = "class_epsilon" not in case.options or misses.max() <= case.class_epsilon + ROUNDING
    return promised_error(case, np.diag(table), table), limits_hold, _within(certificate.class_miss, misses)


def truth_of_accepted(case: Try, certificate: Certificate) -> tuple[float, bool, bool]:
    """The error of what is accepted, and whether limits and bounds of predicted labels hold; laws are finite."""
    world, law = case.world, case.world.target_law
    assert isinstance(law, Atoms)
    scores, rows = case.served(law.scores), law.weights_in(np.array(world.mix))
    one, label = certificate.sets(scores).sum(axis=1) == 1, top_labels(scores)[0]
    wrong, n_classes = one & (label != law.index), law.n_classes
    predicted, kept, bad = (np.bincount(label, rows * part, n_classes) for part in (True, one, wrong))
    error = float(bad.sum() / kept.sum()) if kept.sum() else 0.0
    limits_hold = "label_error" not in case.options or not (bad > kept * case.class_epsilon + ROUNDING).any()
    shares = ((kept, predicted, certificate.accepted), (bad, kept, certificate.accepted_error))
    bounds_hold = all(
        bounds.contains(np.divide(part, whole, out=np.zeros(n_classes), where=whole > 0))[whole > 0].all()
        for part, whole, bounds in shares
        if bounds is not None
    )
    return error, limits_hold, bounds_hold


def class_misses(case: Try, table: FloatArray) -> FloatArray:
    """How often each class is missed in the target, with its strangers: what labelled rows speak of."""
    label, looks = case.world.stranger
    misses, mix = np.diag(table).copy(), (1 - case.strangers) * np.array(case.world.mix)
    if case.strangers and label != NEW_KIND:
        whole = mix[label] + case.strangers
        misses[label] = (mix[label] * misses[label] + case.strangers * table[label, looks]) / whole
    return np.asarray(misses)


def promised_error(case: Try, misses: FloatArray, table: FloatArray) -> float:
    """The error that a promise is about: of the source, of the worst mix, or of this target with its strangers."""
    world = case.world
    if case.method.guarantee == "pac-source":
        return float(world.source_mix @ misses)
    shifted = misses.max() if case.method.any_mix and not case.subject.is_marginal else world.mix @ misses
    label, looks = world.stranger
    missed = 1.0 if label == NEW_KIND else table[label, looks]
    return float((1 - case.strangers) * shifted + case.strangers * missed)


def _within(bounds: Any, truth: FloatArray) -> bool:
    if bounds is None:
        return True
    return bool(((bounds.lower <= truth + ROUNDING) & (truth <= bounds.upper + ROUNDING)).all())


def _tested(case: Try, sample: Sample, asked: dict[str, Any]) -> Outcome:
    """Whether the test refuses at level δ, although all of the target but the strangers is label-shifted."""
    given = {"contamination": asked.get("contamination", 0.0)}
    tally = both_sides(sample, grid=case.route == "grid", in_groups=case.route == "groups")
    if "known_mix" in asked:
        given["known"] = check_known_mix(asked["known_mix"], tally.classes)
    found = check_assumption(tally, level=case.delta, **given)
    return Outcome(frozenset({ERROR} if found.refuted else ()))


def _bounded(case: Try, sample: Sample, asked: dict[str, Any]) -> Outcome:
    """Whether the intervals hold the label mix, the recall of each class and the accuracy, all at once.

    With labels these alone answer, and say nothing of recall and accuracy.
    """
    tally = both_sides(sample, grid=case.route == "grid", in_groups=case.route == "groups")
    labels = asked.pop("target_labels", None)
    if labels is not None:
        places = [place for place, label in enumerate(labels) if label is not None]
        few = Tally.from_scores(sample.target[places], [labels[place] for place in places], classes=tally.classes)
        asked["labelled"] = few
    found = prevalence(tally, delta=case.delta, **asked)
    mix, recall = np.array(case.world.mix), case.world.target_law.recall
    accuracy = Interval(np.array(found.accuracy), np.array(found.accuracy_at_most))
    held = _within(found.mix, mix) and _within(found.recall, recall) and _within(accuracy, mix @ recall)
    return Outcome(frozenset() if held else frozenset({ERROR}))


OTHERS: dict[str, Callable[[Try, Sample, dict[str, Any]], Outcome]] = {TEST: _tested, MIX: _bounded}
"""How the other promises are tried."""
