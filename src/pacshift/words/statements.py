"""What a certificate says: one list of statements, which text, notebook, report, file and command line show."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.certificate import ONE_LABEL_SHARE
from pacshift.methods.guarantee import MEANINGS, assumption, condition, promises_target
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.names import shorten
from pacshift.tally.groups import Grouped
from pacshift.words.accepting import accepting, accepting_in_short
from pacshift.words.display import MAX_ROWS, html_paragraphs, html_table, one_line
from pacshift.words.numbers import MAX_LISTED, all_but, at_least, at_most, between, given, mean_size, percent, up

MAX_NOTE_SHOWN = 300
MAX_NOTES = 20
"""Characters of a note, and notes: what fits a screen. ``notes`` holds all of it."""

MAX_NOTES_IN_NOTEBOOK = 5
"""What fits below the table; ``explain`` shows more."""

ABOVE = ("guarantee", "change", "test", "data", "sets", "by label", "sizes")
BELOW = ("note", "more notes")
"""Statements above and below a notebook's table of classes, which says the rest."""

WIDER_THAN_PREVALENCE = (
    "Bounds by pacshift prevalence are narrower: it spends all of delta on these shares, a certificate a small "
    "part."
)
"""Why two commands print different bounds of the same shares."""

LABELLED = {
    "row": "Rows were chosen to be labelled at random, whatever their group.",
    "group": "One random row was labelled in each of some random groups.",
}
"""How rows were chosen to be labelled, as ``labels_per`` said."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that is said. ``name`` finds it in a list; ``head`` stands before the text on its own line."""

    name: str
    text: str
    head: str = ""

    def __str__(self) -> str:
        return f"{self.head}: {self.text}" if self.head else self.text


def explain(certificate: Certificate) -> str:
    """What holds, for whom, with what confidence, under which assumption, from how much data: a line each."""
    return "\n".join(str(one) for one in statements(certificate) if one.name != "sizes")


def statements(certificate: Certificate, *, most_notes: int | None = MAX_NOTES) -> list[Statement]:
    """All that a certificate says, in the order in which it is read. What does not apply is left out."""
    # With many classes there may be a reason per class. Notes are few, so they come first and are never cut.
    notes = [*certificate.notes, *certificate.reasons]
    left_out = len(notes[most_notes:]) if most_notes is not None else 0
    where = "certificate.reasons and certificate.notes hold them all"
    found = [
        *_promise(certificate),
        *_data(certificate),
        *_sets(certificate),
        *(Statement("note", note, "Note") for note in notes[:most_notes]),
        Statement("more notes", f"... and {left_out:,} more notes: {where}." if left_out else ""),
        *_besides(certificate),
    ]
    return [one for one in found if one.text]


def filled(text: str, certificate: Certificate) -> str:
    """A text of ``pacshift.methods.guarantee`` with the numbers of the certificate.

    >>> from pacshift import calibrate
    >>> made = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, method="PS")
    >>> filled(MEANINGS[made.guarantee].one_line, made)
    'misses at most 10 % of the source, with confidence 95 %; nothing about the target'
    """
    sure, others = all_but(certificate.delta), may_all_be_missed(certificate)
    others = f" {others}" if others else ""
    limits = dict.fromkeys(("and_limit", "limit", "limit_sentence", "others"), "")
    if certificate.class_epsilon is not None:
        most, part = given(certificate.class_epsilon), clean_part(certificate)
        limits = {
            "and_limit": f" and {most} of every class{part}",
            "limit": f", and misses at most {most} of every class{part}",
            "limit_sentence": f" No class{part} is missed more than {most}, with confidence {sure} over the "
            f"calibration data.{others}",
            "others": others,
        }
    other = "is not label-shifted at all" if certificate.facts.assumes_label_shift else "has no class"
    spared = f", even if up to {given(certificate.contamination)} of it {other}"
    about = certificate.target_grouped if promises_target(certificate) else certificate.source_grouped
    return text.format(
        epsilon=given(certificate.epsilon),
        covered=all_but(certificate.epsilon),
        sure=sure,
        unsure=given(certificate.delta),
        condition=condition(certificate.facts.assumes_label_shift),
        despite=spared if certificate.contamination else "",
        cases="" if about is None else f" (a random case of a random {_group_name(certificate)})",
        **limits,
    )


