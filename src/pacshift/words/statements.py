"""What a certificate says: one list of statements in two lengths, for prompt, notebook, report, file, terminal."""

from collections.abc import Iterator

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.errors import param
from pacshift.methods.guarantee import RANDOM_SAMPLE, promises_target
from pacshift.scores.names import shorten
from pacshift.tally.inputs import Grouped
from pacshift.words.display import MAX_ROWS, html_paragraphs, html_table, one_line
from pacshift.words.numbers import (
    MAX_LISTED,
    all_but,
    at_least,
    between,
    given,
    percent,
    plural,
    points,
    up,
    whole_percent,
)
from pacshift.words.rules import Statement, list_classes, name_class, outside, say_contamination, words_of
from pacshift.words.visible import visible

MAX_NOTE_SHOWN = 300
MAX_NOTES = 20
"""Characters of a note, and notes: what fits a screen. ``notes`` holds all of it."""

MAX_NOTES_IN_NOTEBOOK = 5
"""What fits below the table; ``explain`` shows more."""

NARROWS = "the promise is that"
"""A note with these words says of less what the promise says: it is never left to the full form."""

IF_IMPOSSIBLE = "If you know otherwise, do not use this certificate."
INVISIBLE = (
    "It cannot see a change that looks like another label mix, one that leaves predicted labels and top scores as "
    "they are, or rows that depend on each other."
)


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
    lines = [one.short for one in statements(certificate) if one.short]
    return sorted(lines, key=lambda line: not line.startswith(first))


def statements(certificate: Certificate, *, most_notes: int | None = MAX_NOTES) -> list[Statement]:
    """All that a certificate says, in the order in which it is read. What does not apply is left out."""
    everything = [
        _promise(certificate),
        *_assumptions(certificate),
        *_change(certificate),
        *_test(certificate),
        *words_of(certificate.rule).results(certificate),
        *_data(certificate),
        *_notes(certificate, most_notes),
        *_origin(certificate),
    ]
    return [one for one in everything if one.short or one.full]


def _promise(certificate: Certificate) -> Statement:
    """What is promised, about whom, with which confidence and if what holds: the one line to quote alone."""
    epsilon, sure, facts = given(certificate.epsilon), all_but(certificate.delta), certificate.facts
    words, needs, on_target = words_of(certificate.rule), facts.assumes_label_shift, promises_target(certificate)
    extra = f" {facts.extra_assumption}" if facts.extra_assumption else ""
    head, despite, per, limit = f"Promise ({certificate.method})", "", "", ""
    if certificate.contamination:
        breaks = "breaks label shift" if needs else "has no class"
        despite = f"even if up to {given(certificate.contamination)} of the target {breaks}, "
    if (certificate.target_grouped if on_target else certificate.source_grouped) is not None:
        per = f" (one random case per {_group_name(certificate)})"
    limit = words.limit(certificate)
    cases = f"{words.judged}{'target' if on_target else 'source'} cases{per}"
    missed, unset = f"at most {epsilon} of {cases}", words.wrong
    meaning = (
        f"Confidence {sure} means: of many repetitions with new calibration data, at most "
        f"{given(certificate.delta)} would "
        f"{words.repeated}."
    )
    if certificate.guarantee == "none":
        text = (
            f"No promise ({certificate.method}): these sets may miss more than {epsilon} of the target, even if "
            f"only the label mix has changed.{extra}"
        )
        return Statement("promise", text, f"{text} Check them with labelled target rows before you rely on them.")
    if certificate.guarantee == "pac-source":
        text = f"{head}: {missed} {unset}. Confidence {sure}, if {_draws(certificate)} are independent.{extra}"
        text += " No promise about the target."
        return Statement("promise", text, f"{text} {meaning}")
    if certificate.guarantee == "marginal":
        text = (
            f"{head}: {despite}on average over many calibrations, {missed} {unset}, if "
            f"{_conditions(certificate)}. This one may do "
            f"worse.{f' With confidence {sure}, {limit} are missed.' if limit else ''}{extra}"
        )
        return Statement("promise", text, text)
    missed = f"{despite}{missed}{f', and {limit},' if limit else ''} {unset}"
    alone = "" if needs else " Label shift is not needed."
    about = words.about(certificate)
    if per:
        about += " A group with many rows counts no more than the others."
    return Statement(
        "promise",
        f"{head}: {missed}. Confidence {sure}, if {_conditions(certificate)}.{alone}{extra}",
        f"{head}: with confidence {sure}, {missed}. {meaning} {about}{say_contamination(certificate)}",
    )


