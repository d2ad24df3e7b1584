"""``--engine spark`` on the command line: the certificate of the other engine, bit for bit."""

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import columns, simulate

PACSHIFT = str(Path(sysconfig.get_path("scripts")) / "pacshift")

pytestmark = [pytest.mark.spark, pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")]


def run(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PACSHIFT, *words], cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_spark_gives_the_same_certificate(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    rng = np.random.default_rng(0)
    for name in ("source", "target"):
        table = pa.table(columns(*simulate(rng, [0.4, 0.3, 0.3], 600)))
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
    made = {}
    for engine in ("arrow", "spark"):
        for name, label in (("source", ["--label", "label"]), ("target", [])):
            words = "tally", f"{name}.parquet", *label, "--engine", engine, "-o", f"{name}.tally"
            counting = run(*words, cwd=tmp_path)
            assert counting.returncode == 0, counting.stderr
        result = run("calibrate", "source.tally", "target.tally", "-o", f"{engine}.json", "--json", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        made[engine] = json.loads(result.stdout)
        for name in ("source", "target"):
            (tmp_path / f"{name}.tally").unlink()
    apart = {"certificate", "provenance", "checksum"}
    spark, arrow = ({key: one[key] for key in one.keys() - apart} for one in (made["spark"], made["arrow"]))
    assert spark == arrow
