"""Several methods on the same data, counted once: one row per method, as `pacshift compare` shows them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from pacshift.arrays import Label, LabelsLike, RngLike, ScoresLike
from pacshift.assumption import Assumption
from pacshift.certificate import Certificate
from pacshift.certification.certify import certify, check_label_shift
from pacshift.certification.counting import check_repeats, maker_of, with_row_access
from pacshift.certification.request import check_request, require_fit
from pacshift.errors import InputError, PacshiftError, did_you_mean
from pacshift.labels.labelled import require_unseen
from pacshift.methods import METHODS, Guarantee, Method, resolve_method, usable_methods
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.mix.prevalence import KnownMix
from pacshift.paths.labelled import LabelledTarget
from pacshift.rows.fold import misses, sizes, target_beside
from pacshift.rows.rows import Rows, bind_pair
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.transforms import resolve_transform
from pacshift.tally.counter import CountOptions
from pacshift.words.display import html_paragraphs, html_table, text_table
from pacshift.words.numbers import mean_size, percent

MAX_NOTE_SHOWN = 100
"""Characters of a note below a printed table; ``rows`` holds the whole note."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One method on the data that all are compared on.

    Parameters
    ----------
    method : str
        Its name.
    guarantee : {"pac-target", "pac-source", "marginal", "none"}
        What it promises.
    size, empty : float or None
        Mean size of the target's sets and share of empty ones; None if the method refused.
    error : float or None
        Share of target labels missed, where labels are known.
    trivial : bool
        Whether every set contains all labels.
    note : str
        Why the method refused, or why its sets contain all labels.

    Examples
    --------
    >>> ComparisonRow("PS", "pac-source", size=1.0, empty=0.0, error=0.2).trivial
    False
    """

    method: str
    guarantee: Guarantee
    size: float | None
    empty: float | None = None
    error: float | None = None
    trivial: bool = False
    note: str = ""

    @property
    def texts(self) -> list[str]:
        """The cells of a table: method, promise, labels per set, empty sets, error."""
        numbers = ["refused", "-", "-"]
        if self.size is not None and self.empty is not None:
            size = mean_size(self.size) + (" (all labels)" if self.trivial else "")
            numbers = [size, percent(self.empty), "-" if self.error is None else f"{self.error:.4f}"]
        return [self.method, MEANINGS[self.guarantee].in_short, *numbers]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods side by side, as a small table.

    Parameters
    ----------
    rows : tuple of ComparisonRow
        One per method.
    certificates : tuple of Certificate or None
        The certificate of each row; None if the method refused.
    epsilon, delta : float
        What was asked for.

    Examples
    --------
    >>> Comparison((ComparisonRow("PS", "pac-source", size=1.25, empty=0.0, error=0.2),), (None,), 0.1, 0.05)
    method  promise  labels per set  empty sets  error
    PS      source   1.250           0 %         0.2000
    """

    rows: tuple[ComparisonRow, ...]
    certificates: tuple[Certificate | None, ...]
    epsilon: float
    delta: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; ``error`` only where the target's labels are known."""
        has_error = any(row.error is not None for row in self.rows)
        return ("method", "promise", "labels per set", "empty sets", *(("error",) if has_error else ()))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        notes = (shorten(note, MAX_NOTE_SHOWN, placeholder=" ...") for note in self._notes())
        return "\n".join([text_table(self.columns, self._cells()), *notes])

    def _repr_html_(self) -> str:
        return html_table(self.columns, self._cells()) + html_paragraphs(self._notes())

    def to_pandas(self) -> Any:
        """The table as a pandas frame with one row per method.

        Returns
        -------
        pandas.DataFrame
            Numbers are not rounded; NaN where a method refused.
        """
        import pandas

        rows = [
            [one.method, MEANINGS[one.guarantee].in_short, one.size, one.empty, one.error] for one in self.rows
        ]
        return pandas.DataFrame([row[: len(self.columns)] for row in rows], columns=list(self.columns))

    def _cells(self) -> list[list[str]]:
        return [row.texts[: len(self.columns)] for row in self.rows]

    def _notes(self) -> list[str]:
        return [f"{row.method}: {row.note}" for row in self.rows if row.note]


