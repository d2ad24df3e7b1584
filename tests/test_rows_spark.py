"""A real Spark with two executor processes gives the counts of memory, bit for bit, whatever befalls it."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pacshift import Certificate, InputError, Rows, Tally, calibrate, read
from pacshift.arrays import FloatArray, IntArray
from pacshift.rows.columns import Columns

pytestmark = [
    pytest.mark.spark,
    # Said by PySpark when it meets a pandas newer than itself; nothing here goes through pandas.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
N_ROWS, CLASSES = 20_000, ("cat", "dog", "eel", "fox")


def make_scores() -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(3)
    labels = rng.choice(len(CLASSES), N_ROWS, p=[0.7, 0.2, 0.09, 0.01])
    logits = rng.normal(size=(N_ROWS, len(CLASSES)))
    logits[np.arange(N_ROWS), labels] += 2
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), labels


SCORES, LABELS = make_scores()
NAMES = np.array(CLASSES)[LABELS]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The scores as a Parquet file: columns, a list column, labels as text and as numbers."""
    columns: dict[str, Any] = {f"p_{name}": SCORES[:, place] for place, name in enumerate(CLASSES)}
    columns["listed"] = pa.array(SCORES.tolist(), pa.list_(pa.float64()))
    columns |= {"label": NAMES, "number": LABELS, "id": np.arange(N_ROWS)}
    path = tmp_path_factory.mktemp("spark") / "scores.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


@pytest.fixture
def frame(spark: Any, table: str) -> Any:
    return spark.read.parquet(table)


def in_memory(groups: Any = None) -> Tally:
    return Rows(SCORES, NAMES, classes=CLASSES, groups=groups).tally(grid=True)


def test_logits_are_counted_and_predicted_as_in_memory(spark: Any, tmp_path: Path) -> None:
    from pacshift.rows.spark import predict_sets

    logits = (np.log(SCORES[:3000]) + 2).astype(np.float32)
    logits[::50, 0] = -np.inf  # a class that the model rules out
    columns = {f"p_{name}": logits[:, place] for place, name in enumerate(CLASSES)}
    path = tmp_path / "logits.parquet"
    pq.write_table(pa.table(columns | {"label": NAMES[:3000], "id": np.arange(3000)}), path)
    rows = spark.read.parquet(str(path)).repartition(3)
    counted = read(rows, label="label", softmax=True).tally()
    assert counted == Tally.from_scores(logits, NAMES[:3000], classes=CLASSES, grid=True, softmax=True)
    certificate = calibrate(counted, epsilon=0.2, delta=0.1, method="PS")
    found = predict_sets(rows, certificate, keep=["id"]).orderBy("id").collect()
    assert [row.set_size for row in found] == certificate.sets(logits).sum(axis=1).tolist()


def test_counts_equal_those_of_memory(frame: Any) -> None:
    spread = frame.repartition(5)
    assert read(spread, label="label").tally() == in_memory()
    assert read(spread).tally() == Tally.from_target(SCORES, classes=CLASSES)
    rows: Any = read(frame, label="number", scores="listed")
    assert rows.tally("margin") == Tally.from_scores(SCORES, LABELS, grid=True, score="margin")
    last = rows.bind(name="source", role="source").last_scan
    assert (last.n_given, last.n_rows) == (N_ROWS, N_ROWS)
    with pytest.raises(InputError, match="counted there and never read here"):
        rows.arrays()
    with pytest.raises(InputError, match="grid=False does not work"):
        rows.tally(grid=False)
    made = calibrate(rows, read(frame, like=rows), epsilon=0.1, delta=0.1)
    assert made.n_target == N_ROWS


def test_one_row_of_each_group_is_the_one_of_memory(spark: Any, frame: Any) -> None:
    from pyspark.sql.functions import col, when

    owners = np.arange(N_ROWS) % 3000
    owned = frame.withColumn("owner", col("id") % 3000)
    found = read(owned.repartition(5), label="label", group="owner")
    assert found.tally() == in_memory(groups=owners)
    bound: Any = found.bind(name="source", role="source")
    assert (bound.last_scan.n_given, bound.last_scan.n_rows) == (3000, N_ROWS)
    assert bound.columns.group == "owner"
    assert read(owned, group="owner").tally() == Rows(SCORES, classes=CLASSES, groups=owners).tally()
    holes = owned.withColumn("owner", when(col("id") >= 100, col("owner")))
    with pytest.raises(InputError, match=r"100 rows? cannot be used \(100 with no group id\)"):
        read(holes, label="label", group="owner").tally()
    with pytest.raises(InputError, match=r"column 'owner': group ids that are floats.* of partition \d"):
        read(owned.withColumn("owner", col("owner") + 2.0**53), label="label", group="owner").tally()
    made = calibrate(found, epsilon=0.2, delta=0.2, method="PS")
    of_groups: Any = made.with_set_sizes(read(owned, like=found)).set_sizes
    assert of_groups.sum() == 3000
    assert read(owned, like=found).tally() == read(owned, group="owner").tally()
    with pytest.raises(InputError, match=rf"of {N_ROWS:,} rows, and at most 0\.01 % may be left out"):
        read(holes, label="label", group="owner", drop_invalid=0.0001).tally()
    dropped = read(holes, label="label", group="owner", drop_invalid=True).tally()
    columns: dict[str, Any] = {f"p_{name}": SCORES[:, place] for place, name in enumerate(CLASSES)}
    same = pa.table({**columns, "label": NAMES, "owner": pa.array(owners, mask=np.arange(N_ROWS) < 100)})
    alone = read(same, label="label", group="owner", drop_invalid=True).tally()
    (on_cluster,), (here,) = dropped.inputs, alone.inputs
    assert on_cluster == here  # one machine and the cluster say the same about what is left out
    assert (here.left_out, here.rows_read) == (100, N_ROWS)
    assert dropped == Rows(SCORES[100:], NAMES[100:], classes=CLASSES, groups=owners[100:]).tally(grid=True)


