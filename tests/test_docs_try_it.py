"""The interactive picture of the first page: the numbers are those of the program, and it works in a browser."""

import json
import os
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOOK = runpy.run_path(str(ROOT / "scripts" / "mkdocs_try_it.py"))
SHOWN: dict[str, Any] = json.loads((ROOT / "docs" / "assets" / "try-it.json").read_text())


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("try-it") / "page.html"
    style = (ROOT / "docs" / "assets" / "extra.css").read_text()
    path.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style><body>{HOOK['fragment']()}")
    return path


@pytest.mark.data
def test_the_numbers_are_those_of_the_program(tmp_path: Path) -> None:
    from benchmarks.lab import Lab
    from benchmarks.try_it import run

    data = os.environ.get("PACSHIFT_DATA")
    if data is None:
        pytest.skip("PACSHIFT_DATA is not set: the answers of the survey are not shipped")
    list(run(Lab(data=data, out=tmp_path, say=lambda _line: None)))
    assert json.loads((tmp_path / "try-it.json").read_text()) == SHOWN


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_sliders_change_bars_and_sets(browser: Any, page: Path, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    opened, complaints = context.new_page(), list[str]()
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: complaints.append(request.url) if request.url != page.as_uri() else None)
    opened.goto(page.as_uri())
    share, epsilon = opened.locator("input").all()
    for place, at in ((5, "0.3 0.1"), (11, "0.6 0.1"), (0, "0.05 0.1")):
        share.fill(str(place))
        for number, method in enumerate(SHOWN["methods"]):
            wanted = SHOWN["results"][at][method]
            said = opened.locator(".number").nth(number).inner_text()
            assert said == f"misses {HOOK['percent'](wanted['error'])}, {wanted['size']:.2f} labels per set"
        cuts = SHOWN["results"][at]["PS-LP"]["thresholds"]
        missed = sum(one["scores"][one["label"]] < cuts[one["label"]] for one in SHOWN["people"])
        assert opened.locator(".set.missed", has_text="PS-LP").count() == missed
    epsilon.fill("0")
    assert opened.locator("output").nth(1).inner_text() == "3 %"
    assert opened.locator(".case").count() == 12
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    context.close()


@pytest.mark.browser
@pytest.mark.slow
def test_without_scripts_a_table_says_the_same(browser: Any, page: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(page.as_uri())
    wanted = SHOWN["results"]["0.3 0.1"]["PS-LP"]
    assert opened.locator("tr", has_text="30 %").filter(has_text="PS-LP").inner_text().split("\t") == [
        "30 %",
        "PS-LP",
        HOOK["percent"](wanted["error"]),
        f"{wanted['size']:.2f}",
    ]
    context.close()