def _conditions(certificate: Certificate) -> str:
    """What a promise about the target rests on, as the end of a sentence that goes on after "if"."""
    n_labels, known = certificate.n_target_labels, certificate.known_mix
    sampled = f"the {n_labels:,} labelled rows are a random sample of the target"
    if not certificate.facts.assumes_label_shift:
        return sampled
    conditions = [f"only the label mix has changed and {_draws(certificate)} are independent"]
    if certificate.contamination:
        conditions = [f"{_draws(certificate)} are independent and otherwise only the label mix has changed"]
    if known is not None and (stated_of := stated_labels(known)):
        stated = f"the stated shares of {len(stated_of)} classes are right"
        if len(stated_of) == 1:
            share = between(float(known.lower[stated_of[0]]), float(known.upper[stated_of[0]]))
            stated = f"{name_class(certificate.classes[stated_of[0]])} makes up {share} of the target, as stated"
        conditions.append(stated)
    return ", and ".join([*conditions, *([sampled] if n_labels else [])])


def stated_labels(known: Interval) -> list[int]:
    """Classes about whose share something was stated."""
    labels: list[int] = np.flatnonzero((known.lower > 0) | (known.upper < 1)).tolist()
    return labels


def _draws(certificate: Certificate) -> str:
    """What was drawn independently: rows, or groups of them."""
    source, target = (
        "groups" if side in sides_in_groups(certificate) else "rows" for side in ("source", "target")
    )
    alike = source == target or not certificate.n_target
    return source if alike else f"source {source} and target {target}"


def _assumptions(certificate: Certificate) -> Iterator[Statement]:
    """What the promise rests on, in sentences: what it means for every method, then what these data add."""
    facts, share, target = certificate.facts, certificate.contamination, promises_target(certificate)
    if certificate.guarantee == "none":
        return
    sides = sides_in_groups(certificate)
    sentences = ["Future cases come from the same population as the source."]
    if target and not facts.assumes_label_shift:
        sentences = [RANDOM_SAMPLE]
    elif target:
        sentences = [
            "Label shift: within each class, target cases look like source cases; only the label mix has changed.",
            "Source and target rows are independent random draws.",
            "The classifier was not trained on these source rows.",
        ]
        if share:
            sentences[0] += (
                f" This need not hold for {given(share)} of the target; the label mix is that of the rest."
            )
        if facts.any_mix:
            sentences[0] += " The promise holds for every target label mix."
        if sides:
            both = ", and no group is in both source and target" if len(sides) == 2 else ""
            sentences[1] = f"The independent draws are groups, not rows ({' and '.join(sides)}){both}."
    elif sides:
        sentences.append("The independent draws are groups, not rows.")
    for side, grouped in sides.items():
        if grouped.parts > 1:  # tallies do not name their groups
            sentences.append(
                f"No group is in two of the {grouped.parts} {side} tallies that were added; this was not checked."
            )
    if target and facts.assumes_label_shift:
        if certificate.n_target_labels:
            whose = "target's cases that have a class" if share else "target"
            sentences.append(
                f"The {certificate.n_target_labels:,} labelled target rows are a random sample of the {whose}."
            )
        if certificate.known_mix is not None:
            known = certificate.known_mix
            stated = list_classes(
                certificate,
                stated_labels(known),
                lambda label: between(float(known.lower[label]), float(known.upper[label])),
            )
            sentences.append(f"You stated, and the promise relies on it: {stated or 'nothing'} of the target.")
    sentences += [facts.extra_assumption] if facts.extra_assumption else []
    every = " ".join(f"({place}) {grouped}" for place, grouped in enumerate(sentences, 1))
    yield Statement(
        "assumptions", "", f"Assumptions: {every}" if len(sentences) > 1 else f"Assumption: {sentences[0]}"
    )


