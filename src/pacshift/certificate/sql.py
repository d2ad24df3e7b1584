"""The sets as one SQL expression, so that a database can make them where the scores are.

The expression compares each score column with the class's threshold, as ``Certificate.sets`` does. A row with a
score that is missing, NaN or +inf gets NULL: ``sets`` refuses such rows, and SQL cannot raise an error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pacshift.arrays import FloatArray, Label
from pacshift.errors import InputError

Dialect: TypeAlias = Literal["duckdb", "postgres", "bigquery", "snowflake", "spark"]


@dataclass(frozen=True)
class _Grammar:
    """How a dialect writes names, numbers, texts, and a list of labels without its NULLs."""

    quote: str
    number: str
    compact: str
    backslash_escapes: bool = False
    quote_escape: str | None = None  # None: a quote inside a name is doubled

    def name(self, column: str) -> str:
        inside = column.replace("\\", "\\\\") if self.quote_escape else column
        return self.quote + inside.replace(self.quote, self.quote_escape or self.quote * 2) + self.quote

    def text(self, value: str) -> str:
        if self.backslash_escapes:
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: float) -> str:
        return self.number.format(repr(float(value)).replace("inf", "Infinity"))


_GRAMMARS: dict[str, _Grammar] = {
    "duckdb": _Grammar('"', "CAST('{}' AS DOUBLE)", "[label FOR label IN [{}] IF label IS NOT NULL]"),
    "postgres": _Grammar('"', "CAST('{}' AS DOUBLE PRECISION)", "array_remove(ARRAY[{}], NULL)"),
    "bigquery": _Grammar(
        "`",
        "CAST('{}' AS FLOAT64)",
        "ARRAY(SELECT label FROM UNNEST([{}]) AS label WITH OFFSET AS place "
        "WHERE label IS NOT NULL ORDER BY place)",
        backslash_escapes=True,
        quote_escape="\\`",
    ),
    "snowflake": _Grammar('"', "CAST('{}' AS DOUBLE)", "ARRAY_CONSTRUCT_COMPACT({})", backslash_escapes=True),
    "spark": _Grammar(
        "`", "CAST('{}' AS DOUBLE)", "filter(array({}), label -> label IS NOT NULL)", backslash_escapes=True
    ),
}


def check_columns(columns: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """The names of the score columns, one per class; an InputError if they are unknown or do not fit."""
    remedy = f"Pass columns= with {n_classes} different column names, in the order of the classes."
    if columns is None:
        raise InputError(f"this certificate was made from arrays and knows no score columns. {remedy}")
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not all(isinstance(name, str) and name for name in names):
        raise InputError(f"columns must be names of columns, got {names!r}. {remedy}")
    if len(names) == 1 < n_classes:
        raise InputError(
            f"one score column, {names[0]!r}, for {n_classes} classes: SQL needs one per class. {remedy}"
        )
    if len(names) != n_classes or len(set(names)) != n_classes:
        raise InputError(f"columns must name {n_classes} different columns, got {list(names)!r}. {remedy}")
    return names


def set_expression(
    columns: Sequence[str], classes: Sequence[Label], thresholds: FloatArray, *, dialect: str, never_empty: bool
) -> str:
    """One SQL expression for the list of labels in a row's set, in the order of ``classes``.

    >>> import numpy as np
    >>> thresholds = np.array([0.2, 0.5])
    >>> print(set_expression(["p_a", "p_b"], ["a", "b"], thresholds, dialect="postgres", never_empty=False))
    CASE WHEN "p_a" < CAST('Infinity' AS DOUBLE PRECISION) AND "p_b" < CAST('Infinity' AS DOUBLE PRECISION)
    THEN array_remove(ARRAY[
      CASE WHEN "p_a" >= CAST('0.2' AS DOUBLE PRECISION) THEN 'a' END,
      CASE WHEN "p_b" >= CAST('0.5' AS DOUBLE PRECISION) THEN 'b' END
    ], NULL) END
    """
    if dialect not in _GRAMMARS:
        raise InputError(f"dialect must be one of {', '.join(get_args(Dialect))}; got {dialect!r}.")
    grammar = _GRAMMARS[dialect]
    names = [grammar.name(column) for column in columns]
    cuts = [f"{name} >= {grammar.double(cut)}" for name, cut in zip(names, thresholds.tolist(), strict=True)]
    if never_empty:
        cuts = [f"({cut}{_is_top_of_empty(names, cuts, place)})" for place, cut in enumerate(cuts)]
    write = _label_writer(classes, grammar)
    members = [f"  CASE WHEN {cut} THEN {write(label)} END" for cut, label in zip(cuts, classes, strict=True)]
    usable = " AND ".join(f"{name} < {grammar.double(float('inf'))}" for name in names)
    listed = grammar.compact.format("\n" + ",\n".join(members) + "\n")
    return f"CASE WHEN {usable}\nTHEN {listed} END"


def _is_top_of_empty(names: Sequence[str], cuts: Sequence[str], place: int) -> str:
    """Or: the set is empty and this column has the highest score, the first one on ties."""
    own = names[place]
    below = [f"{own} > {name}" for name in names[:place]] + [f"{own} >= {name}" for name in names[place + 1 :]]
    return f" OR NOT ({' OR '.join(cuts)}) AND {' AND '.join(below)}"


def _label_writer(classes: Sequence[Label], grammar: _Grammar) -> Callable[[Label], str]:
    """Labels keep their type where all share it; a list of a database has one type only, so others become text."""
    if all(isinstance(label, bool) for label in classes):
        return lambda label: "TRUE" if label else "FALSE"
    if all(isinstance(label, int) and not isinstance(label, bool) for label in classes):
        return str
    if all(isinstance(label, float) for label in classes):
        return lambda label: grammar.double(float(label))
    return lambda label: grammar.text(str(label))