def clean_part(certificate: Certificate) -> str:
    """What statements about classes are about where part of the target may be anything, with a blank in front."""
    if not certificate.contamination:
        return ""
    return " of the label-shifted part" if certificate.facts.assumes_label_shift else " among cases that have one"


def may_all_be_missed(certificate: Certificate) -> str:
    """What is not promised of a class where part of the target may be anything.

    Section "A limit per class" of docs/methods/trust-proofs.md.
    """
    if not certificate.contamination:
        return ""
    if not certificate.facts.assumes_label_shift:
        return "Cases without a class are always missed."
    return f"A class's cases among the other {given(certificate.contamination)} may all be missed."


def _promise(certificate: Certificate) -> Iterator[Statement]:
    """What is promised about whom, which change it implies, what it rests on, and how that was tested."""
    extra = certificate.facts.extra_assumption if certificate.guarantee == "none" else ""
    promised = f"{filled(MEANINGS[certificate.guarantee].sentence, certificate)} {extra}".rstrip()
    yield Statement("guarantee", promised, f"Guarantee ({certificate.method})")
    yield Statement("change", _implied_change(certificate), "Implied change")
    yield Statement("assumption", " ".join(_assumptions(certificate)), "Assumption")
    found, needs = certificate.assumption, certificate.facts.assumes_label_shift
    tested = ""
    if found is None:
        if promises_target(certificate) and needs and not certificate.n_target:
            tested = "none, because no target was given."
    elif not needs:
        seen = "refuted" if found.refuted else "not refuted"
        tested = f"{seen}. {found.finding} This certificate does not need label shift."
    else:
        right = " and what you said about the mix is right" if certificate.known_mix is not None else ""
        own = (
            f"; {certificate.method} itself refuses only where its own bounds of the mix fail, which is part of "
            f"the {given(certificate.delta)} for which the guarantee may fail"
            if certificate.facts.tests_assumption
            else ""
        )
        tested = (
            f"{found.finding} If label shift holds{right}, the test refuses with probability at most "
            f"{up(found.level)}{own}. A refusal certifies nothing, so this does not affect the confidence above. "
            "Such a test can refute label shift, but never prove it."
        )
    yield Statement("test", tested, "Test of label shift")


def _implied_change(certificate: Certificate) -> str:
    """The largest change of a class that the certificate implies, with the question whether it can be.

    Bounds of the target's mix where the method has them, else the mix that explains the target best.
    """
    if not promises_target(certificate) or not certificate.n_target or not certificate.facts.assumes_label_shift:
        return ""
    before = certificate.class_counts / max(certificate.n_source, 1)
    bounds, found = certificate.prevalence, certificate.assumption
    if bounds is None and found is not None:
        bounds = Interval(found.mix, found.mix)
    if bounds is None:
        return ""
    # The class whose share has provably changed most; of two that changed alike, the rarer one tells more.
    moved = np.clip(np.maximum(bounds.lower - before, before - bounds.upper), 0.0, 1.0)
    if moved.max() <= 0:
        return "no class is shown to be more or less frequent in the target than in the source."
    label = int(np.lexsort((before, -moved.round(6)))[0])
    is_bound = certificate.prevalence is not None
    now = [
        between(low, high) if is_bound else f"about {percent(low)}"
        for low, high in zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True)
    ]
    others = [f"{name!r} {now[each]}" for each, name in enumerate(certificate.classes) if each != label]
    more = f" (others: {', '.join(others)})" if len(others) < MAX_LISTED else ""
    whose = "'s label-shifted part" if certificate.contamination else ""
    said = (
        f"class {certificate.classes[label]!r} makes up {percent(before[label])} of the source and {now[label]} "
        f"of the target{whose}{more}. If this is impossible, label shift does not hold: say what you know with "
        "known_mix=."
    )
    return f"{said} {WIDER_THAN_PREVALENCE}" if is_bound and not certificate.contamination else said