def _change(certificate: Certificate) -> Iterator[Statement]:
    """Which change of the label mix the certificate implies: what somebody who knows the field can doubt.

    By bounds of the target's mix where the method has them, else by the mix that explains the target best.
    """
    if not promises_target(certificate) or not certificate.n_target or not certificate.facts.assumes_label_shift:
        return
    assumption, before = certificate.assumption, certificate.class_counts / max(certificate.n_source, 1)
    is_bound = certificate.prevalence is not None
    if not is_bound and assumption is None:
        return
    bounds = certificate.prevalence or Interval(assumption.mix, assumption.mix)  # type: ignore[union-attr]
    order, n_moved = rank_changes(bounds, before)
    label = order[0]
    head, name = f"Implied change{outside(certificate)}", name_class(certificate.classes[label])

    def tell_change(label: int) -> str:
        low, high = float(bounds.lower[label]), float(bounds.upper[label])
        if not is_bound:
            return f"from {percent(before[label])} to about {percent(low)}"
        now = between(low, high, word=" and ")
        verb = "rose" if low > before[label] else "fell"
        return f"{verb} from {percent(before[label])} to {f'between {now}' if ' and ' in now else now}"

    def tell_range(label: int) -> str:
        share = between(bounds.lower[label], bounds.upper[label])
        return f"{share} of the target (source: {percent(before[label])})"

    if not is_bound:
        first = f"{name} went {tell_change(label)} (an estimate)."
        every = f"{list_classes(certificate, order, tell_change)} (estimates)."
    elif n_moved:
        first, every = (
            f"{name} {tell_change(label)}.",
            f"{list_classes(certificate, order[:n_moved], tell_change)}.",
        )
    else:
        first = f"uncertain. {name} may make up {tell_range(label)}."
        every = "no class is shown to have changed its share. The widest ranges: "
        every += f"{list_classes(certificate, order, tell_range)}."
    if is_bound:
        every += f" The promise and these bounds hold together with confidence {all_but(certificate.delta)}."
    narrower = " pacshift prevalence gives narrower bounds." if is_bound and not certificate.contamination else ""
    yield Statement(
        "change",
        f"{head}: {first} {IF_IMPOSSIBLE}",
        f"{head}: {every} {IF_IMPOSSIBLE}",
        f"To have a share that you know tested, state it: {param('known_mix=')}.{narrower}",
    )


