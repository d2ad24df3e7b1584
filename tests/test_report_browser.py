"""The page in a real browser: nothing runs, nothing is fetched, all is seen, on a desk, a phone and paper."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from certificates import HOSTILE, every_shape
from pacshift.plots.axes import readable
from pacshift.report import render_history, render_refusal
from reports import every_page
from test_report_history import MONITORS
from test_report_refusal import SHAPES as REFUSED
from test_report_refusal import refusals

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHAPES = every_shape()
DESK, PHONE = 1200, 360

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    pages = every_page() | {f"refused {name}": render_refusal(error) for name, error in refusals().items()}
    pages |= {name: render_history(make()) for name, make in MONITORS.items()}
    paths = {name: folder / f"{name.replace(' ', '-')}.html" for name in pages}
    for name, path in paths.items():
        path.write_text(pages[name], encoding="utf-8")
    return paths


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Open]:
    """Open a report; whatever it logs, asks, raises or fetches fails the test at the end."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def go(name: str, *, width: int = DESK, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: _note_dialog(dialog, complaints))
        page.on("request", lambda request: _note_fetch(request.url, complaints))
        page.goto(files[name].as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


def _note_fetch(url: str, complaints: list[str]) -> None:
    if not url.startswith(("file:", "data:")):
        complaints.append(f"fetched {url}")


def _note_dialog(dialog: Any, complaints: list[str]) -> None:
    complaints.append(dialog.message)
    dialog.dismiss()


@pytest.mark.parametrize("name", [*SHAPES, *MONITORS, *(f"refused {name}" for name in REFUSED)])
def test_no_complaints_and_no_sideways_scrolling(visit: Open, name: str) -> None:
    for width, scheme in ((DESK, "light"), (PHONE, "dark")):
        page = visit(name, width=width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        outside = f"""() => [...document.querySelectorAll("h1, h2, p, li, dt, dd, td, svg text")]
            .filter(e => e.getClientRects().length && !e.closest(".scroll"))
            .filter(e => e.getBoundingClientRect().right > {width} || e.getBoundingClientRect().left < 0)
            .map(e => e.textContent)"""
        assert page.evaluate(outside) == []


@pytest.mark.parametrize(("name", "table", "more"), [("hostile", ".classes", 0), ("hostile year", ".periods", 20)])
def test_hostile_names_stay_text(visit: Open, name: str, table: str, more: int) -> None:
    page = visit(name)
    assert page.locator("img, script, iframe, object, b").count() == 0
    names = [readable(name, 120) for name in [*HOSTILE, *map(str, range(more))]]
    assert page.locator(f"{table} tbody th").all_text_contents() == names  # folded or not
    drawn = page.locator("svg text").all_text_contents()
    assert any(text.startswith("<img src=x onerror") for text in drawn)
    assert page.evaluate("document.querySelectorAll('svg svg').length") == 0


def test_the_keyboard_reaches_everything(visit: Open) -> None:
    page = visit("many")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the promise"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#promise"
    page.locator("summary", has_text="Class by class").focus()
    page.keyboard.press("Enter")
    table = page.locator(".scroll").first
    table.focus()
    page.keyboard.press("End")
    for _ in range(100):  # scrolling is animated; the page's own rules forbid wait_for_function
        if table.evaluate("e => e.scrollTop") > 1000:
            break
        page.wait_for_timeout(50)
    else:
        pytest.fail("the End key did not scroll the table")
    for title in ("How to recompute it", "The certificate itself"):
        page.locator("summary", has_text=title).focus()
        page.keyboard.press("Enter")
    assert page.locator(".document pre").is_visible()


@pytest.mark.parametrize("name", ["many", "hostile year"])
def test_paper_gets_everything_but_the_menus(visit: Open, name: str) -> None:
    page = visit(name, scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    table = page.locator(".scroll").first.evaluate("e => [e.scrollHeight, e.clientHeight]")
    assert table[0] == table[1]  # all rows are printed
    ground = "getComputedStyle(document.querySelector('section')).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