def _assumptions(certificate: Certificate) -> Iterator[str]:
    """What the guarantee rests on, in sentences: what it means for every method, then what these data add."""
    facts, share = certificate.facts, certificate.contamination
    if certificate.guarantee == "none":
        return
    yield assumption(certificate.guarantee, assumes_label_shift=facts.assumes_label_shift)
    if promises_target(certificate) and share and facts.assumes_label_shift:
        yield f"This need not hold for {given(share)} of the target."
        yield "Label mix and weights are those of the rest."
    if promises_target(certificate) and facts.any_mix:
        yield "Any target label mix is covered."
    if facts.extra_assumption:
        yield facts.extra_assumption
    if certificate.n_target_labels and facts.assumes_label_shift:
        whose = "target's examples that have a class" if share else "target"
        yield f"The labelled target examples are a random sample of the {whose}."
    grouped = _grouped(certificate)
    if grouped:
        both = ", and no group is in both" if len(grouped) == 2 else ""
        yield f"The independent draws are groups, not rows ({' and '.join(grouped)}){both}."
    for side, one in grouped.items():
        if one.parts > 1:  # tallies do not name their groups
            yield f"No group is in two of the {one.parts} {side} tallies that were added; this was not checked."
    how = grouped["target"].labels_per if "target" in grouped else None
    if how is not None and certificate.n_target_labels:
        yield LABELLED[how]
    if certificate.known_mix is not None and facts.assumes_label_shift:
        lower, upper = certificate.known_mix.lower, certificate.known_mix.upper
        named = np.flatnonzero((lower > 0) | (upper < 1)).tolist()
        parts = [
            f"class {certificate.classes[label]!r} makes up {between(lower[label], upper[label])}"
            for label in named[:MAX_LISTED]
        ]
        more = f" and {len(named) - MAX_LISTED} more" if len(named) > MAX_LISTED else ""
        yield f"Known about the target, and relied on: {', '.join(parts) or 'nothing'}{more}."


def _grouped(certificate: Certificate) -> dict[str, Grouped]:
    """How rows of the two sides came in groups, where they did."""
    sides = {"source": certificate.source_grouped, "target": certificate.target_grouped}
    return {side: one for side, one in sides.items() if one is not None}


def _group_name(certificate: Certificate) -> str:
    """What a group is called: the name of its column, if there is one."""
    column = None if certificate.columns is None else certificate.columns.group
    return "group" if column is None else repr(column)


def _data(certificate: Certificate) -> Iterator[Statement]:
    """How many examples there were, how groups were counted (docs/methods/groups.md), what was left out."""
    n_source, n_target, rarest = (
        certificate.n_source,
        certificate.n_target,
        int(np.argmin(certificate.class_counts)),
    )
    fewest = f"fewest: {certificate.class_counts[rarest]:,} of class {certificate.classes[rarest]!r}"
    target, once = f"{n_target:,} unlabelled target examples", ""
    if certificate.n_target_labels:
        target = f"{n_target:,} target examples, {certificate.n_target_labels:,} of them labelled"
        # What labels of the target cost: docs/methods/ps-t.md, "One sample of labels".
        once = (
            f" The chance to fail of {given(certificate.delta)} pays for one sample of target labels, looked at "
            "as planned: another sample, or another look, would spend it again."
        )
    n_classes = len(certificate.classes)
    said = f"{n_source:,} labelled source examples ({fewest}), {target}, {n_classes} classes.{once}"
    yield Statement("data", said, "Data")
    counted = {"source": n_source, "target": n_target}
    parts = [f"{counted[side]:,} of {one.rows:,} {side} rows" for side, one in _grouped(certificate).items()]
    if parts:
        said = (
            f"one random row of each {_group_name(certificate)} was counted, {' and '.join(parts)}. Nothing is "
            "promised about all rows taken together, among which groups with many rows weigh more."
        )
        yield Statement("groups", said, "Groups")
    found = [one for one in certificate.provenance.inputs if one.left_out]
    parts = [
        f"{one.left_out_in_words} of {f'the {one.role}' if one.name is None else f'{one.role} {one.name!r}'}"
        for one in found[:MAX_LISTED]
    ]
    more = f", and of {len(found) - MAX_LISTED} more files" if len(found) > MAX_LISTED else ""
    yield Statement("left out", f"{', '.join(parts)}{more}." if parts else "", "Left out, not counted")


