"""What a certificate says: one list of statements in two lengths, for prompt, notebook, report, file, terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.errors import param
from pacshift.methods.guarantee import RANDOM_SAMPLE, promises_target
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.names import shorten
from pacshift.tally.groups import Grouped
from pacshift.words.display import MAX_ROWS, html_paragraphs, html_table, one_line
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
    points,
    up,
    whole_percent,
)
from pacshift.words.visible import visible

MAX_NOTE_SHOWN = 300
MAX_NOTES = 20
"""Characters of a note, and notes: what fits a screen. ``notes`` holds all of it."""

MAX_NOTES_IN_NOTEBOOK = 5
"""What fits below the table; ``explain`` shows more."""

LIMIT_ADVISED = 2.0
"""A class that may be missed more often than this many times epsilon is a reason to think of a limit. A round
number; not measured."""

TOLD_LOWER = 1e-3
"""Lower bounds of misses below this say nothing: "at most 30 %" is said instead of "0.02 to 30 %"."""

NARROWS = "the promise is that"
"""A note with these words says of less what the promise says: it is never left to the full form."""

IF_IMPOSSIBLE = "If you know otherwise, do not use this certificate."
INVISIBLE = (
    "It cannot see a change that looks like another label mix, one that leaves predicted labels and top scores as "
    "they are, or rows that depend on each other."
)


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


def explain(certificate: Certificate, *, full: bool = False) -> str:
    """The few lines that matter, or everything, a paragraph each."""
    if full:
        return "\n\n".join(full_paragraphs(certificate))
    return "\n".join([*short_lines(certificate), "More: explain(full=True)."])


def full_paragraphs(certificate: Certificate) -> list[str]:
    """The full form: everything, a paragraph each."""
    return [f"{one.full} {one.advice}".rstrip() for one in statements(certificate) if one.full]


def short_lines(certificate: Certificate) -> list[str]:
    """The short form: promise, implied change, test, worst class, sets, and the first note if there is one."""
    first = ("Sets:", "Accepted:", "Why:") if certificate.trivial else ()
    said = [one.short for one in statements(certificate) if one.short]
    return sorted(said, key=lambda line: not line.startswith(first))


def statements(certificate: Certificate, *, most_notes: int | None = MAX_NOTES) -> list[Statement]:
    """All that a certificate says, in the order in which it is read. What does not apply is left out."""
    found = [
        _promise(certificate),
        *_assumptions(certificate),
        *_change(certificate),
        *_test(certificate),
        *_classes(certificate),
        *_sets(certificate),
        *_data(certificate),
        *_notes(certificate, most_notes),
        *_origin(certificate),
    ]
    return [one for one in found if one.short or one.full]


def _promise(certificate: Certificate) -> Statement:
    """What is promised, about whom, with which confidence and if what holds: the one line to quote alone."""
    epsilon, sure, facts = given(certificate.epsilon), all_but(certificate.delta), certificate.facts
    accepts, needs, on_target = certificate.accepts, facts.assumes_label_shift, promises_target(certificate)
    part, extra = outside(certificate), f" {facts.extra_assumption}" if facts.extra_assumption else ""
    head, despite, per, limit = f"Promise ({certificate.method})", "", "", ""
    if certificate.contamination:
        breaks = "breaks label shift" if needs else "has no class"
        despite = f"even if up to {given(certificate.contamination)} of the target {breaks}, "
    if (certificate.target_grouped if on_target else certificate.source_grouped) is not None:
        per = f" (one random case per {_group_name(certificate)})"
    if accepts:
        limit = label_limits(certificate)
    elif certificate.class_epsilon is not None:
        limit = f"at most {given(certificate.class_epsilon)} of any one class{part}"
    cases = f"{'accepted ' if accepts else ''}{'target' if on_target else 'source'} cases{per}"
    missed, unset = f"at most {epsilon} of {cases}", "get a set without their true label"
    meaning = (
        f"Confidence {sure} means: of many repetitions with new calibration data, at most "
        f"{given(certificate.delta)} would "
        f"{'accept more wrong labels' if accepts else 'give sets that miss more'}."
    )
    if certificate.guarantee == "none":
        said = (
            f"No promise ({certificate.method}): these sets may miss more than {epsilon} of the target, even if "
            f"only the label mix has changed.{extra}"
        )
        return Statement("promise", said, f"{said} Check them with labelled target rows before you rely on them.")
    if certificate.guarantee == "pac-source":
        said = f"{head}: {missed} {unset}. Confidence {sure}, if {_draws(certificate)} are independent.{extra}"
        said += " No promise about the target."
        return Statement("promise", said, f"{said} {meaning}")
    if certificate.guarantee == "marginal":
        said = (
            f"{head}: {despite}on average over many calibrations, {missed} {unset}, if "
            f"{_conditions(certificate)}. This one may do "
            f"worse.{f' With confidence {sure}, {limit} are missed.' if limit else ''}{extra}"
        )
        return Statement("promise", said, said)
    missed = f"{despite}{missed}{f', and {limit},' if limit else ''} {'are wrong' if accepts else unset}"
    alone = "" if needs else " Label shift is not needed."
    about = "The promise is about all cases together. It does not cover each class, a subgroup or a single case."
    if accepts:
        each = ", and about these labels by themselves" if limit else ""
        about = f"All other cases are left to a person. The promise is about all accepted cases together{each}."
    elif limit or facts.any_mix:
        about = (
            f"It covers all cases together and each class{part}. It does not cover a subgroup or a single case."
        )
    if per:
        about += " A group with many rows counts no more than the others."
    return Statement(
        "promise",
        f"{head}: {missed}. Confidence {sure}, if {_conditions(certificate)}.{alone}{extra}",
        f"{head}: with confidence {sure}, {missed}. {meaning} {about}{may_all_be_missed(certificate)}",
    )


def label_limits(certificate: Certificate) -> str:
    """What is promised of labels by themselves, as part of a sentence; "" if nothing is."""
    limits = certificate.label_error
    if limits is None:
        return ""
    if (limits == limits[0]).all():
        return f"at most {given(float(limits[0]))} of those accepted as any one label"
    named = _named(certificate, np.flatnonzero(limits < 1).tolist(), lambda label: given(float(limits[label])))
    return f"at most these shares of those accepted as one label ({named})"


def _conditions(certificate: Certificate) -> str:
    """What a promise about the target rests on, as the end of a sentence that goes on after "if"."""
    n_labels, known = certificate.n_target_labels, certificate.known_mix
    sampled = f"the {n_labels:,} labelled rows are a random sample of the target"
    if not certificate.facts.assumes_label_shift:
        return sampled
    said = [f"only the label mix has changed and {_draws(certificate)} are independent"]
    if certificate.contamination:
        said = [f"{_draws(certificate)} are independent and otherwise only the label mix has changed"]
    if known is not None and (named := _stated(known)):
        stated = f"the stated shares of {len(named)} classes are right"
        if len(named) == 1:
            share = between(float(known.lower[named[0]]), float(known.upper[named[0]]))
            stated = f"{called(certificate.classes[named[0]])} makes up {share} of the target, as stated"
        said.append(stated)
    return ", and ".join([*said, *([sampled] if n_labels else [])])


def _stated(known: Interval) -> list[int]:
    """Classes about whose share something was stated."""
    found: list[int] = np.flatnonzero((known.lower > 0) | (known.upper < 1)).tolist()
    return found


def _draws(certificate: Certificate) -> str:
    """What was drawn independently: rows, or groups of them."""
    source, target = ("groups" if side in _grouped(certificate) else "rows" for side in ("source", "target"))
    alike = source == target or not certificate.n_target
    return source if alike else f"source {source} and target {target}"


def outside(certificate: Certificate) -> str:
    """Whom statements about classes are about where part of the target may be anything, with a blank in front."""
    if not certificate.contamination:
        return ""
    if certificate.facts.assumes_label_shift:
        return f" outside those {given(certificate.contamination)}"
    return " among cases that have one"


def may_all_be_missed(certificate: Certificate) -> str:
    """What is not promised of a class where part of the target may be anything, with a blank in front.

    Section "A limit per class" of docs/methods/trust-proofs.md.
    """
    if certificate.contamination and certificate.facts.assumes_label_shift:
        others = given(certificate.contamination)
        return f" Those {others} may be anything; the cases of a class among them may all be missed."
    return " Cases without a class are always missed." if certificate.contamination else ""


def _assumptions(certificate: Certificate) -> Iterator[Statement]:
    """What the promise rests on, in sentences: what it means for every method, then what these data add."""
    facts, share, target = certificate.facts, certificate.contamination, promises_target(certificate)
    if certificate.guarantee == "none":
        return
    sides = _grouped(certificate)
    said = ["Future cases come from the same population as the source."]
    if target and not facts.assumes_label_shift:
        said = [RANDOM_SAMPLE]
    elif target:
        said = [
            "Label shift: within each class, target cases look like source cases; only the label mix has changed.",
            "Source and target rows are independent random draws.",
            "The classifier was not trained on these source rows.",
        ]
        if share:
            said[0] += f" This need not hold for {given(share)} of the target; the label mix is that of the rest."
        if facts.any_mix:
            said[0] += " The promise holds for every target label mix."
        if sides:
            both = ", and no group is in both source and target" if len(sides) == 2 else ""
            said[1] = f"The independent draws are groups, not rows ({' and '.join(sides)}){both}."
    elif sides:
        said.append("The independent draws are groups, not rows.")
    for side, one in sides.items():
        if one.parts > 1:  # tallies do not name their groups
            said.append(
                f"No group is in two of the {one.parts} {side} tallies that were added; this was not checked."
            )
    if target and facts.assumes_label_shift:
        if certificate.n_target_labels:
            whose = "target's cases that have a class" if share else "target"
            said.append(
                f"The {certificate.n_target_labels:,} labelled target rows are a random sample of the {whose}."
            )
        if certificate.known_mix is not None:
            known = certificate.known_mix
            named = _named(
                certificate,
                _stated(known),
                lambda label: between(float(known.lower[label]), float(known.upper[label])),
            )
            said.append(f"You stated, and the promise relies on it: {named or 'nothing'} of the target.")
    said += [facts.extra_assumption] if facts.extra_assumption else []
    every = " ".join(f"({place}) {one}" for place, one in enumerate(said, 1))
    yield Statement("assumptions", "", f"Assumptions: {every}" if len(said) > 1 else f"Assumption: {said[0]}")


def called(name: Label) -> str:
    """A class in a sentence: texts quoted, numbers said to be a class.

    >>> called("heart disease"), called(7)
    ("'heart disease'", 'class 7')
    """
    return repr(name) if isinstance(name, str) else f"class {name}"


def _named(certificate: Certificate, labels: Sequence[int], say: Any) -> str:
    """Classes with what is said of each; of many the first."""
    listed = [f"{called(certificate.classes[label])} {say(label)}" for label in labels[:MAX_LISTED]]
    more = f", and {len(labels) - MAX_LISTED} more" if len(labels) > MAX_LISTED else ""
    return f"{', '.join(listed)}{more}"


def _change(certificate: Certificate) -> Iterator[Statement]:
    """Which change of the label mix the certificate implies: what somebody who knows the field can doubt.

    By bounds of the target's mix where the method has them, else by the mix that explains the target best.
    """
    if not promises_target(certificate) or not certificate.n_target or not certificate.facts.assumes_label_shift:
        return
    found, before = certificate.assumption, certificate.class_counts / max(certificate.n_source, 1)
    is_bound = certificate.prevalence is not None
    if not is_bound and found is None:
        return
    bounds = certificate.prevalence or Interval(found.mix, found.mix)  # type: ignore[union-attr]
    order, n_moved = most_changed(bounds, before)
    label = order[0]
    head, name = f"Implied change{outside(certificate)}", called(certificate.classes[label])

    def told(label: int) -> str:
        low, high = float(bounds.lower[label]), float(bounds.upper[label])
        if not is_bound:
            return f"from {percent(before[label])} to about {percent(low)}"
        now = between(low, high, word=" and ")
        verb = "rose" if low > before[label] else "fell"
        return f"{verb} from {percent(before[label])} to {f'between {now}' if ' and ' in now else now}"

    def may(label: int) -> str:
        share = between(bounds.lower[label], bounds.upper[label])
        return f"{share} of the target (source: {percent(before[label])})"

    if not is_bound:
        first = f"{name} went {told(label)} (an estimate)."
        every = f"{_named(certificate, order, told)} (estimates)."
    elif n_moved:
        first, every = f"{name} {told(label)}.", f"{_named(certificate, order[:n_moved], told)}."
    else:
        first = f"uncertain. {name} may make up {may(label)}."
        every = (
            f"no class is shown to have changed its share. The widest ranges: {_named(certificate, order, may)}."
        )
    if is_bound:
        every += f" The promise and these bounds hold together with confidence {all_but(certificate.delta)}."
    narrower = " pacshift prevalence gives narrower bounds." if is_bound and not certificate.contamination else ""
    yield Statement(
        "change",
        f"{head}: {first} {IF_IMPOSSIBLE}",
        f"{head}: {every} {IF_IMPOSSIBLE}",
        f"To have a share that you know tested, state it: {param('known_mix=')}.{narrower}",
    )


def most_changed(bounds: Interval, before: FloatArray) -> tuple[list[int], int]:
    """Classes by how far their share is shown to have changed, and of how many this is shown.

    Of two that changed alike the rarer comes first: it tells more. Where nothing is shown, by how far the range
    reaches from the share of the source.
    """
    moved = np.clip(np.maximum(bounds.lower - before, before - bounds.upper), 0.0, 1.0).round(6)
    reach = np.maximum(bounds.upper - before, before - bounds.lower).round(6)
    order: list[int] = np.lexsort((before, -reach, -moved) if moved.max() <= 0 else (before, -moved)).tolist()
    return order, int((moved > 0).sum())


def _test(certificate: Certificate) -> Iterator[Statement]:
    """Whether the test saw another change than one of the label mix, and what it could have missed."""
    found, needs = certificate.assumption, certificate.facts.assumes_label_shift
    if not promises_target(certificate):
        return
    if found is None:
        if needs and not certificate.n_target:
            said = "Test: none, because no target was given."
            yield Statement("test", said, said)
        return
    if not needs:
        seen = "rejected" if found.refuted else "not rejected"
        said = f"Test: label shift was {seen}; this certificate does not need it."
        yield Statement("test", said, f"{said} {found.finding}")
        return
    noticed = ""
    missed = "It cannot see one that looks like another label mix; what else it could have missed is not known."
    if len(found.noticeable) == 2:
        least = whole_percent(max(one.size for one in found.noticeable))
        missed = (
            f"It could have missed one, for example one that affects less than about {least} of cases or looks "
            "like another label mix."
        )
    if found.noticeable:
        noticed = " With these data the test would very likely have noticed: "
        noticed += f"{'; or '.join(noticeable_words(one.kind, one.size, one.below) for one in found.noticeable)}."
    right = " and the stated shares are right" if certificate.known_mix is not None else ""
    yield Statement(
        "test",
        f"Test: no other change was found. {missed}",
        f"Test of label shift: no other change was found. {found.finding}{noticed} {INVISIBLE} If label shift "
        f"holds{right}, it is rejected with probability at most {up(found.level)}. A test can reject label shift "
        "but never prove it.",
    )


def noticeable_words(kind: str, size: float, below: float) -> str:
    """A difference that the test notices in nearly every draw.

    >>> noticeable_words("moved", 0.13, 0.82)
    'a share of rows with a top score below 0.82 that is about 13 percentage points above what the mix explains'
    """
    if kind == "moved":
        return (
            f"a share of rows with a top score below {below:.4g} that is about {points(size)} above what the mix "
            "explains"
        )
    return (
        f"a kind of case that the source does not have, if it makes up about {percent(size)} of the target and "
        f"its top scores are below {below:.4g}"
    )


def _classes(certificate: Certificate) -> Iterator[Statement]:
    """How often classes are missed, the worst first."""
    bounds, part = certificate.class_miss, outside(certificate)
    if certificate.accepts:
        yield from _accepted(certificate)
        return
    if certificate.trivial:
        return
    if bounds is None:
        yield Statement("classes", f"Worst class: not bounded by {certificate.method}.", "")
    else:
        sure, order = all_but(certificate.delta), np.argsort(-bounds.upper, kind="stable").tolist()

        def missed(label: int) -> str:
            low, high = float(bounds.lower[label]), float(bounds.upper[label])
            return between(low, high) if low >= TOLD_LOWER else at_most(high)

        low, high = float(bounds.lower[order[0]]), float(bounds.upper[order[0]])
        name = called(certificate.classes[order[0]])
        said = f"{at_most(high)} missed{part} (highest bound: {name}); confidence {sure}."
        if up(high) == "100 %":
            said = f"not bounded, by too few rows of {name}."
        elif low > bounds.upper[order[1]] and low >= TOLD_LOWER:
            said = f"{name}, {between(low, high)} missed{part}; confidence {sure}."
        # Who changes the class balance wants to see what it does to every class.
        most = MAX_LISTED if certificate.options.get("class_balance", 3) == 3 else len(order)
        listed = ", ".join(f"{called(certificate.classes[label])} {missed(label)}" for label in order[:most])
        cut = f" (the {most} highest bounds of {len(order)})" if len(order) > most else ""
        together = f"; together with the promise, with {at_least(1 - 2 * certificate.delta)}"
        both = together if certificate.delta < 0.5 else ""
        full = f"Missed{part}, by class: {listed}{cut}. These bounds hold together with confidence {sure}{both}."
        advice = ""
        if certificate.class_epsilon is None and high > LIMIT_ADVISED * certificate.epsilon:
            advice = f"To limit every class, set {param('class_epsilon=')}; sets become larger."
        yield Statement("classes", f"Worst class: {said}", full + may_all_be_missed(certificate), advice)


def _accepted(certificate: Certificate) -> Iterator[Statement]:
    """How often accepted labels are wrong, the worst first, and how many cases are accepted."""
    kept, wrong, sure = certificate.accepted, certificate.accepted_error, all_but(certificate.delta)
    if certificate.trivial:
        said = "Accepted: nothing; every case is left to a person, its set has every label."
        yield Statement("sets", said, said)
        return
    never = np.flatnonzero(np.isposinf(certificate.thresholds)).tolist()
    if kept is not None and wrong is not None:
        worst = int(np.argmax(wrong.upper))
        most = float(wrong.upper[worst])
        limits = certificate.label_error
        no_more = 1.0 if limits is None else float(limits[worst])
        order = [label for label in np.argsort(-wrong.upper, kind="stable").tolist() if label not in never]

        def told(label: int) -> str:
            share, error = (between(one.lower[label], one.upper[label]) for one in (kept, wrong))
            return f"{share} accepted, {error} of these wrong"

        advice = ""
        if limits is None and most > LIMIT_ADVISED * certificate.epsilon:
            advice = f"To limit every label, set {param('label_error=')}; less is accepted."
        said = f"{at_most(most)} of its accepted cases wrong (highest bound: {called(certificate.classes[worst])})"
        yield Statement(
            "classes",
            f"Worst label: {said}; confidence {sure}." if most < no_more else "",
            f"By predicted label: {_named(certificate, order, told)}. These bounds hold together with confidence "
            f"{sure}, beside the promise. The {given(certificate.epsilon)} are promised for all labels together.",
            advice,
        )
    share = accepted_share(certificate)
    counted = "the top label where its score reaches the threshold of its label"
    if share is not None:
        counted = f"{percent(share)} of the target's cases"
    said = f"{counted}; the others are left to a person."
    rule = "The top label is accepted where its score is at least the threshold of its label."
    if never:
        rule += f" Never accepted: {shorten([certificate.classes[label] for label in never])}."
    yield Statement(
        "sets", f"Accepted: {said}", f"Accepted: {said} {rule} The set of a case that is left has every label."
    )


def accepted_share(certificate: Certificate) -> float | None:
    """The share of the target's cases that is accepted; None if it was not counted."""
    sizes = certificate.set_sizes
    return None if sizes is None or not sizes.sum() else float(sizes[1] / sizes.sum())


