"""Everything pacshift raises or warns. A message says what is wrong, the rule, the value and the remedy.

A message is made in the words of whoever will read it: Python's, those of the command line, or an estimator's.
Nothing in it is replaced afterwards, so the name of a file comes through as it is, whatever it looks like.
"""

import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from traceback import walk_stack
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pacshift.words.visible import visible

if TYPE_CHECKING:
    from pacshift.labels.refusal import Attempt

Verb = TypeVar("Verb", bound=Callable[..., Any])

ELSEWHERE = {
    "alpha": "epsilon",
    "significance": "epsilon",
    "error_rate": "epsilon",
    "epsilon": "error",
    "confidence_level": "delta",
    "confidence": "delta",
    "conformity_score": "score",
    "class_names": "classes",
    "random_state": "rng",
    "seed": "rng",
    "y": "labels",
}
"""What other libraries call our parameters. A level of 90 % is ``epsilon=0.1`` here."""

SAID_ELSEWHERE = {
    "groups": "Rows(scores, labels, groups=...) instead of the scores",
    "weights": "method=Oracle(weights=...)",
    "note": "certificate.annotate(note=...)",
}
"""What belongs to rows, to a method or to a certificate, and not to a verb."""

PACKAGE = "."
"""What pip is given: a checkout, because pacshift is on no package index yet. On the day it is, write "pacshift"
here and run ``python scripts/install_line.py``, which brings the pages into line."""


def install_line(extra: str) -> str:
    """The end of a message about something that is not installed.

    >>> install_line("cli")
    "Install it, in your checkout of pacshift: pip install '.[cli]'"
    """
    where = ", in your checkout of pacshift" if PACKAGE == "." else ""
    return f"Install it{where}: pip install '{PACKAGE}[{extra}]'"


@dataclass(frozen=True, slots=True)
class LabelCommands:
    """How labels certify what was refused: lines that draw the rows and use their labels, and both in words."""

    draw: str = ""
    again: str = ""
    in_words: str = ""


class Speech:
    """How Python writes what messages name. A subclass says how others write the same."""

    def parameter(self, text: str) -> str:
        """A parameter, alone or with a value: ``epsilon``, ``known_mix=``, ``softmax=True``, ``label=NAME``."""
        return text

    def label_commands(self, attempt: "Attempt") -> LabelCommands:
        """How labels of the target certify what was refused."""
        (*looks, budget), request = attempt.looks, attempt.request
        numbers = f"budget={budget}, looks={tuple(looks)}, epsilon={request.epsilon!r}, delta={request.delta!r}"
        groups = ", groups=target_groups" if attempt.has_target_groups else ""
        method = "" if attempt.with_method is None else f"method={attempt.with_method!r}, "
        return in_python(
            f"pacshift.label_sheet(target, {numbers}{groups}).save('to_label.csv')",
            f"{attempt.verb}(..., {method}labelled='to_label.csv')",
        )


def in_python(draw: str, again: str) -> LabelCommands:
    """Two lines of Python, and what they are for."""
    return LabelCommands(draw, again, f"{draw} draws the rows, and {again} certifies")


PYTHON = Speech()
_speech: ContextVar[Speech] = ContextVar("speech", default=PYTHON)


def current_speech() -> Speech:
    """How messages are worded now."""
    return _speech.get()


@contextlib.contextmanager
def speak(speech: Speech) -> Iterator[None]:
    """Word messages in this way."""
    token = _speech.set(speech)
    try:
        yield
    finally:
        _speech.reset(token)


def param(text: str) -> str:
    """A parameter that a message names, as whoever reads the message writes it.

    >>> f"Name the label column: {param('label=NAME')}."
    'Name the label column: label=NAME.'
    """
    return current_speech().parameter(text)


def users_line() -> int:
    """The ``stacklevel`` of a warning that names the line which called the package, whatever lies between."""
    frames = enumerate(walk_stack(sys._getframe(1)), start=1)
    between = (os.path.dirname(__file__), os.path.dirname(contextlib.__file__) + os.sep + "contextlib")
    return next((level for level, (frame, _) in frames if not frame.f_code.co_filename.startswith(between)), 1)


def did_you_mean(verb: Verb) -> Verb:
    """The function, whose complaint about an unknown parameter names the one that was probably meant."""

    @wraps(verb)
    def call_verb(*values: Any, **named: Any) -> Any:
        try:
            return verb(*values, **named)
        except TypeError as error:  # raised before its first line, or not ours
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            import difflib

            known = inspect.signature(verb).parameters
            unknown = next((name for name in named if name not in known), None)
            if unknown is None:
                raise
            meant = ELSEWHERE.get(unknown, "")
            close = [name for name in (meant, ELSEWHERE.get(meant, "")) if name in known][:1]
            close = close or difflib.get_close_matches(unknown, known, 1)
            if place := SAID_ELSEWHERE.get(unknown):
                raise TypeError(f"{verb.__name__}() has no parameter {unknown!r}: say {place}.") from None
            hint = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(known)}."
            raise TypeError(f"{verb.__name__}() has no parameter {unknown!r}. {hint}") from None

    return cast(Verb, call_verb)