@did_you_mean
def compare(
    source: ScoresLike | Rows,
    labels: LabelsLike | Rows | None = None,
    target: ScoresLike | Rows | None = None,
    *,
    epsilon: float = 0.1,
    delta: float = 0.05,
    methods: Iterable[str | Method] | None = None,
    score: str = "probability",
    class_epsilon: float | None = None,
    contamination: float = 0.0,
    known_mix: KnownMix | None = None,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
    rng: RngLike = None,
) -> Comparison:
    """Run several methods on the same data and measure the sets of each on the target.

    The rows are counted once. Each method gives what ``calibrate`` would give with the same arguments. A method
    that refuses, for example because label shift is rejected, has a row that says so.

    Each promise is about a method that was chosen beforehand. Who compares m methods and uses the one with the
    smallest sets has m tries: compare with ``delta / m``, and the promises hold together.

    Parameters
    ----------
    source : array or frame of shape (m, K), or rows
        Scores of the labelled source examples.
    labels : array or series of length m
        The true labels of the source examples.
    target : array or frame of shape (n, K), or rows
        Scores of the target. The sets are measured on these rows, or on one random row of each group. If all of
        them have labels, ``Rows(scores, labels)``, the error of the sets is shown too. No method sees them.
    epsilon, delta : float
        As in ``calibrate``. Defaults: 0.1 and 0.05.
    methods : iterable of str or Method, optional
        Names or method objects. Default: all of ``METHODS`` but PS-T and ``"ORACLE"``.
    classes : sequence of labels, optional
        The class of each score column, in order. Default: the column names of a frame, else 0 to K-1.
    score : str, default "probability"
        The score that is compared with thresholds, but for methods that insist on their own, as APS does.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first.
    rng : int, numpy.random.Generator or None, optional
        As in ``calibrate``.
    class_epsilon : float, optional
        As in ``calibrate``, for the methods that promise something about the target.
    contamination : float, default 0
        As in ``calibrate``, for the same methods.
    known_mix : dict of class to (low, high), optional
        As in ``calibrate``, for the same methods.

    Returns
    -------
    Comparison
        A small table. ``print`` shows it, ``to_pandas()`` makes a frame of it, ``certificates`` holds what the
        methods gave.

    Raises
    ------
    InputError
        If the data or a parameter break a rule.

    Examples
    --------
    >>> from pacshift import Population, Rows
    >>> population = Population.synthetic(3, strength=4, rng=0)
    >>> source, labels = population.draw([0.8, 0.15, 0.05], 3000, rng=1)
    >>> target, truth = population.draw([0.05, 0.15, 0.8], 3000, rng=2)
    >>> compare(source, labels, Rows(target, truth), methods=["PS-LW", "LWCP", "PS"])
    method  promise             labels per set  empty sets  error
    PS-LW   target              0.974           2.7 %       0.0533
    LWCP    target, on average  0.935           6.53 %      0.0910
    PS      source              0.922           7.83 %      0.1167
    """
    request = check_request(
        epsilon=epsilon,
        delta=delta,
        class_epsilon=class_epsilon,
        contamination=contamination,
        known_mix=known_mix,
        rng=rng,
    )
    if methods is None:
        chosen = usable_methods()
    else:
        chosen = [resolve_method(method) for method in ([methods] if isinstance(methods, str) else methods)]
    if not chosen:
        raise InputError(f"methods is empty. Name at least one of {', '.join(METHODS)}.")
    source_rows, target_rows = bind_pair(source, labels, target, classes=classes, softmax=softmax)
    if target_rows is None:
        raise InputError("there is no target, but sets are compared on the target. Pass its scores.")
    if target_rows.labels == "some":  # an error is that of all rows
        target_rows = target_rows.requiring_labels()
    # Every score is counted once; a method may insist on its own, as APS does.
    names = [score if method.default_score == "probability" else method.default_score for method in chosen]
    if score != "probability" and score not in names:
        raise InputError(f"score={score!r}, but each of these methods has a score of its own. Leave it out.")
    transforms = {name: resolve_transform(name) for name in names}
    request, others = (
        request.for_classes(source_rows.classes),
        target_beside(source_rows, target_rows, soft=True, bins=True),
    )
    counted = {
        name: with_row_access(source_rows, target_rows, source_rows.tally(transform) + others, transform)
        for name, transform in transforms.items()
    }
    data = [counted[name] for name in names]
    if target_rows.labels == "all":
        options = CountOptions(transforms[names[0]], grid=True, soft=False, bins=False, predicted=False)
        require_unseen(LabelledTarget.of_tally(target_rows.count(options, None)).chance_to_match(data[0].tally))
    check_repeats(data[0].tally)

    answers: list[Certificate | PacshiftError] = []
    tested: Assumption | None = None  # once, on the same rows
    with source_rows.watch(source_rows, "comparing methods") as report:
        for method, rows in zip(chosen, data, strict=True):
            fitting = request.fitting(method)
            if tested is None and promises_target(method):
                with suppress(PacshiftError):  # where the test cannot look, the method's row says so
                    tested = check_label_shift(rows.tally, fitting)
            try:
                require_fit(method, fitting)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # the row says it, or it was said above
                    # Where rows are not at hand, sizes would take one more pass each.
                    has_rows = target_rows.reread_cost == "cheap"
                    answers.append(certify(rows, method, fitting, tested=tested, with_sizes=has_rows))
            except PacshiftError as problem:
                answers.append(problem)
            if report:
                report(len(answers), len(chosen))
    cuts = [maker_of(answer) for answer in answers if isinstance(answer, Certificate)]
    measured_sets: Iterator[tuple[float | None, float, float]] = iter(())
    if cuts and target_rows.labels == "none":
        measured_sets = ((None, *mean_and_empty(counts)) for counts in sizes(target_rows, cuts))
    elif cuts:
        counted_sets = misses(target_rows, [one.sets for one in cuts], "measuring the sets")
        measured_sets = ((one.error, one.size, one.empty) for one in (each.evaluation() for each in counted_sets))
    shown = list[ComparisonRow]()
    for method, answer in zip(chosen, answers, strict=True):
        if isinstance(answer, PacshiftError):
            shown.append(ComparisonRow(method.name, method.guarantee, None, note=f"refused: {answer}"))
            continue
        error, size, empty = next(measured_sets)
        why = " ".join(answer.reasons)
        shown.append(ComparisonRow(method.name, method.guarantee, size, empty, error, answer.trivial, why))
    certificates = tuple(answer if isinstance(answer, Certificate) else None for answer in answers)
    return Comparison(tuple(shown), certificates, request.epsilon, request.delta)