def test_skewed_and_empty_partitions(frame: Any) -> None:
    from pyspark.sql.functions import lit

    assert (
        read(frame.repartition(6, lit(1)), label="label").tally() == in_memory()
    )  # one has all rows, five have none
    assert read(frame.repartition(6, lit(1))).tally() == Tally.from_target(SCORES, classes=CLASSES)
    with pytest.raises(InputError, match="no usable row"):
        read(frame.where("id < 0"), label="label").tally()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the executor's process through /proc")
def test_a_killed_executor_does_not_change_the_answer(frame: Any, tmp_path: Path) -> None:
    marker = tmp_path / "killed"

    def executor() -> int:  # in here, so that it travels to the worker with the function that calls it
        process = os.getpid()
        while True:
            stat = Path(f"/proc/{process}/stat").read_text()
            if "(java)" in stat:
                return process
            process = int(stat.rpartition(")")[2].split()[1])  # the parent

    def kill_once(batches: Iterator[Any]) -> Iterator[Any]:
        for number, batch in enumerate(batches):
            if number == 2 and not marker.exists():
                victim = executor()  # by now two batches of this partition have been counted
                marker.write_text(str(victim))
                os.kill(victim, signal.SIGKILL)
                time.sleep(60)  # never seen: the executor takes its workers with it
            yield batch

    spread = frame.drop("listed").repartition(4)
    assert read(spread.mapInArrow(kill_once, spread.schema), label="label").tally() == in_memory()
    assert not Path("/proc", marker.read_text()).exists()


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return calibrate(in_memory(), epsilon=0.05, delta=0.05, method="PS")


def test_predicted_sets_equal_those_of_memory(frame: Any, certificate: Certificate) -> None:
    from pacshift.rows.spark import predict_sets

    sets = predict_sets(frame.repartition(3), certificate, keep=["id", "p_cat"])
    assert sets.columns == ["id", "p_cat", "set", "set_size"]
    expected = certificate.sets(SCORES)
    rows = sets.where("id < 500").collect()
    assert len(rows) == 500
    for row in rows:
        assert row["set"] == [name for name, inside in zip(CLASSES, expected[row["id"]], strict=True) if inside]
        assert row["set_size"] == len(row["set"])
        assert row["p_cat"] == SCORES[row["id"], 0]
    assert sets.groupBy().sum("set_size").collect()[0][0] == expected.sum()
    sizes = np.bincount(expected.sum(axis=1), minlength=5).tolist()
    made = certificate.with_set_sizes(read(frame.repartition(3), like=certificate))
    assert str(made.set_sizes) == str(np.array(sizes))
    for make in (certificate.sets, certificate.labels):
        with pytest.raises(InputError, match=r"never read here.*predict_sets\(frame, certificate\)"):
            make(read(frame, like=certificate))
    by_number = calibrate(Tally.from_scores(SCORES, LABELS, grid=True), epsilon=0.05, delta=0.05, method="PS")
    numbered = predict_sets(frame, by_number, scores="listed", keep=["id"])
    assert numbered.schema["set"].dataType.simpleString() == "array<bigint>"
    fourth = numbered.where("id < 9").orderBy("id").collect()[3]["set"]
    assert fourth == np.flatnonzero(by_number.sets(SCORES)[3]).tolist()
    assert predict_sets(frame, certificate).columns == ["listed", "label", "number", "id", "set", "set_size"]
    with pytest.raises(InputError, match="cannot keep 'nowhere'"):
        predict_sets(frame, certificate, keep=["nowhere"])


def test_faults_are_counted_over_all_partitions(frame: Any) -> None:
    from pyspark.sql.functions import expr

    broken = frame.drop("listed").repartition(3)
    broken = broken.withColumn("p_cat", expr("CASE WHEN id % 1000 = 0 THEN double('NaN') ELSE p_cat END"))
    broken = broken.withColumn("label", expr("CASE WHEN id % 1000 = 1 THEN NULL ELSE label END"))
    with pytest.raises(InputError, match=r"40 rows? cannot be used \(20 with no label, 20 with scores.*partition"):
        read(broken, label="label").tally()
    with pytest.raises(InputError, match=rf"of {N_ROWS:,} rows, and at most 0\.01 % may be left out"):
        read(broken, label="label", drop_invalid=0.0001).tally()
    counted = read(broken, label="label", drop_invalid=True).tally()
    whole = np.arange(N_ROWS) % 1000 > 1
    expected = Tally.from_scores(SCORES[whole], NAMES[whole], classes=CLASSES, grid=True)
    assert counted == expected
    assert [(one.rows, one.left_out) for one in counted.inputs] == [(N_ROWS - 40, 40)]
    renamed = frame.withColumn("label", expr("CASE WHEN id < 7 THEN 'gnu' ELSE label END"))
    with pytest.raises(InputError, match=r"7 labels not among the classes, the first is 'gnu'"):
        read(renamed, label="label", drop_invalid=True).tally()