def _sets(certificate: Certificate) -> Iterator[Statement]:
    """Which labels are in a set, and how many: is it useful?"""
    sizes = certificate.set_sizes
    if certificate.trivial:
        every = "both labels" if len(certificate.classes) == 2 else f"all {len(certificate.classes):,} labels"
        said = f"Sets: every set contains {every}. That is always right, and says nothing."
        if not certificate.accepts:
            yield Statement("sets", said, said)
        if certificate.reasons:
            more = len(certificate.reasons) - 1
            rest = f" (and {plural(more, 'more reason')})" if more else ""
            yield Statement("why", f"Why: {certificate.reasons[0]}{rest}", "")
    if certificate.trivial or certificate.accepts:
        return
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
        yield Statement("sets", f"Sets: {rule} Sizes were not counted.", f"Sets: {rule} Sizes were not counted.")
        return
    counted = size_words(sizes, never_empty=certificate.never_empty)
    full = f"Sets: {rule} Of the {sizes.sum():,} sets of the target rows, {counted}"
    advice = ""
    if sizes[0]:
        full += (
            " An empty set means that no label fits well: look at the case. It counts as a miss, and the promise "
            "covers it."
        )
        fill = f"without_empty_sets() or {param('never_empty=True')}"
        advice = f"To fill empty sets, use {fill}; the promise still holds."
    yield Statement("sets", f"Sets on the target: {counted}", full, advice)


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


