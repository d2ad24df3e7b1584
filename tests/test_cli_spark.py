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

PACSHIFT = str(Path(sysconfig.get_path("scripts")) / "pacshift")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]


def test_spark_gives_the_same_certificate(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    rng = np.random.default_rng(0)
    for name in ("source", "target"):
        labels = rng.integers(0, 3, 600)
        exps = np.exp(rng.normal(0, 1, (600, 3)) + 3 * np.eye(3)[labels])
        probs = exps / exps.sum(axis=1, keepdims=True)
        columns = {f"p_{one}": probs[:, place] for place, one in enumerate("abc")}
        table = pa.table({**columns, "label": np.array(list("abc"))[labels]})
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
    made = {}
    for engine in ("arrow", "spark"):
        words = [
            "calibrate",
            "source.parquet",
            "target.parquet",
            "--engine",
            engine,
            "-o",
            f"{engine}.json",
            "--json",
        ]
        result = subprocess.run(
            [PACSHIFT, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert result.returncode == 0, result.stderr
        made[engine] = json.loads(result.stdout)
    # Spark does not scan the target twice, so it knows no sizes of sets; provenance holds the command.
    only_here = {
        "certificate",
        "target_set_sizes",
        "one_label_error_at_most",
        "in_words",
        "provenance",
        "checksum",
    }
    assert {key: value for key, value in made["spark"].items() if key not in only_here} == {
        key: value for key, value in made["arrow"].items() if key not in only_here
    }
    exact = [
        PACSHIFT,
        "calibrate",
        "source.parquet",
        "target.parquet",
        "--engine",
        "spark",
        "--exact",
        "-o",
        "x.json",
    ]
    refused = subprocess.run(exact, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "--exact does not work with --engine spark" in refused.stderr
