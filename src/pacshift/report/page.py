"""What every page shares: templates, a file that is written whole, plots as inline SVG that follows the page."""

import io
import os
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jinja2
import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

from pacshift.assumption import Assumption
from pacshift.files.origin import PACSHIFT_VERSION
from pacshift.files.writing import atomic_write
from pacshift.plots import assumption_groups, axes
from pacshift.plots.pictures import MAX_GROUPS_SHOWN
from pacshift.words.numbers import all_but, between, capital, down, given, mean_size, numbers_between, percent

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("pacshift.report", "."),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
FILTERS = (all_but, axes.readable, capital, down, given, mean_size, percent)
ENVIRONMENT.filters.update((function.__name__, function) for function in FILTERS)
ENVIRONMENT.globals.update(between=between, numbers_between=numbers_between, most_bins=MAX_GROUPS_SHOWN)

INK = "#111213"
COLOURS = {
    INK: "var(--ink)",
    "#ffffff": "var(--card)",
    axes.TARGET: "var(--target)",
    axes.SOURCE: "var(--source)",
    axes.LIMIT: "var(--limit)",
    axes.UNDECIDED: "var(--undecided)",
    axes.RULE: "var(--rule)",
}
INKED = "text.color axes.labelcolor axes.edgecolor xtick.color ytick.color xtick.labelcolor ytick.labelcolor"
SETTINGS: Any = dict.fromkeys(INKED.split(), INK) | {"svg.fonttype": "none"}  # texts stay texts, selectable

GROUPS_ALT = (
    "Share of the target in bins of predicted label and top score: observed, and what the best-fitting label mix "
    "gives, with what chance allows."
)


def render(template: str, **content: Any) -> str:
    """The HTML of a template."""
    return ENVIRONMENT.get_template(template).render(version=PACSHIFT_VERSION, **content)


def write_page(html: str, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write the file whole or not at all."""
    with atomic_write(path, overwrite=overwrite) as draft:
        draft.write_text(html, encoding="utf-8")


@dataclass(frozen=True)
class Picture:
    """What ``draw`` puts into a figure of ``height`` inches, and its description for those who cannot see it."""

    draw: Callable[[Figure], object]
    height: float
    alt: str


def groups_picture(tested: Assumption | None) -> dict[str, Picture]:
    """What the test of label shift saw, if there was one."""
    if tested is None:
        return {}
    height = axes.class_height(min(len(tested.groups), MAX_GROUPS_SHOWN))
    return {"groups": Picture(lambda figure: assumption_groups(tested, ax=figure.subplots()), height, GROUPS_ALT)}


def draw_all(pictures: Mapping[str, Picture]) -> dict[str, Markup]:
    """Each picture as SVG; its name keeps its ids apart from those of the others."""
    svgs = {}
    for name, picture in pictures.items():
        with matplotlib.rc_context(), warnings.catch_warnings():
            matplotlib.rcdefaults()  # the user's own style is not the page's
            matplotlib.rcParams.update({**SETTINGS, "svg.hashsalt": name})
            warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser draws the text, with its own fonts
            figure = Figure(figsize=(axes.WIDTH, picture.height), layout="constrained")
            picture.draw(figure)
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
        svgs[name] = to_inline(buffer.getvalue(), name=name, alt=picture.alt)
    return svgs


def to_inline(svg: str, *, name: str, alt: str) -> Markup:
    """Rewrite a whole SVG file into an element for an HTML page.

    Done on the parsed tree, so that a class name that looks like markup, a style or an id stays a text.
    """
    root = ET.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        if "id" in attributes:
            attributes["id"] = f"{name}-{attributes['id']}"
        if attributes.get("href", "").startswith("#"):
            attributes["href"] = f"#{name}-{attributes['href'][1:]}"
        if "clip-path" in attributes:
            attributes["clip-path"] = attributes["clip-path"].replace("url(#", f"url(#{name}-")
        if "style" in attributes:  # fonts and colours are the page's
            attributes["style"] = re.sub(r"font-family: [^;]*;? ?", "", attributes["style"])
            for colour, variable in COLOURS.items():
                attributes["style"] = attributes["style"].replace(colour, variable)
        element.attrib = attributes
    for child in [child for child in root if child.tag in ("metadata", "defs")]:
        if child.tag == "metadata" or child.find("style") is not None:  # its `*` rule would reach the whole page
            root.remove(child)
    box = root.attrib["viewBox"]
    _, _, width, height = box.split()
    root.attrib = {"viewBox": box, "width": width, "height": height, "role": "img", "aria-label": alt}
    return Markup(ET.tostring(root, encoding="unicode"))  # the serialiser escapes every text
