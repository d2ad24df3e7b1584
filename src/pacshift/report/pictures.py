"""The plots as inline SVG that follows the page: its fonts, its light and dark colours, its width."""

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pacshift import plots
from pacshift.certificate import Certificate

INK = "#111213"
COLOURS = {
    INK: "var(--ink)",
    "#ffffff": "var(--card)",
    plots.BLUE: "var(--blue)",
    plots.ORANGE: "var(--orange)",
    plots.GREY: "var(--muted)",
    plots.RULE: "var(--rule)",
}
SETTINGS: Any = {
    "svg.fonttype": "none",  # texts stay texts: any script, any size, selectable
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}

Plot = Callable[..., Axes]


def picture(plot: Plot, certificate: Certificate, *, name: str, alt: str, height: float) -> Markup:
    """Draw ``plot`` of a certificate and return its SVG."""
    return drawing(lambda figure: plot(certificate, ax=figure.subplots()), name=name, alt=alt, height=height)


def drawing(draw: Callable[[Figure], object], *, name: str, alt: str, height: float) -> Markup:
    """Let ``draw`` fill a figure and return its SVG; ``name`` keeps its ids apart from the other pictures'."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # the user's own style is not the page's
        matplotlib.rcParams.update({**SETTINGS, "svg.hashsalt": name})
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser draws the text, with its own fonts
        figure = Figure(figsize=(plots.WIDTH, height), layout="constrained")
        draw(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return to_inline(buffer.getvalue(), name=name, alt=alt)


def to_inline(svg: str, *, name: str, alt: str) -> Markup:
    """Rewrite a whole SVG file into an element for an HTML page.

    Done on the parsed tree, so that a class name that looks like markup, a style or an id stays a text.
    """
    root = ET.fromstring(svg)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(key): value for key, value in element.attrib.items()}
        _rewrite(element, name)
    for child in [child for child in root if child.tag in ("metadata", "defs")]:
        if child.tag == "metadata" or child.find("style") is not None:  # its `*` rule would reach the whole page
            root.remove(child)
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": alt,
    }
    return Markup(ET.tostring(root, encoding="unicode"))  # the serialiser escapes every text


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _rewrite(element: ET.Element, name: str) -> None:
    """Ids get the picture's name in front, colours become the page's, fonts are the page's."""
    attributes = element.attrib
    if "id" in attributes:
        attributes["id"] = f"{name}-{attributes['id']}"
    if attributes.get("href", "").startswith("#"):
        attributes["href"] = f"#{name}-{attributes['href'][1:]}"
    if "clip-path" in attributes:
        attributes["clip-path"] = attributes["clip-path"].replace("url(#", f"url(#{name}-")
    if "style" in attributes:
        style = re.sub(r"font-family: [^;]*;? ?", "", attributes["style"])
        for colour, variable in COLOURS.items():
            style = style.replace(colour, variable)
        attributes["style"] = style
