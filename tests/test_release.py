"""What a release says about itself, and what its workflows call, is there."""

import re
import tomllib
from pathlib import Path

import pacshift

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_file_names_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited is not None
    assert project["version"] == pacshift.__version__ == cited[1]


def test_workflows_call_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    called = {name for path in WORKFLOWS for name in re.findall(r"run: make ([a-z-]+)", path.read_text())}
    assert {"check", "wheel"} <= called <= targets


def test_workflows_cover_every_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = {kind[1] for text in project["classifiers"] if (kind := re.search(r":: (3\.\d+)$", text))}
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / "check.yml").read_text())
    assert matrix is not None
    assert set(re.findall(r"3\.\d+", matrix[1])) == supported


def test_groups_and_extras_that_workflows_install_exist() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    texts = [path.read_text() for path in WORKFLOWS] + [(ROOT / "Makefile").read_text()]
    groups = {name for text in texts for name in re.findall(r"--group (\w+)", text)}
    extras = {name for text in texts for found in re.findall(r"\.\[([\w,]+)\]", text) for name in found.split(",")}
    assert groups <= set(settings["dependency-groups"])
    assert extras <= set(settings["project"]["optional-dependencies"])
