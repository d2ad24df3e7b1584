"""What a tally says about the files behind its counts, and that no rows are counted twice."""

import hashlib
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import bad, good, make_tables, run
from pacshift import Certificate, Tally, calibrate, read
from pacshift.errors import InputError
from pacshift.rows.arrow.batch import Layout
from pacshift.rows.base import BAD_SCORES, WITHOUT_LABEL, Faults, FileRows, ScanReport
from pacshift.tally.inputs import MAX_INPUTS, Input, sum_left_out
from pacshift.tally.same_rows import MIN_NUMBERS, counts_sha256, list_inputs
from score_tables import labelled, save

SCORES, LABELS = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), [0, 1, 1]


def named(name: str, rows: int = 1) -> Tally:
    """The tally of a file that does not exist."""
    target = Tally.from_target(np.tile(SCORES[:1], (rows, 1)))
    return replace(target, inputs=(Input("target", name, rows, ("p_0", "p_1"), None),))


def write(path: Path, rows: int) -> Path:
    columns = {"p_0": [0.9, 0.2] * rows, "p_1": [0.1, 0.8] * rows, "y": [0, 1] * rows}
    pa.parquet.write_table(pa.table(columns), path)
    return path


def test_files_are_listed_with_rows_columns_and_hash(tmp_path: Path) -> None:
    files = [write(tmp_path / "b.parquet", 3), write(tmp_path / "a.parquet", 5)]
    tally = read(files, label="y").tally(sha256=True)
    tally.save(tmp_path / "site.tally")
    loaded = Tally.load(tmp_path / "site.tally")
    assert loaded.inputs == tally.inputs
    assert [(one.role, one.name, one.rows, one.columns) for one in loaded.inputs] == [
        ("source", "b.parquet", 6, ("y", "p_0", "p_1")),
        ("source", "a.parquet", 10, ("y", "p_0", "p_1")),
    ]
    assert loaded.inputs[0].sha256 == hashlib.sha256(files[0].read_bytes()).hexdigest()
    plain = read(files, label="y").tally()
    assert plain == tally  # equal counts, whatever is known about the files
    assert {one.sha256 for one in plain.inputs} == {None}
    assert calibrate(loaded, epsilon=0.4, delta=0.3, method="PS").provenance.inputs == loaded.inputs


