"""The SQL expression makes the same sets as ``Certificate.sets``, in databases that really run."""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

import numpy as np
import pytest

from certificates import alter, birds
from pacshift import Certificate, InputError
from pacshift.arrays import Label
from pacshift.certificate.sql import Dialect, set_expression
from pacshift.rows.columns import Columns
from pacshift.rows.rule import SetRule

COLUMNS = ['p_a"quote', "p `tick` \\back", "p_ünïcode' 名"]
NAMES = ['it\'s \\ "odd"', "line\nbreak", "名前 🎯"]
NAN, INF = float("nan"), float("inf")

Rows = list[tuple[int, float | None, float | None, float | None]]
Run = Callable[[str, Rows], list[Any]]

COMPACT = """CREATE MACRO ARRAY_CONSTRUCT_COMPACT
(a) AS [x FOR x IN [a] IF x IS NOT NULL], (a, b, c) AS [x FOR x IN [a, b, c] IF x IS NOT NULL]"""
"""Snowflake's only function that DuckDB has not."""


def hard_rows() -> Rows:
    """Ties, neighbours of the thresholds, signed zeros, infinities, NaN and NULL, and random scores."""
    cut = [0.3, 0.1 + 0.2, 1e-300]
    edges = [(c, np.nextafter(c, -1), np.nextafter(c, 2)) for c in cut]
    rows = [tuple(float(edge[i]) for edge in edges) for i in range(3)]
    rows += [(0.0, -0.0, 0.0), (-INF, -INF, -INF), (-INF, 1.0, -1.0), (0.1, 0.1, -0.1), (0.2, 0.2, -5.0)]
    rows += [tuple(row) for row in np.random.default_rng(0).dirichlet([1, 1, 1], 50).tolist()]
    bad: list[tuple[float | None, ...]] = [(NAN, 0.5, 0.5), (0.5, INF, 0.5), (0.5, 0.5, None)]
    return [(i, *row) for i, row in enumerate([*rows, *bad])]  # type: ignore[misc]


def expected(rows: Rows, thresholds: np.ndarray, classes: Sequence[Label], never_empty: bool) -> list[Any]:
    """What ``sets`` gives, written as a loop; None where it would refuse the row."""
    found: list[Any] = []
    for _, *scores in rows:
        if any(s is None or np.isnan(s) or s == INF for s in scores):
            found.append(None)
            continue
        row = np.array(scores, float)
        members = [label for label, inside in zip(classes, row >= thresholds, strict=True) if inside]
        found.append(members or ([classes[int(row.argmax())]] if never_empty else []))
    return found


def run_duckdb(expression: str, rows: Rows) -> list[Any]:
    duckdb = pytest.importorskip("duckdb")
    names = ", ".join('"' + name.replace('"', '""') + '" DOUBLE' for name in COLUMNS)
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE t (id INT, {names})")
        db.execute(COMPACT)
        db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        return [row[0] for row in db.execute(f"SELECT {expression} FROM t ORDER BY id").fetchall()]


@pytest.fixture(scope="module")
def run_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A PostgreSQL server of this module's own, if the package that carries one is installed."""
    pgserver = pytest.importorskip("pgserver")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it falls back to another folder for its sockets, and says so
        server = pgserver.get_server(tmp_path_factory.mktemp("postgres"))
    names = ", ".join('"' + name.replace('"', '""') + '" DOUBLE PRECISION' for name in COLUMNS)

    def run(expression: str, rows: Rows) -> list[Any]:
        values = ", ".join(
            f"({i}, "
            + ", ".join("NULL" if s is None else f"'{s!r}'".replace("inf", "Infinity") for s in row)
            + ")"
            for i, *row in rows
        )
        server.psql(f"DROP TABLE IF EXISTS t; CREATE TABLE t (id INT, {names}); INSERT INTO t VALUES {values};")
        printed = server.psql(
            f"COPY (SELECT coalesce(encode(convert_to(to_json({expression})::text, 'UTF8'), 'hex'), 'none') "
            "FROM t ORDER BY id) TO STDOUT;"
        )
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        return [None if line == "none" else json.loads(bytes.fromhex(line)) for line in lines]

    yield run
    server.cleanup()


@pytest.fixture
def run(dialect: str, request: pytest.FixtureRequest) -> Run:
    """What runs an expression of the dialect here. Snowflake's is plain arithmetic, which DuckDB runs too."""
    if dialect == "postgres":
        found: Run = request.getfixturevalue("run_postgres")
        return found
    if dialect != "spark":
        return run_duckdb
    session = request.getfixturevalue("spark")

    def run_spark(expression: str, rows: Rows) -> list[Any]:
        names = ", ".join("`" + name.replace("`", "``") + "` DOUBLE" for name in COLUMNS)
        frame = session.createDataFrame(rows, f"id INT, {names}")
        return [row.labels for row in frame.orderBy("id").selectExpr(f"{expression} AS labels").collect()]

    return run_spark


SPARK = pytest.param("spark", marks=pytest.mark.spark)


