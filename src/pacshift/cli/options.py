"""Options that several commands share, and how their values are read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from pacshift.arrays import Label
from pacshift.certification import request
from pacshift.cli.console import note
from pacshift.errors import InputError
from pacshift.files import writing
from pacshift.methods import METHODS, resolve_method
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
    str | None,
    typer.Option(
        "--scores",
        metavar="COLUMNS",
        help="Score columns: a pattern whose star stands for the class name, a comma list, or one list column. "
        "Without it: p_*, else the columns named as the labels.",
    ),
]
KnownScores: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--scores",
        metavar="COLUMNS",
        help="Score columns, if they are named differently from the certificate's columns.",
    ),
]
ByPosition: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--by-position", help="Match score columns to classes in their order, if their names do not tell."
    ),
]
Classes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--classes",
        metavar="A,B,...",
        help="Class names, matched to the score columns by name; repeat the option if a name contains a comma.",
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
ClassEpsilon: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--class-epsilon",
        metavar="SHARE",
        help="Share of any one class (with --contamination: of its label-shifted part) that the sets may miss, "
        "besides --epsilon.",
    ),
]
Contamination: TypeAlias = Annotated[
    float,
    typer.Option(
        "--contamination",
        metavar="SHARE",
        help="Share of the target that may be of any kind, below --epsilon; the promise of --epsilon holds even "
        "so.",
    ),
]
Known: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--known",
        metavar="CLASS=LOW..HIGH",
        help="Share of a class in the target that you are sure of, as 'heart disease=0..0.3'; can be repeated.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of the coins that methods throw over the counts.")
]
NoSeed: TypeAlias = Annotated[
    int | None, typer.Option("--seed", min=0, hidden=True, help="Has no effect any more; will be removed.")
]
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
CertificateFile: TypeAlias = Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="Made by calibrate.")]


def read_classes(texts: Sequence[str] | None) -> tuple[Label, ...] | None:
    """One value is split at commas, several are used as given; names that are all whole numbers become ints."""
    if not texts:
        return None
    from pacshift.scores.names import numbers_if_all

    names = [name.strip() for name in texts[0].split(",")] if len(texts) == 1 else list(texts)
    return numbers_if_all(names)


def read_numbers(text: str | None, option: str) -> list[float] | None:
    """Numbers separated by commas."""
    try:
        return None if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"{option} takes numbers separated by commas, got {text!r}.") from None


def read_known(texts: Sequence[str] | None) -> dict[str, tuple[float, float]] | None:
    """Bounds of the label mix, ``CLASS=LOW..HIGH`` each.

    >>> read_known(["heart disease=0..0.3", "a=b=0.25..1"])
    {'heart disease': (0.0, 0.3), 'a=b': (0.25, 1.0)}
    """
    if not texts:
        return None
    known: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, ends = text.rpartition("=")
        low, dots, high = ends.partition("..")
        try:
            bounds = float(low), float(high)
        except ValueError:
            bounds = None
        if not name or not dots or bounds is None:
            raise InputError(f"--known takes CLASS=LOW..HIGH, such as 'heart disease=0..0.3', got {text!r}.")
        if name in known:
            raise InputError(f"--known names class {name!r} twice. Give one pair of bounds per class.")
        known[name] = bounds
    return known


def known_for(
    known: dict[str, tuple[float, float]] | None, classes: Sequence[Label]
) -> dict[Label, tuple[float, float]] | None:
    """The same bounds by the class itself: on the command line a class that is a number is written as text."""
    by_text = {str(name): name for name in classes}
    return None if known is None else {by_text.get(name, name): bounds for name, bounds in known.items()}


def tell_no_seed(seed: int | None) -> None:
    """Say that a seed is not needed where older versions took one."""
    if seed is not None:
        note("--seed has no effect here: randomised scores are fixed functions of their rows. Leave it out.")


def check_request(
    epsilon: float,
    delta: float,
    *,
    score: str,
    method: str = "PS",
    class_epsilon: float | None = None,
    contamination: float = 0.0,
) -> None:
    """Refuse an impossible request before hours of counting, not after them."""
    request.check_request(epsilon=epsilon, delta=delta, class_epsilon=class_epsilon, contamination=contamination)
    resolve_transform(score)
    resolve_method(method)


def check_output(path: Path, force: bool, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse an output that cannot be written, exists, or is an input, before the work and not after it.

    An input is never overwritten, not even with --force. Folders among the ``inputs`` stand for all their files.
    """
    given = [read for read in inputs if read is not None]
    inside = [file for folder in given if folder.is_dir() for file in folder.rglob("*") if file.is_file()]
    writing.check_output(path, overwrite=force, inputs=[*given, *inside])


def finite_or_none(value: Any) -> float | None:
    """A number for JSON, which has no NaN: unknown values become null."""
    return float(value) if value is not None and abs(float(value)) < float("inf") else None