def _grouped(certificate: Certificate) -> dict[str, Grouped]:
    """How rows of the two sides came in groups, where they did."""
    sides = {"source": certificate.source_grouped, "target": certificate.target_grouped}
    return {side: one for side, one in sides.items() if one is not None}


def _group_name(certificate: Certificate) -> str:
    """What a group is called: the name of its column, if there is one."""
    column = None if certificate.columns is None else certificate.columns.group
    return "group" if column is None else repr(column)


def _data(certificate: Certificate) -> Iterator[Statement]:
    """How many rows there were, how groups were counted (docs/methods/groups.md), what was left out, accuracy."""
    n_source, n_target = certificate.n_source, certificate.n_target
    rarest = int(np.argmin(certificate.class_counts))
    fewest = f"fewest: {certificate.class_counts[rarest]:,} of {called(certificate.classes[rarest])}"
    target, once = f"{n_target:,} unlabelled target rows", ""
    if certificate.n_target_labels:
        target = f"{n_target:,} target rows, {certificate.n_target_labels:,} of them labelled"
        # What labels of the target cost: docs/methods/ps-t.md, "One sample of labels".
        once = (
            " Delta pays for one sample of target labels, looked at as planned: another sample, or another look, "
            "would spend it again."
        )
    said = (
        f"Data: {n_source:,} labelled source rows ({fewest}), {target}, {len(certificate.classes)} classes.{once}"
    )
    yield Statement("data", "", said)
    counted = {"source": n_source, "target": n_target}
    parts = [f"{counted[side]:,} of {one.rows:,} {side} rows" for side, one in _grouped(certificate).items()]
    if parts:
        said = f"Groups: one random row per {_group_name(certificate)} was counted: {', '.join(parts)}."
        yield Statement("groups", "", said)
    found = [one for one in certificate.provenance.inputs if one.left_out]
    parts = [
        f"{one.left_out_in_words} of {f'the {one.role}' if one.name is None else f'{one.role} {one.name!r}'}"
        for one in found[:MAX_LISTED]
    ]
    if parts:
        more = f", and of {len(found) - MAX_LISTED} more files" if len(found) > MAX_LISTED else ""
        apart = "If such rows differ from the others, the promise is not about them."
        counts = [(side, sum(one.left_out or 0 for one in found if one.role == side)) for side in counted]
        short = " and ".join(f"{count:,} {side}" for side, count in counts if count)
        about = f"Left out: {short} rows. The promise is not about such rows."
        yield Statement("left out", about, f"Left out: {', '.join(parts)}{more}. {apart}")
    least = certificate.accuracy
    if least is not None and tells_accuracy(least, certificate.prevalence, len(certificate.classes)):
        said = f"the top label is right for {at_least(least)} of target cases; same confidence and assumptions."
        yield Statement("accuracy", "", f"Accuracy: {said}")