THRESHOLDS = np.array([0.3, 0.1 + 0.2, 1e-300])


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_columns_that_differ_in_case_only_are_refused_where_they_are_one(dialect: str) -> None:
    """DuckDB finds one column for both names: half of the labels were missed."""
    if dialect in ("postgres", "snowflake"):  # quotes tell them apart
        assert '"p_A"' in birds_with().to_sql(dialect, columns=["p_a", "p_A", "p_b"])  # type: ignore[arg-type]
        return
    with pytest.raises(InputError, match=f"'p_a' and 'p_A' differ in case only, and {dialect} takes them for one"):
        birds_with().to_sql(dialect, columns=["p_a", "p_A", "p_b"])  # type: ignore[arg-type]


@pytest.mark.parametrize("never_empty", [False, True])
@pytest.mark.parametrize(
    "classes", [NAMES, [3, 1, 2], [0.5, 1e-300, 2.0], ["a", 1, "b"]], ids=["text", "int", "float", "mixed"]
)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", SPARK])
def test_database_makes_the_same_sets(dialect: str, classes: list[Label], never_empty: bool, run: Run) -> None:
    rows = hard_rows()
    expression = set_expression(COLUMNS, classes, SetRule(THRESHOLDS, never_empty), dialect)
    wanted = expected(rows, THRESHOLDS, classes, never_empty)
    if len({type(label) for label in classes}) > 1:
        wanted = [None if labels is None else [str(label) for label in labels] for labels in wanted]
    assert run(expression, rows) == wanted


def test_all_labels_where_nothing_was_certified() -> None:
    expression = set_expression(COLUMNS, NAMES, SetRule(np.full(3, -np.inf)), "duckdb")
    assert run_duckdb(expression, hard_rows())[0] == NAMES


@pytest.mark.parametrize("never_empty", [False, True])
@pytest.mark.parametrize("classes", [NAMES, [3, 1, 2], ["a", 1, "b"]], ids=["text", "int", "mixed"])
@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_a_parser_of_the_dialect_reads_names_as_they_are(
    dialect: str, classes: list[Label], never_empty: bool
) -> None:
    """BigQuery and Snowflake cannot run here, but a parser can say whether quotes and escapes are theirs."""
    sqlglot = pytest.importorskip("sqlglot")
    rule = SetRule(np.array([0.3, -np.inf, 1e-300]), never_empty)
    expression = set_expression(COLUMNS, classes, rule, dialect)
    query = sqlglot.parse_one(f"SELECT id, {expression} AS labels FROM t", read=dialect)
    assert {column.name for column in query.find_all(sqlglot.exp.Column)} >= {"id", *COLUMNS}
    texts = {literal.this for literal in query.find_all(sqlglot.exp.Literal)}
    assert texts >= {str(label) for label in classes}
    assert {"0.3", "1e-300"} <= texts


def test_unknown_dialect_is_refused_with_the_list() -> None:
    with pytest.raises(InputError, match="duckdb, postgres, bigquery, snowflake, spark"):
        set_expression(["a"], ["x"], SetRule(np.array([0.5])), "oracle")


def birds_with(**fields: Any) -> Certificate:
    """A certificate of three classes, with some fields changed."""
    return alter(birds(), thresholds=THRESHOLDS, **fields)


@pytest.mark.parametrize("never_empty", [False, True])
def test_a_certificate_writes_the_expression_of_its_columns(never_empty: bool) -> None:
    certificate = birds_with(columns=Columns(tuple(COLUMNS)), never_empty=never_empty, score_kind=None)
    rows = [row for row in hard_rows() if None not in row and np.all(np.array(row[1:]) < INF)]
    assert run_duckdb(certificate.to_sql(), rows) == [
        [name for name, inside in zip(certificate.classes, members, strict=True) if inside]
        for members in certificate.sets(np.array([row[1:] for row in rows]))
    ]


def test_columns_can_be_named_and_override_those_of_the_table() -> None:
    certificate = birds_with(columns=Columns(("scores",)))  # one list column
    assert '"c"' in certificate.to_sql("postgres", columns=["a", "b", "c"])
    swapped = birds_with(columns=Columns(("a", "b", "c"))).to_sql(columns=["x", "y", "z"])
    assert '"x"' in swapped
    assert '"a"' not in swapped


@pytest.mark.parametrize(
    ("fields", "columns", "said"),
    [
        ({}, None, "knows no score columns. Pass columns= with 3"),
        ({"columns": Columns(("scores",))}, None, "one score column, 'scores', for 3 classes"),
        ({}, ["a", "b"], "must name 3 different columns, got .'a', 'b'.*columns="),
        ({}, ["a", "b", "b"], "must name 3 different columns"),
        ({}, "abc", "one score column, 'abc'"),
        ({}, ["a", "b", 3], "must be names of columns"),
        ({"score": "aps-plain"}, ["a", "b", "c"], "score 'aps-plain'.*pacshift predict"),
        ({"score": "custom"}, ["a", "b", "c"], "score 'custom'"),
        ({"softmax": True, "score_kind": None}, ["a", "b", "c"], "takes logits.*Store the probabilities"),
    ],
)
def test_what_sql_cannot_say_is_refused(fields: dict[str, Any], columns: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        birds_with(**fields).to_sql(columns=columns)