def _sets(certificate: Certificate) -> Iterator[Statement]:
    """Which labels are in a set, what an empty set means, how often sets with one label and classes are missed."""
    if certificate.accepts:
        yield from (Statement(*one) for one in accepting(certificate))
        return
    kind = "" if certificate.score == "probability" else f" {certificate.score}"
    kind = f" softmax{kind}" if certificate.softmax else kind
    thresholds, sizes = np.unique(certificate.thresholds), certificate.set_sizes
    if certificate.trivial:
        why = " The notes say why." if certificate.reasons else ""
        text = f"every set contains all labels. This is always correct but never informative.{why}"
    elif len(thresholds) == 1:
        text = f"all labels whose{kind} score is at least {thresholds[0]:.6g}."
    else:
        cuts = zip(certificate.classes, certificate.thresholds, strict=True)
        always = [name for name, cut in cuts if cut == -np.inf]
        text = f"all labels whose{kind} score is at least the label's own threshold."
        text += f" In every set: {shorten(always)}." if always else ""
    if sizes is not None and sizes[0] and not certificate.trivial:
        text += (
            f" {percent(sizes[0] / sizes.sum())} of the target's sets are empty: no label fits well. They count "
            "as misses, which the guarantee allows for. To put the top label into them, use never_empty=True; the "
            "guarantee stays."
        )
    yield Statement("sets", text, "Sets")
    if certificate.one_label_error is not None:
        text = (
            f"at most {up(certificate.one_label_error)} of them are wrong, with confidence "
            f"{one_label_confidence(certificate)}. The {given(certificate.epsilon)} above are about all sets "
            "together."
        )
        yield Statement("one label", text, "Sets with one label")
    bounds = certificate.class_miss
    if bounds is None or certificate.trivial:
        return
    # Who changes the class balance wants to see what it does to every class.
    most = MAX_LISTED if certificate.options.get("class_balance", 3) == 3 else len(certificate.classes)
    listed = ", ".join(
        f"class {certificate.classes[label]!r} {between(bounds.lower[label], bounds.upper[label])}"
        for label in np.lexsort((-bounds.upper, -bounds.lower))[:most].tolist()
    )
    first = "all classes" if len(certificate.classes) <= most else "the classes missed most"
    sure = all_but(certificate.delta)
    text = f"{listed}. These bounds hold together, with confidence {sure}, beside the guarantee."
    if certificate.contamination:
        which = "label-shifted part" if certificate.facts.assumes_label_shift else "cases that have a class"
        text += f" They are about the {which}. {may_all_be_missed(certificate)}"
    yield Statement("misses", text, f"Missed, class by class ({first})")


def one_label_confidence(certificate: Certificate) -> str:
    """How sure the guarantee and the shares of set sizes are together (Lemma 7 of trust-proofs.md)."""
    return all_but((1 + ONE_LABEL_SHARE) * certificate.delta)


def _besides(certificate: Certificate) -> Iterator[Statement]:
    """The accuracy of the classifier itself, what the maker said, and how large the target's sets are."""
    least, mix = certificate.accuracy, certificate.prevalence
    if least is not None and tells_accuracy(least, mix, len(certificate.classes)):
        text = (
            f"The classifier's own accuracy on the target is {at_least(least)} (same confidence, same assumption)"
        )
        yield Statement("accuracy", f"{text}{guessing(mix)}.")
    made = certificate.provenance
    if (made.model_id, made.note, made.valid_until) != (None, None, None):
        model = "" if made.model_id is None else f" for model {shorten([made.model_id])}"
        term = "" if made.valid_until is None else f" Valid until {made.valid_until}."
        # Quoted, as the model is: the command line makes flags of parameters outside of quotes.
        note = "" if made.note is None else f" Note of the maker: {' '.join(made.note.split())[:MAX_NOTE_SHOWN]!r}"
        yield Statement(
            "origin", f"{made.created} with pacshift {made.pacshift_version}{model}.{term}{note}", "Made"
        )
    sizes = certificate.set_sizes
    if sizes is not None and sizes.sum() and not certificate.accepts:
        mean, empty = mean_and_empty(sizes)
        text = (
            f"{mean_size(mean)} labels per set on average, {percent(sizes[1] / sizes.sum())} with exactly one, "
            f"{percent(empty)} empty."
        )
        yield Statement("sizes", text, "On the target")


