"""Options that several commands share, in the panels of their help, and how their values are read.

This module and the commands import NumPy only when a command runs: help and completion need none of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.files import writing

if TYPE_CHECKING:
    from pacshift.arrays import Label
    from pacshift.certification.request import Request

PANELS = ("Basics", "What you know", "Tables", "Output", "Expert")
"""Panels of every command's help, in this order."""


def _options_in(panel: str) -> Callable[..., Any]:
    def option(names: str, text: str, **more: Any) -> Any:
        """An option by its names, with a word for its value: ``--out -o FILE``."""
        words = names.split()
        flags = [word for word in words if word.startswith("-")]
        return typer.Option(
            *flags, metavar=" ".join(words[len(flags) :]) or None, help=text, rich_help_panel=panel, **more
        )

    return option


basic, known, tables, output, expert = map(_options_in, PANELS)

METHOD_NAMES = ["PS-LP", "PS-T", "PS-W", "PS-C", "PS-LW", "ORACLE", "PS", "APS", "PS-R", "WCP", "LWCP"]
SCORE_NAMES = ["probability", "margin", "aps", "aps-plain", "raps", "raps-plain"]

Epsilon = Annotated[
    float | None, basic("--epsilon -e SHARE", "Share of true labels that the sets may miss, in (0, 1).")
]
Delta = Annotated[float, basic("--delta -d CHANCE", "Chance that the guarantee fails, in (0, 1).")]
Method = Annotated[
    str,
    basic(
        "--method -m NAME",
        f"One of {', '.join(METHOD_NAMES)}: see `pacshift methods`.",
        autocompletion=METHOD_NAMES.copy,
    ),
]
Keep = Annotated[
    list[str] | None,
    basic("--keep -k A,B,...", "Columns to copy. Repeat the option, one name each, if a name contains a comma."),
]
LabelColumn = Annotated[str, basic("--label -l COLUMN", "Column of the true labels.")]
CertificateFile = Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="Made by calibrate.")]

ClassBalance = Annotated[
    Literal["3", "6", "none"] | None,
    known(
        "--class-balance",
        "For PS-LP: aim at missing no class more often than this multiple of epsilon (default 3). Not a promise.",
    ),
]
Contamination = Annotated[
    float | None,
    known("--contamination SHARE", "Share of the target that may be of any kind, below --epsilon."),
]
Known = Annotated[
    list[str] | None,
    known("--known CLASS=LOW..HIGH", "Share of a class in the target that you are sure of; can be repeated."),
]
Weights = Annotated[
    str | None,
    known("--weights W,W,...", "For ORACLE: true importance weights q(y)/p(y), in the order of classes."),
]

KnownLabel = Annotated[
    str | None,
    basic("--label -l COLUMN", "Column of the true labels, if it is named differently from the certificate's."),
]
KnownScores = Annotated[
    str | None, tables("--scores COLUMNS", "Score columns, if they are named differently from the certificate's.")
]
ByPosition = Annotated[
    bool, tables("--by-position", "Match score columns to classes in their order, if their names do not tell.")
]
Labelled = Annotated[
    Path | None,
    known("--labelled SHEET", "A sheet from `pacshift label`, filled in from the top as far as a look."),
]
DropInvalid = Annotated[bool, tables("--drop-invalid", "Leave out rows without a label or with unusable scores.")]
KeepInvalid = Annotated[
    bool,
    tables("--keep-invalid", "Keep rows with unusable scores in the output: their set and its size are null."),
]

UsedModelId = Annotated[
    str | None,
    output(
        "--model-id TEXT", "The classifier that made the scores. Exit code 5 if the certificate is for another."
    ),
]
Force = Annotated[bool, output("--force -f", "Overwrite an existing output.")]
Json = Annotated[bool, output("--json", "Print one JSON object, nothing else.")]

