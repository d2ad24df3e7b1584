"""The documentation as built: links lead somewhere, formulas are drawn, and nothing is cut off."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
PHONE, DESK = 360, 1280

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
    found = {path: Page(path) for path in pages(site)}
    assert len(found) > 35
    broken = []
    for path, page in found.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not goal.exists() or (goal in found and place not in found[goal].places):
                broken.append(f"{path.relative_to(site)} -> {link}")
    assert broken == []


def test_no_formula_shows_its_source(site: Path) -> None:
    formulas = {path: re.findall(r"<math.*?</math>", path.read_text("utf-8"), re.DOTALL) for path in pages(site)}
    assert sum(map(len, formulas.values())) > 1000
    shown = {
        path.name: [one for one in found if "\\" in re.sub(r"<[^>]+>", "", one)]
        for path, found in formulas.items()
    }
    assert {name: found for name, found in shown.items() if found} == {}


# Elements whose content is wider than they are: they scroll by themselves, or are cut off.
# A few pixels are the padding of code at the end of a line.
TOO_WIDE = """() => {
  document.querySelectorAll('details').forEach(hidden => hidden.open = true);
  const scrolling = [], cut = [];
  for (const each of document.querySelectorAll('article *:not(svg *, math *)')) {
    const style = getComputedStyle(each), scrolls = /auto|scroll/.test(style.overflowX);
    if (style.display === 'inline' || each.scrollWidth <= each.clientWidth + 8) continue;
    const words = each.localName + ': ' + each.textContent.trim().slice(0, 60);
    if (scrolls) scrolling.push(words);
    else if (!each.parentElement.closest('.md-typeset__scrollwrap, .arithmatex, .long-formula, pre')
             && !each.querySelector('.md-typeset__scrollwrap, .tabbed-labels')) cut.push(words);
  }
  return {page: document.documentElement.scrollWidth, scrolling, cut};
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_is_cut_off(site: Path, browser: Any, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    wide = {}
    for path in pages(site):
        page.goto(path.as_uri(), wait_until="load")
        found = page.evaluate(TOO_WIDE)
        cut = found["cut"]
        if width == DESK:  # here tables and formulas fit; programs may scroll
            cut += [words for words in found["scrolling"] if not words.startswith(("code", "pre"))]
        if cut or found["page"] > width:
            wide[path.relative_to(site).as_posix()] = cut or found["page"]
    context.close()
    assert wide == {}


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if path.name != "404.html")
