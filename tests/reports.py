"""Reports of certificates of every shape, rendered once for all tests that only read them."""

import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

from certificates import every_shape
from pacshift.report import ComparisonRow, render_report

ROWS = [
    ComparisonRow("PS-LW", "pac-target", 1.25, 0.0125, 0.0625),
    ComparisonRow("PS", "pac-source", 1.0, 0.0, 0.2),
    ComparisonRow("PS-W", "pac-target", None, note="refused: <b>label shift</b> is false"),
    ComparisonRow("PS-C", "pac-target", 5.0, 0.0, 0.0, trivial=True, note="too few"),
]


@cache
def every_page() -> dict[str, str]:
    """The page of each shape, with ``ROWS`` compared on it."""
    return {name: render_report(certificate, comparison=ROWS) for name, certificate in every_shape().items()}


def page_text(html: str) -> str:
    """What a reader sees, without the pictures and the JSON at the end."""
    html = re.sub(r"<(style|svg|pre)\b.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


TAGS = set(
    re.findall(
        r"\w+",
        "html head meta link title style body a header h1 h2 h3 p nav main section ul li bdi dl div dt dd data "
        "small strong em code figure figcaption span table caption thead tbody tr th td pre details summary "
        "footer svg g path use defs text clippath rect",
    )
)
VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """Elements with their attributes and texts, as a browser without scripts would see them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.stack: list[str] = []
        self.feed(html)
        assert not self.stack, f"left open: {self.stack}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.stack[-1] if self.stack else "", data.strip()))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def inside(self, tag: str) -> list[str]:
        return [text for parent, text in self.texts if parent == tag]


def sound_page(html: str) -> Page:
    """The page, after a look at what all pages owe: they are alone, their links work, they can be read aloud."""
    page = Page(html)
    assert {tag for tag, _ in page.elements} <= TAGS  # no script, no img, whatever the names say
    for _, attributes in page.elements:
        assert not any(key.startswith("on") or key in ("src", "srcset", "action") for key in attributes)
        assert attributes.get("href", "#").startswith(("#", "data:,"))
        assert all(target == "#" for target in re.findall(r"url\((.)", attributes.get("style", "")))
    assert "url(" not in "".join(page.inside("style"))
    assert "@import" not in html
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = [a["href"][1:] for _, a in page.elements if a.get("href", "").startswith("#")]
    wanted += [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    wanted += re.findall(r'clip-path="url\(#([^)]*)\)', html)
    assert set(wanted) <= set(ids)
    assert page.all("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))
    told = [svg for svg in page.all("svg") if "aria-hidden" not in svg]  # of the others the numbers stand beside
    assert all(svg["role"] == "img" and len(svg["aria-label"]) > 20 for svg in told)
    # Whatever scrolls can be reached with the keyboard.
    scrolling = [a for tag, a in page.elements if tag == "pre" or "scroll" in a.get("class", "")]
    assert all(attributes.get("tabindex") == "0" for attributes in scrolling)
    return page
