"""What each rule says: the two classes hold all words that differ between sets and accepting or asking."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pacshift.arrays import IntArray, Label
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.errors import param
from pacshift.rows.rule import AcceptRule, Rule, SetRule
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.names import shorten
from pacshift.words.numbers import (
    MAX_LISTED,
    all_but,
    at_least,
    at_most,
    between,
    given,
    mean_size,
    percent,
    plural,
    up,
)
from pacshift.words.visible import visible

LIMIT_ADVISED = 2.0
"""A class that may be missed more often than this many times epsilon is a reason to think of a limit. A round
number; not measured."""

TOLD_LOWER = 1e-3
"""Lower bounds of misses below this say nothing: "at most 30 %" is said instead of "0.02 to 30 %"."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that is said, each time with its head and a colon in front.

    ``short`` is its line in the short form, "" if it has none there; ``full`` its paragraph in the full form.
    ``advice`` goes on where parameters can be set: pages leave it out.
    """

    key: str
    short: str
    full: str
    advice: str = ""

    def __post_init__(self) -> None:
        for name in ("short", "full", "advice"):
            object.__setattr__(self, name, visible(getattr(self, name)))


def name_class(name: Label) -> str:
    """A class in a sentence: texts quoted, numbers said to be a class.

    >>> name_class("heart disease"), name_class(7)
    ("'heart disease'", 'class 7')
    """
    return repr(name) if isinstance(name, str) else f"class {name}"


def list_classes(certificate: Certificate, labels: Sequence[int], say: Any) -> str:
    """Classes with what is said of each; of many the first."""
    listed = [f"{name_class(certificate.classes[label])} {say(label)}" for label in labels[:MAX_LISTED]]
    more = f", and {len(labels) - MAX_LISTED} more" if len(labels) > MAX_LISTED else ""
    return f"{', '.join(listed)}{more}"


def outside(certificate: Certificate) -> str:
    """Whom statements about classes are about where part of the target may be anything, with a blank in front."""
    if not certificate.contamination:
        return ""
    if certificate.facts.assumes_label_shift:
        return f" outside those {given(certificate.contamination)}"
    return " among cases that have one"


def say_contamination(certificate: Certificate) -> str:
    """What is not promised of a class where part of the target may be anything, with a blank in front.

    Section "A limit per class" of docs/methods/trust-proofs.md.
    """
    if certificate.contamination and certificate.facts.assumes_label_shift:
        others = given(certificate.contamination)
        return f" Those {others} may be anything; the cases of a class among them may all be missed."
    return " Cases without a class are always missed." if certificate.contamination else ""


def why(certificate: Certificate) -> Iterator[Statement]:
    """Why nothing is said: the first reason."""
    if certificate.reasons:
        more = len(certificate.reasons) - 1
        rest = f" (and {plural(more, 'more reason')})" if more else ""
        yield Statement("why", f"Why: {certificate.reasons[0]}{rest}", "")


def size_words(sizes: Any, *, never_empty: bool = False) -> str:
    """How many sets name one label, several, none.

    >>> size_words(np.array([0, 70, 30]))
    '70 % name one label, 30 % both, none is empty; 1.300 labels on average.'
    """
    (mean, empty), total = mean_and_empty(sizes), sizes.sum()
    none = "none is empty (filled with the top label)" if never_empty else "none is empty"
    return (
        f"{percent(sizes[1] / total)} name one label, {percent(sizes[2:].sum() / total)} "
        f"{'both' if len(sizes) == 3 else 'several'}, {f'{percent(empty)} are empty' if empty else none}; "
        f"{mean_size(mean)} labels on average."
    )


class _Shared:
    always: str
    never: str

    def threshold_shown(self, cut: float) -> str:
        """A threshold in the table of classes."""
        return f"{cut:.4g}" if np.isfinite(cut) else self.always if cut < 0 else self.never


class SetWords(_Shared):
    """Prediction sets: who misses."""

    judged: ClassVar[str] = ""
    wrong = "get a set without their true label"
    repeated = "give sets that miss more"
    better = "give smaller sets"
    row, failed, failing = "row", "missed", "missed of"
    unit = "class"
    of_class = "missed"
    always, never = "in every set", "in no set"

    def check_row(self, size: str) -> tuple[str, str]:
        """The row of all that is judged in a table of a check: its name, and the mean size."""
        return "all", size

    bars = "Missed, by class.", "Bar: share of each class that is missed{outside}; worst class in bold."

    def threshold(self, cut: float) -> str:
        return self.always if cut == -np.inf else f"{cut:.6g}"

    def scale(self, bounds: Interval, epsilon: float) -> float:
        return min(1.0, 1.1 * max(float(bounds.upper.max()), epsilon))

    def limit(self, certificate: Certificate) -> str:
        """What is promised of classes by themselves, as part of a sentence; "" if nothing is."""
        limits = certificate.limits
        return (
            "" if limits is None else f"at most {given(float(limits[0]))} of any one class{outside(certificate)}"
        )

    def about(self, certificate: Certificate) -> str:
        """What the promise covers."""
        if certificate.limits is None and not certificate.facts.any_mix:
            return (
                "The promise is about all cases together. It does not cover each class, a subgroup or a single "
                "case."
            )
        return (
            f"It covers all cases together and each class{outside(certificate)}. It does not cover a subgroup or "
            "a single case."
        )

    def errors(self, certificate: Certificate) -> Interval | None:
        """Bounds by class of the share that is wrong."""
        return certificate.class_miss

    def shares(self, certificate: Certificate) -> tuple[str, str, dict[str, float]]:
        """A title, a legend and shares of the target that tell how useful the rule is."""
        sizes = np.asarray(certificate.set_sizes)
        several, total = "both labels" if len(sizes) == 3 else "several labels", sizes.sum()
        parts = {"one label": sizes[1] / total, several: sizes[2:].sum() / total, "empty": sizes[0] / total}
        mean = mean_size(mean_and_empty(sizes)[0])
        return "Sets.", f"Share of the target’s sets; {mean} labels on average.", parts

    def written(self, sizes: IntArray) -> str:
        """What ``predict`` wrote."""
        return f"{sizes.sum():,} sets: {size_words(sizes)}"

    def list_limitations(self, certificate: Certificate) -> list[str]:
        """What may be taken for a promise and is none, for the report."""
        covered = (
            "It is about all cases together. It does not cover a single case, a subgroup or each class: “Class by "
            "class” says how often classes are missed."
        )
        if certificate.facts.any_mix or certificate.limits is not None:
            each = f"each class{outside(certificate)}"
            covered = f"It covers all cases together and {each}, but not a single case or a subgroup."
        elif certificate.source_grouped is not None or certificate.target_grouped is not None:
            covered = covered.replace("cases together", "cases, one of each group")
        empty = "A set can be empty: no label fits well. Look at the case. It counts as a miss."
        if certificate.rule.never_empty:
            empty = "Where no label fits well, the set has the top label, so no set is empty."
        alone = (
            "It is not the error of sets with one label: they may be wrong more often than ε. Do not act on them "
            "unseen."
        )
        return [covered, alone, empty]

    def results(self, certificate: Certificate) -> Iterator[Statement]:
        """How often classes are missed, the worst first; which labels are in a set, and how many."""
        if certificate.trivial:
            every = "both labels" if len(certificate.classes) == 2 else f"all {len(certificate.classes):,} labels"
            text = f"Sets: every set contains {every}. That is always right, and says nothing."
            yield Statement("sets", text, text)
            yield from why(certificate)
            return
        yield from self._classes(certificate)
        yield from self._sets(certificate)

    def _classes(self, certificate: Certificate) -> Iterator[Statement]:
        bounds = certificate.class_miss
        part = outside(certificate)
        if bounds is None:
            yield Statement("classes", f"Worst class: not bounded by {certificate.method}.", "")
        else:
            sure, order = all_but(certificate.delta), np.argsort(-bounds.upper, kind="stable").tolist()

            def tell_misses(label: int) -> str:
                low, high = float(bounds.lower[label]), float(bounds.upper[label])
                return between(low, high) if low >= TOLD_LOWER else at_most(high)

            low, high = float(bounds.lower[order[0]]), float(bounds.upper[order[0]])
            name = name_class(certificate.classes[order[0]])
            worst = f"{at_most(high)} missed{part} (highest bound: {name}); confidence {sure}."
            if up(high) == "100 %":
                worst = f"not bounded, by too few rows of {name}."
            elif low > bounds.upper[order[1]] and low >= TOLD_LOWER:
                worst = f"{name}, {between(low, high)} missed{part}; confidence {sure}."
            # Who changes the class balance wants to see what it does to every class.
            most = MAX_LISTED if certificate.options.get("class_balance", 3) == 3 else len(order)
            listed = ", ".join(
                f"{name_class(certificate.classes[label])} {tell_misses(label)}" for label in order[:most]
            )
            cut = f" (the {most} highest bounds of {len(order)})" if len(order) > most else ""
            together = f"; together with the promise, with {at_least(1 - 2 * certificate.delta)}"
            both = together if certificate.delta < 0.5 else ""
            full = (
                f"Missed{part}, by class: {listed}{cut}. These bounds hold together with confidence {sure}{both}."
            )
            advice = ""
            if certificate.limits is None and high > LIMIT_ADVISED * certificate.epsilon:
                advice = f"To limit every class, set {param('class_epsilon=')}; sets become larger."
            yield Statement("classes", f"Worst class: {worst}", full + say_contamination(certificate), advice)

    def _sets(self, certificate: Certificate) -> Iterator[Statement]:
        sizes, never_empty = certificate.set_sizes, certificate.rule.never_empty
        kind = "" if certificate.score == "probability" else f" {certificate.score}"
        kind = f" softmax{kind}" if certificate.softmax else kind
        cuts = np.unique(certificate.thresholds)
        least = f"{cuts[0]:.6g}" if len(cuts) == 1 else "the threshold of its class"
        rule = f"a label is in the set if its{kind} score is at least {least}."
        always = [
            name for name, cut in zip(certificate.classes, certificate.thresholds, strict=True) if cut == -np.inf
        ]
        rule += f" In every set: {shorten(always)}." if always else ""
        if sizes is None or not sizes.sum():
            yield Statement(
                "sets", f"Sets: {rule} Sizes were not counted.", f"Sets: {rule} Sizes were not counted."
            )
            return
        counted = size_words(sizes, never_empty=never_empty)
        full = f"Sets: {rule} Of the {sizes.sum():,} sets of the target rows, {counted}"
        advice = ""
        if sizes[0]:
            full += (
                " An empty set means that no label fits well: look at the case. It counts as a miss, and the "
                "promise covers it."
            )
            fill = f"without_empty_sets() or {param('never_empty=True')}"
            advice = f"To fill empty sets, use {fill}; the promise still holds."
        yield Statement("sets", f"Sets on the target: {counted}", full, advice)


class AcceptWords(_Shared):
    """Accept or ask: who is wrong among the accepted."""

    judged: ClassVar[str] = "accepted "
    wrong = "are wrong"
    repeated = "accept more wrong labels"
    better = "accept more"
    row, failed, failing = "accepted row", "wrong", "wrong among what is accepted as"
    unit = "label"
    of_class = "wrong if accepted"
    always, never = "always accepted", "never accepted"

    def check_row(self, size: str) -> tuple[str, str]:
        """The row of all that is judged in a table of a check: its name, and the mean size."""
        return "accepted", "1.000"

    bars = "Wrong, by label.", "Bar: share of a label’s accepted cases that is wrong."

    def threshold(self, cut: float) -> str:
        return f"{cut:.6g}"

    def scale(self, bounds: Interval, epsilon: float) -> float:
        return 1.0

    def limit(self, certificate: Certificate) -> str:
        """What is promised of labels by themselves, as part of a sentence; "" if nothing is."""
        limits = certificate.limits
        if limits is None:
            return ""
        if (limits == limits[0]).all():
            return f"at most {given(float(limits[0]))} of those accepted as any one label"
        each = list_classes(
            certificate, np.flatnonzero(limits < 1).tolist(), lambda label: given(float(limits[label]))
        )
        return f"at most these shares of those accepted as one label ({each})"

    def about(self, certificate: Certificate) -> str:
        """What the promise covers."""
        each = ", and about these labels by themselves" if certificate.limits is not None else ""
        return f"All other cases are left to a person. The promise is about all accepted cases together{each}."

    def errors(self, certificate: Certificate) -> Interval | None:
        """Bounds by label of the share of what is accepted that is wrong."""
        return certificate.accepted_error

    def shares(self, certificate: Certificate) -> tuple[str, str, dict[str, float]]:
        """A title, a legend and shares of the target that tell how useful the rule is."""
        share = accepted_share(certificate) or 0.0
        return "Cases.", "Share of the target’s cases.", {"accepted": share, "left to a person": 1 - share}

    def written(self, sizes: IntArray) -> str:
        """What ``predict`` wrote."""
        kept = percent(sizes[1] / max(sizes.sum(), 1))
        return f"{sizes.sum():,} rows, {kept} accepted. Ask a person where the set has every label."

    def list_limitations(self, certificate: Certificate) -> list[str]:
        """What may be taken for a promise and is none, for the report."""
        return [
            "It is about all accepted cases together. It does not cover a single case, a subgroup or each "
            "predicted label: “Class by class” says how often labels are wrong.",
            "A set that has every label means: nobody decided, ask a person.",
        ]

    def results(self, certificate: Certificate) -> Iterator[Statement]:
        """How often accepted labels are wrong, the worst first, and how many cases are accepted."""
        kept, wrong, sure = certificate.accepted, certificate.accepted_error, all_but(certificate.delta)
        if certificate.trivial:
            text = "Accepted: nothing; every case is left to a person, its set has every label."
            yield Statement("sets", text, text)
            yield from why(certificate)
            return
        never = np.flatnonzero(np.isposinf(certificate.thresholds)).tolist()
        if kept is not None and wrong is not None:
            worst = int(np.argmax(wrong.upper))
            most = float(wrong.upper[worst])
            limits = certificate.limits
            no_more = 1.0 if limits is None else float(limits[worst])
            order = [label for label in np.argsort(-wrong.upper, kind="stable").tolist() if label not in never]

            def tell_label(label: int) -> str:
                share, error = (between(one.lower[label], one.upper[label]) for one in (kept, wrong))
                return f"{share} accepted, {error} of these wrong"

            advice = ""
            if limits is None and most > LIMIT_ADVISED * certificate.epsilon:
                advice = f"To limit every label, set {param('label_error=')}; less is accepted."
            name = name_class(certificate.classes[worst])
            text = f"{at_most(most)} of its accepted cases wrong (highest bound: {name})"
            yield Statement(
                "classes",
                f"Worst label: {text}; confidence {sure}." if most < no_more else "",
                f"By predicted label: {list_classes(certificate, order, tell_label)}. These bounds hold together "
                f"with confidence {sure}, beside the promise. The {given(certificate.epsilon)} are promised for "
                "all labels together.",
                advice,
            )
        share = accepted_share(certificate)
        counted = "the top label where its score reaches the threshold of its label"
        if share is not None:
            counted = f"{percent(share)} of the target's cases"
        text = f"{counted}; the others are left to a person."
        rule = "The top label is accepted where its score is at least the threshold of its label."
        if never:
            rule += f" Never accepted: {shorten([certificate.classes[label] for label in never])}."
        yield Statement(
            "sets", f"Accepted: {text}", f"Accepted: {text} {rule} The set of a case that is left has every label."
        )


def accepted_share(certificate: Certificate) -> float | None:
    """The share of the target's cases that is accepted; None if it was not counted."""
    sizes = certificate.set_sizes
    return None if sizes is None or not sizes.sum() else float(sizes[1] / sizes.sum())


WORDS: Mapping[type[Rule], "SetWords | AcceptWords"] = MappingProxyType(
    {SetRule: SetWords(), AcceptRule: AcceptWords()}
)


def words_of(rule: Rule | type[Rule]) -> "SetWords | AcceptWords":
    """How a rule speaks."""
    return WORDS[rule if isinstance(rule, type) else type(rule)]
