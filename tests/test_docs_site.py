"""The documentation as built: every link leads somewhere, and no page scrolls sideways on a phone."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
PHONE = 360

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """Where the links of a page lead, and which places it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.links += [link for name in ("href", "src") if (link := found.get(name))]
        self.places |= {place for name in ("id", "name") if (place := found.get(name))}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built as ``make docs`` builds it."""
    pytest.importorskip("material", reason="needs the packages of the group docs")
    config = pytest.importorskip("mkdocs.config")
    build = pytest.importorskip("mkdocs.commands.build")
    folder = tmp_path_factory.mktemp("site")
    build.build(config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_every_internal_link_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 35
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not goal.exists() or (goal in pages and place not in pages[goal].places):
                broken.append(f"{path.relative_to(site)} -> {link}")
    assert broken == []


@pytest.mark.browser
def test_no_page_scrolls_sideways_on_a_phone(site: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": PHONE, "height": 800})
    page = context.new_page()
    wide = {}
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="load")
        page.evaluate("document.querySelectorAll('details').forEach(hidden => hidden.open = true)")
        found = page.evaluate("document.documentElement.scrollWidth")
        if found > PHONE:
            wide[path.relative_to(site).as_posix()] = found
    context.close()
    assert wide == {}