Score = Annotated[
    str, expert("--score NAME", f"Score to threshold: {', '.join(SCORE_NAMES)}.", autocompletion=SCORE_NAMES.copy)
]
Seed = Annotated[int, expert("--seed N", "Seed of the coins that methods throw over the counts.", min=0)]
Exact = Annotated[bool, expert("--exact", "Keep every score instead of rounding down to 12 bits: more memory.")]


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Where tables are read."""

    engine: Annotated[
        Literal["arrow", "spark"], expert("--engine", "Where tables are read: on this machine or on a cluster.")
    ] = "arrow"
    master: Annotated[str | None, expert("--master URL", "Spark master, for --engine spark.")] = None

    def check(self) -> "Engine":
        """The engine, if its parts agree."""
        if self.master is not None and self.engine != "spark":
            raise InputError("--master is for --engine spark. Leave it out, or give both.")
        return self


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is promised, about which score, and what is known beforehand."""

    epsilon: Epsilon = EPSILON
    delta: Delta = DELTA
    class_epsilon: Annotated[
        float | None,
        known(
            "--class-epsilon SHARE", "Share of any one class (of its label-shifted part) that the sets may miss."
        ),
    ] = None
    contamination: Contamination = 0.0
    known: Known = None
    score: Score = "probability"

    def check(self, **more: Any) -> "Request":
        """The request, or an InputError before hours of counting and not after them. It lacks the classes."""
        from pacshift.certification.request import check_request
        from pacshift.scores.transforms import resolve_transform

        resolve_transform(self.score)
        return check_request(**self.arguments(), **more)

    def arguments(self) -> dict[str, Any]:
        """The same as arguments of ``check_request`` and ``Monitor``."""
        names = ("epsilon", "delta", "class_epsilon", "contamination")
        known_mix = read_known(self.known)
        return {name: getattr(self, name) for name in names} | {"known_mix": known_mix}