def show_as_written(public: object) -> None:
    """Let ``help`` show the annotations of a function, or of a class and its methods, as they are written.

    So it shows ``ScoresLike``, not all that it stands for, and no quotes around it.
    """
    classes = [each for each in getattr(public, "__mro__", ()) if each.__module__.startswith("pacshift")]
    members = [member for each in classes for member in vars(each).values()] or [public]
    for function in (getattr(member, "__func__", member) for member in members):
        if inspect.isfunction(function):
            signature = inspect.signature(function)
            parameters = [
                parameter.replace(annotation=_written(parameter.annotation))
                for parameter in signature.parameters.values()
            ]
            returned = _written(signature.return_annotation)
            function.__signature__ = signature.replace(parameters=parameters, return_annotation=returned)  # type: ignore[attr-defined]


def _written(annotation: Any) -> Any:
    return _Written(annotation) if isinstance(annotation, str) else annotation


class _Written(str):
    """An annotation that ``help`` shows without quotes."""

    __repr__ = str.__str__


class PacshiftError(Exception):
    """Base class of all errors that pacshift raises on purpose. Names in a message hide nothing.

    Parameters
    ----------
    message : str
        What is wrong, the rule, the value and the remedy.

    Examples
    --------
    >>> issubclass(InputError, PacshiftError) and issubclass(AssumptionError, PacshiftError)
    True
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(message, keep="\n"))


class InputError(PacshiftError, ValueError):
    """The data or a parameter break a rule. The message names the rule, the value and the remedy.

    It is also a ``ValueError``.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> calibrate([[0.2, 0.8]], [1], None, epsilon=2, delta=0.1, method="PS")
    Traceback (most recent call last):
    pacshift.errors.InputError: epsilon must lie strictly between 0 and 1, got 2. For 2 % write 0.02.
    """


class AssumptionError(PacshiftError):
    """The data contradict label shift, so nothing can be certified.

    Parameters
    ----------
    refusal : str
        Why.
    next_steps : str
        What to do instead.
    expected_sizes : tuple of tuple of int and float
        Numbers of labelled target rows, and about how many labels per set they would certify: an estimate from the
        source and the unlabelled target.
    assumption : Assumption, optional
        What the test of label shift saw.
    attempt : Attempt, optional
        What was asked for, of which data, and the lines that draw rows to label and certify with their labels.

    Examples
    --------
    >>> refused = AssumptionError("label shift is rejected.", "Label some rows.", ((100, 1.3),))
    >>> print(refused)
    label shift is rejected.
    Label some rows.
    """

    def __init__(
        self,
        refusal: str,
        next_steps: str = "",
        expected_sizes: tuple[tuple[int, float], ...] = (),
        assumption: Any = None,
        attempt: Any = None,
    ) -> None:
        super().__init__(f"{refusal}\n{next_steps}".strip())
        self.refusal, self.next_steps = visible(refusal, keep="\n"), visible(next_steps, keep="\n")
        self.expected_sizes, self.assumption, self.attempt = expected_sizes, assumption, attempt


class UnfinishedSheetError(PacshiftError):
    """A label sheet is not filled in as far as its first look. The message says how many rows are missing."""


class MissingExtraError(PacshiftError, ImportError):
    """A part of pacshift needs a package that is not installed. The message says how to install it.

    It is also an ``ImportError``.

    Parameters
    ----------
    part : str
        What cannot be used.
    cause : ModuleNotFoundError
        What Python said.
    extra : str
        The extra of pacshift that installs the package.

    Examples
    --------
    >>> missing = ModuleNotFoundError(name="matplotlib.axes")
    >>> raise MissingExtraError("pacshift.plots", missing, "plots")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pacshift.errors.MissingExtraError: pacshift.plots needs matplotlib. Install it...
    """

    def __init__(self, part: str, cause: ModuleNotFoundError, extra: str) -> None:
        module = (cause.name or str(cause)).partition(".")[0]
        package = {"sklearn": "scikit-learn"}.get(module, module)
        super().__init__(f"{part} needs {package}. {install_line(extra)}.")
        self._made_of = part, cause, extra

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of  # so that other processes can raise it


class UninformativeWarning(UserWarning):
    """Every set contains all labels: nothing smaller can be certified. The message says which data are lacking."""

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(message, keep="\n"))
