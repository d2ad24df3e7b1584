"""The demo's simulated label shift: what is drawn, what the methods achieve on it, the picture and the files."""

import json
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pacshift.arrays import FloatArray, IntArray
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate
from pacshift.certification.counted import Data, measured
from pacshift.comparison import ComparisonRow
from pacshift.errors import AssumptionError
from pacshift.files.writing import atomic_write
from pacshift.methods import METHODS, Method, Task, usable_methods
from pacshift.plots.axes import LIMIT, PROMISE_MARKS, new_axes
from pacshift.progress import Progress
from pacshift.report import write_report
from pacshift.rows.memory import memory
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import resolve_transform
from pacshift.simulate import Population, resample
from pacshift.simulate.population import heart_arrays, unpack_scores
from pacshift.tally import Tally

PANEL, EPSILON, DELTA = "heart-large-0.1", 0.1, 5e-4
SOURCE_MIX, TARGET_MIX, N_ROWS = (0.94, 0.06), (0.636, 0.364), 42_000
"""A panel of the paper, but with all scored rows as the population of source and target."""
DRAWS, SEED = 10, 0
METHOD = "PS-LP"
METHODS_DRAWN = ("PS-LP", "LWCP", "PS")
"""The default, conformal prediction class by class, and calibration that ignores the shift: one of each kind."""


@dataclass(frozen=True)
class Findings:
    """What the demo found: scored rows, those of the first draw and its certificate, all draws."""

    title: str
    class_names: tuple[str, ...]
    scores: FloatArray
    labels: IntArray
    source: IntArray
    target: IntArray
    certificate: Certificate
    trials: Sequence[Sequence[ComparisonRow]]

    def of(self, method: str) -> list[ComparisonRow]:
        """The rows of a method in all draws that it did not refuse."""
        return [row for trial in self.trials for row in trial if row.method == method and row.size is not None]

    def above(self, method: str) -> int:
        """In how many draws the error of a method was above what was allowed."""
        return sum(row.error > EPSILON for row in self.of(method) if row.error is not None)

    def size(self, method: str) -> float:
        """Mean size of a method's sets over all draws that it did not refuse."""
        return float(np.mean([row.size for row in self.of(method)]))


def find(report: Progress | None) -> Findings:
    """Draw from all scored rows, run every method as published, and measure it on the whole target population."""
    arrays = heart_arrays()
    facts, names = json.loads(str(arrays["facts"])), tuple(arrays["class_names"].tolist())
    scores, labels = unpack_scores(arrays["gaps"]), arrays["labels"].astype(np.int64)

    def rng(trial: int, purpose: str) -> np.random.Generator:
        """A generator for each purpose: adding a method never changes the numbers of another one."""
        return np.random.default_rng([SEED, trial, *(zlib.crc32(word.encode()) for word in (PANEL, purpose))])

    @cache
    def everyone(score: str) -> Population:
        """All rows with their transformed scores, where the true error of thresholds is known."""
        matrix = ScoreMatrix(scores, tuple(range(len(names))))
        return Population(resolve_transform(score).of_all(matrix), labels)

    @cache
    def drawn(trial: int) -> tuple[IntArray, IntArray]:
        """The rows of source and target."""
        coins = rng(trial, "draw")
        return resample(labels, SOURCE_MIX, N_ROWS, coins), resample(labels, TARGET_MIX, N_ROWS, coins)

    @cache
    def tally(trial: int, score: str) -> Tally:
        """The counts that calibration sees; methods that share a score transform share them."""
        source, target = drawn(trial)
        return Tally.from_scores(scores[source], labels[source], score=score) + Tally.from_target(scores[target])

    def run(method: Method, trial: int) -> ComparisonRow:
        score = "aps" if method.name == "WCP" else method.default_score  # as the authors run it
        weights = np.divide(TARGET_MIX, SOURCE_MIX) if method.needs_weights else None
        with suppress(AssumptionError):
            task = Task(epsilon=EPSILON, delta=DELTA, seed=SEED, weights=weights)
            cuts, all_rows = method.solve(tally(trial, score), task).thresholds, everyone(score)
            size, error = all_rows.size(cuts, TARGET_MIX), all_rows.error(cuts, TARGET_MIX)
            empty = all_rows.empty(cuts, TARGET_MIX)
            return ComparisonRow(method.name, method.guarantee, size, empty, error, bool(np.isneginf(cuts).all()))
        return ComparisonRow(method.name, method.guarantee, None, note="label shift is rejected in this draw")

    trials = []
    for trial in range(DRAWS):
        if report:
            report(trial, DRAWS)
        trials.append([run(method, trial) for method in usable_methods(with_weights=True)])
    first, (source, target) = replace(tally(0, "probability"), classes=names), drawn(0)
    made = calibrate(first, epsilon=EPSILON, delta=DELTA, method=METHOD, rng=rng(0, METHOD))
    rows = memory(scores[target], name="target", role="target", classes=names)
    made = measured(made, Data(first, target=rows))
    title = f"{facts['model'][:1].upper()}{facts['model'][1:]}, {facts['data']}"
    return Findings(title, names, scores, labels, source, target, made, trials)


