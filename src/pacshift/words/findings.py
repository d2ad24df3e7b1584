"""What is said of data that look odd, of labels that came later, of a certificate made again, after a refusal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.bounds import Interval, clopper_pearson
from pacshift.certificate import Certificate
from pacshift.evaluation import Evaluation
from pacshift.methods import Method
from pacshift.methods.guarantee import promises_target
from pacshift.scores.kind import OTHER
from pacshift.scores.names import shorten
from pacshift.scores.transforms import TRANSFORMS
from pacshift.tally import Tally
from pacshift.tally.repeats import Repeats
from pacshift.words.numbers import between, digits_against, given, mean_size, percent, plural
from pacshift.words.rules import words_of

if TYPE_CHECKING:
    from pacshift.certification.certify import Outcome
    from pacshift.certification.check import Check
    from pacshift.certification.verify import VerifyVerdict
    from pacshift.labels.refusal import Attempt

FEWEST_ROWS_ALIKE = 50
"""With fewer rows, source and target may well have the same counts by chance. A round number; not measured."""

MAX_APART = 3
"""Classes whose shares are named where they differ; the others are counted."""

MAX_DIFFERENCES = 12
"""Differences of a certificate made again that are named; ``differences`` holds all of them."""

OTHER_WAYS = (
    "Another method that assumes label shift does not help.",
    "Stated shares do not help: they only rule out more.",
    "For sets, allowing a share of the target to break label shift (contamination) helps only if you know that a "
    "share below epsilon explains all of the difference.",
)
"""What else is worth knowing after a refusal: what does not help, or seldom."""

LABELS_CERTIFY = "Label random target rows: sets are then certified by the labels alone, whatever has changed."
SIMPLE_CAUSE = "Look for a simple cause: another model version, swapped columns, rows selected in another way."
"""What to do after a refusal."""


def by_labels_note(outcome: "Outcome", wanted: Method, n_labels: int) -> tuple[str, ...]:
    """Why labelled target rows certify the thresholds, where another method was asked for."""
    if outcome.method.name == wanted.name or outcome.method.assumes_label_shift:
        return ()
    alone = f"This certificate rests on the {plural(n_labels, 'labelled row')} alone."
    if outcome.refused is None and outcome.too_many:
        return (f"{outcome.too_many} {alone}",)
    if outcome.refused is None:
        more = words_of(outcome.method.rule).better
        return (f"the labelled rows {more} than {wanted.name}. {alone}",)
    return (f"you asked for {wanted.name}, but label shift was rejected. {alone}",)


def logits_note(tally: Tally) -> tuple[str, ...]:
    """A note where scores look like logits and no softmax was taken.

    A note and no warning: any scores keep the promise, and who means them has nothing to change. But with logits
    sets are often much larger, and who passed them by mistake wants to know.
    """
    kind = tally.full_source_kind
    if tally.softmax or tally.score not in TRANSFORMS or kind is None or not kind.low < 0 < 1 < kind.high:
        return ()
    where = str(kind).removeprefix(OTHER)
    return (
        f"these scores look like logits{where}. If they are, take their softmax; sets are often much smaller. "
        "The promise holds either way.",
    )


def suspicious(tally: Tally) -> tuple[str, ...]:
    """Notes about data that look like a mistake but may be none."""
    notes = [*logits_note(tally)]
    source, target = tally.source_cells, tally.target_cells
    are_many = source.n_rows >= FEWEST_ROWS_ALIKE and source.bins != "not counted"
    same = are_many and (source.n_rows, source.bins) == (target.n_rows, target.bins)
    if same:  # in number; now by predicted label and confidence
        unlabelled, place = np.unique(source.codes // source.n_labels, return_inverse=True)
        counts = np.bincount(place, weights=source.counts, minlength=len(unlabelled))
        same = np.array_equal(unlabelled, target.codes) and np.array_equal(counts, target.counts)
    if same:
        notes.append(
            "source and target look like the same rows: as many for every predicted label and top-score bin. If "
            "they are, nothing was learned about the target."
        )
    right = int(source.counts[source.predicted == source.labels].sum()) if are_many else source.n_rows
    if right * tally.n_classes < source.n_rows:
        notes.append(
            f"the top label is right for only {percent(right / source.n_rows)} of source rows, less than by "
            "chance. Are the score columns in the right order? The promise holds either way, but sets are too "
            "large."
        )
    shared = 0 if tally.target_grouped is None else tally.target_grouped.shared
    if shared:
        notes.append(
            f"{plural(shared, 'group id')} {'is' if shared == 1 else 'are'} in source and target. If they are the "
            "same people, the promise does not hold: leave them out of one side. If only the ids are alike, all "
            "is well."
        )
    for name, kind, rows in (
        ("source", tally.source_kind, tally.n_source),
        ("target", tally.target_kind, tally.n_target),
    ):
        if kind is not None and kind.is_constant and rows > 1:
            notes.append(
                f"all {rows:,} {name} rows have the same top score, {kind.high:.6g}. Is this the model's output?"
            )
    return tuple(notes)


def describe_copies(repeats: Repeats, rows: str, classes: Sequence[Label], *, have_labels: bool) -> str:
    """Rows that are there several times: what was looked at, and what to do."""
    whose = "" if repeats.label is None else f" of class {classes[repeats.label]!r}"
    kinds = "pairs of label and score" if have_labels else "bins"
    times, n_rows = repeats.times, repeats.n_rows
    if times > 1:
        seen = (
            f"every row{whose} is there {times:,} times: the {n_rows:,} rows looked at fall into "
            f"{repeats.n_kinds:,} {kinds}, and each of these occurs {times:,} times or a multiple of that. "
            "Independent rows would do so with a chance below 1e-12"
        )
    else:
        seen = (
            f"some rows{whose} seem to be copies: {n_rows - repeats.n_kinds:,} of {n_rows:,} rows looked at share "
            "label and score with another row, and more regularly than independent rows would, even with the ties "
            "of forests or rounded scores"
        )
    groups = ", or name their groups if they are several looks at one unit" if rows in ("source", "target") else ""
    return (
        f"{rows}: {seen}. The promise needs independent rows. Leave out copies by their id, not by their "
        f"scores{groups}."
    )


def check_in_words(check: "Check", certificate: Certificate) -> str:
    """The counts behind the verdict, what was promised, and what may be behind a broken promise."""
    n_rows, missed, allowed = check.n_judged, check.missed, given(certificate.epsilon)
    words = words_of(certificate.rule)
    if not n_rows:
        return f"None of these {plural(check.evaluation.n, 'row')} is accepted: they cannot tell."
    was = "was" if missed == 1 else "were"
    rows = f"{missed:,} of {plural(n_rows, words.row)} {was} {words.failed}, {percent(check.error)}"
    if check.verdict == "no-evidence":
        return f"{_not_the_target(check, certificate)} {rows}."
    interval = between(check.lower, check.upper, digits_against(check.lower, certificate.epsilon))
    promise = f"; the promise allows {allowed}"
    if check.promised and check.verdict == "not-proven" and check.within:
        promise = f", within the {allowed} that the promise allows"
    if not check.promised:
        kind = "this on average only" if promises_target(certificate) else "nothing about the target"
        promise = f"; {allowed} was asked for, but {certificate.method} promises {kind}"
    sentences = [f"{rows} ({given(check.level)} interval: {interval}){promise}."]
    if check.verdict == "not-proven" and check.within:
        sentences.append(_what_would_prove(check))
    elif check.verdict == "not-proven":
        few, many = check.kept_up_to, check.broken_from
        about = "" if check.rows_to_decide is None else f"; about {check.rows_to_decide:,} would probably decide"
        kept = f"No number of misses among {plural(n_rows, 'row')} could show it kept"
        if few is not None:
            kept = f"{plural(few, 'miss', 'misses')} or fewer would have shown it kept"
        broken = f", {many:,} or more broken" if many is not None else ""
        sentences.append(
            f"{plural(n_rows, 'row')} {'is' if n_rows == 1 else 'are'} too few to tell{about}. {kept}{broken}."
        )
    limits = promised_limits(certificate)
    if limits is not None:
        sentences.append(_beside_limits(check, certificate, limits))
    looked = not certificate.facts.any_mix and certificate.guarantee != "pac-source"  # at the target's scores
    if check.classes_apart or (check.seen_as == "target" and looked):
        sentences.append(_not_the_target(check, certificate))
    elif check.seen_as is None and np.array_equal(check.evaluation.class_counts, certificate.class_counts):
        sentences.append(
            "These rows have exactly as many cases of every class as the source: if they are its rows, saved "
            "otherwise, they prove nothing."
        )
    if check.verdict == "broken":
        extra, needs_shift = certificate.facts.extra_assumption, certificate.facts.assumes_label_shift
        assumed = (
            "label shift does not hold" if needs_shift else "its labelled rows were not a random sample of it"
        )
        # The error of all rows is judged at half of 1 - level; classes, where they are, spend the other half.
        unlucky = (1 - check.level) / (2 if limits is None else 1)
        sentences.append(
            "What can be behind it: these rows are not from the target that was calibrated for; "
            f"{assumed}; {f'this does not hold: “{extra}”; ' if extra else ''}or bad luck, with the calibration "
            f"data (chance at most {given(certificate.delta)}) or with these rows (at most {given(unlucky)})."
        )
    return " ".join(sentences)


def _what_would_prove(check: "Check") -> str:
    """Of rows among which no more is missed than was promised: how many would show it, and which misses."""
    few, many, rows = check.kept_up_to, check.broken_from, plural(check.n_judged, "row")
    do = "" if check.rows_to_decide is None else f"about {check.rows_to_decide:,} rows would probably do; "
    could = f"no number of misses among {rows} could"
    if few is not None:
        could = f"among {rows} {plural(few, 'miss', 'misses')} or fewer would have"
    broken = "" if many is None else f", and {many:,} or more would have shown that more is missed"
    return f"To prove it, {do}{could}{broken}."


def _beside_limits(check: "Check", certificate: Certificate, limits: FloatArray) -> str:
    """What the rows say about the share promised for every class, or for what is accepted as a label."""
    words = words_of(certificate.rule)
    each, missed, own_limits = words.unit, words.failing, limits[limits < 1]
    promised = (
        f"the promised {given(float(own_limits[0]))}"
        if len(own_limits) == len(limits) and (own_limits == own_limits[0]).all()
        else "was promised"
    )
    limited = [name for name, most in zip(certificate.classes, limits, strict=True) if most < 1]
    together = f"(all of them together at {given(check.level)})"
    if check.classes_above:
        return f"More than {promised} is {missed} {shorten(check.classes_above)} {together}."
    if unsure := [name for name in limited if name not in check.classes_kept]:
        return f"Whether no more than {promised} is {missed} {shorten(unsure)}, these rows do not tell {together}."
    return f"No more than {promised} is {missed} any one {each} {together}."


def _not_the_target(check: "Check", certificate: Certificate) -> str:
    """Why these rows are no evidence, or less than they seem."""
    later = "Check labelled rows of the target that came later"
    if check.seen_as == "source":
        return (
            "These are the source's rows, on which the thresholds were found: they prove nothing about the "
            f"target. {later}."
        )
    if are_its_labels(check.seen_as, certificate):
        n_labels = certificate.n_target_labels
        if n_labels < check.evaluation.n:
            rows = plural(n_labels, "labelled row")
            later = f"Leave out the {rows} (of a label sheet: its column row, in Python sheet.rows)"
        return (
            f"These are the target's rows, with {n_labels:,} of whose labels the thresholds were found. {later}."
        )
    if not check.classes_apart:
        return (
            "The certificate was made from the scores of these rows, which the interval does not take into "
            "account: later rows of the target would be better evidence."
        )
    stated, seen = stated_shares(certificate), label_shares(check.evaluation, check.level)
    assert stated is not None  # else no class is apart
    apart = [
        f"{name!r} makes up {between(seen.lower[place], seen.upper[place])} by these rows and "
        f"{between(stated.lower[place], stated.upper[place])} of the target by the certificate"
        for place, name in enumerate(certificate.classes)
        if name in check.classes_apart
    ]
    more = f", and {len(apart) - MAX_APART:,} more classes differ" if len(apart) > MAX_APART else ""
    return (
        f"{', '.join(apart[:MAX_APART])}{more}: these rows are not a random sample of the target that the "
        "certificate is about, or label shift does not hold, or one of these bounds is unlucky, the first at most "
        f"{given(1 - check.level)}, the second at most {given(certificate.delta)}."
    )


def are_its_labels(seen_as: str | None, certificate: Certificate) -> bool:
    """Whether the certificate's thresholds were found with the labels of rows that it counted as ``seen_as``."""
    return seen_as == "source" or (seen_as == "target" and certificate.n_target_labels > 0)


