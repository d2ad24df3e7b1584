"""Sizes of sets are counted without making the sets: both ways must agree. Sets of tables, and their one type."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from pacshift import Certificate, Rows, calibrate, read, write_sets
from pacshift.errors import InputError
from pacshift.rows.rule import SetRule
from pacshift.rows.sets import labels_at, make_sets, set_sizes
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import TRANSFORMS


@pytest.mark.parametrize("n_classes", [2, 10, 65, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("never_empty", [False, True])
def test_sizes_are_those_of_the_sets(n_classes: int, dtype: type, order: str, never_empty: bool) -> None:
    rng = np.random.default_rng(n_classes)
    values: NDArray[np.floating[Any]] = rng.dirichlet(np.ones(n_classes), 700).astype(dtype)
    scores = ScoreMatrix(np.asarray(values, order=order), tuple(range(n_classes)))  # type: ignore[call-overload]
    per_class = np.quantile(values, 0.9, axis=0).astype(np.float64)
    per_class[0] = -np.inf
    on_a_score = np.full(n_classes, float(values[0, 1]))  # float32: not a number of float64 nearby
    cuts = [per_class, on_a_score, np.nextafter(on_a_score, 1), np.full(n_classes, np.inf)]
    for name in ("probability", "aps"):
        transform = TRANSFORMS[name]
        rules = [SetRule(cut, never_empty) for cut in cuts]
        for rule, sizes in zip(rules, set_sizes(scores, rules, transform), strict=True):
            sets = make_sets(scores, rule, transform)
            np.testing.assert_array_equal(sizes, np.bincount(sets.sum(axis=1), minlength=n_classes + 1))
    plain = TRANSFORMS["probability"]
    sums = [int(make_sets(scores, SetRule(cut), plain).sum()) for cut in cuts]
    assert labels_at(scores, cuts) == sums


def test_sizes_of_rows_that_are_not_finite_are_refused() -> None:
    scores = ScoreMatrix(np.array([[0.5, 0.5], [np.nan, 0.1]]), (0, 1))
    with pytest.raises(InputError, match="first is row 1"):
        set_sizes(scores, [SetRule(np.zeros(2))], TRANSFORMS["probability"])


CLASSES = ("cat", "dog", "eel")
SCORES = np.random.default_rng(3).dirichlet(np.ones(3), 3000)
LABELS = np.array([np.random.default_rng(4).choice(3, p=row) for row in SCORES])


def frame(scores: Any = SCORES) -> pd.DataFrame:
    columns = {f"p_{name}": scores[:, place] for place, name in enumerate(CLASSES)}
    return pd.DataFrame(columns | {"label": np.array(CLASSES)[LABELS], "owner": np.arange(3000) // 3})


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return calibrate(read(frame(), label="label"), None, method="PS-LW", epsilon=0.2)


@pytest.mark.parametrize("form", ["parquet", "csv", "pandas", "polars", "lazy", "duckdb", "turned"])
def test_sets_of_a_table_are_those_of_its_scores(
    form: str, certificate: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 900)
    table, path = frame(), tmp_path / f"a.{form}"
    if form == "parquet":
        table.to_parquet(path)
    elif form == "csv":
        table.to_csv(path, index=False)
    forms: dict[str, Any] = {
        "pandas": lambda: table,
        "polars": lambda: pytest.importorskip("polars").DataFrame(table),
        "lazy": lambda: pytest.importorskip("polars").LazyFrame(table),
        "duckdb": lambda: pytest.importorskip("duckdb").from_arrow(pa.Table.from_pandas(table)),
        "turned": lambda: table[table.columns[::-1]],
    }
    given, expected = forms.get(form, lambda: path)(), certificate.sets(SCORES)
    for rows in (read(given, like=certificate), read(given, label="label", like=certificate)):
        assert np.array_equal(certificate.sets(rows), expected)
        assert certificate.labels(rows) == certificate.labels(SCORES)
        assert np.array_equal(certificate.predictor().sets(rows), expected)
        made = certificate.with_set_sizes(rows).set_sizes
        assert made is not None
        assert made.tolist() == np.bincount(expected.sum(axis=1), minlength=4).tolist()


def test_tables_whose_sets_are_not_what_is_asked_for(certificate: Certificate, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the table has the classes 'eel', 'dog', 'cat', .* like="):
        certificate.sets(read(frame(), scores="p_*", classes=CLASSES[::-1]))
    logits = np.log(SCORES)
    with pytest.raises(InputError, match="these scores are other numbers"):
        certificate.sets(read(frame(logits), like=certificate))
    by_logits = calibrate(read(frame(logits), label="label", softmax=True), None, method="PS-LW", epsilon=0.2)
    assert np.array_equal(by_logits.sets(read(frame(logits), scores="p_*")), by_logits.sets(logits))
    holes = SCORES.copy()
    holes[::7] = np.nan
    with pytest.raises(InputError, match=r"429 rows cannot be used.*drop_invalid=True"):
        certificate.sets(read(frame(holes), like=certificate))
    left = read(frame(holes), like=certificate, drop_invalid=0.2)
    assert np.array_equal(certificate.sets(left), certificate.sets(SCORES[np.arange(3000) % 7 != 0]))


def test_every_row_of_a_group_has_a_set_and_sizes_are_those_of_the_counted_rows(certificate: Certificate) -> None:
    grouped = read(frame(), label="label", group="owner")
    made = calibrate(grouped, read(frame(), like=grouped), method="PS-LW", epsilon=0.2)
    assert np.array_equal(made.sets(read(frame(), like=made)), made.sets(SCORES))
    sizes = made.with_set_sizes(read(frame(), like=made)).set_sizes
    owners, names = frame()["owner"], np.array(CLASSES)[LABELS]
    source, target = Rows(SCORES, names, groups=owners), Rows(SCORES, groups=owners)
    same = calibrate(source, target, method="PS-LW", epsilon=0.2, classes=CLASSES)
    assert str(sizes) == str(same.set_sizes) == str(made.set_sizes)


TYPES: dict[str, tuple[list[Any], Any, list[Any]]] = {
    "texts": (["a", "b"], pa.string(), ["a", "b"]),
    "digits": (["0", "01"], pa.string(), ["0", "01"]),
    "integers": ([0, 1], pa.int64(), [0, 1]),
    "floats": ([0.5, 1.0], pa.float64(), [0.5, 1.0]),
    "booleans": ([False, True], pa.bool_(), [False, True]),
    "mixed": ([0, "b"], pa.string(), ["0", "b"]),
    "large": ([0, 2**63], pa.string(), ["0", str(2**63)]),
}


@pytest.mark.parametrize("kind", TYPES)
def test_sets_hold_class_names_of_one_type_wherever_they_are_made(kind: str, tmp_path: Path) -> None:
    """Files held texts where a database made numbers of the same certificate."""
    names, arrow, shown = TYPES[kind]
    scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.5]])
    made = calibrate(np.tile(scores[:2], (50, 1)), names * 50, None, method="PS", epsilon=0.2, classes=names)
    columns = ("a", "b")
    table = pa.table(dict(zip(columns, scores.T, strict=True)))
    path = tmp_path / "scores.parquet"
    pq.write_table(table, path)
    expected = [[shown[place] for place in np.flatnonzero(row)] for row in made.sets(scores)]
    asked: dict[str, Any] = {"scores": "a,b", "by_position": True}
    for suffix in ("parquet", "feather", "csv"):
        write_sets(made, path, tmp_path / f"sets.{suffix}", **asked)
    found = pq.read_table(tmp_path / "sets.parquet")["set"]
    assert found.type == pa.list_(arrow)
    assert found.to_pylist() == expected
    assert pa.ipc.open_file(tmp_path / "sets.feather").read_all()["set"].to_pylist() == expected
    texts = [";".join(str(names[place]) for place in np.flatnonzero(row)) for row in made.sets(scores)]
    assert pd.read_csv(tmp_path / "sets.csv", dtype=str, keep_default_na=False)["set"].tolist() == texts
    if arrow != pa.string() or kind in ("texts", "digits"):
        assert [sorted(one) for one in made.labels(scores)] == [sorted(one) for one in expected]
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as db:
        relation = db.sql(f"SELECT {made.to_sql('duckdb', columns=columns)} AS labels FROM '{path}'")
        assert [row[0] for row in relation.fetchall()] == expected
