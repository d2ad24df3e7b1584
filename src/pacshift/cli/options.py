"""Options that several commands share, and how their values are read."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.methods import METHODS, resolve_method
from pacshift.scores.check import check_rate
from pacshift.scores.transforms import TRANSFORMS, resolve_transform

Score: TypeAlias = Annotated[
    str,
    typer.Option(
        "--score",
        metavar="NAME",
        help=f"Score to threshold: {', '.join(TRANSFORMS)}.",
        autocompletion=lambda: list(TRANSFORMS),
    ),
]
Method: TypeAlias = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help=f"One of {', '.join(METHODS)} (`pacshift methods` explains them).",
        autocompletion=lambda: list(METHODS),
    ),
]
Epsilon: TypeAlias = Annotated[
    float, typer.Option("--epsilon", "-e", help="Share of true labels that the sets may miss, in (0, 1).")
]
Delta: TypeAlias = Annotated[
    float, typer.Option("--delta", "-d", help="Chance that the guarantee fails, in (0, 1).")
]
LabelColumn: TypeAlias = Annotated[
    str, typer.Option("--label", "-l", metavar="COLUMN", help="Column of the true labels.")
]
Scores: TypeAlias = Annotated[
    str,
    typer.Option(
        "--scores",
        metavar="PATTERN",
        help="Score columns: the star stands for the class name. Or the name of one list column.",
    ),
]
Classes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--classes",
        metavar="A,B,...",
        help="Class names in the order of the scores; repeat the option if a name contains a comma.",
    ),
]
Weights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="W,W,...",
        help="True importance weights q(y)/p(y) in the order of the classes, for ORACLE.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same answer.")]
Exact: TypeAlias = Annotated[
    bool, typer.Option("--exact", help="Keep every score instead of rounding down to 12 bits: more memory.")
]
DropInvalid: TypeAlias = Annotated[
    bool, typer.Option("--drop-invalid", help="Leave out rows without a label or with non-numeric scores.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", "-f", help="Overwrite an existing output.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object, nothing else.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Engine: TypeAlias = Annotated[
    Literal["arrow", "spark"],
    typer.Option("--engine", help="Where tables are read: on this machine or on a cluster."),
]
Master: TypeAlias = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Spark master, for --engine spark.")
]
Known: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--known",
        metavar="CLASS=LOW..HIGH",
        help="Bounds on a class's share of the target that you are sure of; may be repeated.",
    ),
]
CertificateFile: TypeAlias = Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="Made by calibrate.")]


def read_classes(texts: Sequence[str] | None) -> tuple[Label, ...] | None:
    """One value is split at commas, several are used as given; names that are all whole numbers become ints."""
    if not texts:
        return None
    from pacshift.tables.layout import numbers_if_all

    names = [name.strip() for name in texts[0].split(",")] if len(texts) == 1 else list(texts)
    return numbers_if_all(names)


def read_numbers(text: str | None, option: str) -> list[float] | None:
    """Numbers separated by commas."""
    try:
        return None if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"{option} takes numbers separated by commas, got {text!r}.") from None


def read_known(texts: Sequence[str] | None, classes: Sequence[Label]) -> dict[Label, tuple[float, float]] | None:
    """Bounds of the label mix: ``class=low..high``, one per option; names are matched to the classes as texts.

    >>> read_known(["b=0..0.3"], ("a", "b"))
    {'b': (0.0, 0.3)}
    """
    names, found = {str(name): name for name in classes}, {}
    for text in texts or ():
        name, _, bounds = text.rpartition("=")
        try:
            low, high = (float(end) for end in bounds.split(".."))
        except ValueError:
            raise InputError(f"--known takes CLASS=LOW..HIGH, such as 'a=0..0.3', got {text!r}.") from None
        found[names.get(name, name)] = low, high
    return found or None


def seed_for(seed: int, purpose: str) -> list[int]:
    """One seed per purpose: the guarantee needs calibration and prediction to be independent."""
    return [seed, zlib.crc32(purpose.encode())]


def check_request(epsilon: float, delta: float, *, score: str, method: str = "PS") -> None:
    """Refuse an impossible request before hours of counting, not after them."""
    check_rate(epsilon, "epsilon")
    check_rate(delta, "delta")
    resolve_transform(score)
    resolve_method(method)


def check_output(path: Path, force: bool) -> None:
    """Refuse an output that exists or cannot be written, before the work and not after it."""
    if path.exists() and not force:
        raise InputError(f"{path} exists already. Choose another name with -o, or overwrite it with --force.")
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"cannot write {path}: it must name a file in a folder that exists.")


def finite_or_none(value: Any) -> float | None:
    """A number for JSON, which has no NaN: unknown values become null."""
    return float(value) if value is not None and abs(float(value)) < float("inf") else None