def tells_accuracy(least: float | None, mix: Interval | None, n_classes: int) -> bool:
    """Whether a lower bound of the accuracy tells anything: more than naming one class for all surely reaches.

    >>> tells_accuracy(0.425, None, 2), tells_accuracy(0.425, None, 10)
    (False, True)
    """
    sure = 1 / n_classes if mix is None else max(1 / n_classes, float(mix.upper.max()))
    return least is not None and least > sure


def _notes(certificate: Certificate, most: int | None) -> Iterator[Statement]:
    """What else should be known. With many classes there may be a reason per class: notes come first."""
    notes = [*certificate.notes, *certificate.reasons]
    told = [place for place, note in enumerate(certificate.notes) if not place or NARROWS in note]
    more = len(certificate.notes) - len(told)
    for place, note in enumerate(notes[:most]):
        rest = f" (and {plural(more, 'more note')})" if more and place == told[-1] else ""
        yield Statement("note", f"Note: {note}{rest}" if place in told else "", f"Note: {note}")
    left_out = 0 if most is None else len(notes[most:])
    if left_out:
        said = f"{left_out:,} more notes: certificate.reasons and certificate.notes hold them all."
        yield Statement("more notes", "", said)


def _origin(certificate: Certificate) -> Iterator[Statement]:
    """When it was made, for which model, until when it may be used, and what the maker said."""
    made = certificate.provenance
    model = "" if made.model_id is None else f" for model {shorten([made.model_id])}"
    term = "" if made.valid_until is None else f" Valid until {made.valid_until}."
    # Quoted, as the model is: the command line makes flags of parameters outside of quotes.
    note = "" if made.note is None else f" Maker's note: {' '.join(made.note.split())[:MAX_NOTE_SHOWN]!r}"
    yield Statement(
        "origin", "", f"Made: {made.created} with pacshift {made.pacshift_version}{model}.{term}{note}"
    )


