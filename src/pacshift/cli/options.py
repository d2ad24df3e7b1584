"""Options that several commands share, in the panels of their help, and how their values are read.

This module and the commands import NumPy only when a command runs: help and completion need none of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.files import writing

if TYPE_CHECKING:
    from pacshift.rows.arrow.find import ReadOptions

PANELS = ("Main options", "Assumptions and limits", "Reading tables", "Output", "Advanced")
"""Panels of every command's help, in this order."""

OF_ROWS: set[tuple[str, str]] = set()
"""Panel and flag of options that are about rows: all of their panel, others so declared. Tallies hold no rows."""


def _options_in(panel: str) -> Callable[..., Any]:
    def option(names: str, text: str, *, of_rows: bool = panel == PANELS[2], **more: Any) -> Any:
        """An option by its names, with a word for its value: ``--out -o FILE``."""
        words = names.split()
        flags = [word for word in words if word.startswith("-")]
        OF_ROWS.update((panel, flag) for flag in flags if of_rows)
        return typer.Option(
            *flags, metavar=" ".join(words[len(flags) :]) or None, help=text, rich_help_panel=panel, **more
        )

    return option


basic, known, tables, output, expert = map(_options_in, PANELS)

METHOD_NAMES = ["PS-LP", "PS-T", "PS-W", "PS-C", "PS-LW", "ORACLE", "PS", "APS", "PS-R", "WCP", "LWCP"]
SCORE_NAMES = ["probability", "margin", "aps", "aps-plain", "raps", "raps-plain"]

_EPSILON = basic("--epsilon -e SHARE", "Largest share of cases whose set may miss the true label.")
Epsilon = Annotated[float, _EPSILON]
KnownEpsilon = Annotated[float | None, _EPSILON]
Delta = Annotated[float, basic("--delta -d CHANCE", "Chance that the promise fails.")]
Method = Annotated[
    str, basic("--method -m NAME", "Method; `pacshift methods` lists them.", autocompletion=METHOD_NAMES.copy)
]
Keep = Annotated[
    list[str] | None, basic("--keep -k A,B,...", "Columns to copy. Repeat it if a name contains a comma.")
]
LabelColumn = Annotated[str | None, basic("--label -l COLUMN", "Column of the true labels.", of_rows=True)]
CertificateFile = Annotated[
    Path, typer.Argument(metavar="CERTIFICATE", help="A file from `pacshift calibrate` or `accept`.")
]

Known = Annotated[
    list[str] | None,
    known("--known CLASS=LOW..HIGH", "Range of a class's target share that you know; repeatable."),
]

Scores = Annotated[
    str | None,
    tables(
        "--scores COLUMNS",
        "Score columns: 'prob_*', a,b,c or a list column. Default: p_*, or named like the labels.",
    ),
]
KnownScores = Annotated[str | None, tables("--scores COLUMNS", "Score columns, if not the certificate's.")]
ByPosition = Annotated[bool, tables("--by-position", "Match score columns to classes by order, not by name.")]
DropInvalid = Annotated[
    float | None,
    tables("--drop-invalid SHARE", "Leave out rows without label or usable scores, up to this share, as 0.05."),
]
KeepInvalid = Annotated[bool, tables("--keep-invalid", "Keep rows with unusable scores, without a set.")]

UsedModelId = Annotated[
    str | None, output("--model-id TEXT", "Name of your classifier. Exit 5 if the certificate is for another.")
]
Force = Annotated[bool, output("--force -f", "Overwrite existing files.")]
Full = Annotated[bool, output("--full", "Print the full explanation.")]
Json = Annotated[bool, output("--json", "Print one JSON object and nothing else.")]

Score = Annotated[
    str | None,
    expert(
        "--score NAME",
        f"Score to threshold: {', '.join(SCORE_NAMES)}.",
        autocompletion=SCORE_NAMES.copy,
        of_rows=True,
    ),
]
Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SOURCE TARGET",
        help="Tables with and without labels: files, folders or patterns such as 'part-*.csv'; or tallies.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is promised, and what is known beforehand."""

    epsilon: Epsilon = EPSILON
    delta: Delta = DELTA
    class_epsilon: Annotated[
        float | None, known("--class-epsilon SHARE", "Largest share of any one class that may be missed.")
    ] = None
    contamination: Annotated[
        float, known("--contamination SHARE", "Share of target rows that may not follow label shift at all.")
    ] = 0.0
    known: Known = None

    def arguments(self) -> dict[str, Any]:
        """The same as arguments of ``calibrate`` and ``Monitor``."""
        names = ("epsilon", "delta", "class_epsilon", "contamination")
        return {name: getattr(self, name) for name in names} | {"known_mix": read_known(self.known)}


@dataclass(frozen=True, kw_only=True)
class ScoredPromise(Promise):
    """The same, about a score of one's choice."""

    score: Score = None


@dataclass(frozen=True, kw_only=True)
class TargetLabels:
    """Labels of some rows of the target: a column of the table, or a sheet."""

    target_label: Annotated[
        str | None,
        known(
            "--target-label COLUMN",
            "Column with labels of a random sample of the target; empty elsewhere.",
            of_rows=True,
        ),
    ] = None
    labelled: Annotated[
        Path | None,
        known("--labelled SHEET", "Sheet from `pacshift label`, filled in up to a planned look.", of_rows=True),
    ] = None

    @property
    def are_given(self) -> bool:
        """Whether the target has labels."""
        return self.target_label is not None or self.labelled is not None


