"""`make floor` tests what pyproject.toml declares: the versions, the Python and the tests it names are real."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_requirement_of_the_package_is_pinned_to_its_lower_bound() -> None:
    script = ROOT / "scripts" / "lowest_versions.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    named = [name.partition(";")[0] for names in lists for name in names if not name.startswith("pacshift[")]
    expected = {name.replace(">=", "==") for name in named}
    assert expected <= set(done.stdout.split())
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in done.stdout.split())


@pytest.mark.parametrize("script", ["make-venv.sh", "make-floor.sh"])
def test_scripts_ask_for_the_declared_python(script: str) -> None:
    lowest = PROJECT["requires-python"].removeprefix(">=")
    major, minor = lowest.split(".")
    text = (ROOT / "scripts" / script).read_text()
    assert f"({major}, {minor})" in text
    assert set(re.findall(r"Python (3\.\d+)", text)) == {lowest}


def test_every_core_name_has_tests() -> None:
    core = re.search(r"^CORE := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert core is not None
    assert [name for name in core[1].split() if not list((ROOT / "tests").glob(f"test_{name}*.py"))] == []
