"""Make a certificate again from the data it was made from, and say whether it is the same."""

import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pacshift.arrays import LabelsLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certificate.file import COMPARED, Compared, how_compared, to_document, words_in
from pacshift.certificate.provenance import Provenance
from pacshift.certification.certify import certify
from pacshift.certification.counted import count, measured, opened
from pacshift.certification.request import Request, check_request, require_fit
from pacshift.errors import AssumptionError, InputError, UninformativeWarning
from pacshift.files.codec import is_number
from pacshift.labels.sheet import LabelSheet
from pacshift.methods import METHODS, Method, resolve_method
from pacshift.methods.accept import ACCEPTING
from pacshift.rows.base import CheckedRows
from pacshift.scores.frames import column_names
from pacshift.scores.transforms import TransformFunction
from pacshift.tally import Tally
from pacshift.words.findings import verification_in_words
from pacshift.words.verdicts import word_of
from pacshift.words.visible import visible

CertificateLike: TypeAlias = Certificate | str | os.PathLike[str]

VerifyVerdict: TypeAlias = Literal["match", "match-other-files", "mismatch"]

SAME_THRESHOLD = 1e-12
"""Relative amount by which a threshold may be lower: another machine may round the last digit otherwise. A higher
one misses more, by all rows at it if scores repeat."""

COMPARED_HERE: tuple[Compared, ...] = ("equal", "downward", "rounding", "words")
"""What else there is, ``origins`` compares or lists."""

SAME_BOUND = 1e-6
"""Relative difference of bounds that is rounding: solvers of linear programs compute them to about this."""


@dataclass(frozen=True, slots=True, eq=False)
class Verification:
    """Whether a certificate follows from the data.

    Parameters
    ----------
    verdict : {"match", "match-other-files", "mismatch"}
        ``"match"``: recomputed, all numbers and words are the same, and so are code and data as far as they are on
        record. ``"match-other-files"``: all numbers are the same, but the code or the files are others.
        ``"mismatch"``: a number is another one, or nothing can be certified from these data.
    differences : tuple of str
        Which numbers or words differ, and how.
    provenance_differences : tuple of str
        What is on record about code and data, and is another one now.
    unverified : tuple of str
        What could not be compared: some fields are the maker's word.
    text : str
        All this in words.
    recomputed : Certificate or None
        The certificate that these data give; None if they refute label shift.

    Examples
    --------
    >>> from pacshift import calibrate, verify
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    >>> made = calibrate(scores, labels, None, method="PS-LW")
    >>> verify(made, scores, labels, None).verdict
    'match'
    """

    verdict: VerifyVerdict
    differences: tuple[str, ...]
    provenance_differences: tuple[str, ...]
    unverified: tuple[str, ...]
    text: str
    recomputed: Certificate | None = field(repr=False)

    def __repr__(self) -> str:
        return f"{word_of(self.verdict)}: {self.text}"


