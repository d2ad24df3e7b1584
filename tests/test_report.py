"""The page holds the certificate's numbers, names nothing outside itself, and lets no class name become markup."""

import json
import re
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt

from certificates import HOSTILE, alter, birds, every_shape
from pacshift import Certificate, InputError, Interval, Rows, calibrate
from pacshift.arrays import FloatArray
from pacshift.assumption import Assumption, Noticeable
from pacshift.certificate.file import to_document
from pacshift.methods import MethodFacts
from pacshift.plots import axes
from pacshift.plots.axes import readable
from pacshift.report import ComparisonRow, render_report, write_report
from pacshift.report.page import to_inline
from pacshift.words.statements import short_lines, statements
from reports import ROWS, Page, every_page, page_text, sound_page

SHAPES = every_shape()
MEANINGS = ("target", "source", "limit", "undecided")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return every_page()


@pytest.mark.parametrize("name", SHAPES)
def test_every_page_is_sound(pages: dict[str, str], name: str) -> None:
    assert len(pages[name].encode()) < 1_000_000
    page = sound_page(pages[name])
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in header for header in page.all("th"))


def table_of(certificate: Certificate) -> list[float]:
    """Every exact number of the class table, row by row, left to right."""
    values: list[float] = []
    for label in range(len(certificate.classes)):
        values.append(certificate.class_counts[label])
        if certificate.n_target and certificate.predicted_counts is not None:
            values.append(certificate.predicted_counts[label])
        values.append(certificate.thresholds[label])
    return values


@pytest.mark.parametrize("name", SHAPES)
def test_numbers_are_the_certificates(pages: dict[str, str], name: str) -> None:
    certificate = SHAPES[name]
    page = Page(pages[name])
    values = [float(attributes["value"]) for attributes in page.all("data")]
    compared = [value for row in ROWS for value in (row.size, row.empty, row.error) if value is not None]
    assert values == [*table_of(certificate), *compared]
    bounds = {"target": certificate.prevalence, "weight": certificate.weights, "missed": certificate.class_miss}
    for column, interval in bounds.items():
        cells = [a for a in page.all("td") if a["data-column"] == column]
        assert [float(a["data-low"]) for a in cells] == ([] if interval is None else interval.lower.tolist())
        assert [float(a["data-high"]) for a in cells] == ([] if interval is None else interval.upper.tolist())


def test_class_names_stay_texts(pages: dict[str, str]) -> None:
    page = Page(pages["hostile"])
    for name in HOSTILE:
        assert readable(name, 120) in page.inside("bdi")
    drawn = page.inside("text")
    assert any(text.startswith("<img src=x") for text in drawn)
    assert r"$\frac" in drawn
    assert 'style="fill: #111213"' in drawn
    assert "49" not in page.inside("bdi")  # a template in a name is not run
    (document,) = (text for text in page.inside("pre") if text.startswith("{"))
    assert json.loads(document) == json.loads(json.dumps(to_document(SHAPES["hostile"])))


@pytest.mark.parametrize(
    ("name", "badge", "words"),
    [
        ("full", "Promise about the target", "at most 10 % of target cases get a set without their true label"),
        ("default", "Promise about the target", "at most 10 % of target cases get a set without their true label"),
        ("trivial", "Uninformative", "That is always right, and says nothing."),
        (
            "source only",
            "Promise about the source only",
            "at most 10 % of source cases get a set without their true label",
        ),
        ("marginal", "Promise on average only", "on average over many calibrations"),
        ("no guarantee", "No promise", "these sets may miss more than"),
        (
            "never empty",
            "Promise about the target",
            "at most 40 % of target cases get a set without their true label",
        ),
    ],
)
def test_the_first_screen_is_a_sentence_three_pictures_and_the_short_form(
    pages: dict[str, str], name: str, badge: str, words: str
) -> None:
    certificate, page = SHAPES[name], Page(pages[name])
    assert badge in page.inside("h2")
    assert (badge == "Promise about the target") == (
        "verdict good" in [a.get("class") for a in page.all("section")]
    )
    assert len(page.all("section")) == 1  # all else is folded
    first = page_text(pages[name].partition("<details")[0])
    (headline,) = re.findall(r'class="headline"><bdi>(.*?)</bdi>', pages[name])
    assert words in headline
    assert not re.search(r"[Ͱ-Ͽ]|--|\w=|`|epsilon|delta", headline)
    for line in short_lines(certificate):
        assert line.startswith("Note: ") or " ".join(readable(line, 4000).split()) in first
    pictures = [text for text in page.inside("strong") if text in ("Label mix.", "Missed, by class.", "Sets.")]
    assert pictures == {
        "trivial": ["Label mix."] if certificate.assumption is not None else [],
        "source only": ["Missed, by class.", "Sets."],
        "no guarantee": ["Missed, by class.", "Sets."],
    }.get(name, ["Label mix.", "Missed, by class.", "Sets."])


