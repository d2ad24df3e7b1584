"""Methods side by side on the same data: one row per method, as `pacshift compare` and the report show them."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, TypeAlias

from pacshift.assumption import Assumption
from pacshift.certificate import Certificate
from pacshift.certification.certify import certify
from pacshift.certification.counted import Data
from pacshift.certification.refusal import check_label_shift
from pacshift.certification.request import Request, check_request, require_fit
from pacshift.errors import PacshiftError, UninformativeWarning
from pacshift.methods import Guarantee, Method, resolve_method
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.progress import Progress
from pacshift.tally import Tally
from pacshift.words.display import html_paragraphs, html_table, text_table
from pacshift.words.numbers import mean_size, percent

MAX_NOTE_SHOWN = 100
"""Characters of a note below a printed table; ``rows`` holds the whole note."""

Measured: TypeAlias = tuple[float | None, float, float]
"""Error (None where labels are unknown), mean set size, share of empty sets."""


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
    method  promise      mean size  empty sets  error
    PS      source only  1.250      0 %         0.2000
    """

    rows: tuple[ComparisonRow, ...]
    certificates: tuple[Certificate | None, ...]
    epsilon: float
    delta: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; ``error`` only where the target's labels are known."""
        has_error = any(row.error is not None for row in self.rows)
        return ("method", "promise", "mean size", "empty sets", *(("error",) if has_error else ()))

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

        return pandas.DataFrame([self._values(row) for row in self.rows], columns=list(self.columns))

    def _values(self, row: ComparisonRow) -> list[Any]:
        known = [row.method, MEANINGS[row.guarantee].in_short, row.size, row.empty, row.error]
        return known[: len(self.columns)]

    def _cells(self) -> list[list[str]]:
        return [[*map(str, self._values(row)[:2]), *self._numbers(row)] for row in self.rows]

    def _numbers(self, row: ComparisonRow) -> list[str]:
        """Size, empty sets and error as text, as many as there are columns."""
        if row.size is None or row.empty is None:
            return ["refused", *["-"] * (len(self.columns) - 3)]
        size = mean_size(row.size) + (" (all labels)" if row.trivial else "")
        error = "-" if row.error is None else f"{row.error:.4f}"
        return [size, percent(row.empty), error][: len(self.columns) - 2]

    def _notes(self) -> list[str]:
        return [f"{row.method}: {row.note}" for row in self.rows if row.note]


def compare_methods(
    methods: Iterable[str | Method],
    tally_of: Callable[[Method], Tally],
    measure: Callable[[Sequence[Certificate]], Sequence[Measured]],
    *,
    progress: Progress | None = None,
    **request: Any,
) -> list[tuple[ComparisonRow, Certificate | None]]:
    """Calibrate one method after the other, then measure the sets of all in one pass.

    Parameters
    ----------
    methods : iterable of str or Method
        Names, or method objects of the package or of your own.
    tally_of : callable
        Gives the tally for a method: methods may want different scores (``default_score``).
    measure : callable
        Gives error, mean set size and share of empty sets for each certificate of a list.
    progress : callable, optional
        Called with the number of methods done and of all methods.
    **request
        ``epsilon``, ``delta`` and whatever else ``calibrate`` takes. Methods that promise nothing about the
        target do not get ``class_epsilon``, ``contamination`` and ``known_mix``. Only ORACLE gets ``weights``.

    Returns
    -------
    list of tuple of ComparisonRow and Certificate
        The certificate is None if the method refused; the row then says why.

    Examples
    --------
    >>> tally = Tally.from_scores([[0.8, 0.2], [0.3, 0.7]] * 100, [0, 1] * 100)
    >>> rows = compare_methods(["PS", "PS-LW"], lambda method: tally, lambda made: [(None, 1.0, 0.0)] * len(made),
    ...                        epsilon=0.1, delta=0.05)
    >>> [(row.method, row.guarantee) for row, _ in rows]
    [('PS', 'pac-source'), ('PS-LW', 'pac-target')]
    """
    asked = check_request(**request)
    return compare_counts(
        [resolve_method(method) for method in methods],
        asked,
        lambda method: Data(tally_of(method)),
        measure,
        progress,
    )


def compare_counts(
    methods: Sequence[Method],
    request: Request,
    data_of: Callable[[Method], Data],
    measure: Callable[[Sequence[Certificate]], Sequence[Measured]],
    progress: Progress | None = None,
) -> list[tuple[ComparisonRow, Certificate | None]]:
    """As ``compare_methods``, for a request that was checked. Label shift is tested once, on the same rows."""
    answers: list[Certificate | PacshiftError] = []
    tested: Assumption | None = None
    for method in methods:
        data = data_of(method)
        asked = request.for_classes(data.tally.classes).fitting(method)
        if tested is None and promises_target(method):
            tested = _test(data, asked)
        answers.append(_answer(data, method, asked, tested))
        if progress:
            progress(len(answers), len(methods))
    certificates = [answer for answer in answers if isinstance(answer, Certificate)]
    measured = iter(measure(certificates) if certificates else ())
    return [_row(method, answer, measured) for method, answer in zip(methods, answers, strict=True)]


def _test(data: Data, request: Request) -> Assumption | None:
    """What the test of label shift sees; None where it cannot look, which the method's row then says."""
    try:
        return check_label_shift(data.tally, request)
    except PacshiftError:
        return None


def _answer(
    data: Data, method: Method, request: Request, tested: Assumption | None
) -> Certificate | PacshiftError:
    """The method's certificate, or the error with which it refused."""
    try:
        require_fit(method, request)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # the row says it
            return certify(data, method, request, tested=tested)
    except PacshiftError as problem:
        return problem


def _row(
    method: Method, answer: Certificate | PacshiftError, measured: Iterator[Measured]
) -> tuple[ComparisonRow, Certificate | None]:
    """The row of a method; the next of what was measured belongs to the next certificate."""
    if isinstance(answer, PacshiftError):
        return ComparisonRow(method.name, method.guarantee, None, note=f"refused: {answer}"), None
    error, size, empty = next(measured)
    notes = " ".join(answer.reasons)
    return ComparisonRow(method.name, method.guarantee, size, empty, error, answer.trivial, notes), answer


def own_score(method: Method, score: str) -> str:
    """The score that ``method`` insists on (APS), else the one that all are compared with."""
    return score if method.default_score == "probability" else method.default_score