def stated_shares(certificate: Certificate) -> Interval | None:
    """What the certificate says about the shares of classes in the target; with contamination, in all of it."""
    mix, other = certificate.prevalence, certificate.contamination
    return None if mix is None else Interval(mix.lower * (1 - other), mix.upper * (1 - other) + other)


def label_shares(evaluation: Evaluation, level: float) -> Interval:
    """Exact intervals of the shares of classes in the population of the rows, right for all classes at once."""
    counts = evaluation.class_counts
    return clopper_pearson(counts, evaluation.n, delta=(1 - level) / len(counts))


def promised_limits(certificate: Certificate) -> FloatArray | None:
    """The largest share of errors of each class that was promised, 1 where none was; None if there is no limit.

    With contamination a limit per class is about the label-shifted part, of which these rows are not a sample.
    """
    limits, all_alike = certificate.limits, np.full(len(certificate.classes), certificate.epsilon)
    if certificate.contamination:
        return None
    if limits is None and certificate.guarantee == "pac-target" and certificate.facts.any_mix:
        return all_alike  # whatever the mix is, even if all cases are of one class
    return limits


def verification_in_words(
    verdict: "VerifyVerdict", differ: Sequence[str], origin: Sequence[str], unverified: Sequence[str]
) -> str:
    """Whether a recomputed certificate is the same, where it differs, what could not be compared."""
    says = {
        "match": "recomputed from these data, the certificate is the same.",
        "match-other-files": "recomputed from these data, all numbers are the same.",
        "mismatch": f"these data give another certificate ({plural(len(differ), 'difference')}).",
    }
    lines = [
        says[verdict],
        *(f"Differs: {each}." for each in differ[:MAX_DIFFERENCES]),
        *([f"... and {len(differ) - MAX_DIFFERENCES} more."] if len(differ) > MAX_DIFFERENCES else []),
        *(f"Origin: {each}." for each in origin),
        *(f"Not verified: {each}." for each in unverified),
    ]
    return "\n".join(lines)