def test_errors_of_a_worker_reach_the_user_in_words(frame: Any) -> None:
    with pytest.raises(InputError, match="a score is negative"):
        read(frame.withColumn("p_cat", -frame["p_cat"]), label="label").tally(score="aps")
    with pytest.raises(InputError, match="match no column"):
        read(frame, label="label", scores="q_*").tally()
    with pytest.raises(InputError, match=r"label column 'listed' holds list<.*labels must be text, numbers"):
        read(frame, label="listed").tally()


def test_randomised_scores_do_not_depend_on_partitions(frame: Any) -> None:
    one, other = (read(each, label="label").tally(score="aps") for each in (frame, frame.repartition(7)))
    assert one == other
    np.testing.assert_array_equal(one.confusion, in_memory().confusion)


def test_vectors_of_spark_ml(frame: Any) -> None:
    from pyspark.ml.functions import array_to_vector

    vectors = frame.select(array_to_vector(frame["listed"]).alias("probability"), "number")
    expected = Tally.from_scores(SCORES, LABELS, grid=True)
    assert read(vectors, label="number", scores="probability").tally() == expected


def test_columns_are_found_by_name(frame: Any, certificate: Certificate) -> None:
    """As in files: by the labels, by what the certificate remembers, and never by position unless asked for."""
    from pacshift.rows.spark import predict_sets

    small = frame.where("id < 2000").drop("listed", "number")
    named = small.toDF(*(name.removeprefix("p_") for name in small.columns))
    counted = read(named, label="label")
    rows = slice(0, 2000)
    assert counted.tally() == Tally.from_scores(SCORES[rows], NAMES[rows], classes=CLASSES, grid=True)
    columns: Any = counted.bind(name="source", role="source").columns
    assert columns.scores == CLASSES
    with pytest.raises(InputError, match="'id' does not look like scores"):
        read(named, label="label", scores="*").tally()
    other = replace(certificate, classes=("a", "b", "c", "d"))
    with pytest.raises(InputError, match=r"fewer than two|no score column for class 'a', 'b', 'c', 'd'"):
        predict_sets(small, other)
    remembered = replace(other, columns=Columns(tuple(f"p_{name}" for name in CLASSES), "label"))
    turned = small.select("id", *(f"p_{name}" for name in CLASSES[::-1]))
    by_name = {row["id"]: row["set_size"] for row in predict_sets(turned, remembered, keep=["id"]).collect()}
    assert [by_name[row] for row in range(2000)] == certificate.sets(SCORES[rows]).sum(axis=1).tolist()
    with pytest.raises(InputError, match="were read from the columns 'p_cat'"):
        predict_sets(named, remembered)


def test_bad_rows_and_names_that_differ_in_case(spark: Any, certificate: Certificate) -> None:
    from pacshift.rows.spark import predict_sets

    rows = [(0.7, 0.3, 0.0, "a", 1), (0.2, 0.8, 0.0, "A", 2)]
    twins = spark.createDataFrame(rows, ["p_a", "p_A", "p_b.c", "label", "id"])
    expected = Tally.from_scores([row[:3] for row in rows], ["a", "A"], classes=["a", "A", "b.c"], grid=True)
    assert read(twins, label="label").tally() == expected
    own = calibrate(expected, epsilon=0.5, delta=0.5, method="PS")
    assert [row["set"] for row in predict_sets(twins, own).collect()] == [["a"], ["A"]]
    spoilt = [(0.7, 0.3, None), (0.2, float("nan"), 0.0)]
    bad = spark.createDataFrame(spoilt, "p_a double, p_A double, `p_b.c` double")
    with pytest.raises(InputError, match=r"2 rows? cannot be used \(2 with scores that are null, NaN or infinite"):
        predict_sets(bad, own)
    assert predict_sets(bad, own, drop_invalid=True).collect() == []
    kept = predict_sets(bad, own, keep=["p_a"], keep_invalid=True).collect()
    assert [tuple(row) for row in kept] == [(0.7, None, None), (0.2, None, None)]


def test_labels_of_a_csv_stay_text(spark: Any, tmp_path: Path) -> None:
    from pacshift.rows.spark import read_frame

    path = tmp_path / "a.csv"
    path.write_text("p_01,p_NA,label\n0.9,0.1,01\n0.2,0.8,NA\n")
    counted = read(read_frame(spark, path, text=["label"]), label="label").tally()
    assert counted == Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], ["01", "NA"], classes=["01", "NA"], grid=True)
