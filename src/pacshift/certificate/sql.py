"""The sets as one SQL expression, so that a database can make them where the scores are.

The expression compares each score column with the class's threshold, as ``Certificate.sets`` does. A row with a
score that is missing, NaN or +inf gets NULL: ``sets`` refuses such rows, SQL cannot raise an error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.rows.rule import AcceptRule, Rule, SetRule
from pacshift.rows.sets import shown_names

Dialect: TypeAlias = Literal["duckdb", "postgres", "bigquery", "snowflake", "spark"]


@dataclass(frozen=True)
class _Grammar:
    """How a dialect writes names, numbers, texts, and a list of labels without its NULLs."""

    quote: str
    double: str
    compact: str
    backslash_escapes: bool = False
    quote_escape: str | None = None  # None: a quote inside a name is doubled
    folds_case: bool = False  # p_a and p_A are one column, even if they are quoted
    single: str = ""  # what single precision is called, where there is one

    def name(self, column: str) -> str:
        inside = column.replace("\\", "\\\\") if self.quote_escape else column
        return self.quote + inside.replace(self.quote, self.quote_escape or self.quote * 2) + self.quote

    def text(self, value: str) -> str:
        if self.backslash_escapes:
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
        return "'" + value.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        return f"CAST('{float(value)!r}' AS {self.double})".replace("inf", "Infinity")


_GRAMMARS: dict[str, _Grammar] = {
    "duckdb": _Grammar(
        '"',
        "DOUBLE",
        "[label FOR label IN [{}] IF label IS NOT NULL]",
        folds_case=True,
        single="REAL",
    ),
    "postgres": _Grammar(
        '"',
        "DOUBLE PRECISION",
        "array_remove(ARRAY[{}], NULL)",
        single="REAL",
    ),
    "bigquery": _Grammar(
        "`",
        "FLOAT64",
        "ARRAY(SELECT label FROM UNNEST([{}]) AS label WITH OFFSET AS place "
        "WHERE label IS NOT NULL ORDER BY place)",
        backslash_escapes=True,
        quote_escape="\\`",
        folds_case=True,
    ),
    "snowflake": _Grammar('"', "DOUBLE", "ARRAY_CONSTRUCT_COMPACT({})", backslash_escapes=True),
    "spark": _Grammar(
        "`",
        "DOUBLE",
        "filter(array({}), label -> label IS NOT NULL)",
        backslash_escapes=True,
        folds_case=True,
        single="FLOAT",
    ),
}


def set_expression(
    columns: Sequence[str] | None,
    classes: Sequence[Label],
    rule: Rule,
    dialect: str,
) -> str:
    """One SQL expression for the list of labels in a row's set, in the order of ``classes``.

    >>> import numpy as np
    >>> from pacshift.rows.rule import SetRule
    >>> rule = SetRule(np.array([0.2, 0.5]))
    >>> print(set_expression(["p_a", "p_b"], ["a", "b"], rule, "postgres"))
    CASE WHEN "p_a" < CAST('Infinity' AS DOUBLE PRECISION) AND "p_b" < CAST('Infinity' AS DOUBLE PRECISION)
    THEN array_remove(ARRAY[
      CASE WHEN "p_a" >= CAST('0.2' AS DOUBLE PRECISION) THEN 'a' END,
      CASE WHEN "p_b" >= CAST('0.5' AS DOUBLE PRECISION) THEN 'b' END
    ], NULL) END
    """
    columns = _checked_columns(columns, len(classes))
    if dialect not in _GRAMMARS:
        raise InputError(f"dialect must be one of {', '.join(get_args(Dialect))}; got {dialect!r}.")
    grammar = _GRAMMARS[dialect]
    seen: dict[str, str] = {}
    for column in columns if grammar.folds_case else ():
        other = seen.setdefault(column.lower(), column)
        if other != column:  # the database would compare the scores of one with the threshold of the other
            raise InputError(
                f"columns {other!r} and {column!r} differ in case only, and {dialect} takes them for one column. "
                "Rename one of them in the database and pass columns= with the new names."
            )
    names = [grammar.name(column) for column in columns]
    labels = _written_labels(classes, grammar)
    usable = " AND ".join(f"{name} < {grammar.number(float('inf'))}" for name in names)
    listed = rule.written(_Members(grammar, names, labels))
    return f"CASE WHEN {usable}\nTHEN {listed} END"


@dataclass(frozen=True)
class _Members:
    """Writes the list of the labels of a set, from the names of columns and labels."""

    grammar: _Grammar
    names: Sequence[str]
    labels: Sequence[str]

    def sets(self, rule: SetRule) -> str:
        grammar, names, labels = self.grammar, self.names, self.labels
        pairs = zip(names, rule.thresholds.tolist(), strict=True)
        cuts = [f"{name} >= {grammar.number(cut)}" for name, cut in pairs]
        members = [f"  CASE WHEN {cut} THEN {label} END" for cut, label in zip(cuts, labels, strict=True)]
        listed = grammar.compact.format("\n" + ",\n".join(members) + "\n")
        if not rule.never_empty:
            return listed
        # The label with the highest score, the first one on ties: the first that no later column exceeds.
        ways = [
            f"WHEN {' AND '.join(f'{own} >= {later}' for later in names[place:][1:])} THEN {label}"
            for place, (own, label) in enumerate(zip(names[:-1], labels[:-1], strict=True))
        ]
        top = grammar.compact.format(f"\n  CASE {' '.join(ways)} ELSE {labels[-1]} END\n")
        return f"CASE WHEN {' OR '.join(cuts)}\nTHEN {listed}\nELSE {top} END"

    def accept_or_ask(self, rule: AcceptRule) -> str:
        """The top label where no other has the same score, as all databases and float types see it."""
        grammar, names = self.grammar, self.names
        single = [f"CAST({name} AS {grammar.single})" if grammar.single else name for name in names]
        ways = []
        for place, (column, cut) in enumerate(zip(single, rule.thresholds.tolist(), strict=True)):
            higher = [f"{column} > {other}" for other in single[:place] + single[place + 1 :]]
            reached = " AND ".join([f"{names[place]} >= {grammar.number(cut)}", *higher])
            if cut < float("inf"):
                ways.append(f"WHEN {reached}\n  THEN {grammar.compact.format(self.labels[place])}")
        every = grammar.compact.format(", ".join(self.labels))
        return " ".join(["CASE", *ways, "ELSE", every, "END"]) if ways else every


def _checked_columns(columns: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
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


def _written_labels(classes: Sequence[Label], grammar: _Grammar) -> list[str]:
    """The class names as SQL writes them."""
    write: dict[type, Callable[[Any], str]] = {
        str: grammar.text,
        int: str,
        bool: lambda label: str(label).upper(),
        float: grammar.number,
    }
    return [write[type(label)](label) for label in shown_names(classes)]