def next_steps(expected_sizes: Sequence[tuple[int, float]] = (), *, command: str | None = None) -> str:
    """What to do after a refusal.

    ``expected_sizes`` are numbers of labelled target rows, and about how many labels per set they would certify;
    ``command`` says how to draw the rows and to use their labels, by default in Python.

    >>> print(next_steps([(100, 1.31), (400, 1.2)], command="Ask").partition("changed. ")[2][:70])
    Expect about 1.310 labels per set with 100 labels, 1.200 with 400. Ask
    """
    about = ""
    if expected_sizes:
        first, *more = (f"{mean_size(size)}{{}} with {count:,}{{}}" for count, size in expected_sizes)
        about = (
            " Expect about "
            f"{', '.join([first.format(' labels per set', ' labels'), *(m.format('', '') for m in more)])}."
        )
    draw = command or "pacshift.label_sheet draws the rows, and calibrate(..., labelled=sheet) certifies"
    return f"What you can do: (1) {LABELS_CERTIFY}{about} {draw}. (2) {SIMPLE_CAUSE}"


def too_small(attempt: "Attempt") -> str:
    """What to say where not even the labels of all target rows would certify anything."""
    return (
        f"But the {plural(attempt.n_target, 'target row')} are too few for any promise at epsilon "
        f"{attempt.request.epsilon:g} and delta {attempt.request.delta:g}, even if all are labelled. Collect more"
    )