@dataclass(frozen=True, kw_only=True)
class Certifying(TargetLabels):
    """What ``calibrate`` and ``accept`` share: labels, what the certificate remembers, and where it goes."""

    refusal_page: Annotated[
        Path | None, output("--refusal-page FILE", "If label shift is rejected, write a page that says where.")
    ] = None
    model_id: Annotated[
        str | None, output("--model-id TEXT", "Name of the classifier, stored in the certificate.")
    ] = None
    note: Annotated[str | None, output("--note TEXT", "Text to store in the certificate.")] = None
    valid_until: Annotated[str | None, output("--valid-until DATE", "Last day of use, such as 2027-01-31.")] = None
    seed: Annotated[int, expert("--seed N", "Seed of the random draws.")] = 0
    force: Force = False
    full: Full = False
    as_json: Json = False


@dataclass(frozen=True, kw_only=True)
class KnownReading:
    """How a table is read where the certificate remembers its columns."""

    scores: KnownScores = None
    by_position: ByPosition = False
    drop_invalid: DropInvalid = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How tables are read: their columns, what the scores are, and what becomes of unusable rows."""

    label: LabelColumn = "label"
    scores: Scores = None
    group: Annotated[
        str | None, tables("--group COLUMN", "Column of the group, such as a patient: one random row each.")
    ] = None
    softmax: Annotated[bool, tables("--softmax", "The scores are logits: take their softmax first.")] = False
    classes: Annotated[
        list[str] | None, tables("--classes A,B,...", "Class names. Repeat it if a name contains a comma.")
    ] = None
    by_position: ByPosition = False
    drop_invalid: DropInvalid = None

    def of_source(self) -> "ReadOptions":
        """How the source is read."""
        from pacshift.rows.arrow.find import ReadOptions
        from pacshift.scores.names import numbers_if_all

        asked_for = {field.name: getattr(self, field.name) for field in fields(self)}
        asked_for["classes"] = numbers_if_all(read_names(self.classes)) if self.classes else None
        return ReadOptions(**asked_for | {"drop_invalid": self.drop_invalid or False})

    def of_target(self) -> "ReadOptions":
        """How a target is read that stands alone: without labels."""
        return replace(self.of_source(), label=None)


def read_names(texts: Sequence[str] | None) -> list[str]:
    """One value is split at commas, several are used as given.

    >>> read_names(["id, seen"]), read_names(["id", "city, state"]), read_names(None)
    (['id', 'seen'], ['id', 'city, state'], [])
    """
    texts_given = list(texts or ())
    return [name.strip() for name in texts_given[0].split(",")] if len(texts_given) == 1 else texts_given


def read_whole_numbers(text: str | None, option: str) -> list[int]:
    """Whole numbers separated by commas."""
    try:
        return [] if text is None else [int(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"{option} takes whole numbers separated by commas, got {text!r}.") from None


def read_known(texts: Sequence[str] | None) -> dict[str, tuple[float, float]] | None:
    """Bounds of the label mix, ``CLASS=LOW..HIGH`` each.

    >>> read_known(["heart disease=0..0.3", "a=b=0.25..1"])
    {'heart disease': (0.0, 0.3), 'a=b': (0.25, 1.0)}
    """
    known: dict[str, tuple[float, float]] = {}
    for text in texts or ():
        name, _, ends = text.rpartition("=")
        low, _, high = ends.partition("..")
        try:
            bounds = float(low), float(high)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"--known takes CLASS=LOW..HIGH, such as 'heart disease=0..0.3', got {text!r}.")
        if name in known:
            raise InputError(f"--known names class {name!r} twice. Give one pair of bounds per class.")
        known[name] = bounds
    return known or None


def read_limits(texts: Sequence[str] | None) -> float | dict[str, float] | None:
    """Limits of labels, ``LABEL=SHARE`` each, or one share for all of them.

    >>> read_limits(["0.1"]), read_limits(["a=0.1", "b=c=0.2"]), read_limits(None)
    (0.1, {'a': 0.1, 'b=c': 0.2}, None)
    """
    limits: dict[str, float] = {}
    for text in texts or ():
        name, _, share = text.rpartition("=")
        try:
            limit = float(share)
        except ValueError:
            limit = float("nan")
        if limit != limit or name in limits or (not name and len(texts or ()) > 1):
            raise InputError(f"--label-error takes SHARE, or LABEL=SHARE once for each label, got {text!r}.")
        limits[name] = limit
    return limits.get("", limits or None)


def check_output(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse an output that cannot be written or is an input, before the work and not after it.

    An input is never overwritten, not even with --force. Folders and patterns among the ``inputs`` stand for all
    their files. Whether it exists is for ``require_new`` to say, once the inputs are known to be right.
    """
    named = [read for read in inputs if read is not None]
    files = [file for one in named for file in ([one] if one.exists() else map(Path, glob(str(one))))]
    inside = [file for folder in files if folder.is_dir() for file in folder.rglob("*") if file.is_file()]
    writing.check_output(path, overwrite=True, inputs=[*inside, *files])


def require_new(path: Path, force: bool, look: Callable[[], object] = bool) -> None:
    """Refuse an output that exists, unless it may be replaced; first ``look`` for what else is wrong.

    It is called after all checks of the inputs that are cheap, and before the work.
    """
    if not force and path.exists():
        look()
    writing.check_output(path, overwrite=force)