@dataclass(frozen=True, kw_only=True)
class PilotColumns:
    """Which columns hold the scores, and what they are."""

    scores: Annotated[
        str | None,
        tables(
            "--scores COLUMNS",
            "Score columns: a pattern such as 'prob_*', a comma list, or one list column. Default: p_*, else the "
            "columns named after the labels.",
        ),
    ] = None
    group: Annotated[
        str | None,
        tables(
            "--group COLUMN",
            "Column that names the group of a row, such as a patient: one random row of each group is counted.",
        ),
    ] = None
    softmax: Annotated[
        bool,
        tables("--softmax", "The scores are logits: take their softmax first. Tally and certificate remember it."),
    ] = False

    def reading(self, label: str | None) -> dict[str, Any]:
        """The same as arguments of what reads a table."""
        return {"label": label, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(PilotColumns):
    """The same, with the scores of which class they are, and what becomes of unusable rows."""

    classes: Annotated[
        list[str] | None,
        tables("--classes A,B,...", "Class names. Repeat the option, one name each, if a name contains a comma."),
    ] = None
    by_position: ByPosition = False
    drop_invalid: DropInvalid = False

    def reading(self, label: str | None) -> dict[str, Any]:
        """The same as arguments of what reads a table."""
        return super().reading(label) | {"classes": read_classes(self.classes)}


@dataclass(frozen=True, kw_only=True)
class Files:
    """SOURCE and TARGET, or tallies of them."""

    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SOURCE TARGET",
            help="Tables, each a file, a folder or a pattern such as 'part-*.csv'; or tallies (*.tally).",
        ),
    ] = None

    @property
    def named(self) -> list[Path]:
        """All of them."""
        return list(self.paths or ())

    @property
    def are_tallies(self) -> bool:
        """Whether they were counted before."""
        counted = [path.suffix == ".tally" for path in self.named]
        if any(counted) and not all(counted):
            raise InputError(
                f"tallies and tables do not mix: {self.named[counted.index(True)]} is a tally, "
                f"{self.named[counted.index(False)]} is not. Count the tables first, with `pacshift tally`."
            )
        return any(counted)

    def split(self, target: str | None = None) -> dict[str, Any]:
        """Source and target: the first path and the second. ``target`` says what is missing if there is none."""
        if len(self.named) > 2:
            raise InputError(
                f"one SOURCE and one TARGET, got {len(self.named)} paths. Put the files of each into a folder, or "
                "name them by a pattern in quotes: 'part-*.parquet'."
            )
        if not self.named:
            raise InputError("no SOURCE: name a labelled table (a file or a folder).")
        if target is not None and len(self.named) < 2:
            raise InputError(f"no TARGET: name {target}.")
        return {"source": tuple(self.named[:1]), "target": tuple(self.named[1:])}


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a certificate remembers besides its numbers."""

    model_id: Annotated[
        str | None, output("--model-id TEXT", "The classifier that made the scores, as you call it.")
    ] = None
    note: Annotated[str | None, output("--note TEXT", "Anything that the certificate should remember.")] = None
    valid_until: Annotated[str | None, output("--valid-until DATE", "Last day of use, as 2027-01-31.")] = None


@dataclass(frozen=True, kw_only=True)
class Printing:
    """What is printed."""

    as_json: Json = False

    @property
    def silent(self) -> bool:
        """Whether nothing but the answer is printed, or not even that."""
        return self.as_json


@dataclass(frozen=True, kw_only=True)
class MonitorPrinting(Printing):
    """What is printed where nobody reads along."""

    quiet: Annotated[bool, output("--quiet -q", "Print alerts and errors only.")] = False

    @property
    def silent(self) -> bool:
        return self.as_json or self.quiet


def read_names(texts: Sequence[str] | None) -> list[str]:
    """One value is split at commas, several are used as given.

    >>> read_names(["id, seen"]), read_names(["id", "city, state"]), read_names(None)
    (['id', 'seen'], ['id', 'city, state'], [])
    """
    given = list(texts or ())
    return [name.strip() for name in given[0].split(",")] if len(given) == 1 else given


def read_classes(texts: Sequence[str] | None) -> "tuple[Label, ...] | None":
    """Class names as ``read_names`` reads them; names that are all whole numbers become ints."""
    if not texts:
        return None
    from pacshift.scores.names import numbers_if_all

    return numbers_if_all(read_names(texts))


def read_class_balance(text: Literal["3", "6", "none"] | None) -> "Literal[3, 6, 'none'] | None":
    """The class balance as ``PSLP`` takes it."""
    return None if text is None else {"3": 3, "6": 6, "none": "none"}[text]  # type: ignore[return-value]


def read_numbers(text: str | None, option: str, kind: Callable[[str], Any] = float) -> list[Any] | None:
    """Numbers separated by commas, whole ones if ``kind`` is int."""
    try:
        return None if text is None else [kind(word) for word in text.split(",")]
    except ValueError:
        whole = "whole " if kind is int else ""
        raise InputError(f"{option} takes {whole}numbers separated by commas, got {text!r}.") from None


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


def require_no_table(target_label: str | None, labelled: Path | None) -> None:
    """Labels of the target belong to rows of a table, which is not here."""
    if target_label is not None:
        raise InputError("--target-label names a column of the TARGET table, but tallies hold no rows.")
    if labelled is not None:
        raise InputError("--labelled is about rows of the TARGET table, but tallies hold no rows.")


def require_one_way(target_label: str | None, labelled: Path | None) -> None:
    """Labels of the target come in a column or on a sheet."""
    if target_label is not None and labelled is not None:
        raise InputError("--target-label and --labelled are two ways to say the same. Give one of them.")


def check_output(path: Path, force: bool, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse an output that cannot be written, exists, or is an input, before the work and not after it.

    An input is never overwritten, not even with --force. Folders and patterns among the ``inputs`` stand for all
    their files.
    """
    named = [read for read in inputs if read is not None]
    given = [file for one in named for file in ([one] if one.exists() else map(Path, glob(str(one))))]
    inside = [file for folder in given if folder.is_dir() for file in folder.rglob("*") if file.is_file()]
    writing.check_output(path, overwrite=force, inputs=[*given, *inside])


def finite_or_none(value: Any) -> float | None:
    """A number for JSON, which has no NaN: unknown values become null."""
    return float(value) if value is not None and abs(float(value)) < float("inf") else None
