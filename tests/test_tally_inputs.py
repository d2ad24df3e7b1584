"""What a tally says about the files behind its counts."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import good, make_tables, run
from pacshift import Certificate, Tally, calibrate
from pacshift.cli.spark import with_names
from pacshift.files.codec import from_json, to_json
from pacshift.rows.faults import BAD_SCORES, NO_LABEL
from pacshift.tables import tally_table
from pacshift.tally.once import MAX_INPUTS, Input, all_inputs, counts_sha256, together

SCORES, LABELS = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), [0, 1, 1]


def named(name: str, rows: int = 1) -> Tally:
    """The tally of a file that does not exist."""
    target = Tally.from_target(np.tile(SCORES[:1], (rows, 1)))
    return replace(target, inputs=(Input("target", name, rows, ("p_0", "p_1"), None),))


def write(path: Path, rows: int) -> Path:
    pa.parquet.write_table(
        pa.table({"p_0": [0.9, 0.2] * rows, "p_1": [0.1, 0.8] * rows, "y": [0, 1] * rows}), path
    )
    return path


def test_files_are_listed_with_rows_columns_and_hash(tmp_path: Path) -> None:
    files = [write(tmp_path / "b.parquet", 3), write(tmp_path / "a.parquet", 5)]
    tally = tally_table(files, label="y", sha256=True).tally
    tally.save(tmp_path / "site.tally")
    loaded = Tally.load(tmp_path / "site.tally")
    assert loaded.inputs == tally.inputs
    assert [(one.role, one.name, one.rows, one.columns) for one in loaded.inputs] == [
        ("source", "b.parquet", 6, ("y", "p_0", "p_1")),
        ("source", "a.parquet", 10, ("y", "p_0", "p_1")),
    ]
    assert loaded.inputs[0].sha256 == hashlib.sha256(files[0].read_bytes()).hexdigest()
    plain = tally_table(files, label="y").tally
    assert plain == tally  # equal counts, whatever is known about the files
    assert {one.sha256 for one in plain.inputs} == {None}
    assert calibrate(loaded, epsilon=0.4, delta=0.3, method="PS").provenance.inputs == loaded.inputs


def test_rows_that_were_left_out_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"p_0": [0.9, None, 0.5], "p_1": [0.1, 0.8, 0.5]}), path)
    counted = tally_table(path, label=None, drop_invalid=True)
    (one,) = counted.tally.inputs
    assert (one.role, one.rows) == ("target", 2)
    assert (one.left_out, one.left_out_why) == (1, counted.dropped_why) == (1, ((BAD_SCORES, 1),))


def test_rows_that_were_left_out_are_counted_file_by_file_with_reasons(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path, labels in zip(files, ([0, None, None], [0, 1, 1], [None, 1, 0]), strict=True):
        scores = [0.9, None if path is files[2] else 0.3, 0.5]
        pa.parquet.write_table(pa.table({"p_0": scores, "p_1": scores[::-1], "y": labels}), path)
    counted = tally_table(files, label="y", drop_invalid=True)
    assert [one.left_out for one in counted.tally.inputs] == [2, 0, 2]
    assert dict(counted.tally.inputs[2].left_out_why) == {NO_LABEL: 1, BAD_SCORES: 1}
    assert dict(counted.dropped_why) == {NO_LABEL: 3, BAD_SCORES: 1}
    counted.tally.save(tmp_path / "site.tally")
    loaded = Tally.load(tmp_path / "site.tally")
    assert loaded.inputs == counted.tally.inputs
    assert together(loaded.inputs) == (4, ((NO_LABEL, 3), (BAD_SCORES, 1)), 9)
    assert together([*loaded.inputs, replace(loaded.inputs[0], left_out=None)])[0] is None


def test_rows_of_a_frame_that_were_left_out_are_said_too() -> None:
    frame = pandas.DataFrame({"p_0": [0.9, 0.3, None], "p_1": [0.1, 0.7, 0.5], "y": [0, 1, 1]})
    tally = tally_table(frame, label="y", drop_invalid=True).tally
    (one,) = all_inputs(tally)
    assert (one.name, one.rows, one.left_out) == (None, 2, 1)
    assert one.sha256 == counts_sha256(tally, "source")


@pytest.mark.parametrize(
    ("left_out", "why"),
    [(-1, {}), (True, {}), ("1", {}), (1, [1]), (1, {"no label": -1}), (None, {"no label": 1})],
)
def test_rows_left_out_that_cannot_be_are_refused(left_out: object, why: object) -> None:
    document = to_json(Input("source", "a", 1, (), None))
    assert from_json(Input, document | {"left_out": 3, "left_out_why": {"no label": 3}}).left_out == 3
    with pytest.raises(ValueError, match=r"left_out|left out"):
        from_json(Input, document | {"left_out": left_out, "left_out_why": why})


def test_a_cluster_says_what_was_left_out_of_one_path_or_of_all_together(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", 2)
    counted = replace(tally_table(path, label="y"), n_dropped=3, dropped_why=((NO_LABEL, 3),))
    (one,) = with_names(counted, [path]).tally.inputs
    assert (one.rows, one.left_out, one.left_out_why) == (4, 3, ((NO_LABEL, 3),))
    *each, together = with_names(counted, [path, tmp_path / "b.parquet"]).tally.inputs
    assert [(one.rows, one.left_out) for one in each] == [(None, None)] * 2
    assert (together.name, together.rows, together.left_out) == ("all 2 paths together", None, 3)
    assert len(with_names(replace(counted, n_dropped=0), [path, path]).tally.inputs) == 2


def test_what_several_tallies_left_out_reaches_the_certificate(tmp_path: Path) -> None:
    path = tmp_path / "source.csv"
    path.write_text("p_0,p_1,y\n" + "0.9,0.1,0\n0.2,0.8,1\n0.5,0.5,\n" * 200)
    site = tmp_path / "site.tally"
    counted = json.loads(good("tally", path, "--label", "y", "--drop-invalid", "--json", "-o", site).stdout)
    assert (counted["dropped"], counted["dropped_why"]) == (200, {NO_LABEL: 200})
    good("calibrate", site, "-m", "PS", "-o", tmp_path / "c.json")
    said = Certificate.load(tmp_path / "c.json").explain()
    assert "Left out, not counted: 200 of 600 rows (200 with no label) of source 'site.tally'." in said


def test_rows_in_memory_get_one_entry_when_saved(tmp_path: Path) -> None:
    source = Tally.from_scores(SCORES, LABELS)
    assert source.inputs == ()
    (source + named("t.csv", 4) + Tally.from_target(SCORES)).save(tmp_path / "a.tally")
    found = Tally.load(tmp_path / "a.tally").inputs
    assert [(one.role, one.name, one.rows) for one in found] == [
        ("target", "t.csv", 4),
        ("source", None, 3),
        ("target", None, 3),
    ]
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
    many = Tally.sum(
        [Tally.from_scores(SCORES, LABELS), *(named(f"{number}") for number in range(MAX_INPUTS + 9))]
    )
    assert many.n_more_inputs == 9
    assert len(all_inputs(many)) == MAX_INPUTS
    made = calibrate(many, epsilon=0.4, delta=0.3, method="PS").provenance
    assert made is not None
    assert made.inputs[-1].name == "10 more files"


def test_the_command_lists_them_or_not(tmp_path: Path) -> None:
    data = make_tables(tmp_path)
    for out, more in (("a.tally", ()), ("b.tally", ("--no-inputs",))):
        assert run("tally", data.source, "--label", "label", "-o", tmp_path / out, *more).exit_code == 0
    (one,) = Tally.load(tmp_path / "a.tally").inputs
    assert (one.name, one.sha256) == (data.source.name, hashlib.sha256(data.source.read_bytes()).hexdigest())
    (hidden,) = Tally.load(tmp_path / "b.tally").inputs
    assert (hidden.name, hidden.rows, hidden.columns) == (None, one.rows, ())
