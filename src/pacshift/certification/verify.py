"""Make a certificate again from the data it was made from, and say whether it is the same."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pacshift.arrays import LabelsLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certificate.file import to_document, words_in
from pacshift.certificate.provenance import Provenance
from pacshift.certification.certify import certify
from pacshift.certification.counting import count, resolve_inputs
from pacshift.certification.request import Request, check_request, require_fit
from pacshift.errors import AssumptionError, InputError, UninformativeWarning, did_you_mean, param
from pacshift.files.codec import CHECKSUM, is_number
from pacshift.files.writing import PathLike
from pacshift.labels.sheet import LabelSheet
from pacshift.methods import METHODS, Method, resolve_method
from pacshift.methods.accept import ACCEPTING
from pacshift.rows.base import CheckedRows
from pacshift.rows.rows import Rows
from pacshift.scores.frames import column_names
from pacshift.scores.transforms import TransformFunction
from pacshift.tally import Tally
from pacshift.tally.inputs import Input
from pacshift.words.findings import verification_in_words
from pacshift.words.verdicts import word_of
from pacshift.words.visible import visible

CertificateLike: TypeAlias = Certificate | str | os.PathLike[str]

VerifyVerdict: TypeAlias = Literal["match", "match-other-files", "mismatch"]

SAME_THRESHOLD = 1e-12
"""Relative amount by which a threshold may be lower: another machine may round the last digit otherwise. A higher
one misses more, by all rows at it if scores repeat."""

SAME_BOUND = 1e-6
"""Relative difference of bounds that is rounding: solvers of linear programs compute them to about this."""

RECORDED = ("format", "version", CHECKSUM, "in_words", "columns", "provenance")
"""Fields of the file that no data give again: ``compare_origins`` compares what can be, and lists the others."""

WORDS, WORDED = ("reasons", "notes"), ("method_facts", "assumption")
"""Fields that are texts, and fields that hold some. They are compared only where the code is the same, because
another version may say it in other words."""

MADE_BY = {"pacshift": "pacshift_version", "code": "code", "solver": "solver"}
"""What has made a certificate, as people call it, and the field of the provenance that says it."""

MAKERS_WORD = ("created", "model_id", "note", "valid_until", "command")
"""Fields of the provenance of which the data tell nothing."""


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


@did_you_mean
def verify(
    certificate: CertificateLike,
    source: ScoresLike | Rows | Tally,
    labels: LabelsLike | Rows | None = None,
    target: ScoresLike | Rows | None = None,
    *,
    labelled: LabelSheet | Tally | PathLike | None = None,
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
    source : array or frame of shape (m, K), rows or Tally
        The labelled source, as in ``calibrate``. Columns of a frame are found by the names that the certificate
        remembers. Classes and softmax are those of the certificate.
    labels : array or series of length m
        Their true labels.
    target : array or frame of shape (n, K), or rows
        The target, with its labels and groups if the certificate was made with them.
    labelled : LabelSheet or path, optional
        The label sheet as it was then, if the certificate was made with one.
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
    provenance, chosen, request = stored.provenance, method_of(stored, method), request_of(stored)
    names = () if stored.columns is None else stored.columns.scores
    is_array = not isinstance(source, Tally | CheckedRows)
    source_rows, target_rows, labelled_rows = resolve_inputs(
        source,
        labels,
        target,
        labelled=labelled,
        classes=stored.classes if is_array else None,
        columns=names,
        softmax=stored.softmax if is_array else False,
        score=score if isinstance(source, Tally) else None,
    )
    called = source.column_names if isinstance(source, Rows | CheckedRows) else column_names(source)
    named = set(names) <= set(map(str, called or ())) and bool(names)
    transform = None if isinstance(source, Tally) else stored.own_transform(score)
    how: Any = {"counting": provenance.counting, "predicted": stored.predicted_counts is not None}
    data = count(source_rows, target_rows, chosen, request, transform, labelled=labelled_rows, **how)
    if stored.n_target_labels and data.labelled is None:
        raise InputError(
            f"this certificate was made with labels of {stored.n_target_labels:,} target rows: pass them as "
            f"{param('target_labels=')}, in Python Rows(target, labels), or {param('labelled=')}."
        )
    require_fit(chosen, request, has_labels=data.labelled is not None)
    classes = data.tally.classes
    if tuple(map(str, classes)) != tuple(map(str, stored.classes)):
        raise InputError(
            f"the data have the classes {classes!r}, the certificate {stored.classes!r}. "
            "Verify it with the data that it was made from."
        )
    recomputed: Certificate | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            recomputed = certify(data, chosen, request, with_sizes=stored.set_sizes is not None)
    except AssumptionError as refusal:
        differences = [f"nothing can be certified from these data: {refusal}"]
    now = None if recomputed is None else recomputed.provenance
    origin, unverified = compare_origins(stored, now, named=named)
    if recomputed is not None and now is not None:
        recomputed = recomputed.without_empty_sets() if stored.rule.never_empty else recomputed
        same_code = all(getattr(provenance, name) == getattr(now, name) for name in MADE_BY.values())
        differences = compare(stored, recomputed, same_code=same_code)
        if not same_code:
            unverified.append("words: other code may write others")
        elif not isinstance(certificate, Certificate) and words_in(certificate) != to_document(stored)["in_words"]:
            differences.append("in_words is not what the numbers of the file say")
    verdict: VerifyVerdict = "mismatch" if differences else "match-other-files" if origin else "match"
    text = visible(verification_in_words(verdict, differences, origin, unverified), keep="\n")
    return Verification(verdict, tuple(differences), tuple(origin), tuple(unverified), text, recomputed)


def method_of(certificate: Certificate, method: Method | None) -> Method:
    """The method that was asked for, with its options."""
    wanted = certificate.provenance.asked_method
    name, options = (certificate.method, certificate.options) if wanted is None else (wanted.name, wanted.options)
    if method is not None:
        return resolve_method(method)
    known = METHODS | ACCEPTING
    if name not in known:
        raise InputError(f"method {name} is not part of pacshift: pass the method object as {param('method=')}.")
    try:
        return known[name](**options)
    except TypeError:
        raise InputError(
            f"method {name} has no such options ({options!r}) in this version: verify the certificate with the "
            "version that made it."
        ) from None


def request_of(certificate: Certificate) -> Request:
    """What was asked for, as the certificate says."""
    known, known_mix = certificate.known_mix, None
    if known is not None:
        known_mix = dict(zip(certificate.classes, zip(known.lower, known.upper, strict=True), strict=True))
    same = ("epsilon", "delta", "contamination")
    promised = {name: getattr(certificate, name) for name in same}
    if (limits := certificate.limits) is not None:
        pairs = zip(certificate.classes, limits.tolist(), strict=True)
        each = {label: limit for label, limit in pairs if limit < 1}
        same_limit = float(limits[0]) if (limits == limits[0]).all() else each
        promised[certificate.rule.limit_name] = same_limit
    return check_request(**promised, known_mix=known_mix, rng=certificate.provenance.seed)


def compare(stored: Certificate, recomputed: Certificate, *, same_code: bool) -> list[str]:
    """Where two certificates of the same data differ, a sentence for each field; texts only with the same code."""
    sentences = dict[str, str]()
    before, after = to_document(stored), to_document(recomputed)
    for document in (before, after):  # by name, because that is how people speak of them
        document["classes"] = {repr(row["name"]): row for row in document["classes"]}
    skipped = RECORDED if same_code else RECORDED + WORDS
    for name in (name for name in before if name not in skipped):
        for path, old, new in list_differences(before[name], after[name], name):
            if not same_code and name in WORDED and isinstance(old, str) and isinstance(new, str):
                continue
            texts = (text if len(text) <= 60 else f"{text[:57]}..." for text in map(repr, (old, new)))
            of_list = path.partition("[")[0]  # of a list that differs the first place is enough
            sentences.setdefault(of_list, "{}: the certificate says {}, these data give {}".format(path, *texts))
    return list(sentences.values())


def list_differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Every place where two documents differ by more than rounding, with its name and both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before | after:
            yield from list_differences(before.get(name), after.get(name), f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from list_differences(*pair, f"{path}[{place}]")
    elif before != after and not (is_number(before) and is_number(after) and is_rounding(before, after, path)):
        yield path, before, after


def is_rounding(before: float, after: float, path: str) -> bool:
    """Whether two numbers that differ may be the same on another machine. A threshold may never be higher."""
    if isinstance(before, int) and isinstance(after, int):  # counts
        return False
    if path.endswith(".threshold"):
        return 0 < after - before <= SAME_THRESHOLD * abs(after)
    return math.isclose(before, after, rel_tol=SAME_BOUND, abs_tol=SAME_BOUND)


def compare_origins(stored: Certificate, now: Provenance | None, *, named: bool) -> tuple[list[str], list[str]]:
    """What is on record about code and data and is another one ``now``; and what cannot be compared.

    ``named``: the data have the names of the columns that the certificate was made from, and were read by them.
    """
    recorded = stored.provenance
    stated = ", ".join(name for name in MAKERS_WORD if getattr(recorded, name) is not None)
    differences, unverified = list[str](), [f"{stated}: the maker's word"]
    if stored.columns is not None and not named:
        unverified.insert(0, "columns: the maker's word, because these data have no names of columns")
    if stored.n_target_labels:
        chosen = "the target's labels, and how their rows, or the seed of their sheet, were chosen"
        unverified.append(f"{chosen}: the maker's word")
    if recorded.code is None:
        unverified.append("the file does not say by which code it was made")
    if now is None:
        return differences, unverified
    for name, where in MADE_BY.items():
        before, after = getattr(recorded, where), getattr(now, where)
        if before != after and None not in (before, after):
            differences.append(f"{name}: made by {before}, recomputed by {after}")
    for role in ("source", "target"):
        old, new = ([part for part in each.inputs if part.role == role] for each in (recorded, now))
        if not old or not new:
            continue
        if any(part.sha256 is None for part in [*old, *new]):
            unverified.append(f"{role}: there is no SHA-256 to compare")
        elif len({part.name is None for part in [*old, *new]}) > 1:
            unverified.append(f"{role}: it is of another kind than on record, so SHA-256 tells nothing")
        elif list_digests(old) != list_digests(new):
            differences.append(f"{role}: other files, or other rows of them, than those on record")
    return differences, unverified


def list_digests(inputs: Sequence[Input]) -> list[tuple[Any, ...]]:
    """The SHA-256 of each file, with the rows that were left out."""
    return sorted(((part.sha256, part.left_out, part.left_out_why, part.rows_read) for part in inputs), key=str)