def test_the_small_pictures_show_the_certificates_bounds(pages: dict[str, str]) -> None:
    """The range in parts of a thousand of the scale, the mark at the source's share, the line at epsilon."""
    certificate = SHAPES["default"]
    page = Page(f"{pages['default'].partition('<details')[0]}</main></body></html>")
    assert certificate.prevalence is not None
    assert certificate.class_miss is not None
    rects = [(float(a["x"]), float(a["width"]), a["class"]) for a in page.all("rect")]
    ranges = [(low / 1000, (low + width) / 1000) for low, width, kind in rects if kind == "range"]
    shown = min(len(certificate.classes), 4)
    ends = {tuple(pair) for pair in np.column_stack([certificate.prevalence.lower, certificate.prevalence.upper])}
    assert all(any(np.allclose(pair, one, atol=0.009) for one in ends) for pair in ranges[:shown])
    scale = min(1.0, 1.1 * max(float(certificate.class_miss.upper.max()), certificate.epsilon))
    worst = int(np.argmax(certificate.class_miss.upper))
    low, high = (scale * end for end in ranges[shown])
    misses = certificate.class_miss
    assert np.allclose([low, high], [misses.lower[worst], misses.upper[worst]], atol=0.009)
    limits = {round(scale * (at + 4) / 1000, 6) for at, _, kind in rects if kind == "limit"}
    assert limits == {certificate.epsilon}
    assert pages["default"].count('class="bar marked"') == 1


def test_the_default_method_fills_every_part_of_the_page(pages: dict[str, str]) -> None:
    pictures = [svg for svg in Page(pages["default"]).all("svg") if "role" in svg]
    assert len(pictures) == 4
    assert 'class="absent"' not in pages["default"]
    assert "none, because no target was given." in pages["bare"]


def test_what_is_missing_is_said(pages: dict[str, str]) -> None:
    assert "The sets of the target were not counted" in pages["bare"]
    assert "No target cases were used" in pages["bare"]
    assert "does not bound the target’s label mix" in pages["binary"]
    assert SHAPES["trivial"].reasons
    assert SHAPES["trivial"].reasons[0] in page_text(pages["trivial"])
    assert "filled with the top label" in pages["never empty"]


@pytest.mark.usefixtures("undrawn")
def test_a_command_is_shown_only_if_the_certificate_records_one() -> None:
    certificate = SHAPES["binary"]
    command = "pacshift calibrate 'my source.csv' t.csv -o c.json"
    made = replace(certificate, provenance=replace(certificate.provenance, command=command))
    assert command in Page(render_report(made)).inside("code")
    page = render_report(certificate)
    assert "was not made by a command, or does not say by which one" in " ".join(page.split())
    assert "pacshift calibrate" not in page


@pytest.mark.parametrize("name", SHAPES)
def test_everything_that_the_certificate_says_is_said_on_the_page(pages: dict[str, str], name: str) -> None:
    """In the same words, whoever asks: explain(), the file and the page."""
    certificate, shown = SHAPES[name], page_text(pages[name])
    for one in statements(certificate, most_notes=None):
        if one.key != "promise":  # the page says it in its headline and in short
            _, _, text = " ".join(readable(one.full, 4000).split()).partition(": ")
            assert text in shown, one.key
    assert to_document(certificate)["in_words"] == short_lines(certificate)


@pytest.mark.usefixtures("undrawn")
def test_label_shift_is_doubted_only_where_it_is_assumed() -> None:
    certificate = birds()
    for guarantee, assumes in (("pac-target", True), ("marginal", True), ("pac-source", False), ("none", False)):
        page = render_report(replace(certificate, guarantee=guarantee))  # type: ignore[arg-type]
        assert ("Label shift: within each class" in page) == assumes
        assert ("Other equipment, settings or software" in page) == assumes
        assert ("It cannot see a change that looks like another label mix" in page) == assumes
        assert ("Doubt it when" in page) == (guarantee != "none")
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    scores = np.column_stack([1 - labels, labels]) * 0.4 + rng.dirichlet([1, 1], 600) * 0.6
    made = calibrate(scores[:300], labels[:300], Rows(scores[300:], labels[300:]), method="PS-T")
    text = page_text(render_report(made))
    assert "Labels that are wrong" in text
    assert "another random sample" in text
    for about_label_shift in ("Other equipment", "It cannot see", "trained on"):
        assert about_label_shift not in text


@pytest.mark.usefixtures("undrawn")
def test_a_promise_for_any_mix_covers_each_class() -> None:
    for any_mix in (True, False):
        page = render_report(replace(birds(), facts=MethodFacts(any_mix=any_mix)))
        assert ("It covers all cases together and each class" in page) == any_mix
        assert ("It is about all cases together." in page) != any_mix


def test_inline_pictures_drop_what_would_reach_the_rest_of_the_page() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20"><metadata>x</metadata>'
        '<defs><style>*{color: red}</style></defs><text id="a" style="fill: #0072b2">#0072b2</text></svg>'
    )
    inline = str(to_inline(svg, name="p", alt='say "this"'))
    assert inline == (
        '<svg viewBox="0 0 10 20" width="10" height="20" role="img" aria-label="say &quot;this&quot;">'
        '<text id="p-a" style="fill: var(--target)">#0072b2</text></svg>'
    )


