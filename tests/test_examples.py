"""Every program of the pages runs as a newcomer would run it, in an empty folder, and prints what its page says.

``UPDATE_DOCS=1 pytest tests/test_examples.py`` writes what they print now, and the pictures of the year, into the
documentation. ``python scripts/gallery.py`` draws the pictures of the gallery.
"""

import ast
import json
import os
import re
import runpy
import shutil
from calendar import month_abbr
from pathlib import Path
from typing import Any

import pytest

from pacshift import AssumptionError, Tally, calibrate
from test_cli_docs import require_told

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FIRST, RECIPES = DOCS / "first-certificate.md", DOCS / "recipes.md"
NOTEBOOKS = runpy.run_path(str(ROOT / "scripts" / "mkdocs_notebooks.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
OPTIONAL = ("torch", "torchcp", "deel.puncc", "mapie", "crepes", "duckdb")
OUTPUT = re.compile(
    r"(?<=<!-- output: )(?P<name>\w+)(?:, (?P<part>first|last) (?P<n>\d+))? -->\n```text\n(?P<text>.*?)```\n",
    re.DOTALL,
)
CODE = re.compile(r"(?<=<!-- code: )(?P<file>\S+) -->\n```(?P<kind>\w+)\n.*?```\n", re.DOTALL)
TOLD = {(page, told["name"]) for page in (FIRST, RECIPES) for told in OUTPUT.finditer(page.read_text("utf-8"))}


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for library in OPTIONAL:
        if re.search(rf"^\s*(import|from) {library}\b", path.read_text(), re.MULTILINE):
            pytest.importorskip(
                library, reason=f"{library} is not among the test requirements, or not on this Python"
            )
    found = runpy.run_path(str(path), run_name="__main__")
    lines = [line.rstrip() for line in capfd.readouterr().out.splitlines()]

    def truth(told: re.Match[str]) -> str:
        if told["name"] != path.stem:
            return told[0]
        part = f", {told['part']} {told['n']}" if told["part"] else ""
        n = int(told["n"] or len(lines))
        shown = lines[-n:] if told["part"] == "last" else lines[:n]
        return f"{told['name']}{part} -->\n" + "\n".join(["```text", *shown, "```", ""])

    for page, rel in ((FIRST, 0.1), (RECIPES, 0.05)):
        if (page, path.stem) in TOLD:
            require_told(page, OUTPUT.sub(truth, page.read_text("utf-8")), test="test_examples", rel=rel)
    KEPT.get(path.stem, lambda _: None)(found)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_notebook_holds_the_program(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell after cell it is the program; one is executed so. The others are executed as programs, above."""
    made = json.loads(NOTEBOOKS["notebook"](path))
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    what, *cells = made["cells"]
    whole = ast.parse("\n\n".join([repr(what["source"]), *(cell["source"] for cell in cells)]))
    assert [ast.dump(one) for one in whole.body[1:]] == [
        ast.dump(one) for one in ast.parse(path.read_text()).body[1:]
    ]
    if path.stem == "compare_methods":
        monkeypatch.chdir(tmp_path)
        space: dict[str, Any] = {"__name__": "__main__"}
        for cell in cells:
            exec(compile(cell["source"], path.name, "exec"), space)


def recalls_and_accuracy_are_inside(found: dict[str, Any]) -> None:
    assert all(low <= true <= high for (low, high), true in zip(found["bounds"], found["truth"], strict=True))
    confidence = found["target"].max(axis=1).mean()
    assert confidence > found["found"].accuracy_at_most  # so the picture and the text are right about it


def shares_are_inside(found: dict[str, Any]) -> None:
    inside = [
        low <= 100 * true <= high
        for low, true, high in zip(found["low"], found["shares"], found["high"], strict=True)
    ]
    assert all(inside)
    assert not all(
        low <= said <= high for low, said, high in zip(found["low"], found["said"], found["high"], strict=True)
    )


def each_finding_keeps_its_promise(found: dict[str, Any]) -> None:
    assert all(wrong.mean() <= found["EPSILON"] for wrong in found["wrong"].values())
    assert found["any_wrong"] <= len(found["FINDINGS"]) * found["EPSILON"]


def corrected_shares_are_inside(found: dict[str, Any]) -> None:
    """In every bin; sampling of a few hundred patients moves the share that had flu by some percent."""
    ends = zip(found["least"], found["seen"], found["most"], strict=True)
    assert all(low - 4 <= seen <= high + 4 for low, seen, high in ends)
    assert all(low > said for low, said in zip(found["least"], found["said"], strict=True))


def strata_keep_their_promise(found: dict[str, Any]) -> None:
    assert found["missed"].mean() <= 0.1
    with pytest.raises(AssumptionError):  # all ages together are not label-shifted
        calibrate(found["source"], found["labels"], found["target"])


KEPT = {
    "performance_without_labels": recalls_and_accuracy_are_inside,
    "llm_judge": shares_are_inside,
    "corrected_probabilities": corrected_shares_are_inside,
    "findings_per_image": each_finding_keeps_its_promise,
    "strata": strata_keep_their_promise,
}


def test_the_output_of_these_programs_is_told() -> None:
    assert {name for page, name in TOLD if page == RECIPES} == set(KEPT)
    assert {name for page, name in TOLD if page == FIRST} == {"command_line", "scikit_learn"}


def test_a_page_for_newcomers_shows_the_examples_themselves() -> None:
    """In the Markdown file, not included when the site is built: it is read in the repository too."""
    page = FIRST.read_text(encoding="utf-8")

    def shown(code: re.Match[str]) -> str:
        text = (ROOT / "examples" / code["file"]).read_text(encoding="utf-8")
        return f"{code['file']} -->\n```{code['kind']}\n{text}```\n"

    assert {code["file"] for code in CODE.finditer(page)} == {"command_line.sh", "scikit_learn.py"}
    ((name, lines),) = re.findall(
        r"^<!-- lines of: (\S+) -->\n```python\n(.+?)```$", page, re.DOTALL | re.MULTILINE
    )
    assert lines in (ROOT / "examples" / name).read_text(encoding="utf-8")
    if os.environ.get("UPDATE_DOCS"):
        FIRST.write_text(CODE.sub(shown, page), encoding="utf-8")
    assert FIRST.read_text(encoding="utf-8") == CODE.sub(shown, page)


def test_every_example_is_among_the_recipes_with_its_picture() -> None:
    page = RECIPES.read_text(encoding="utf-8")
    pairs = re.findall(
        r"^- \[!\[.+?\]\(figures/gallery/(\w+)\.png\).*?\]\(\.\./examples/(\w+)\.py\)$", page, re.MULTILINE
    )
    assert all(picture == program for picture, program in pairs)
    assert sorted(program for _, program in pairs) == [path.stem for path in EXAMPLES]
    pictures = [DOCS / "figures" / "gallery" / f"{path.stem}.png" for path in EXAMPLES]
    assert sum(path.stat().st_size for path in pictures) < 1_000_000


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "ray_and_dask.py"))


@pytest.mark.slow
@pytest.mark.parametrize("library", ["dask", "ray"])
def test_clusters_give_the_counts_of_one_process(library: str, cluster: dict[str, Any]) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed; a plain map runs the same lines")
    parts = cluster["parts"]
    made = Tally.sum(cluster[f"with_{library}"](parts))
    assert made == Tally.sum(cluster["in_one_process"](parts))


@pytest.mark.slow
def test_the_sum_does_not_depend_on_the_order_of_partitions(cluster: dict[str, Any]) -> None:
    parts, one = cluster["parts"], cluster["in_one_process"]
    assert Tally.sum(one(parts)) == Tally.sum(one(parts[::-1]))
    assert cluster["tally"].n_source == cluster["tally"].n_target == 20_000


YEAR = DOCS / "year.md"
OF_THE_YEAR = re.compile(r"(<!-- output: (begin|sheet|again) -->\n)(.*?)(<!-- output: end -->)", re.DOTALL)
PARTS = re.compile(r"^(?=September: |Oct: )", re.MULTILINE)
MONTHS = re.compile(r"^\*\*(?:In|From) (\w+)(?: (and|to) (\w+))?\*\*(.+?)^$", re.DOTALL | re.MULTILINE)


def test_the_text_of_the_year_tells_what_is_printed() -> None:
    page, told = YEAR.read_text(encoding="utf-8"), dict[str, set[str]]()
    for first, word, last, text in MONTHS.findall(page):
        months = list(month_abbr)[1:]
        ends = months.index(first[:3]), months.index((last or first)[:3])
        assert word != "and" or ends[1] == ends[0] + 1
        verdicts = set(re.findall(r"`(kept|not-proven|broken|shift-rejected)`", text))
        told |= dict.fromkeys(months[ends[0] : ends[1] + 1], verdicts)
    printed = re.findall(r"^(\w{3}): ([\w-]+)", page, re.MULTILINE)
    assert told == {month: {verdict} for month, verdict in printed}


@pytest.mark.slow
def test_the_year_goes_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(YEAR.with_suffix(".py")))
    told = dict(zip(("begin", "sheet", "again"), PARTS.split(capsys.readouterr().out), strict=True))
    page, pictures = YEAR.read_text(encoding="utf-8"), sorted(tmp_path.glob("*.png"))
    assert [path.name for path in pictures] == re.findall(r"\(figures/(\S+?\.png)", page)
    assert (tmp_path / "until-september.html").is_file()
    for path in pictures:
        if os.environ.get("UPDATE_DOCS"):
            shutil.copy(path, DOCS / "figures" / path.name)
        assert (DOCS / "figures" / path.name).is_file()
    now = OF_THE_YEAR.sub(lambda block: f"{block[1]}\n```text\n{told[block[2]]}```\n\n{block[4]}", page)
    require_told(YEAR, now, test="test_examples", rel=0.1)