def verify(
    certificate: CertificateLike,
    source_scores: ScoresLike | CheckedRows | Tally,
    source_labels: LabelsLike | CheckedRows | None = None,
    target_scores: ScoresLike | CheckedRows | None = None,
    *,
    target_labels: LabelsLike | Tally | None = None,
    labelled: LabelSheet | str | os.PathLike[str] | None = None,
    groups: LabelsLike | None = None,
    target_groups: LabelsLike | None = None,
    method: Method | None = None,
    score: TransformFunction | None = None,
) -> Verification:
    """Make a certificate again from the same data, and say whether it is the same.

    Everything else that is needed stands in the certificate: method and options, epsilon, delta, seed, score and
    so on.

    Parameters
    ----------
    certificate : Certificate or path
        The certificate, or its file. Of a file the words that it holds are compared too.
    source_scores : array or frame of shape (m, K), Rows or Tally
        Scores of the labelled source examples, as in ``calibrate``. Columns of a frame are found by the names that
        the certificate remembers.
    source_labels : array or series of length m
        Their true labels.
    target_scores : array or frame of shape (n, K), Rows or None
        Scores of the target examples.
    target_labels : array or list of length n, optional
        Labels of some target rows, if the certificate was made with them.
    labelled : LabelSheet or path, optional
        The label sheet as it was then, if the certificate was made with one.
    groups, target_groups : array or series, optional
        The group of each source and target row, if the certificate was made with them.
    method : Method, optional
        The method object, if it is one of your own.
    score : callable, optional
        The score function, if it is one of your own.

    Returns
    -------
    Verification
        The verdict, where it differs, and what could not be compared.

    Raises
    ------
    InputError
        If the data do not fit the certificate's classes, or something that it was made with is missing here.

    Examples
    --------
    >>> from pacshift import Population, calibrate
    >>> population = Population.synthetic(2, strength=4, rng=0)
    >>> source, labels = population.draw([0.8, 0.2], 500, rng=1)
    >>> target, _ = population.draw([0.5, 0.5], 500, rng=2)
    >>> made = calibrate(source, labels, target, epsilon=0.1, delta=0.05, method="PS-W")
    >>> verify(made, source, labels, target).verdict
    'match'
    >>> verify(made, source, labels, target[:-1]).differences[0]
    'n_target: the certificate says 500, these data give 499'
    """
    stored = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
    made, chosen, request = stored.provenance, method_of(stored, method), request_of(stored)
    names = () if stored.columns is None else stored.columns.scores
    about: dict[str, Any] = {"columns": names}
    if isinstance(source_scores, Tally):
        about = {"score": score}
    elif not isinstance(source_scores, CheckedRows):
        grouped = stored.target_grouped
        about |= {"classes": stored.classes, "softmax": stored.softmax}
        about |= {"labels_per": None if grouped is None else grouped.labels_per}
    source, target, labels = opened(
        source_scores,
        source_labels,
        target_scores,
        target_labels=target_labels,
        labelled=labelled,
        groups=groups,
        target_groups=target_groups,
        **about,
    )
    called = source_scores.column_names if isinstance(source_scores, CheckedRows) else column_names(source_scores)
    named = set(names) <= set(map(str, called or ())) and bool(names)
    transform = None if isinstance(source, Tally) else stored.own_transform(score)
    how: Any = {"counting": made.counting, "predicted": stored.predicted_counts is not None}
    data = count(source, target, chosen, request, transform, labelled=labels, **how)
    if stored.n_target_labels and data.labelled is None:
        raise InputError(
            f"this certificate was made with labels of {stored.n_target_labels:,} target rows: pass them as "
            "target_labels= or labelled=."
        )
    require_fit(chosen, request, has_labels=data.labelled is not None)
    classes = data.tally.classes
    if tuple(map(str, classes)) != tuple(map(str, stored.classes)):
        raise InputError(
            f"the data have the classes {classes!r}, the certificate {stored.classes!r}. "
            "Verify it with the data that it was made from."
        )
    numbers, words = list[str](), list[str]()
    found: Certificate | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            found = certify(data, chosen, request.for_classes(classes))
    except AssumptionError as refusal:
        numbers = [f"nothing can be certified from these data: {refusal}"]
    if found is not None:
        found = found if stored.set_sizes is None else measured(found, data)
        now = found.provenance
        numbers, words = differences(stored, found)
        if not isinstance(certificate, Certificate) and words_in(certificate) != to_document(stored)["in_words"]:
            words.append("in_words is not what the numbers of the file say")
        if (made.pacshift_version, made.code, made.solver) == (now.pacshift_version, now.code, now.solver):
            numbers, words = numbers + words, []  # nothing else can be the reason
    origin, unverified = origins(stored, None if found is None else found.provenance, named=named)
    verdict: VerifyVerdict = "mismatch" if numbers else "match-other-files" if origin or words else "match"
    text = visible(verification_in_words(verdict, numbers, [*origin, *words], unverified), keep="\n")
    return Verification(verdict, tuple(numbers), (*origin, *words), tuple(unverified), text, found)


def method_of(certificate: Certificate, method: Method | None) -> Method:
    """The method that was asked for, with its options."""
    asked = certificate.provenance.asked_method
    name, options = (certificate.method, certificate.options) if asked is None else (asked.name, asked.options)
    if method is not None:
        return resolve_method(method)
    known = METHODS | ACCEPTING
    if name not in known:
        raise InputError(f"method {name} is not part of pacshift: pass the method object as method=.")
    try:
        return known[name](**options)
    except TypeError:
        raise InputError(
            f"method {name} has no such options ({options!r}) in this version: verify the certificate with the "
            "version that made it."
        ) from None


def request_of(certificate: Certificate) -> Request:
    """What was asked for, as the certificate says; with ORACLE's weights, whether it or target labels answered."""
    asked = certificate.provenance.asked_method
    if asked is None:
        found, needs_weights = certificate.weights, certificate.facts.needs_weights
        weights = None if found is None else found.lower.tolist()
    else:
        method, weights = METHODS.get(asked.name), asked.weights
        needs_weights = weights is not None or bool(method and method.needs_weights)
    if needs_weights and weights is None:
        raise InputError("this certificate does not say its weights: it cannot be verified.")
    known, known_mix = certificate.known_mix, None
    if known is not None:
        known_mix = dict(zip(certificate.classes, zip(known.lower, known.upper, strict=True), strict=True))
    same = ("epsilon", "delta", "class_epsilon", "contamination", "never_empty")
    promised = {name: getattr(certificate, name) for name in same}
    seed, weights = certificate.provenance.seed, weights if needs_weights else None
    return check_request(**promised, known_mix=known_mix, weights=weights, rng=seed)