def test_rows_that_were_left_out_are_counted_file_by_file_with_reasons(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path, labels in zip(files, ([0, None, None], [0, 1, 1], [None, 1, 0]), strict=True):
        scores = [0.9, None if path is files[2] else 0.3, 0.5]
        pa.parquet.write_table(pa.table({"p_0": scores, "p_1": scores[::-1], "y": labels}), path)
    counted = read(files, label="y", drop_invalid=1.0).tally()
    assert [one.left_out for one in counted.inputs] == [2, 0, 2]
    assert dict(counted.inputs[2].left_out_why) == {WITHOUT_LABEL: 1, BAD_SCORES: 1}
    counted.save(tmp_path / "site.tally")
    loaded = Tally.load(tmp_path / "site.tally")
    assert loaded.inputs == counted.inputs
    assert sum_left_out(loaded.inputs) == (4, ((WITHOUT_LABEL, 3), (BAD_SCORES, 1)), 9)
    assert sum_left_out([*loaded.inputs, replace(loaded.inputs[0], left_out=None)])[0] is None


def test_rows_of_a_frame_that_were_left_out_are_said_too() -> None:
    frame = pandas.DataFrame({"p_0": [0.9, 0.3, None], "p_1": [0.1, 0.7, 0.5], "y": [0, 1, 1]})
    tally = read(frame, label="y", drop_invalid=1.0).tally()
    (one,) = list_inputs(tally)
    assert (one.name, one.rows, one.left_out) == (None, 2, 1)
    assert one.sha256 == counts_sha256(tally, "source")


def test_a_cluster_says_what_was_left_out_of_one_path_or_of_all_together(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    spark = pytest.importorskip("pacshift.rows.spark")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]

    def inputs(n_bad: int, *files: Path) -> tuple[Input, ...]:
        rows = spark.SparkRows(
            name="source",
            role="source",
            classes=(0, 1),
            labels="all",
            source=SimpleNamespace(files=files),
            layout=Layout(("p_0", "p_1"), (0, 1), "y"),
            kept=None,
        )
        faults = Faults(n_bad, Counter({WITHOUT_LABEL: n_bad}))
        found: tuple[Input, ...] = rows.inputs(ScanReport({"": FileRows(4 + n_bad, 4, faults)}), {})
        return found

    (one,) = inputs(3, paths[0])
    assert (one.name, one.rows, one.left_out, one.left_out_why) == ("a.parquet", 4, 3, ((WITHOUT_LABEL, 3),))
    (both,) = inputs(3, *paths)
    assert (both.name, both.rows, both.left_out) == ("a.parquet, b.parquet", 4, 3)
    assert inputs(0) == ()


def test_what_several_tallies_left_out_reaches_the_certificate(tmp_path: Path) -> None:
    path = tmp_path / "source.csv"
    path.write_text("p_0,p_1,y\n" + "0.9,0.1,0\n0.2,0.8,1\n0.5,0.5,\n" * 200)
    site = tmp_path / "site.tally"
    counted = json.loads(good("tally", path, "--label", "y", "--drop-invalid", 0.4, "--json", "-o", site).stdout)
    assert (counted["dropped"], counted["dropped_why"]) == (200, {WITHOUT_LABEL: 200})
    good("calibrate", site, "-m", "PS", "-o", tmp_path / "c.json")
    said = Certificate.load(tmp_path / "c.json").explain(full=True)
    assert "Left out: 200 of 600 rows (200 with no label) of source 'site.tally'." in said


def test_rows_in_memory_get_one_entry_when_saved(tmp_path: Path) -> None:
    source = Tally.from_scores(SCORES, LABELS)
    assert source.inputs == ()
    (source + named("t.csv", 4) + Tally.from_target(SCORES)).save(tmp_path / "a.tally")
    found = Tally.load(tmp_path / "a.tally").inputs
    listed = [(one.role, one.name, one.rows) for one in found]
    assert listed == [("target", "t.csv", 4), ("source", None, 3), ("target", None, 3)]
    assert found[1].sha256 == counts_sha256(source, "source")
    assert found[2].sha256 is None  # the counts of both parts cannot be told apart


@pytest.mark.slow
@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(0, 12), st.randoms())
def test_sums_do_not_depend_on_order_or_grouping(counts: list[int], cut: int, random: object) -> None:
    """The list is cut to the first names, and the number of the others is kept."""
    parts = [
        replace(
            named(f"{place:03}"),
            inputs=tuple(Input("target", f"{place:03}-{number:03}", 1, (), None) for number in range(count)),
        )
        for place, count in enumerate(counts)
    ]
    parts = [Tally.sum([part]) for part in parts]
    whole = Tally.sum(parts)
    random.shuffle(parts)  # type: ignore[attr-defined]
    grouped = [Tally.sum(group) for group in (parts[:cut], parts[cut:]) if group]
    again = Tally.sum(grouped)
    assert (again.inputs, again.n_more_inputs) == (whole.inputs, whole.n_more_inputs)
    assert len(whole.inputs) + whole.n_more_inputs == sum(counts)
    assert len(whole.inputs) <= MAX_INPUTS


def test_a_certificate_says_how_many_more_there_are() -> None:
    files = [named(f"{number}") for number in range(MAX_INPUTS + 9)]
    many = Tally.sum([Tally.from_scores(SCORES, LABELS), *files])
    assert many.n_more_inputs == 9
    assert len(list_inputs(many)) == MAX_INPUTS
    made: Any = calibrate(many, epsilon=0.4, delta=0.3, method="PS").provenance
    assert made.inputs[-1].name == "10 more files"


def test_the_command_lists_them_or_not(tmp_path: Path) -> None:
    data = make_tables(tmp_path)
    for out, more in (("a.tally", ()), ("b.tally", ("--leave-out", "inputs"))):
        assert run("tally", data.source, "--label", "label", "-o", tmp_path / out, *more).exit_code == 0
    (one,) = Tally.load(tmp_path / "a.tally").inputs
    assert (one.name, one.sha256) == (data.source.name, hashlib.sha256(data.source.read_bytes()).hexdigest())
    (hidden,) = Tally.load(tmp_path / "b.tally").inputs
    assert (hidden.name, hidden.rows, hidden.columns) == (None, one.rows, ())


FEW = Tally.from_target([[0.9, 0.1], [0.2, 0.8]])
HASHES = [f"{number:064x}" for number in range(2 * MAX_INPUTS)]


def counted_from(*hashes: str, name: str | None = "ward.csv", rows: int = 2) -> Tally:
    """A small target that says where it comes from."""
    return replace(FEW, inputs=tuple(Input("target", name, rows, (), one) for one in hashes))


