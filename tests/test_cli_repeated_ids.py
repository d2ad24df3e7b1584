"""--group on the command line, and the note about a column that looks like the id of a patient and repeats."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import bad, good
from pacshift import Certificate
from pacshift.tally.inputs import Grouped
from test_certification_groups import patients


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Source, target and labelled rows of 300 patients with 4 visits each, and tables of the same without ids."""
    made, rng = tmp_path_factory.mktemp("patients"), np.random.default_rng(3)
    for name, sick in (("source", 0.3), ("target", 0.6), ("later", 0.6)):
        scores, labels, ids = patients(300, 4, sick, rng)
        days = np.datetime64("2026-01-01") + np.tile([3, 10, 40, 45], 300).astype("m8[D]")
        columns = {"p_0": scores[:, 0], "p_1": scores[:, 1], "label": labels, "patient_id": ids, "day": days}
        table = pa.table(columns)
        pq.write_table(table, made / f"{name}.parquet")
        pq.write_table(table.drop_columns("patient_id").slice(0, 300), made / f"{name}_without.parquet")
    return made


def test_calibrate_and_check_by_group(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.json"
    both = folder / "source.parquet", folder / "target.parquet"
    said = good("calibrate", *both, "--group", "patient_id", "-o", out)
    assert "one random case per 'patient_id'" in " ".join(said.stdout.split())
    assert "repeats" not in said.stderr
    made: Any = Certificate.load(out)
    assert (made.n_source, made.n_target) == (300, 300)
    assert made.target_grouped == Grouped(1200)
    assert made.set_sizes.sum() == 300
    assert made.columns.group == "patient_id"
    assert [one.rows for one in made.provenance.inputs] == [300, 300]

    checked = json.loads(good("check", out, folder / "later.parquet", "--json").stdout)
    assert (checked["n_judged"], checked["group"]) == (300, "patient_id")
    assert "One random row of each 'patient_id' was" in good("check", out, folder / "later.parquet").stdout
    without = good("check", out, folder / "later_without.parquet")
    assert "this table has no column 'patient_id': every row counts by itself" in without.stderr


def test_labels_of_whole_groups_are_used_and_verified(folder: Path, tmp_path: Path) -> None:
    """All visits of each of 200 patients have a label, or one of each."""
    target = pq.read_table(folder / "target.parquet")

    def calibrated(labelled: set[int]) -> tuple[object, ...]:
        labels = [label if row in labelled else None for row, label in enumerate(target["label"].to_pylist())]
        pq.write_table(target.append_column("truth", pa.array(labels)), tmp_path / "target.parquet")
        return "calibrate", *both, "-m", "PS-T", "-o", tmp_path / "made.json", "--group", "patient_id", "-f"

    both = (folder / "source.parquet", tmp_path / "target.parquet", "--target-label", "truth")
    assert "on rows that are not the counted one of their group" in bad(*calibrated(set(range(0, 800, 4))))
    good(*calibrated(set(range(800))))
    assert Certificate.load(tmp_path / "made.json").n_target_labels == 200
    assert "matches" in good("verify", tmp_path / "made.json", *both).stdout


def test_mistakes_are_named_by_their_flag(folder: Path, tmp_path: Path) -> None:
    both = folder / "source.parquet", folder / "target.parquet"
    assert "--group NAME" in bad("calibrate", *both, "--group", "patient", "-o", tmp_path / "made.json")
    for name, group in (("a", ["--group", "patient_id"]), ("b", [])):
        table = folder / f"{'source' if name == 'a' else 'later'}.parquet"
        good("tally", table, "-l", "label", *group, "-o", tmp_path / f"{name}.tally")
    mixed = ("calibrate", tmp_path / "a.tally", tmp_path / "b.tally", "-m", "PS", "-o", tmp_path / "c.json")
    assert "Count all of them with --group, or none" in bad(*mixed)


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("patient_id", np.arange(100) // 2, True),
        ("PatientID", np.arange(100) // 2, True),
        ("user", np.arange(100) // 2, True),
        ("id", np.tile(np.arange(50), 2), True),  # a table that was written twice
        ("visitor id", np.arange(100) // 2, True),
        ("patient_id", np.arange(100), False),  # each once
        ("site_id", np.arange(100) // 50, False),  # two sites
        ("age", np.arange(100) // 2, False),  # not named like an id
        ("paid", np.arange(100) // 2, False),
    ],
)
def test_only_a_column_that_is_named_like_an_id_and_repeats_earns_a_note(
    column: str, values: object, told: bool, tmp_path: Path
) -> None:
    score = np.linspace(0, 1, 100)
    table = {"p_0": 1 - score, "p_1": score, "label": (score > 0.5).astype(int), column: values}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    words = "tally", tmp_path / "rows.parquet", "-l", "label", "-o", tmp_path / "rows.tally"
    assert (f"column {column!r} repeats (50 ids in 100 rows)" in good(*words).stderr) == told
