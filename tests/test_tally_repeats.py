"""Tallies that were counted from the same rows do not add."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import bad, good, make_tables
from pacshift import Certificate, Tally
from pacshift.errors import InputError
from pacshift.tables import tally_table
from pacshift.tally.once import MAX_INPUTS, MIN_NUMBERS, Input
from score_tables import labelled, save

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
    first, second = (tally_table(file, label=label, sha256=True).tally for file in files)
    assert first.inputs[0].sha256 != second.inputs[0].sha256
    role = "target" if label is None else "source"
    with pytest.raises(InputError, match=f"tally 1 and tally 2 hold the same {role} counts"):
        first + second
    half = save(table.slice(0, 150), tmp_path / "half.csv")
    assert (first + tally_table(half, label=label, sha256=True).tally).n_classes == 3


def test_commands_name_the_tallies(tmp_path: Path) -> None:
    data = make_tables(tmp_path)
    a, b, hidden, target = (tmp_path / f"{name}.tally" for name in ("a", "b", "hidden", "target"))
    good("tally", data.source, "-l", "label", "-o", a)
    good("tally", data.source, "-l", "label", "-o", b, "--no-soft")
    good("tally", data.source, "-l", "label", "-o", hidden, "--no-inputs")
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
    made = Certificate.load(tmp_path / "c.json").provenance
    assert made is not None
    assert [one.name for one in made.inputs] == ["target.tally", "a.tally"]