def test_tallies_that_share_a_file_do_not_add() -> None:
    north, south, east = counted_from(*HASHES[:2]), counted_from(HASHES[2]), counted_from(HASHES[3], HASHES[1])
    assert Tally.sum([north, south]).n_target == 4
    with pytest.raises(InputError, match=r"'ward.csv' is in both tally 1 and tally 3 \(target, .*leave one"):
        Tally.sum([north, south, east])
    with pytest.raises(InputError, match="in both tally 1 and tally 2"):
        (north + south) + east
    with pytest.raises(InputError, match="in both tally 1 and tally 2"):
        south + south
    with pytest.raises(InputError, match="counted twice in tally 1"):  # a sum that an older version made
        Tally.sum([counted_from(HASHES[0], HASHES[0])])


def test_a_file_that_counts_rows_twice_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "old.tally"
    counted_from(HASHES[0], HASHES[0], rows=1).save(path)
    with pytest.raises(InputError, match=f"'ward.csv' is counted twice in {path}"):
        Tally.load(path)


def test_another_role_is_not_the_same_rows() -> None:
    source = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], [0, 1])
    source = replace(source, inputs=(Input("source", "ward.csv", 2, (), HASHES[0]),))
    assert (source + counted_from(HASHES[0])).n_source == 2


def test_all_files_of_a_sum_are_compared_before_the_list_is_cut() -> None:
    parts = [counted_from(one) for one in HASHES]
    assert Tally.sum(parts).n_more_inputs == MAX_INPUTS
    with pytest.raises(InputError, match=f"in both tally {2 * MAX_INPUTS} and tally {2 * MAX_INPUTS + 1}"):
        Tally.sum([*parts, parts[-1]])


def test_arrays_in_memory_say_nothing_of_their_rows() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.dirichlet([1, 1], 200), rng.integers(0, 2, 200)
    part = Tally.from_scores(scores, labels)
    assert (part + part).n_source == 400


def test_counts_that_were_saved_are_known(tmp_path: Path) -> None:
    """Few rows may agree by chance, many do not."""
    rng = np.random.default_rng(0)
    for rows, same in ((MIN_NUMBERS - 1, False), (MIN_NUMBERS, True)):
        scores, labels = rng.dirichlet([1, 1], rows).round(1), rng.integers(0, 2, rows)
        Tally.from_scores(scores, labels).save(tmp_path / "a.tally")
        part = Tally.load(tmp_path / "a.tally")
        if same:
            with pytest.raises(InputError, match="the same rows are in both"):
                part + part
        else:
            assert (part + part).n_source == 2 * rows


@pytest.mark.parametrize("label", ["label", None])
def test_the_same_rows_in_another_kind_of_file_or_order(label: str | None, tmp_path: Path) -> None:
    table = labelled()
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    files = [save(table, tmp_path / "a.csv"), save(shuffled, tmp_path / "b.parquet")]
    first, second = (read(file, label=label).tally(sha256=True) for file in files)
    assert first.inputs[0].sha256 != second.inputs[0].sha256
    role = "target" if label is None else "source"
    with pytest.raises(InputError, match=f"tally 1 and tally 2 hold the same {role} counts"):
        first + second
    half = save(table.slice(0, 150), tmp_path / "half.csv")
    assert (first + read(half, label=label).tally(sha256=True)).n_classes == 3


def test_commands_name_the_tallies(tmp_path: Path) -> None:
    data = make_tables(tmp_path)
    a, b, hidden, target = (tmp_path / f"{name}.tally" for name in ("a", "b", "hidden", "target"))
    good("tally", data.source, "-l", "label", "-o", a)
    good("tally", data.source, "-l", "label", "-o", b, "--leave-out", "soft")
    good("tally", data.source, "-l", "label", "-o", hidden, "--leave-out", "inputs")
    good("tally", data.target, "-o", target)
    for command in (("calibrate", "-o", tmp_path / "c.json"), ("prevalence",)):
        words = (*command, target)
        assert f"{a} is given twice" in bad(*words, a, a)
        assert f"'source.parquet' is in both {a} and {b} (source, SHA-256" in bad(*words, a, b)
        assert f"{a} and {hidden} hold the same source counts" in bad(*words, a, hidden)
        copy = tmp_path / "copy.tally"
        shutil.copy(a, copy)
        assert f"{a} and {copy} have the same content" in bad(*words, a, copy)
        good(*words, a)
    made: Any = Certificate.load(tmp_path / "c.json").provenance
    assert [one.name for one in made.inputs] == ["target.tally", "a.tally"]
