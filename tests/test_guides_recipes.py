"""The page "Recipes": its programs are examples, and print what the page says they print.

``UPDATE_DOCS=1 pytest tests/test_guides_recipes.py`` writes what they print now into the page.
"""

import os
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from pacshift import Tally
from test_cli_docs import parts

ROOT = Path(__file__).resolve().parents[1]
PAGE, EXAMPLES = ROOT / "docs" / "guides" / "recipes.md", ROOT / "examples"
OUTPUT = re.compile(r"(?<=<!-- output: )(?P<name>\w+) -->\n```text\n(?P<text>.*?)```\n", re.DOTALL)
NAMES = OUTPUT.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "ray_and_dask.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, _ in NAMES])
def test_the_page_tells_what_an_example_prints(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    found = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    printed, page = capsys.readouterr().out, PAGE.read_text(encoding="utf-8")
    told = next(block for block in OUTPUT.finditer(page) if block["name"] == name)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(page.replace(told[0], f"{name} -->\n```text\n{printed}```\n"), encoding="utf-8")
        return
    (words, numbers), (said, shown) = parts(printed), parts(told["text"])
    assert words == said, "run UPDATE_DOCS=1 pytest tests/test_guides_recipes.py and read the difference"
    assert numbers == pytest.approx(shown, rel=0.05)
    KEPT[name](found)


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


KEPT = {
    "performance_without_labels": recalls_and_accuracy_are_inside,
    "llm_judge": shares_are_inside,
    "findings_per_image": each_finding_keeps_its_promise,
}


def test_every_output_of_the_page_is_checked() -> None:
    assert {name for name, _ in NAMES} == set(KEPT)
    assert all(text.strip() for _, text in NAMES)


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