def write(folder: Path, found: Findings) -> dict[str, Path]:
    """Write the files of the demo, over those of an earlier run."""
    import pyarrow as pa
    import pyarrow.parquet

    files = {"report": folder / "report.html", "figure": folder / "demo.png"}
    files |= {"certificate": folder / "certificate.json"}
    files |= {name: folder / f"{name}.parquet" for name in ("source", "target", "labelled")}
    certificate = found.certificate
    certificate.save(files["certificate"])
    write_report(certificate, files["report"], comparison=found.trials[0])
    draw_figure(files["figure"], found)
    names = found.class_names
    for table, rows in (("source", found.source), ("target", found.target), ("labelled", found.target)):
        columns: dict[str, Any] = {"id": np.arange(len(rows))}
        columns |= {f"p_{name}": found.scores[rows, place] for place, name in enumerate(names)}
        if table != "target":
            columns["label"] = np.array(names)[found.labels[rows]]
        with atomic_write(files[table]) as draft:
            pyarrow.parquet.write_table(pa.table(columns), draft)
    return files


def draw_figure(path: Path, found: Findings) -> None:
    """Draw one row per method and one dot per draw: the error against ε, and the size of the sets."""
    figure = Figure(figsize=(7.2, 2.4), layout="constrained", dpi=150)
    error_axes, size_axes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for axes, quantity in ((error_axes, "error"), (size_axes, "size")):
        for place, method in enumerate(METHODS_DRAWN):
            rows = [row for trial in found.trials for row in trial if row.method == method]
            _, mark = PROMISE_MARKS[METHODS[method].guarantee]
            for offset, row in zip(np.linspace(-0.22, 0.22, len(rows)) * (len(rows) > 1), rows, strict=True):
                if row.size is not None:
                    axes.plot([getattr(row, quantity)], [place + offset], markersize=4.5, alpha=0.8, **mark)
    right = max(error_axes.get_xlim()[1], 1.4 * EPSILON)
    error_axes.axvspan(EPSILON, right, color=LIMIT, alpha=0.1, linewidth=0, zorder=0)
    error_axes.axvline(EPSILON, color=LIMIT, linestyle="--", linewidth=1.2)
    error_axes.annotate(f"allowed: {EPSILON:g}", (EPSILON, 1.0), (3, 3), xycoords=("data", "axes fraction"),
                        textcoords="offset points", color=LIMIT, fontsize=9)  # fmt: skip
    error_axes.set(xlim=(0, right), xlabel="share of the target that is missed")
    size_axes.set_xlabel("labels per set, on average")
    words = [f"{name}\n{PROMISE_MARKS[METHODS[name].guarantee][0]}" for name in METHODS_DRAWN]
    error_axes.set_yticks(range(len(words)), words, fontsize=9)
    error_axes.set_ylim(len(words) - 0.5, -0.5)
    for axes in (error_axes, size_axes):
        new_axes(axes, height=0, grid="x")  # they are there already: only the grid is added
    title = f"{found.title}: {len(found.trials)} draws, one dot per draw"
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    with atomic_write(path) as draft:
        figure.savefig(draft)
