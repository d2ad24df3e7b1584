"""What the pages say is checked: console and shell examples, names of code, paths, links, percentages."""

import doctest
import inspect
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pacshift
from pacshift.errors import MissingExtraError
from test_proof_pages import resolve

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/results/*.md"), *ROOT.glob("paper/*.md")])
"""Of the site, and of the repository: results of benchmarks, and the data of the paper."""
FRONT = [README, *(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING"))]
WRITTEN = [*FRONT, ROOT / "CHANGELOG.md", *PAGES]


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [page for page in PAGES if ">>>" in page.read_text()], ids=page_id)
def test_console_examples_print_what_they_say(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("path", WRITTEN, ids=page_id)
def test_files_named_on_a_page_exist(path: Path) -> None:
    named = re.findall(r"`((?:src|scripts|docs|tests|examples|benchmarks|paper)/[\w./-]+\.\w+)`", path.read_text())
    inside = [f"src/pacshift/{name}" for name in re.findall(r"`((?:\w+/)+\w+\.py)`", path.read_text())]
    named += [name for name in inside if (ROOT / name).parent.is_dir()]
    placeholders = {"src/pacshift/x.py", "tests/test_x.py"}
    assert [name for name in named if name not in placeholders and not (ROOT / name).exists()] == []


PACKAGE = ROOT / "src" / "pacshift"
SHORT = {"prediction_powered": "ps_lp.prediction_powered"}
OBJECTS = {"certificate": "Certificate", "tally": "Tally", "monitor": "Monitor", "population": "Population"}
"""Variables that pages name after their class."""
FILES = {"json", "html", "csv", "parquet", "png", "py"}


def names_on(page: str) -> Iterator[str]:
    """Names of code in backticks and imports: ``pacshift.x.y``, ``folder.module.y``, ``certificate.y``."""
    for name in re.findall(r"`([a-z]\w*(?:\.\w+)+)(?=[`(\[])", page):
        first, second, *_ = name.split(".")
        is_module = (PACKAGE / first / f"{second}.py").exists() and first != "certificate"
        if second in FILES:
            continue
        if first in OBJECTS and not is_module:
            yield f"{OBJECTS[first]}.{second}"
        elif first in ("pacshift", "bounds") or (PACKAGE / first).is_dir():
            yield name
        elif first in SHORT:
            yield name.replace(first, SHORT[first], 1)
    for module, names in re.findall(r"^\s*(?:>>> )?from (pacshift[\w.]*) import ([\w, ]+)", page, re.MULTILINE):
        yield from (f"{module}.{name.split()[0]}" for name in names.split(",") if name.strip())


@pytest.mark.parametrize("path", [*FRONT, *PAGES], ids=page_id)
def test_code_named_on_a_page_exists(path: Path) -> None:
    missing = []
    for name in sorted(set(names_on(path.read_text(encoding="utf-8")))):
        try:
            resolve(name)
        except MissingExtraError as error:
            missing.append(str(error))
    if missing:  # every other name was looked at
        pytest.skip(missing[0])


def test_names_that_do_not_exist_are_noticed() -> None:
    page = "`mix.region.x` `pacshift.calibrat(x)` `certificate.set(x)` `tally.coins.x`\nfrom pacshift.ps import PS"
    names = list(names_on(page))
    assert len(names) == 5
    for name in names:
        with pytest.raises((AssertionError, AttributeError, ImportError)):
            resolve(name)


def test_the_api_page_says_what_is_public() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: make check does it")
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    table = page.partition("| import from | public there |")[2].partition("\n\n")[0]
    modules = re.findall(r"`(pacshift[\w.]*)`", " ".join(row.split("|")[1] for row in table.splitlines()[2:]))
    assert all(inspect.ismodule(pkgutil.resolve_name(module)) for module in modules)
    found = {name: pkgutil.resolve_name(name) for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    missing = [
        name for name in pacshift.__all__ if not any(getattr(pacshift, name) is each for each in found.values())
    ]
    assert missing == ["METHODS"]  # neither class nor function: the table names it
    assert "`METHODS`" in table
    elsewhere = {name.rpartition(".")[2] for name in found if name.rpartition(".")[0] not in modules}
    assert elsewhere - set(pacshift.__all__) == {
        *("Predictor", "Provenance", "Counting", "AskedMethod", "Input"),
        *("Grouped", "ScoreKind", "InUse", "Gap", "Attempt"),
        *("split_delta", "clopper_pearson", "binomial_cut", "eliminate", "hull", "bbse_soft"),  # of blocks
        "prevalence_region",
    }


def test_the_map_shows_every_folder_and_module_of_the_package_once() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.partition("| folder or module | job |")[2].partition("\n\n")[0]
    shown = [name for row in table.splitlines()[2:] for name in re.findall(r"`([\w/.]+)`", row.split("|")[1])]
    package = [path for path in (ROOT / "src" / "pacshift").iterdir() if not path.name.startswith(("_", "."))]
    made = [f"{path.name}/" if path.is_dir() else path.name for path in package if path.suffix in ("", ".py")]
    assert sorted(shown) == sorted(made)


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *PAGES], ids=page_id)
def test_local_links_lead_somewhere(path: Path) -> None:
    broken = []
    for link, place in re.findall(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)", path.read_text(encoding="utf-8")):
        goal = path.parent / link if link else path
        if not goal.exists() or (place and goal.suffix == ".md" and place not in places(goal)):
            broken.append(f"{link}#{place}")
    assert broken == []


def places(page: Path) -> set[str]:
    """What a link into a page can name: its headings, what it documents, and places with a name of their own."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"^::: ([\w.]+)$|id=\"([\w-]+)\"|\{ ?#([\w-]+)", text, re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain} | {name for names in named for name in names}


LEARN = re.search(r"- Learn:\n(.*?)\n  - Use:", (ROOT / "mkdocs.yml").read_text(), re.DOTALL)[1]  # type: ignore[index]
MOST_WORDS, MOST_WORDS_OF_A_LESSON = 45_000, 1_000
"""Of all pages of the site; of a page for newcomers, without programs and what they print."""


def count_words(page: str) -> int:
    """A word has a letter or a digit: bars of tables are none. What is made of docstrings does not count."""
    written = re.sub(r"^(?:::: .*|    options: .*)$", "", page, flags=re.MULTILINE)
    return sum(re.search(r"\w", word) is not None for word in written.split())


def test_the_site_stays_short() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    assert sum(map(count_words, pages)) <= MOST_WORDS
    for name in re.findall(r": (\S+\.md)$", LEARN, re.MULTILINE):
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        said = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
        assert count_words(said) <= MOST_WORDS_OF_A_LESSON, name


def test_formulas_of_pages_and_docstrings_become_mathml() -> None:
    pytest.importorskip("latex2mathml", reason="needs the packages of the group docs: make docs installs them")
    hook = runpy.run_path(str(ROOT / "scripts" / "mkdocs_typeset.py"))
    page = r'<p>.. math:: w_i \ge 0</p><p>so <span class="arithmatex">\(w\)</span> and .. more</p>'
    made = hook["on_page_content"](page)
    assert made.count("<math") == 2
    assert "math::" not in made
    assert "and .. more</p>" in made


def run(line: str, folder: Path) -> None:
    program, *arguments = shlex.split(line, comments=True)
    command = [str(Path(sys.executable).parent / program), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_shell_example_of_the_readme_runs(tmp_path: Path) -> None:
    block: Any = re.search(r"```sh\n(pacshift calibrate .+?)```", README.read_text(), re.DOTALL)
    lines = block[1].strip().splitlines()
    assert len(lines) == 3
    run("pacshift demo -o out/demo", tmp_path)  # what `make demo` leaves behind
    for line in lines:
        run(line, tmp_path)
    assert (tmp_path / "certificate.json").is_file()
    assert (tmp_path / "sets.parquet").is_file()


def test_what_was_measured_is_what_the_tables_say() -> None:
    """The page "Measured" quotes results of benchmarks: a new run that changes them must change the page."""
    page = " ".join((ROOT / "docs" / "measured.md").read_text(encoding="utf-8").split())
    results = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("benchmarks/results/*.md")}
    above: dict[str, list[str]] = {}
    for method, count in re.findall(
        r"^\| (\S+) \| [\w ()]+ \| (\d+) \| [\d.]+ \|", results["guarantee"], re.MULTILINE
    ):
        above.setdefault(method, []).append(count)
    assert "PS-LP exceeded ε in {} and in {} of 300 draws".format(*above["PS-LP"]) in page
    assert "PS-LW in {} and {};".format(*above["PS-LW"]) in page
    assert "knows the weights ({} and {})".format(*above["ORACLE"]) in page
    assert "whose test is exact ({} and {})".format(*above["PS-T"]) in page
    assert "true ones, in {} and {}.".format(*above["PS-R"]) in page
    assert above["PS-W"] == above["PS-C"] == ["0", "0"]
    assert "8 directions would be certified" in results["populations"]
    assert re.findall(r"\| 0\.\d+ \| (\d+) of 20 \|", results["populations"]).count("7") == 1
    said = r"sets are ([\d.]+) % larger \(geometric mean\).*?and ([\d.]+) % larger"
    larger: Any = re.search(said, results["sharpness"])
    assert f"sets are {larger[1]} % larger (geometric mean)" in page
    assert f"and {larger[2]} % larger than the best that miss no class" in page
    assert set(re.findall(r"\| (\d+) \|$", results["survives"], re.MULTILINE)) == {"0"}
    damaged = re.findall(r"^\| damaged .+? \| ([\d,]+) \|", results["survives"], re.MULTILINE)
    assert sum(int(one.replace(",", "")) for one in damaged) >= 20_000
