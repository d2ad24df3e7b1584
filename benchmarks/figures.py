"""The figures of the pages "The idea in pictures" and "PS-LP", drawn by the package itself, seeded."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.stats import norm

from benchmarks.lab import Blocks, Lab
from benchmarks.page import DOCS
from pacshift import Population, Tally, calibrate
from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import Interval, clopper_pearson
from pacshift.methods.weight_box import eliminate, hull
from pacshift.mix.region import PrevalenceRegion, prevalence_region
from pacshift.plots.axes import LIMIT, SOURCE, TARGET, UNDECIDED
from pacshift.ps_lp.theorem import EQUAL_MISS_RATE, TUNED, certified_thresholds, plan_for

NAMES = ("healthy", "sick")
CLASS_COLOURS = ("#a8d8c2", "#00735c")  # greens: no meaning of the palette is green
TRUTH = "#00735c"
SOURCE_MIX, TARGET_MIX = np.array([0.94, 0.06]), np.array([0.64, 0.36])
MEANS = np.array([-0.9, 0.9])  # one measurement x, normal in each class, the same everywhere: label shift
# The classifier expects a quarter of the patients to be sick.
SLOPE, OFFSET = MEANS[1] - MEANS[0], np.log(0.25 / 0.75)
EPSILON, DELTA = 0.1, 5e-4


def run(lab: Lab) -> Blocks:
    """All figures, into the documentation or the output folder."""
    folder = DOCS / "figures" if lab.write else lab.out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    source, target = draw(SOURCE_MIX, 10_000, seed=1), draw(TARGET_MIX, 10_000, seed=2)
    tally = Tally.from_scores(*source) + Tally.from_target(target[0])
    share = DELTA / 7  # K(K+1) + 1 shares for two classes
    confusion = clopper_pearson(tally.confusion, tally.n_source, delta=share)
    predictions = clopper_pearson(tally.target, tally.n_target, delta=share)
    figures = {
        "shift": draw_shift(),
        "breaks": draw_breaks(tally),
        "system": draw_system(confusion, predictions),
        "box": draw_box(confusion, predictions),
        "bound": draw_bound(tally),
    }
    for name, figure in figures.items():  # no date or version inside: the same bytes every time
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None}, bbox_inches="tight")
    for name, figure in ps_lp_figures():
        figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})
    if not lab.small:
        draw_demo(lab.out / "demo", folder)
    lab.say(f"figures: {', '.join(figures)} in {folder}")
    yield from ()


def draw(mix: FloatArray, size: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Scores of a classifier, and the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(2, size, p=mix)
    sick = 1 / (1 + np.exp(-SLOPE * (MEANS[labels] + rng.standard_normal(size)) - OFFSET))
    return np.column_stack([1 - sick, sick]), labels


def miss_rates(thresholds: FloatArray) -> FloatArray:
    """P(score of the true label < threshold, given the label), exact, one column per class."""
    logit = np.log(thresholds / (1 - thresholds))
    return np.column_stack(
        [norm.sf((-logit - OFFSET) / SLOPE - MEANS[0]), norm.cdf((logit - OFFSET) / SLOPE - MEANS[1])]
    )


def draw_shift() -> Figure:
    """The classes look the same in both places; only their shares differ."""
    x = np.linspace(-4, 4, 400)
    densities = norm.pdf(x[:, None] - MEANS)
    figure = Figure(figsize=(10, 2.7))
    axes = figure.subplots(1, 3, sharey=True)
    for label, name in enumerate(NAMES):
        axes[0].plot(x, densities[:, label], color=CLASS_COLOURS[label], lw=2, label=name)
    for axis, mix in zip(axes[1:], (SOURCE_MIX, TARGET_MIX), strict=True):
        axis.stackplot(x, (densities * mix).T, colors=CLASS_COLOURS)
    axes[0].set_ylim(0, 0.52)  # room for the legend
    axes[0].set_title("given the label: the same")
    axes[1].set_title("source: 6 % sick")
    axes[2].set_title("target: 36 % sick")
    axes[0].legend(frameon=False, loc="upper left", fontsize=8)
    for axis in axes:
        axis.set(xlabel="measurement x", yticks=[])
    return figure


def draw_breaks(tally: Tally) -> Figure:
    """A threshold that is right on the source is wrong on the target."""
    tau = calibrate(tally, epsilon=EPSILON, delta=DELTA, method="PS").thresholds[0]
    grid = np.linspace(0.01, 0.8, 300)
    figure = Figure(figsize=(6.4, 3.2))
    axis = figure.subplots()
    for mix, name, colour in ((SOURCE_MIX, "source", SOURCE), (TARGET_MIX, "target", TARGET)):
        axis.plot(grid, miss_rates(grid) @ mix, color=colour, label=f"error on the {name}")
    axis.axhline(EPSILON, color=LIMIT, ls="--", lw=1.5, label="ε, allowed")
    axis.axvline(tau, color=UNDECIDED, lw=1, label="threshold of PS")
    truth = float(miss_rates(np.array([tau]))[0] @ TARGET_MIX)
    axis.plot(tau, truth, "o", color=LIMIT)
    axis.annotate(f"{truth:.3f}", (tau, truth), xytext=(8, -4), textcoords="offset points")
    axis.set(xlabel="threshold τ", ylabel="share of true labels missed", ylim=(0, 0.4))
    axis.legend(frameon=False)
    return figure


def draw_system(confusion: Interval, target: Interval) -> Figure:
    """Confusion matrix times weights equals target predictions, every entry an interval."""
    figure = Figure(figsize=(9, 2.9), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=(2, 1.1, 1.1))
    middle = (confusion.lower + confusion.upper) / 2
    axes[0].imshow(middle, cmap="Greys", vmin=0, vmax=1.8)
    for (row, column), value in np.ndenumerate(middle):
        text = f"{value:.3f}\n[{confusion.lower[row, column]:.3f}, {confusion.upper[row, column]:.3f}]"
        axes[0].text(column, row, text, ha="center", va="center", color="black")
    axes[0].set(
        xticks=[0, 1], yticks=[0, 1], xlabel="true label", ylabel="predicted", title="C: counted on the source"
    )
    axes[0].set_xticklabels(NAMES)
    axes[0].set_yticklabels(NAMES, rotation=90, va="center")
    weights = eliminate(confusion, target)
    for axis, box, title in ((axes[1], weights, "w: wanted"), (axes[2], target, "q: counted on the target")):
        centre = (box.lower + box.upper) / 2
        axis.errorbar(centre, [1, 0], xerr=(box.upper - box.lower) / 2, fmt="o", capsize=4, color=TARGET)
        axis.set(yticks=[1, 0], yticklabels=NAMES, ylim=(-0.6, 1.6), title=title)
        axis.set_xlim(left=0)
    axes[1].plot(TARGET_MIX / SOURCE_MIX, [1, 0], "x", color=TRUTH, ms=9, mew=2, zorder=3, label="truth")
    axes[1].legend(frameon=False)
    return figure


def draw_box(confusion: Interval, target: Interval) -> Figure:
    """What the counts leave possible for the weights, and the two boxes around it."""
    elimination, tight = eliminate(confusion, target), hull(confusion, target)
    low, high = elimination.lower, elimination.upper
    pad = 0.15 * (high - low)
    first, second = np.meshgrid(
        np.linspace(low[0] - pad[0], high[0] + pad[0], 500), np.linspace(low[1] - pad[1], high[1] + pad[1], 500)
    )
    plane = np.stack([first, second])
    inside = (np.tensordot(confusion.lower, plane, 1) <= target.upper[:, None, None]).all(axis=0) & (
        np.tensordot(confusion.upper, plane, 1) >= target.lower[:, None, None]
    ).all(axis=0)
    figure = Figure(figsize=(5.4, 4))
    axis = figure.subplots()
    axis.contourf(first, second, inside, levels=[0.5, 1.5], colors=["#cfe3f2"])
    axis.plot([], [], "s", color="#cfe3f2", ms=9, label="fits the counts")
    for box, colour, name in (
        (elimination, UNDECIDED, "interval elimination"),
        (tight, TARGET, "hull"),
    ):
        size = box.upper - box.lower
        axis.add_patch(Rectangle(tuple(box.lower), *size, fill=False, ec=colour, lw=2, label=name))
    axis.plot(*(TARGET_MIX / SOURCE_MIX), "x", color=TRUTH, ms=9, mew=2, label="truth")
    axis.set(xlabel="weight of healthy", ylabel="weight of sick")
    axis.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False)
    return figure


def draw_bound(tally: Tally) -> Figure:
    """The true error along the threshold, and where PS-LP and PS-W stop."""
    one = replace(tally, bins=None)  # without bins PS-LP takes the one threshold for all classes
    certificate = calibrate(one, epsilon=EPSILON, delta=DELTA, method="PS-LP")
    published = calibrate(tally, epsilon=EPSILON, delta=DELTA, method="PS-W", rng=0)
    truth = miss_rates(np.linspace(0.001, 0.6, 300))
    figure = Figure(figsize=(6.4, 3.2))
    axis = figure.subplots()
    axis.plot(truth @ SOURCE_MIX, truth @ TARGET_MIX, color=TRUTH, label="true target error")
    for made, colour in ((certificate, TARGET), (published, UNDECIDED)):
        missed = tally.misses(made.thresholds).sum() / tally.n_source
        axis.axvline(missed, color=colour, lw=1, ls="--", label=f"threshold of {made.method}")
    axis.axhline(EPSILON, color=LIMIT, ls="--", lw=1.5, label="ε, allowed")
    axis.set(xlabel="missed on the source: the higher τ, the more", ylabel="missed on the target")
    axis.set(xlim=(0, 0.1), ylim=(0, 0.35))
    axis.legend(fontsize=8, loc="upper right")
    return figure


def draw_demo(out: Path, folder: Path) -> None:
    """The figure that ``pacshift demo`` writes."""
    program = "from pacshift_command import main; main()"
    subprocess.run([sys.executable, "-c", program, "demo", "-o", str(out)], check=True)
    (folder / "demo.png").write_bytes((out / "demo.png").read_bytes())


# The three pictures of the page "PS-LP": the region of label mixes, the error over it, the smaller sets.

CLASSES = ["healthy", "flu", "pneumonia"]
BEFORE, AFTER = np.array([0.7, 0.2, 0.1]), np.array([0.25, 0.45, 0.3])
LP_EPSILON, LP_DELTA, ROWS = 0.1, 0.05, 3_000
SIZE = (2.9, 2.7)
"""Inches of each picture: three stand side by side on a page, so that their letters must be large."""

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.87]])
"""Where the three pure mixes are drawn."""


def ps_lp_figures() -> Iterator[tuple[str, Figure]]:
    """The pictures with their names, all of one seeded draw."""
    population = Population.synthetic(CLASSES, strength=3, rng=1)
    source, target = population.draw(BEFORE, ROWS, rng=2), population.draw(AFTER, ROWS, rng=3)
    tally = Tally.from_scores(*source, classes=CLASSES) + Tally.from_target(target[0], classes=CLASSES)
    plan = plan_for(tally, epsilon=LP_EPSILON, delta=LP_DELTA)
    region = prevalence_region(tally.confusion, tally.target, delta=plan.shares.region * LP_DELTA)
    nothing = np.zeros(len(CLASSES), dtype=bool)
    certified = certified_thresholds(tally, region, plan, included=nothing)
    yield "ps-lp-region", draw_region(region)
    yield "ps-lp-error", draw_error(region, tally.misses(certified[TUNED]) / tally.class_counts)
    published = calibrate(tally, epsilon=LP_EPSILON, delta=LP_DELTA, method="PS-W", rng=0)
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
    for mix, marker, name in ((BEFORE, "o", "source"), (AFTER, "x", "target (unknown)")):
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
    text = f"inside the blue line at\nmost {100 * worst:.1f} %, allowed {100 * LP_EPSILON:.1f} %"
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
    for corner, name, (x, y) in zip(CORNERS, CLASSES, ((0, -16), (0, -16), (0, 6)), strict=True):
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
