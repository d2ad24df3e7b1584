"""Options that belong together, as one parameter of a command each."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacshift.cli import options
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift.certification.request import Request


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is promised, about which score, and what is known beforehand."""

    epsilon: options.Epsilon = EPSILON
    delta: options.Delta = DELTA
    class_epsilon: options.ClassEpsilon = None
    contamination: options.Contamination = 0.0
    known: options.Known = None
    score: options.Score = "probability"
    seed: options.Seed = 0

    def check(self, **more: Any) -> "Request":
        """The request, or an InputError before hours of counting and not after them. It lacks the classes."""
        from pacshift.certification.request import check_request
        from pacshift.scores.transforms import resolve_transform

        resolve_transform(self.score)
        return check_request(**self.arguments(), **more)

    def arguments(self) -> dict[str, Any]:
        """The same as arguments of ``check_request`` and ``Monitor``."""
        names = ("epsilon", "delta", "class_epsilon", "contamination")
        known_mix = options.read_known(self.known)
        return {name: getattr(self, name) for name in names} | {"known_mix": known_mix, "rng": self.seed}


def rate_words(epsilon: float, delta: float) -> list[str]:
    """The rates as words of a command, where they are not the defaults."""
    words = [] if epsilon == EPSILON else ["--epsilon", repr(epsilon)]
    return words if delta == DELTA else [*words, "--delta", repr(delta)]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Which columns hold the scores of which class, and what becomes of unusable rows."""

    scores: options.Scores = None
    classes: options.Classes = None
    by_position: options.ByPosition = False
    group: options.Group = None
    softmax: options.Softmax = False
    drop_invalid: options.DropInvalid = False

    def words(self) -> list[str]:
        """The same as words of a command."""
        words = [] if self.scores is None else ["--scores", self.scores]
        for name in self.classes or ():
            words += ["--classes", name]
        words += ["--by-position"] if self.by_position else []
        words += [] if self.group is None else ["--group", self.group]
        words += ["--softmax"] if self.softmax else []
        return words + (["--drop-invalid"] if self.drop_invalid else [])

    def reading(self, label: str | None) -> dict[str, Any]:
        """The same as arguments of what reads a table."""
        return {
            "label": label,
            "scores": self.scores,
            "classes": options.read_classes(self.classes),
            "by_position": self.by_position,
            "group": self.group,
            "softmax": self.softmax,
            "drop_invalid": self.drop_invalid,
        }


@dataclass(frozen=True, kw_only=True)
class Files:
    """SOURCE and TARGET."""

    paths: options.Paths = None
    source: options.MoreSource = None
    target: options.MoreTarget = None

    @property
    def named(self) -> list[Path]:
        """All of them."""
        return [*(self.paths or ()), *(self.source or ()), *(self.target or ())]

    def split(self, target: str | None = None) -> dict[str, Any]:
        """Source and target: the first path and the second, with those of the options.

        ``target`` says what is missing if there is none.
        """
        named = list(self.paths or ())
        if len(named) > 2:
            raise InputError(
                f"one SOURCE and one TARGET, got {len(named)} paths. Add more files with --source FILE and "
                "--target FILE, or put the files of each into a folder."
            )
        first, second = [*named[:1], *(self.source or ())], [*named[1:], *(self.target or ())]
        if not first:
            raise InputError("no SOURCE: name a labelled table (a file or a folder).")
        if target is not None and not second:
            raise InputError(f"no TARGET: name {target}.")
        return {"source": tuple(first), "target": tuple(second)}


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a certificate remembers besides its numbers."""

    model_id: options.ModelId = None
    note: options.Note = None
    valid_until: options.ValidUntil = None


@dataclass(frozen=True, kw_only=True)
class Printing:
    """What is printed."""

    as_json: options.Json = False
    quiet: options.Quiet = False

    @property
    def silent(self) -> bool:
        """Whether nothing but the answer is printed, or not even that."""
        return self.as_json or self.quiet


def one_by_one(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer wants it: every option of a group is a parameter."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += map(_parameter, fields(parameter.annotation))
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def grouped(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    grouped.__doc__ = command.__doc__
    grouped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    grouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return grouped


def _parameter(field: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)
