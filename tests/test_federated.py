"""Sites that send counts get exactly the certificate of their pooled rows."""

import json
import warnings
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import bad, good
from flat import with_weights
from pacshift import METHODS, Certificate, Tally, UninformativeWarning, calibrate, read

pytestmark = pytest.mark.slow

NAMES = np.array(["mild", "severe", "none"])
SITES = {"a": (3000, [0.6, 0.3, 0.1]), "b": (800, [0.2, 0.5, 0.3]), "c": (1200, [0.9, 0.05, 0.05])}


def patients(n: int, mix: list[float], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=mix)
    logits = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[labels]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return pa.table({f"p_{name}": scores[:, k] for k, name in enumerate(NAMES)} | {"label": NAMES[labels]})


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder each of labelled and unlabelled tables, one file per site."""
    folder = tmp_path_factory.mktemp("sites")
    for seed, (site, (n, mix)) in enumerate(SITES.items()):
        for what in ("source", "target"):
            (folder / what).mkdir(exist_ok=True)
            content = patients(n, mix if what == "source" else mix[::-1], seed + 10 * (what == "target"))
            shown = content if what == "source" else content.drop_columns("label")
            pq.write_table(shown, folder / what / f"{site}.parquet")
    return folder


def counted(path: Path, score: str = "probability") -> Tally:
    return read(path, label="label" if "source" in str(path) else None).tally(score=score)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"PS-T"}))
def test_files_of_counts_give_the_pooled_certificate(method: str, sites: Path, tmp_path: Path) -> None:
    score = "aps-plain" if method == "APS" else "probability"
    for what in ("source", "target"):
        for site in SITES:
            counted(sites / what / f"{site}.parquet", score).save(tmp_path / f"{site}-{what}.tally")
    pooled = counted(sites / "source", score) + counted(sites / "target")
    options: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05, "method": with_weights(method, [0.5, 1.0, 2.0])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        expected = calibrate(pooled, **options, rng=7)
        for order in list(permutations(sorted(tmp_path.glob("*.tally"))))[::119]:
            total = Tally.sum(Tally.load(file) for file in order)
            assert total == pooled
            certificate = calibrate(total, **options, rng=7)
            assert certificate.thresholds.tolist() == expected.thresholds.tolist()
            assert certificate.explain() == expected.explain()


def test_the_commands_give_the_pooled_certificate(sites: Path, tmp_path: Path) -> None:
    for site in SITES:
        out = ("-o", tmp_path / f"{site}.tally")
        good("tally", sites / "source" / f"{site}.parquet", "--label", "label", *out)
        shown = good("tally", sites / "target" / f"{site}.parquet", "-o", tmp_path / f"{site}-t.tally", "--json")
        answer = json.loads(shown.stdout)
        assert (answer["rows"], answer["n_source"], answer["n_target"]) == (SITES[site][0], 0, SITES[site][0])
    good("calibrate", *tmp_path.glob("*.tally"), "-e", 0.1, "-o", tmp_path / "sent.json")
    good("calibrate", sites / "source", sites / "target", "-e", 0.1, "-o", tmp_path / "pooled.json")
    sent, pooled = (json.loads((tmp_path / name).read_text()) for name in ("sent.json", "pooled.json"))
    assert sent["classes"] == pooled["classes"]


def test_bins_stay_at_home_if_asked(sites: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "source.tally", tmp_path / "target.tally"
    good("tally", sites / "source", "-l", "label", "-o", source)
    good("tally", sites / "target", "-o", target)
    with_bins = Tally.load(target)
    good("tally", sites / "target", "-o", target, "--leave-out", "bins", "--force")
    assert with_bins.bins is not None
    assert Tally.load(target) == replace(with_bins, bins=None)
    good("calibrate", source, target, "-e", 0.03, "-o", tmp_path / "one.json")
    thresholds = Certificate.load(tmp_path / "one.json").thresholds
    assert np.isfinite(thresholds).all()
    assert len(np.unique(thresholds)) == 1  # nothing to compare by: one threshold for all classes
    good("calibrate", sites / "source", sites / "target", "-e", 0.03, "-o", tmp_path / "compared.json")
    assert len(np.unique(Certificate.load(tmp_path / "compared.json").thresholds)) == 3


def test_the_tally_command_refuses_what_it_cannot_count(sites: Path, tmp_path: Path) -> None:
    table, out = sites / "source" / "a.parquet", tmp_path / "a.tally"
    assert "3,000 labelled rows of 3 classes" in good("tally", table, "-l", "label", "-o", out).stdout
    good("tally", table, "-l", "label", "-o", out, "--force", "--leave-out", "soft")
    assert Tally.load(out).soft is None
    said = "no column 'age'. Name the label column: --label NAME"
    assert said in bad("tally", table, "-l", "age", "-o", tmp_path / "b.tally")
