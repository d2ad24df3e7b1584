"""The three pictures of the page "PS-LP": the region of label mixes, the error over it, the smaller sets."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pacshift import Population, Tally, calibrate
from pacshift.arrays import BoolArray, FloatArray
from pacshift.mix.region import PrevalenceRegion, prevalence_region
from pacshift.plots.axes import TARGET, UNDECIDED
from pacshift.ps_lp.theorem import EQUAL_MISS_RATE, TUNED, certified_thresholds, plan_for

NAMES = ["healthy", "flu", "pneumonia"]
SOURCE_MIX, TARGET_MIX = np.array([0.7, 0.2, 0.1]), np.array([0.25, 0.45, 0.3])
EPSILON, DELTA, ROWS = 0.1, 0.05, 3_000
SIZE = (2.9, 2.7)
"""Inches of each picture: three stand side by side on a page, so that their letters must be large."""

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.87]])
"""Where the three pure mixes are drawn."""


def ps_lp_figures() -> Iterator[tuple[str, Figure]]:
    """The pictures with their names, all of one seeded draw."""
    population = Population.synthetic(NAMES, strength=3, rng=1)
    source, target = population.draw(SOURCE_MIX, ROWS, rng=2), population.draw(TARGET_MIX, ROWS, rng=3)
    tally = Tally.from_scores(*source, classes=NAMES) + Tally.from_target(target[0], classes=NAMES)
    plan = plan_for(tally, epsilon=EPSILON, delta=DELTA)
    region = prevalence_region(tally.confusion, tally.target, delta=plan.shares.region * DELTA)
    nothing = np.zeros(len(NAMES), dtype=bool)
    certified = certified_thresholds(tally, region, plan, included=nothing)
    yield "ps-lp-region", draw_region(region)
    yield "ps-lp-error", draw_error(region, tally.misses(certified[TUNED]) / tally.class_counts)
    published = calibrate(tally, epsilon=EPSILON, delta=DELTA, method="PS-W", rng=0)
    thresholds = {
        "PS-W": published.thresholds,
        "equal\nmiss rate": certified[EQUAL_MISS_RATE],
        "tuned": certified[TUNED],
    }
    yield (
        "ps-lp-sizes",
        draw_sizes({name: float((target[0] >= cut).sum(1).mean()) for name, cut in thresholds.items()}),
    )


def draw_region(region: PrevalenceRegion) -> Figure:
    """The triangle of all label mixes, and the part that fits the counts."""
    figure, axes = triangle("1. Mixes that fit")
    mixes = all_mixes()
    fits = inside(region, mixes).astype(float)
    x, y = (mixes @ CORNERS).T
    axes.tricontourf(x, y, fits, levels=[0.5, 1.5], colors=[TARGET], alpha=0.5)
    for mix, marker, name in ((SOURCE_MIX, "o", "source"), (TARGET_MIX, "x", "target (unknown)")):
        axes.plot(*(mix @ CORNERS), marker, color="black", ms=6, mew=2, label=name)
    axes.fill([], [], color=TARGET, alpha=0.5, label="fits the counts")
    axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 0.1))
    return figure


def draw_error(region: PrevalenceRegion, miss_rate: FloatArray) -> Figure:
    """The error of the tuned sets for every mix of the triangle."""
    figure, axes = triangle("2. Error over them")
    mixes = all_mixes()
    x, y = (mixes @ CORNERS).T
    fits = inside(region, mixes)
    drawn = axes.tricontourf(x, y, 100 * mixes @ miss_rate, levels=5, cmap="Greys", alpha=0.8)
    axes.tricontour(x, y, fits.astype(float), levels=[0.5], colors=[TARGET], linewidths=2.5)
    bar = figure.colorbar(drawn, ax=axes, shrink=0.7)
    bar.set_label("missed, in %", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    worst = (mixes[fits] @ miss_rate).max()
    text = f"inside the blue line at\nmost {100 * worst:.1f} %, allowed {100 * EPSILON:.1f} %"
    axes.text(0.5, -0.42, text, ha="center", fontsize=9)
    return figure


def draw_sizes(sizes: dict[str, float]) -> Figure:
    """Mean set sizes on the target; both kinds of PS-LP are valid, so the smaller may be kept."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    smallest = min(sizes, key=lambda name: sizes[name])
    colours = [TARGET if name == smallest else UNDECIDED for name in sizes]
    bars = axes.barh(list(sizes), list(sizes.values()), color=colours, height=0.55)
    axes.bar_label(bars, fmt="%.2f", padding=4)
    axes.tick_params(labelsize=9)
    axes.set(xlim=(0, 1.35 * max(sizes.values())), xlabel="labels per set")
    axes.set_title("3. Smaller sets", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def triangle(title: str) -> tuple[Figure, Axes]:
    """A figure with the triangle whose corners are the classes."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.fill(*CORNERS.T, facecolor="none", edgecolor="#666666")
    for corner, name, (x, y) in zip(CORNERS, NAMES, ((0, -16), (0, -16), (0, 6)), strict=True):
        axes.annotate(f"all {name}", corner, xytext=(x, y), textcoords="offset points", ha="center", fontsize=9)
    axes.set(xlim=(-0.15, 1.15), ylim=(-0.42, 1.0), aspect="equal")
    axes.set_title(title, fontsize=11)
    axes.axis("off")
    return figure, axes


def all_mixes(steps: int = 300) -> FloatArray:
    """Every mix of three classes in steps of 1 / ``steps``."""
    first, second = np.meshgrid(np.arange(steps + 1), np.arange(steps + 1))
    kept = first + second <= steps
    return np.column_stack([first[kept], second[kept], steps - first[kept] - second[kept]]) / steps


def inside(region: PrevalenceRegion, mixes: FloatArray) -> BoolArray:
    """Which mixes satisfy every inequality of the region."""
    rows, limits = region.all_rows
    return np.asarray((mixes @ rows.T <= limits).all(axis=1))
