"""What is said where columns cannot be known: what is missing, the rule, and the columns that there are."""

from collections.abc import Sequence
from typing import Any

from pacshift.errors import InputError
from pacshift.scores.names import shorten

DEFAULT_PATTERN = "p_*"
_HOW = "scores= takes a pattern such as 'p_*', a comma list of columns, or one column of lists"


class ColumnsError(InputError):
    """Columns could not be found in a table."""


def no_label_column(label: str, names: Sequence[str]) -> ColumnsError:
    """No column, or several, are called as the label."""
    n_found = list(names).count(label)
    problem = f"{n_found} columns are called {label!r}" if n_found else f"No column {label!r}"
    return ColumnsError(f"{problem}. Name the label column: label=NAME. The columns are {shorten(names)}.")


def not_labels(label: str, kind: Any) -> InputError:
    """The label column holds something else."""
    return InputError(
        f"label column {label!r} holds {kind}: labels must be text, numbers or booleans. Convert it, or name "
        "another column: label=NAME."
    )


def no_group_column(group: str, names: Sequence[str]) -> ColumnsError:
    """No column, or several, are called as the group."""
    n_found = list(names).count(group)
    problem = f"{n_found} columns are called {group!r}" if n_found else f"No column {group!r}"
    return ColumnsError(
        f"{problem}. Name the column that says to which group, such as a patient, a row belongs: group=NAME. The "
        f"columns are {shorten(names, 20)}."
    )


def not_groups(group: str, kind: Any) -> InputError:
    """The group column holds something else."""
    return InputError(
        f"group column {group!r} holds {kind}: ids of groups must be text, numbers or booleans. Convert it, or "
        "name another column: group=NAME."
    )


def group_is_used(group: str, what: str) -> InputError:
    """The group column is another column too."""
    return InputError(
        f"column {group!r} cannot hold the {what} and name the groups. Name another column: group=NAME."
    )


def not_as_remembered(wanted: Sequence[str], missing: Sequence[str], names: Sequence[str]) -> ColumnsError:
    """The columns that the scores were read from before are not there."""
    return ColumnsError(
        f"the scores were read from the columns {shorten(wanted)}, but this table has no column "
        f"{shorten(missing)}. Rename its columns, or name its score columns with scores=. An array in the order "
        f"of the classes needs by_position=True. Its columns are {shorten(names, 20)}."
    )


def no_scores(classes: Sequence[Any] | None, names: Sequence[str]) -> ColumnsError:
    """No rule found score columns."""
    return ColumnsError(
        f"no score columns: fewer than two are called {DEFAULT_PATTERN}"
        + (f", and none after the classes {shorten(classes)}" if classes else "")
        + f". {_HOW}. The columns are {shorten(names, 20)}."
    )


def not_matched(scores: str, matches: Sequence[str], absent: Sequence[str], names: Sequence[str]) -> ColumnsError:
    """What was asked for does not fit the columns."""
    return ColumnsError(
        f"scores {scores!r} match {shorten(matches) if matches else 'no column'}"
        + (f", and there is no column {shorten(absent)}" if matches and absent else "")
        + f": they must match two or more number columns, or one column of lists. The columns are "
        f"{shorten(names, 20)}."
    )


def no_labels(label: str) -> InputError:
    """An empty label column cannot name score columns."""
    return InputError(f"column {label!r} holds no label at all, so that it cannot name the score columns. {_HOW}.")


def labels_without_column(missing: Sequence[str], label: str, names: Sequence[str]) -> ColumnsError:
    """Some labels are called as no column."""
    return ColumnsError(
        f"no score columns: fewer than two are called {DEFAULT_PATTERN}, and the labels {shorten(missing)} of "
        f"column {label!r} have no column of their name. {_HOW}. The columns are {shorten(names, 20)}."
    )


def one_label(label: str) -> InputError:
    """The labels name a single class."""
    return InputError(f"all rows have the label {label!r}, but at least 2 classes are needed. {_HOW}.")


def perhaps_scores(columns: Sequence[str], alike: Sequence[str]) -> ColumnsError:
    """Columns that no label names look like those that labels name."""
    return ColumnsError(
        f"the labels name the score columns {shorten(columns)}, but {shorten(alike)} may be scores too: they "
        f"look alike, and no row is labelled so. Name all score columns: {_HOW}."
    )


def not_scores(foreign: Sequence[str]) -> ColumnsError:
    """A column such as ``id`` cannot be a class."""
    return ColumnsError(
        f"column {shorten(foreign)} does not look like scores: no row "
        "has this label, and the values do not fit the other score columns. Leave it out with scores=, or "
        "name all classes with classes= if it is right."
    )


def another_order(columns: Sequence[str], classes: Sequence[Any]) -> InputError:
    """Names and positions contradict each other."""
    return InputError(
        f"the columns {shorten(columns)} are named after the classes {shorten(classes)}, but in "
        "another order. Leave by_position=True out."
    )


def not_as_many(columns: Sequence[str], classes: Sequence[Any]) -> InputError:
    """Columns and classes cannot be paired in their order."""
    return InputError(
        f"{len(columns)} score columns but {len(classes)} classes: matched in their order, both must be "
        "equally many."
    )


def no_column_of_class(missing: Sequence[Any], found: Sequence[Any]) -> InputError:
    """Classes that no column is called as."""
    return InputError(
        f"no score column for class {shorten(missing)}: {len(found)} score columns give the classes "
        f"{shorten(found)}. Name the classes as the columns do, or match columns and classes in their order "
        "with by_position=True."
    )


def no_entry_of_class(missing: Sequence[Any], inside: Sequence[Any]) -> InputError:
    """Classes that no entry of the lists is called as."""
    return InputError(
        f"no scores for class {shorten(missing)}: class_names are {shorten(inside)}. Name the classes so, "
        "or match them in their order with by_position=True."
    )