def tells_accuracy(least: float | None, mix: Interval | None, n_classes: int) -> bool:
    """Whether a lower bound of the accuracy tells anything: more than guessing, or one class for all, reaches.

    >>> tells_accuracy(0.425, None, 2), tells_accuracy(0.425, None, 10)
    (False, True)
    """
    sure = 1 / n_classes if mix is None else max(1 / n_classes, float(mix.lower.max()))
    return least is not None and least > sure


def guessing(mix: Interval | None) -> str:
    """What naming one class for all cases would reach, to compare an accuracy with; "" if it is not known."""
    if mix is None:
        return ""
    return f"; always naming the most frequent class would be right for {at_most(float(mix.upper.max()))}"


def to_text(certificate: Certificate) -> str:
    """A certificate at a prompt, in five lines: method, promise, data, sets, notes."""
    sizes, cuts = certificate.set_sizes, certificate.thresholds
    if certificate.accepts:
        sets = accepting_in_short(certificate)
    elif certificate.trivial:
        sets = "every set contains all labels"
    elif sizes is not None and sizes.sum():
        size, empty = mean_and_empty(sizes)
        sets = f"{mean_size(size)} labels on average, {percent(empty)} of the target's sets are empty"
    else:
        by_class = "" if cuts.min() == cuts.max() else f" to {cuts.max():.4g}, by class"
        sets = f"labels with a score of at least {cuts.min():.4g}{by_class}"
    n_notes = len(certificate.reasons) + len(certificate.notes)
    return "\n".join(
        [
            f"Certificate of {certificate.method}, {len(certificate.classes)} classes",
            f"  promise: {filled(MEANINGS[certificate.guarantee].one_line, certificate)}",
            f"  data:    {certificate.n_source:,} source rows, {certificate.n_target:,} target rows",
            f"  sets:    {sets}",
            f"  notes:   {n_notes}; explain() says everything in words",
        ]
    )


def to_html(certificate: Certificate) -> str:
    """The guarantee in words, one table of classes, the notes. Everything is escaped.

    The table has mix, threshold and misses of each class; with many classes of those that may be missed most.
    """
    said = statements(certificate, most_notes=MAX_NOTES_IN_NOTEBOOK)
    above, below = (html_paragraphs(str(one) for one in said if one.name in names) for names in (ABOVE, BELOW))
    mix, missed, shown = certificate.prevalence, certificate.class_miss, np.arange(len(certificate.classes))
    if len(shown) > MAX_ROWS:
        order = certificate.class_counts if missed is None else -missed.upper
        shown = np.argsort(order, kind="stable")[:MAX_ROWS]
    header = ["class", "share of the source", "share of the target", "threshold", "missed"]
    if certificate.accepts:
        header[-1], missed = "wrong if accepted", certificate.accepted_error
    rows = [
        [
            one_line(str(certificate.classes[label])),
            percent(certificate.class_counts[label] / max(certificate.n_source, 1)),
            "not bounded" if mix is None else between(mix.lower[label], mix.upper[label]),
            "in every set"
            if certificate.thresholds[label] == -np.inf and not certificate.accepts
            else f"{certificate.thresholds[label]:.6g}",
            "not bounded" if missed is None else between(missed.lower[label], missed.upper[label]),
        ]
        for label in shown.tolist()
    ]
    table = html_table(header, rows, left_out=len(certificate.classes) - len(shown))
    return f"<div>{above}{table}{below}</div>"
