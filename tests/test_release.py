"""What a release says about itself, what workflows and scripts call, what archives hold, how it is installed."""

import io
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import pacshift
from pacshift import errors

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHECK_DIST = runpy.run_path(str(ROOT / "scripts" / "check_dist.py"))


def test_every_file_names_the_same_version_date_and_addresses() -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    assert PROJECT["version"] == pacshift.__version__
    changes = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    unreleased = PROJECT["version"].endswith(".dev0")  # then the last release is cited
    assert changes[0][0] == PROJECT["version"].removesuffix(".dev0")
    assert (changes[0][1] == "unreleased") is unreleased
    version, day = changes[unreleased]
    assert f"\nversion: {version}\n" in cited
    assert f"date-released: {day}\n" in cited
    assert f"repository-code: {PROJECT['urls']['Source']}\n" in cited
    assert f"url: {PROJECT['urls']['Documentation']}\n" in cited
    assert PROJECT["urls"]["Documentation"] in (ROOT / "mkdocs.yml").read_text()


def test_workflows_call_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    called = {name for path in WORKFLOWS for name in re.findall(r"run: make ([a-z-]+)", path.read_text())}
    everything = (ROOT / ".ci" / "run").read_text()
    assert "for command in demo test; do" in everything
    called |= {"demo", "test", *re.findall(r"^make ([a-z-]+)$", everything, re.MULTILINE)}
    assert {"more", "wheel"} <= called <= targets
    assert any("run: sh .ci/run" in path.read_text() for path in WORKFLOWS)


def test_workflows_cover_every_supported_python() -> None:
    supported = {kind[1] for text in PROJECT["classifiers"] if (kind := re.search(r":: (3\.\d+)$", text))}
    check = (ROOT / ".github" / "workflows" / "check.yml").read_text()
    tested = " ".join(re.findall(r"(?:python|newest): \[(.*)\]", check))
    assert set(re.findall(r"3\.\d+", tested)) == supported
    assert "3.14t" in tested


CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def requirements(extra: str | None) -> set[str]:
    """What pyproject.toml asks for, as a conda recipe writes it, markers left out."""
    listed = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    found = set()
    for requirement in listed:
        if inner := re.fullmatch(r"pacshift\[(.+)\]", requirement):
            found |= {each for name in inner[1].split(",") for each in requirements(name)}
        else:
            name, bound = requirement.partition(";")[0].strip().split(">=")
            found.add(f"{CONDA_NAMES.get(name, name)} >={bound}")
    return found


def test_the_conda_recipe_says_what_pyproject_says() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the dependency group docs")
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert recipe["context"] == {"version": PROJECT["version"], "python_min": lowest}
    assert all(find_spec(name) for name in recipe["tests"][0]["python"]["imports"])
    assert set(recipe["requirements"]["run"][1:]) == requirements(None) | requirements("cli")
    others = set.union(*map(requirements, ("sklearn", "spark", "onnx"))) - requirements("tables")
    assert set(recipe["requirements"]["run_constraints"]) <= others
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert [name.replace(">=", " >=") for name in build] == recipe["requirements"]["host"][2:]
    entries = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == entries
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (PROJECT["description"], PROJECT["license"])
    assert (about["repository"], about["documentation"]) == tuple(
        PROJECT["urls"][name] for name in ("Source", "Documentation")
    )


def wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


GOOD = dict.fromkeys(
    ("pacshift/__init__.py", "pacshift/py.typed", "pacshift_command.py", "pacshift/report/page.html"), b""
)


def test_archives_hold_only_what_belongs_there(tmp_path: Path) -> None:
    faults, path = CHECK_DIST["faults"], tmp_path / "pacshift-1.0-py3-none-any.whl"
    assert faults(wheel(path, GOOD)) == []
    assert faults(wheel(path, GOOD | {"tests/files/a.json": b""})) == [
        f"tests/files/a.json does not belong into {path.name}"
    ]
    leaked = faults(wheel(path, GOOD | {"pacshift/made.py": b"ROOT = '/home/jane/pacshift'"}))
    assert leaked == [f"pacshift/made.py in {path.name} names /home/jane"]
    assert "more than 2,000,000" in faults(wheel(path, GOOD | {"pacshift/a.npz": bytes(4_000_000)}))[0]
    assert faults(wheel(path, {})) == [f"{name} is missing in {path.name}" for name in sorted(GOOD)]


def test_source_archives_are_read_without_their_first_folder(tmp_path: Path) -> None:
    path = tmp_path / "pacshift-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in [*(f"src/{each}" for each in GOOD), "docs/index.md"]:
            archive.addfile(tarfile.TarInfo(f"pacshift-1.0/{name}"), io.BytesIO())
    assert CHECK_DIST["faults"](path) == [f"docs/index.md does not belong into {path.name}"]


def test_groups_and_extras_that_workflows_install_exist() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    texts = [path.read_text() for path in WORKFLOWS] + [(ROOT / "Makefile").read_text()]
    groups = {name for text in texts for name in re.findall(r"--group (\w+)", text)}
    extras = {name for text in texts for found in re.findall(r"\.\[([\w,]+)\]", text) for name in found.split(",")}
    assert groups <= set(settings["dependency-groups"])
    assert extras <= set(settings["project"]["optional-dependencies"])


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
    core: Any = re.search(r"^CORE := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [name for name in core[1].split() if not list((ROOT / "tests").glob(f"test_{name}*.py"))] == []


INSTALL = runpy.run_path(str(ROOT / "scripts" / "install_line.py"))
rewritten = INSTALL["rewritten"]


def test_every_page_installs_what_can_be_had() -> None:
    texts = {str(page): page.read_text(encoding="utf-8") for page in INSTALL["pages"]()}
    assert texts
    assert [
        page for page, text in texts.items() if rewritten(text) != text
    ] == []  # scripts/install_line.py does it


@pytest.mark.parametrize(
    ("checkout", "index"),
    [
        ("Run `pip install .` for the core.", "Run `pip install pacshift` for the core."),
        ("`pip install '.[cli]'` in a checkout of pacshift installs", "`pip install 'pacshift[cli]'` installs"),
        (
            "- run: pip install './pacshift[all]'   # where your checkout of pacshift is",
            "- run: pip install 'pacshift[all]'",
        ),
        ("$ pip install '.[train]'   # in a checkout of pacshift", "$ pip install 'pacshift[train]'"),
    ],
)
def test_one_variable_moves_every_page_to_the_index(checkout: str, index: str) -> None:
    assert rewritten(checkout, "pacshift") == index
    assert rewritten(checkout, ".") == checkout
    assert rewritten(index, ".") != index
    assert rewritten(index, "pacshift") == index


def test_other_packages_stay() -> None:
    text = (
        "pip install torch; pip install pacshift-extras; pip install -e '.[all]' --group test; pip install ./other"
    )
    assert rewritten(text, ".") == rewritten(text, "pacshift") == text


def test_messages_follow_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert errors.install_line("cli").endswith(f"pip install '{errors.PACKAGE}[cli]'")
    monkeypatch.setattr(errors, "PACKAGE", "pacshift")
    assert errors.install_line("cli") == "Install it: pip install 'pacshift[cli]'"
