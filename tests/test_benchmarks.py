"""The lab runs: small versions of its parts, started as a user would start them."""

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import picture
from commands import all_commands

pytestmark = pytest.mark.thorough  # whole programs in processes of their own

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments: str, out: Path) -> subprocess.CompletedProcess[str]:
    """``python -m benchmarks ARGUMENTS`` in the repository, without real data."""
    environment = {name: value for name, value in os.environ.items() if name != "PACSHIFT_DATA"}
    environment["PYTHONPATH"] = str(ROOT / "src")
    command = [sys.executable, "-m", "benchmarks", *arguments, "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)


SMOKE = {
    "core": ["| calibrate PS-LP | 20,000 × 10 |"],
    "quality guarantee": ["### agnews-0.05", "| PS-W, elimination | target |", "| PS-T | target |"],
    "scale": ["| 5,000 | 10 | 1 | float64 |", "| 800 | 100 | 1 | one list |", "| 20,000 | 10 | 256 | float64 |"],
    "many": ["| synthetic | 21,000 | 10,000 | 1 |"],
    "figures": [],
    "lazy-labels": ["| made up | 0.05 | 200 |"],
    "after-refusal": ["| made up (2) | 4 of 4 | 100 |"],
    "plans": ["| heart-natural-small-0.1 |", "Within 5 % on average: ", "made for 90 % of cases held the size"],
    "hunt": ["| coins, ties 3416/500 |", "| test of label shift |", "| `class_epsilon` |", "Not judged: WCP"],
    "power": ["| simulated |", "| probabilities to the power 0.67 |", "| false alarms | 0 of 3 |"],
}
SLOW = {
    "speed": ["| contestant | domains | calibrate |"],
    "picture": [
        "| commands that count source and target | calibrate |",
        "| sets, in memory | pacshift |",
        "| commands that read one table | monitor |",
        "| commands that read one table | plan |",
        "| commands that use certificates | report |",
    ],
    "reproduce": ["| claim | in the paper's words (section) | verdict |", "| `heart` | shipped |"],
}


@pytest.mark.parametrize("parts", [*SMOKE, *(pytest.param(parts, marks=pytest.mark.long) for parts in SLOW)])
def test_parts_run_small_and_leave_the_pages_alone(parts: str, tmp_path: Path) -> None:
    pages = {
        path: path.read_bytes() for path in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/results/*")]
    }
    done = run(*parts.split(), "--small", out=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for heading in (SMOKE | SLOW)[parts]:
        assert heading in done.stdout
    assert done.stderr.startswith("[")  # progress
    assert {path: path.read_bytes() for path in pages} == pages


@pytest.mark.parametrize("module", [path.stem for path in sorted(ROOT.glob("benchmarks/*.py"))])
def test_examples_are_right(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"benchmarks.{module}")).failed == 0


def test_every_command_is_in_the_picture_or_reads_no_rows() -> None:
    drawn = {title for _, title in picture.commands(Path("source"), Path("target"), Path(), 2)}
    assert drawn | {"demo", "methods"} == set(all_commands())


def test_an_unknown_part_is_refused_with_the_list_of_parts(tmp_path: Path) -> None:
    done = run("spede", out=tmp_path)
    assert done.returncode == 2
    assert re.search(r"invalid choice: 'spede' \(choose from '?speed'?, '?core", done.stderr)


@pytest.mark.parametrize("part", ["cases", "judges", "try-it"])
def test_real_data_are_asked_for(part: str, tmp_path: Path) -> None:
    done = run(part, "--small", out=tmp_path)
    assert done.returncode == 1
    assert "needs --data" in done.stderr


@pytest.mark.montecarlo
def test_sharpness_puts_the_floors_below_and_the_published_method_above(tmp_path: Path) -> None:
    done = run("sharpness", "--small", out=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "|" in line
    )
    names, _, first, ratios, _, second = lines
    row = dict(zip(names + ratios, first + second, strict=True))
    sizes = {name: float(row[name]) for name in names[1:]}
    assert sizes["best per class"] <= sizes["best threshold"]
    assert sizes["best per class"] <= sizes["best with cap"] < sizes["mix known"] <= sizes["tuned"]
    assert sizes["PS-LP"] < sizes["ORACLE"] < sizes["PS-W"]
    assert sizes["PS-LP"] <= 1.01 * min(sizes["tuned"], sizes["equal miss rate"])
    assert row["broken"] == "0"
