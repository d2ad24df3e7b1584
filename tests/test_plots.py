"""Plots show the certificate's numbers, draw any class name, and say so where there is nothing to draw."""

import io
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from certificates import HOSTILE, alter, certify, every_shape, with_everything
from pacshift import Certificate, InputError, Interval, plots
from pacshift.plots import axes

SHAPES = every_shape()
PLOTS = (plots.weight_intervals, plots.label_mix, plots.set_sizes, plots.class_misses, plots.assumption_groups)


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def full() -> Certificate:
    return SHAPES["full"]


def drawn(ax: Axes) -> str:
    """The picture as SVG: drawing is where bad texts would fail."""
    buffer = io.StringIO()
    figure = ax.figure
    assert isinstance(figure, Figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # no font has every script
        figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def segments(ax: Axes) -> list[Any]:
    """Ends of the horizontal bars, row by row."""
    return [line for lines in ax.collections for line in lines.get_segments()]  # type: ignore[attr-defined]


def colours_of_bars(ax: Axes) -> list[Any]:
    """The colour of each horizontal bar, row by row."""
    return [tuple(colour) for lines in ax.collections for colour in lines.get_colors()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_drawn_or_refused_with_a_reason(plot: Any, name: str) -> None:
    certificate = SHAPES[name]
    lacks = {
        plots.weight_intervals: certificate.weights is None,
        plots.set_sizes: certificate.set_sizes is None,
        plots.class_misses: certificate.class_miss is None,
        plots.assumption_groups: certificate.assumption is None,
    }
    if lacks.get(plot, False):
        with pytest.raises(InputError, match=f"method {certificate.method}"):
            plot(certificate)
    else:
        assert "</svg>" in drawn(plot(certificate))


@pytest.mark.parametrize("plot", PLOTS)
def test_given_axes_are_used_and_returned(plot: Any, full: Certificate) -> None:
    ax, open_before = Figure().subplots(), plt.get_fignums()  # other tests of this worker may have left some
    assert plot(full, ax=ax) is ax
    assert plt.get_fignums() == open_before


def test_weights_are_drawn_where_they_are(full: Certificate) -> None:
    weights = Interval(np.array([0.2, 0.5, 1.1, 0.0, 1.0]), np.array([0.9, 1.5, 3.0, 0.4, np.inf]))
    ax = plots.weight_intervals(replace(full, weights=weights))
    ends = segments(ax)
    right = ax.get_xlim()[1]
    for row, line in enumerate(ends):
        assert line[:, 0].tolist() == [weights.lower[row], min(weights.upper[row], right)]
        assert line[:, 1].tolist() == [row, row]
    assert right > 3.0
    surely_changed, undecided = to_rgba(axes.TARGET), to_rgba(axes.UNDECIDED)
    assert colours_of_bars(ax) == [surely_changed, undecided, surely_changed, surely_changed, undecided]


def test_wide_weights_get_a_logarithmic_axis(full: Certificate) -> None:
    wide = Interval(np.array([0.0, 0.2, 0.5, 1, 1]), np.array([2.0, 3, 90, 2, np.inf]))
    ax = plots.weight_intervals(replace(full, weights=wide))
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] > 0
    assert plots.weight_intervals(full).get_xscale() == "linear"


def test_label_mix_shows_intervals_and_source_shares(full: Certificate) -> None:
    ax = plots.label_mix(full)
    assert full.prevalence is not None
    ends = np.array([line[:, 0] for line in segments(ax)])
    assert np.array_equal(ends, np.column_stack([full.prevalence.lower, full.prevalence.upper]))
    (source,) = ax.lines
    assert np.array_equal(source.get_xdata(), full.class_counts / full.n_source)


def test_label_mix_without_bounds_says_that_predictions_are_no_labels() -> None:
    ax = plots.label_mix(SHAPES["binary"])
    legend: Any = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["predicted on the target", "source"]
    assert len(plots.label_mix(SHAPES["bare"]).lines) == 1


def test_set_sizes_are_shares_of_the_target(full: Certificate) -> None:
    ax = plots.set_sizes(replace(full, set_sizes=np.array([100, 600, 300, 0, 0, 0])))
    heights = [bar.get_height() for bar in ax.patches]  # type: ignore[attr-defined]
    assert heights == [0.1, 0.6, 0.3]
    nothing = plots.set_sizes(replace(full, set_sizes=np.zeros(6, np.int64)))
    assert "</svg>" in drawn(nothing)


def test_many_classes_are_cut_to_the_largest_and_say_so() -> None:
    certificate: Any = SHAPES["many"]
    for plot in (plots.weight_intervals, plots.label_mix):
        ax = plot(certificate)
        assert len(ax.get_yticks()) == axes.MAX_CLASSES_SHOWN
        assert ax.get_ylabel() == f"the {axes.MAX_CLASSES_SHOWN} largest of 200 classes"
    shown = {text.get_text() for text in plots.weight_intervals(certificate, most=5).get_yticklabels()}
    largest = np.argsort(-certificate.weights.upper)[:5]
    assert shown == {str(certificate.classes[k]) for k in largest}


def test_class_names_stay_texts() -> None:
    ax = plots.label_mix(with_everything(certify(HOSTILE, "PS-LW")))
    svg = drawn(ax)
    assert "<img" not in svg
    assert "<script" not in svg
    # An escaped dollar is a dollar to matplotlib, not the start of mathematics.
    assert axes.plain_text(r"$\frac") == r"\$\frac"
    assert len(axes.plain_text("x" * 300)) == 24
    assert axes.plain_text("two\nlines\x08\u202e") == "two\\nlines\\x08\\u202e"
    assert axes.readable("می\u200cخواهم") == "می\u200cخواهم"
    assert axes.plain_text(3) == "3"


def test_misses_are_drawn_where_they_are(full: Certificate) -> None:
    misses = Interval(np.array([0.0, 0.02, 0.3, 0.0, 0.0]), np.array([0.05, 0.12, 0.5, 0.0, 0.01]))
    ax = plots.class_misses(alter(full, class_miss=misses, class_epsilon=0.4))
    ends = [(line[0][0], line[1][0]) for line in segments(ax)]
    assert ends == list(zip(misses.lower, misses.upper, strict=True))
    limits = [line for line in ax.lines if line.get_linestyle() in ("--", ":")]
    assert [np.asarray(line.get_xdata())[0] for line in limits] == [full.epsilon, 0.4]
    surely_below, beyond, open_yet = map(to_rgba, (axes.TARGET, axes.LIMIT, axes.UNDECIDED))
    assert colours_of_bars(ax) == [surely_below, open_yet, beyond, surely_below, surely_below]


def test_the_groups_that_differ_most_are_drawn(full: Certificate) -> None:
    assert full.assumption is not None
    n = len(full.assumption.groups)
    strange = np.zeros(n)
    strange[n - 1] = 0.5
    tested = replace(full.assumption, observed=full.assumption.explained + strange)
    ax = plots.assumption_groups(replace(full, assumption=tested), most=3)
    assert len(ax.get_yticks()) == 3
    assert np.asarray(ax.lines[0].get_xdata())[-1] == pytest.approx(50)