def rank_changes(bounds: Interval, before: FloatArray) -> tuple[list[int], int]:
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
    assumption, needs = certificate.assumption, certificate.facts.assumes_label_shift
    if not promises_target(certificate):
        return
    if assumption is None:
        if needs and not certificate.n_target:
            text = "Test: none, because no target was given."
            yield Statement("test", text, text)
        return
    if not needs:
        seen = "rejected" if assumption.refuted else "not rejected"
        text = f"Test: label shift was {seen}; this certificate does not need it."
        yield Statement("test", text, f"{text} {assumption.finding}")
        return
    noticed = ""
    missed = "It cannot see one that looks like another label mix; what else it could have missed is not known."
    if len(assumption.noticeable) == 2:
        least = whole_percent(max(one.size for one in assumption.noticeable))
        missed = (
            f"It could have missed one, for example one that affects less than about {least} of cases or looks "
            "like another label mix."
        )
    if assumption.noticeable:
        noticed = " With these data the test would very likely have noticed: "
        noticed += (
            f"{'; or '.join(noticeable_words(one.kind, one.size, one.below) for one in assumption.noticeable)}."
        )
    right = " and the stated shares are right" if certificate.known_mix is not None else ""
    yield Statement(
        "test",
        f"Test: no other change was found. {missed}",
        f"Test of label shift: no other change was found. {assumption.finding}{noticed} {INVISIBLE} If label "
        f"shift holds{right}, it is rejected with probability at most {up(assumption.level)}. A test can reject "
        "label shift but never prove it.",
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


def sides_in_groups(certificate: Certificate) -> dict[str, Grouped]:
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
    fewest = f"fewest: {certificate.class_counts[rarest]:,} of {name_class(certificate.classes[rarest])}"
    target, once = f"{n_target:,} unlabelled target rows", ""
    if certificate.n_target_labels:
        target = f"{n_target:,} target rows, {certificate.n_target_labels:,} of them labelled"
        # What labels of the target cost: docs/methods/ps-t.md, "One sample of labels".
        once = (
            " Delta pays for one sample of target labels, looked at as planned: another sample, or another look, "
            "would spend it again."
        )
    line = (
        f"Data: {n_source:,} labelled source rows ({fewest}), {target}, {len(certificate.classes)} classes.{once}"
    )
    yield Statement("data", "", line)
    counted = {"source": n_source, "target": n_target}
    parts = [
        f"{counted[side]:,} of {one.rows:,} {side} rows" for side, one in sides_in_groups(certificate).items()
    ]
    if parts:
        line = f"Groups: one random row per {_group_name(certificate)} was counted: {', '.join(parts)}."
        yield Statement("groups", "", line)
    incomplete = [one for one in certificate.provenance.inputs if one.left_out]
    parts = [
        f"{one.left_out_in_words} of {f'the {one.role}' if one.name is None else f'{one.role} {one.name!r}'}"
        for one in incomplete[:MAX_LISTED]
    ]
    if parts:
        more = f", and of {len(incomplete) - MAX_LISTED} more files" if len(incomplete) > MAX_LISTED else ""
        apart = "If such rows differ from the others, the promise is not about them."
        counts = [(side, sum(one.left_out or 0 for one in incomplete if one.role == side)) for side in counted]
        short = " and ".join(f"{count:,} {side}" for side, count in counts if count)
        about = f"Left out: {short} rows. The promise is not about such rows."
        yield Statement("left out", about, f"Left out: {', '.join(parts)}{more}. {apart}")
    least = certificate.accuracy
    if least is not None and tells_accuracy(least, certificate.prevalence, len(certificate.classes)):
        line = f"the top label is right for {at_least(least)} of target cases; same confidence and assumptions."
        yield Statement("accuracy", "", f"Accuracy: {line}")


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
    shown_places = [place for place, note in enumerate(certificate.notes) if not place or NARROWS in note]
    more = len(certificate.notes) - len(shown_places)
    for place, note in enumerate(notes[:most]):
        rest = f" (and {plural(more, 'more note')})" if more and place == shown_places[-1] else ""
        yield Statement("note", f"Note: {note}{rest}" if place in shown_places else "", f"Note: {note}")
    left_out = 0 if most is None else len(notes[most:])
    if left_out:
        line = f"{left_out:,} more notes: certificate.reasons and certificate.notes hold them all."
        yield Statement("more notes", "", line)


def _origin(certificate: Certificate) -> Iterator[Statement]:
    """When it was made, for which model, until when it may be used, and what the maker said."""
    provenance = certificate.provenance
    model = "" if provenance.model_id is None else f" for model {shorten([provenance.model_id])}"
    term = "" if provenance.valid_until is None else f" Valid until {provenance.valid_until}."
    # Quoted, as the model is: the command line makes flags of parameters outside of quotes.
    note = (
        "" if provenance.note is None else f" Maker's note: {' '.join(provenance.note.split())[:MAX_NOTE_SHOWN]!r}"
    )
    yield Statement(
        "origin", "", f"Made: {provenance.created} with pacshift {provenance.pacshift_version}{model}.{term}{note}"
    )


def to_text(certificate: Certificate) -> str:
    """A certificate at a prompt: its data, then promise, implied change, worst class and sets as in the short "
    "form.
    """
    notes = plural(len(certificate.reasons) + len(certificate.notes), "note")
    data = f"{certificate.n_source:,} source rows, {certificate.n_target:,} target rows, {notes}"
    lines = [one.short for one in statements(certificate) if one.key in ("promise", "change", "classes", "sets")]
    head = f"Certificate ({certificate.method}, {len(certificate.classes)} classes, {data}); explain() says more"
    return "\n".join([visible(head), *(f"  {line}" for line in lines if line)])


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
    words, mix, shown = words_of(certificate.rule), certificate.prevalence, np.arange(len(certificate.classes))
    missed = words.errors(certificate)
    if len(shown) > MAX_ROWS:
        order = certificate.class_counts if certificate.class_miss is None else -certificate.class_miss.upper
        shown = np.argsort(order, kind="stable")[:MAX_ROWS]
    header = ["class", "source", "target", words.of_class, "threshold"]
    rows = [
        [
            one_line(str(certificate.classes[label])),
            percent(certificate.class_counts[label] / max(certificate.n_source, 1)),
            "not bounded" if mix is None else between(mix.lower[label], mix.upper[label]),
            "not bounded" if missed is None else between(missed.lower[label], missed.upper[label]),
            words.threshold(float(certificate.thresholds[label])),
        ]
        for label in shown.tolist()
    ]
    table = html_table(header, rows, left_out=len(certificate.classes) - len(shown))
    return f"<div>{html_paragraphs(lines)}{table}{html_paragraphs(notes)}</div>"