def to_text(certificate: Certificate) -> str:
    """A certificate at a prompt: its data, then promise, implied change, worst class and sets as in the short "
    "form.
    """
    notes = plural(len(certificate.reasons) + len(certificate.notes), "note")
    data = f"{certificate.n_source:,} source rows, {certificate.n_target:,} target rows, {notes}"
    said = [one.short for one in statements(certificate) if one.key in ("promise", "change", "classes", "sets")]
    head = f"Certificate ({certificate.method}, {len(certificate.classes)} classes, {data}); explain() says more"
    return "\n".join([visible(head), *(f"  {line}" for line in said if line)])


def to_html(certificate: Certificate) -> str:
    """The short form, one table of classes, the notes. Everything is escaped.

    The table has mix, threshold and misses of each class; with many classes of those that may be missed most.
    """
    notes = [
        one.full
        for one in statements(certificate, most_notes=MAX_NOTES_IN_NOTEBOOK)
        if one.key in ("note", "more notes")
    ]
    lines = [line for line in short_lines(certificate) if not line.startswith("Note:")]
    mix, missed, shown = certificate.prevalence, certificate.class_miss, np.arange(len(certificate.classes))
    if len(shown) > MAX_ROWS:
        order = certificate.class_counts if missed is None else -missed.upper
        shown = np.argsort(order, kind="stable")[:MAX_ROWS]
    header = ["class", "source", "target", "missed", "threshold"]
    if certificate.accepts:
        header[3], missed = "wrong if accepted", certificate.accepted_error
    rows = [
        [
            one_line(str(certificate.classes[label])),
            percent(certificate.class_counts[label] / max(certificate.n_source, 1)),
            "not bounded" if mix is None else between(mix.lower[label], mix.upper[label]),
            "not bounded" if missed is None else between(missed.lower[label], missed.upper[label]),
            "in every set"
            if np.isneginf(certificate.thresholds[label]) and not certificate.accepts
            else f"{certificate.thresholds[label]:.6g}",
        ]
        for label in shown.tolist()
    ]
    table = html_table(header, rows, left_out=len(certificate.classes) - len(shown))
    return f"<div>{html_paragraphs(lines)}{table}{html_paragraphs(notes)}</div>"