def differences(stored: Certificate, found: Certificate) -> tuple[list[str], list[str]]:
    """Numbers that differ and words that differ, a sentence each; every field is compared as ``COMPARED`` says."""
    numbers, words = dict[str, str](), dict[str, str]()
    documents = (to_document(one) for one in (stored, found))
    # Classes by name, because that is how people speak of them.
    said, made = (one | {"classes": {repr(row["name"]): row for row in one["classes"]}} for one in documents)
    for path, compared, before, now in _walk(said, made, "", ""):
        name = path.partition("[")[0]  # of a list that differs the first place is enough
        if compared == "words":
            words.setdefault(name, f"{name} is worded otherwise")
        else:
            texts = (text if len(text) <= 60 else f"{text[:57]}..." for text in map(repr, (before, now)))
            numbers.setdefault(name, "{}: the certificate says {}, these data give {}".format(path, *texts))
    return list(numbers.values()), list(words.values())


def _walk(said: Any, made: Any, path: str, field: str) -> Iterator[tuple[str, Compared, Any, Any]]:
    """Every place where two documents differ, with its name for people and how it was compared."""
    if isinstance(said, dict) and isinstance(made, dict):
        for name in [*said, *(name for name in made if name not in said)]:
            below = "classes[]" if field == "classes" else f"{field}.{name}" if field else name
            yield from _walk(said.get(name), made.get(name), f"{path}.{name}" if path else name, below)
    elif isinstance(said, list) and isinstance(made, list) and len(said) == len(made):
        for place, (one, other) in enumerate(zip(said, made, strict=True)):
            yield from _walk(one, other, f"{path}[{place}]", f"{field}[]")
    else:
        compared, same = how_compared(field), bool(said == made)
        if is_number(said) and is_number(made) and not same:
            if compared == "downward":
                same = 0 < made - said <= SAME_THRESHOLD * abs(made)
            elif compared == "rounding":
                same = math.isclose(said, made, rel_tol=SAME_BOUND, abs_tol=SAME_BOUND)
        if compared in COMPARED_HERE and not same:
            yield path, compared, said, made


def origins(stored: Certificate, now: Provenance | None, *, named: bool) -> tuple[list[str], list[str]]:
    """What is on record about code and data and is another one ``now``; and what cannot be compared.

    ``named``: the data have the names of the columns that the certificate was made from, and were read by them.
    """
    made = stored.provenance
    stated = [name.partition(".")[2] for name, compared in COMPARED.items() if compared == "maker"]
    said = [name for name in stated if getattr(made, name) is not None]
    differ, unverified = list[str](), [f"{', '.join(said)}: the maker's word"]
    if stored.columns is not None and not named:
        unverified.insert(0, "columns: the maker's word, because these data have no names of columns")
    if stored.n_target_labels:
        chosen = "the target's labels, and how their rows, or the seed of their sheet, were chosen"
        unverified.append(f"{chosen}: the maker's word")
    if made.code is None:
        unverified.append("the file does not say by which code it was made")
    if now is None:
        return differ, unverified
    for name, where in {"pacshift": "pacshift_version", "code": "code", "solver": "solver"}.items():
        before, after = getattr(made, where), getattr(now, where)
        if before != after and None not in (before, after):
            differ.append(f"{name}: made by {before}, recomputed by {after}")
    for role in ("source", "target"):
        inputs = [[one for one in each.inputs if one.role == role] for each in (made, now)]
        both = [*inputs[0], *inputs[1]]
        if not all(inputs):
            continue
        if len({one.name is None for one in both}) > 1 or any(one.sha256 is None for one in both):
            why = f"it is of another kind than the {role} on record, so SHA-256 tells nothing"
            if all(one.sha256 is None for one in inputs[0]):
                why = "the certificate has no SHA-256 of it"
            unverified.append(f"{role}: {why}")
            continue
        hashes = [sorted(str(one.sha256) for one in each) for each in inputs]
        left_out = [
            sorted(((one.left_out, one.left_out_why, one.rows_read) for one in each), key=str) for each in inputs
        ]
        if hashes[0] != hashes[1]:
            differ.append(f"{role}: other files than those on record, by their SHA-256")
        if left_out[0] != left_out[1]:
            differ.append(f"{role}: other rows were left out than those on record")
    return differ, unverified
