"""The page in a real browser: nothing runs, nothing is fetched, all is seen, on a desk, a phone and paper."""

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from certificates import HOSTILE, every_shape
from pacshift.plots import readable
from pacshift.report.build import key_figures
from reports import every_page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHAPES = every_shape()
DESK, PHONE = 1200, 360

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    paths = {name: folder / f"{name.replace(' ', '-')}.html" for name in SHAPES}
    for name, path in paths.items():
        path.write_text(every_page()[name], encoding="utf-8")
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


def pixels(page: Any) -> Any:
    return np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB"))


@pytest.mark.parametrize("name", SHAPES)
def test_no_complaints_and_no_sideways_scrolling(visit: Open, name: str) -> None:
    for width, scheme in ((DESK, "light"), (PHONE, "dark")):
        page = visit(name, width=width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        outside = f"""() => [...document.querySelectorAll("h1, h2, p, li, dt, dd, td, svg text")]
            .filter(e => e.getClientRects().length && !e.closest(".scroll"))
            .filter(e => e.getBoundingClientRect().right > {width} || e.getBoundingClientRect().left < 0)
            .map(e => e.textContent)"""
        assert page.evaluate(outside) == []


def test_numbers_on_the_page_are_the_certificates(visit: Open) -> None:
    certificate = SHAPES["full"]
    page = visit("full")
    cards = page.locator(".cards data").evaluate_all("all => all.map(e => [e.value, e.innerText])")
    assert [(float(value), shown) for value, shown in cards] == [
        (figure.value, figure.shown) for figure in key_figures(certificate)
    ]
    rows = page.locator(".classes tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.innerText))"
    )
    assert certificate.weights is not None
    assert certificate.prevalence is not None
    assert certificate.class_miss is not None
    for label, (name, source, share, predicted, prevalence, weight, missed, threshold) in enumerate(rows):
        assert name == certificate.classes[label]
        assert source == f"{certificate.class_counts[label]:,}"
        assert float(share.removesuffix(" %")) == pytest.approx(
            100 * certificate.class_counts[label] / certificate.n_source, rel=5e-3
        )
        assert predicted == f"{certificate.predicted_counts[label]:,}"
        low, high = (float(end) for end in prevalence.removesuffix(" %").split(" to "))
        assert low <= 100 * certificate.prevalence.lower[label] <= low * 1.01
        assert high * 0.99 <= 100 * certificate.prevalence.upper[label] <= high
        low, high = (float(end.replace("∞", "inf")) for end in weight.split(" to "))
        assert low <= certificate.weights.lower[label] <= low * 1.01
        assert high == certificate.weights.upper[label] or high * 0.99 <= certificate.weights.upper[label] <= high
        low, high = (float(end) for end in missed.removesuffix(" %").split(" to "))
        assert low <= 100 * certificate.class_miss.lower[label] <= low * 1.01
        assert high * 0.99 <= 100 * certificate.class_miss.upper[label] <= high
        assert float(threshold) == pytest.approx(certificate.thresholds[label], rel=1e-3)
    assert "at least 90 % of the target population" in page.locator(".headline").inner_text()


def test_hostile_class_names_stay_text(visit: Open) -> None:
    page = visit("hostile")
    assert page.locator("img, script, iframe, object, b").count() == 0
    assert page.locator(".classes tbody th").all_inner_texts() == [readable(name, 120) for name in HOSTILE]
    drawn = page.locator("svg text").all_text_contents()
    assert any(text.startswith("<img src=x onerror") for text in drawn)
    assert page.evaluate("document.querySelectorAll('svg svg').length") == 0


@pytest.mark.parametrize("name", ["full", "trivial", "bare"])
def test_the_picture_is_not_blank(visit: Open, name: str) -> None:
    light, dark = pixels(visit(name)), pixels(visit(name, scheme="dark"))
    assert light.mean() > 200
    assert dark.mean() < 80
    for image in (light, dark):
        assert len(np.unique(image.astype(np.int64) @ [65536, 256, 1])) > 50  # colours


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_plots_are_large_enough_and_follow_the_theme(visit: Open, width: int) -> None:
    inks = set()
    for scheme in ("light", "dark"):
        page = visit("full", width=width, scheme=scheme)
        boxes = page.locator("figure svg").evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())")
        assert len(boxes) == 7
        assert all(box["width"] > 250 and box["height"] > 100 for box in boxes)
        smallest = "all => Math.min(...all.map(e => e.getBoundingClientRect().height))"
        assert page.locator("svg text").evaluate_all(smallest) >= 8
        inks.add(page.locator("svg text").first.evaluate("e => getComputedStyle(e).fill"))
    assert len(inks) == 2


def test_the_keyboard_reaches_everything(visit: Open) -> None:
    page = visit("many")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the guarantee"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#guarantee"
    table = page.locator(".scroll").first
    table.focus()
    page.keyboard.press("End")
    for _ in range(100):  # scrolling is animated; the page's own rules forbid wait_for_function
        if table.evaluate("e => e.scrollTop") > 1000:
            break
        page.wait_for_timeout(50)
    else:
        pytest.fail("the End key did not scroll the table")
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("details pre").is_visible()


def test_paper_gets_everything_but_the_menus(visit: Open) -> None:
    page = visit("many", scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    table = page.locator(".scroll").first.evaluate("e => [e.scrollHeight, e.clientHeight]")
    assert table[0] == table[1]  # all 200 rows are printed
    ground = "getComputedStyle(document.querySelector('section')).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_paper_does_not_split_lists_and_short_tables(visit: Open) -> None:
    page = visit("full")
    page.emulate_media(media="print")
    whole = "all => all.filter(e => getComputedStyle(e).breakInside !== 'avoid').length"
    for name in ("ul", "figure", "dl", "tr", ".scroll:not(.tall)", "pre"):
        assert page.locator(name).count() > 0
        assert page.locator(name).evaluate_all(whole) == 0, name
    long = visit("many")
    long.emulate_media(media="print")
    assert long.locator(".tall").first.evaluate("e => getComputedStyle(e).breakInside") == "auto"
