"""The plots as inline SVG that follows the page: its fonts, its light and dark colours, its width."""

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pacshift import plots
from pacshift.assumption import Assumption
from pacshift.certificate import Certificate
from pacshift.plots import WIDTH, palette
from pacshift.words.numbers import given, percent

INK = "#111213"
COLOURS = {
    INK: "var(--ink)",
    "#ffffff": "var(--card)",
    palette.TARGET: "var(--target)",
    palette.SOURCE: "var(--source)",
    palette.LIMIT: "var(--limit)",
    palette.UNDECIDED: "var(--undecided)",
    palette.RULE: "var(--rule)",
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


GROUPS_ALT = (
    "Share of the target in groups of predicted label and confidence: observed, and what the label mix that fits "
    "best gives, with what chance allows."
)


IN_TABLE = "The numbers are in the table of classes."
CURVE_ALT = (
    "How the bound of the target error rises with the share of labels missed on the source: a picture, not a "
    "second guarantee."
)
SENSITIVITY_ALT = "How the bound of the target error grows with the share of the target that is not label-shifted."


@dataclass(frozen=True)
class Picture:
    """What ``draw`` puts into a figure of ``height`` inches, and its description for those who cannot see it."""

    draw: Callable[[Figure], object]
    height: float
    alt: str


def drawn(pictures: Mapping[str, Picture]) -> dict[str, Markup]:
    """Each picture as SVG."""
    return {name: drawing(picture, name) for name, picture in pictures.items()}


def groups_picture(tested: Assumption) -> Picture:
    """What the test of label shift saw."""
    height = plots.class_height(min(len(tested.groups), plots.MAX_GROUPS_SHOWN))
    return Picture(lambda figure: plots.assumption_groups(tested, ax=figure.subplots()), height, GROUPS_ALT)


def certificate_pictures(certificate: Certificate) -> dict[str, Picture]:
    """The pictures for which the certificate has numbers."""

    def picture(plot: Callable[..., Axes], height: float, alt: str) -> Picture:
        return Picture(lambda figure: plot(certificate, ax=figure.subplots()), height, alt)

    tall = plots.class_height(min(len(certificate.classes), plots.MAX_CLASSES_SHOWN))
    what = "the interval of its share" if certificate.prevalence is not None else "the share of predictions"
    mix = f"Share of each class on the source and {what} on the target. {IN_TABLE}"
    pictures = {"mix": picture(plots.label_mix, tall, mix)}
    if certificate.weights is not None:
        weights = f"Interval of the importance weight of each class. {IN_TABLE}"
        pictures["weights"] = picture(plots.weight_intervals, tall, weights)
    if certificate.class_miss is not None:
        misses = f"Bounds of the share of each class that is missed. {IN_TABLE}"
        pictures["misses"] = picture(plots.class_misses, tall, misses)
    if certificate.assumption is not None:
        pictures["groups"] = groups_picture(certificate.assumption)
    if certificate.curve is not None:
        allowed = f"{CURVE_ALT} The allowed error is {given(certificate.epsilon)}."
        pictures["curve"] = picture(plots.bound_curve, 3.0, allowed)
    if certificate.sensitivity is not None:
        pictures["sensitivity"] = picture(plots.sensitivity_curve, 3.0, SENSITIVITY_ALT)
    sizes = certificate.set_sizes
    if sizes is not None:
        parts = [f"{percent(count / sizes.sum())} hold {size}" for size, count in enumerate(sizes) if count]
        more = f" and {len(parts) - 8} further sizes" if len(parts) > 8 else ""
        said = f"Sizes of the target's sets: {', '.join(parts[:8])}{more}." if parts else ""
        pictures["sizes"] = picture(plots.set_sizes, 3.0, said)
    return pictures


def drawing(picture: Picture, name: str) -> Markup:
    """A picture as SVG; ``name`` keeps its ids apart from those of the other pictures."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # the user's own style is not the page's
        matplotlib.rcParams.update({**SETTINGS, "svg.hashsalt": name})
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser draws the text, with its own fonts
        figure = Figure(figsize=(WIDTH, picture.height), layout="constrained")
        picture.draw(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return to_inline(buffer.getvalue(), name=name, alt=picture.alt)


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
