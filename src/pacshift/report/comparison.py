"""Methods compared: one row per method, as `pacshift compare` prints them and the report shows them."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pacshift.calibrate import calibrate_tally
from pacshift.certificate import Certificate
from pacshift.certify import promises_target
from pacshift.errors import PacshiftError, UninformativeWarning
from pacshift.methods import Guarantee, Method, resolve_method
from pacshift.tally import Tally

Measured: TypeAlias = tuple[float | None, float, float]
"""Error (None where labels are unknown), mean set size, share of empty sets."""


TARGET_OPTIONS = ("class_epsilon", "contamination", "known_mix")
"""Options that methods without a promise about the target do not take."""


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


def compare_methods(
    methods: Iterable[str | Method],
    tally_of: Callable[[Method], Tally],
    measure: Callable[[Sequence[Certificate]], Sequence[Measured]],
    *,
    progress: Callable[[int, int | None], None] | None = None,
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
        ``epsilon``, ``delta`` and whatever else ``calibrate_tally`` takes. Methods that promise nothing about the
        target do not get ``class_epsilon``, ``contamination`` and ``known_mix``.

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
    chosen = [resolve_method(method) for method in methods]
    answers: list[Certificate | PacshiftError] = []
    for method in chosen:
        answers.append(_answer(method, tally_of, request))
        if progress:
            progress(len(answers), len(chosen))
    certificates = [answer for answer in answers if isinstance(answer, Certificate)]
    measured = iter(measure(certificates) if certificates else ())
    compared: list[tuple[ComparisonRow, Certificate | None]] = []
    for method, answer in zip(chosen, answers, strict=True):
        if isinstance(answer, PacshiftError):
            compared.append((ComparisonRow(method.name, method.guarantee, None, note=f"refused: {answer}"), None))
            continue
        error, size, empty = next(measured)
        notes, trivial = " ".join(answer.reasons), answer.trivial
        row = ComparisonRow(method.name, method.guarantee, size, empty, error, trivial, notes)
        compared.append((row, answer))
    return compared


def _fitting(request: dict[str, Any], method: Method) -> dict[str, Any]:
    """The request without what only concerns promises about the target, for methods that make none."""
    if promises_target(method):
        return request
    return {name: value for name, value in request.items() if name not in TARGET_OPTIONS}


def _answer(
    method: Method, tally_of: Callable[[Method], Tally], request: dict[str, Any]
) -> Certificate | PacshiftError:
    """The method's certificate, or the error with which it refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # the row says it
            return calibrate_tally(tally_of(method), method=method, **_fitting(request, method))
    except PacshiftError as problem:
        return problem