def test_methods_are_compared_if_asked(pages: dict[str, str]) -> None:
    page = Page(pages["full"])
    assert "refused: <b>label shift</b> is false" in page.inside("bdi")
    assert "(this certificate)" in page.inside("small")
    assert {"1.250", "1.25 %", "6.25 %"} <= set(page.inside("data"))
    assert "Methods on the same data" not in render_report(SHAPES["bare"])
    without_errors = render_report(SHAPES["bare"], comparison=[ROWS[2]])
    assert "error" not in Page(without_errors).inside("th")


def test_the_page_is_the_same_every_time_and_in_every_style(pages: dict[str, str]) -> None:
    open_before = plt.get_fignums()  # other tests of this worker may have left some
    with plt.style.context("dark_background"), matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path"}):
        before = dict(matplotlib.rcParams)
        assert render_report(SHAPES["full"], comparison=ROWS) == pages["full"]
        assert dict(matplotlib.rcParams) == before
    assert plt.get_fignums() == open_before


def test_an_existing_file_is_kept_unless_allowed(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        write_report(SHAPES["bare"], path, overwrite=False)
    assert path.read_text() == "mine"
    write_report(SHAPES["bare"], path)
    assert path.read_text(encoding="utf-8") == render_report(SHAPES["bare"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_colours_contrast_in_light_dark_and_print(pages: dict[str, str]) -> None:
    themes = re.findall(r":root \{(.*?)\}", pages["full"], flags=re.DOTALL)
    assert len(themes) == 3
    for theme in themes:
        colour = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", theme))
        for text in ("ink", "muted", "link", "good", "limited", "bad"):
            for ground in ("card", "page"):
                assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
        for mark in MEANINGS:
            assert contrast(colour[mark], colour["card"]) >= 3, mark


def test_page_and_pictures_have_the_same_colours(pages: dict[str, str]) -> None:
    light, _, paper = (
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", theme))
        for theme in re.findall(r":root \{(.*?)\}", pages["full"], flags=re.DOTALL)
    )
    for name in (*MEANINGS, "rule"):
        assert light[name] == paper[name] == getattr(axes, name.upper()), name


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def linear(colour: str) -> FloatArray:
    """Red, green and blue as amounts of light."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return np.array([c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels])


def wild_assumption(n_classes: int, rng: np.random.Generator) -> Assumption:
    shares = [rng.choice([0.0, 1e-300, 0.3, 1.0], len(HOSTILE)) for _ in range(3)]
    return Assumption(
        level=1e-300,
        refuted=False,
        mix=np.full(n_classes, 1 / n_classes),
        groups=HOSTILE,
        observed=shares[0],
        explained=shares[1],
        allowed=Interval(shares[1], np.maximum(shares[1], shares[2])),
        finding=HOSTILE[0],
        noticeable=(Noticeable("new", 1.0, 1e300), Noticeable("moved", 0.0, -1.0)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_any_certificate_has_a_page(seed: int) -> None:
    """Values at the ends of what a certificate may hold: zeros, infinities, tiny and huge numbers, any text."""
    rng = np.random.default_rng(seed)
    ends = np.array([0.0, 1e-308, 0.5, 1.0, 3.0, 1e6, 1e300, np.inf])

    def pick(n: int, values: FloatArray = ends) -> FloatArray:
        return rng.choice(values, n)

    n_classes = int(rng.integers(2, 40))
    lower = np.sort(pick(n_classes))
    counts = rng.choice([0, 1, 10**12], n_classes)
    wild = alter(
        SHAPES["full"],
        classes=tuple(f"{k} {HOSTILE[k % len(HOSTILE)]}" for k in range(n_classes)),
        thresholds=pick(n_classes, np.array([-np.inf, -5.0, 0.0, 0.3, 1e300, np.inf])),
        epsilon=float(rng.choice([1e-300, 0.1, 1 - 1e-12])),
        delta=float(rng.choice([1e-300, 0.05])),
        weights=Interval(lower, lower + pick(n_classes)),
        prevalence=Interval(np.zeros(n_classes), pick(n_classes, np.array([0.0, 1e-300, 0.2, 1.0]))),
        class_miss=Interval(np.zeros(n_classes), pick(n_classes, np.array([0.0, 1e-300, 0.2, 1.0]))),
        known_mix=Interval(np.zeros(n_classes), pick(n_classes, np.array([0.2, 1.0]))),
        assumption=wild_assumption(n_classes, rng),
        class_epsilon=1e-300,
        contamination=float(rng.choice([0.0, 1e-300, 0.5])),
        notes=HOSTILE,
        class_counts=counts,
        n_source=int(counts.sum()),
        predicted_counts=counts,
        n_target=int(counts.sum()),
        set_sizes=rng.choice([0, 1, 10**12], n_classes + 1),
        score=HOSTILE[0],
        options={"<b>": [None, {"$x$": HOSTILE[0]}]},
        reasons=HOSTILE,
    )
    Page(render_report(wild, comparison=[ComparisonRow("PS", "none", np.inf, np.nan, 0.0)]))
