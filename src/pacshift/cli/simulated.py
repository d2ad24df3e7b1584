"""The demo's simulated label shift: what is drawn, what the methods achieve on it, the picture and the files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pacshift.arrays import FloatArray, IntArray
from pacshift.certificate import Certificate
from pacshift.comparison import ComparisonRow, compare
from pacshift.files.writing import atomic_write
from pacshift.methods import METHODS, Oracle, usable_methods
from pacshift.plots.axes import LIMIT, PROMISE_MARKS, new_axes
from pacshift.progress import Progress
from pacshift.report import write_report
from pacshift.simulate import resample
from pacshift.simulate.population import heart_arrays, unpack_scores

EPSILON, DELTA = 0.1, 5e-4
SOURCE_MIX, TARGET_MIX, N_ROWS = (0.94, 0.06), (0.636, 0.364), 42_000
"""A panel of the paper, but with all scored rows as the population of source and target."""
DRAWS, SEED, SEED_OF_PANEL = 10, 0, (142512459, 1894956303)
METHOD = "PS-LP"
METHODS_DRAWN = ("PS-LP", "LWCP", "PS")
"""The default, conformal prediction class by class, and calibration that ignores the shift: one of each kind."""


@dataclass(frozen=True)
class DemoResult:
    """All scored rows, those of the first draw and its certificate, and a table of methods for every draw."""

    title: str
    class_names: tuple[str, ...]
    scores: FloatArray
    labels: IntArray
    source: IntArray
    target: IntArray
    certificate: Certificate
    draws: Sequence[Sequence[ComparisonRow]]

    def rows_of(self, method: str) -> list[ComparisonRow]:
        """The rows of a method in all draws that it did not refuse."""
        return [row for draw in self.draws for row in draw if row.method == method and row.size is not None]

    def count_above(self, method: str) -> int:
        """In how many draws the error of a method was above what was allowed."""
        return sum(row.error > EPSILON for row in self.rows_of(method) if row.error is not None)

    def size(self, method: str) -> float:
        """Mean size of a method's sets over all draws that it did not refuse."""
        return float(np.mean([row.size for row in self.rows_of(method)]))


def run_demo(report: Progress | None) -> DemoResult:
    """Draw from all scored rows, compare all methods, and take their errors on the whole target population."""
    arrays = heart_arrays()
    facts, names = json.loads(str(arrays["facts"])), tuple(arrays["class_names"].tolist())
    scores, labels = unpack_scores(arrays["gaps"]), arrays["labels"].astype(np.int64)
    oracle = Oracle(weights=np.divide(TARGET_MIX, SOURCE_MIX))
    methods = sorted([*usable_methods(), oracle], key=lambda method: list(METHODS).index(method.name))
    tables, certificates, rows_drawn = [], [], []
    for draw in range(DRAWS):
        if report:
            report(draw, DRAWS)
        rng = np.random.default_rng([SEED, draw, *SEED_OF_PANEL])
        source, target = (resample(labels, mix, N_ROWS, rng) for mix in (SOURCE_MIX, TARGET_MIX))
        compared = compare(
            scores[source],
            np.array(names)[labels[source]],
            scores[target],
            classes=names,
            epsilon=EPSILON,
            delta=DELTA,
            methods=methods,
            rng=SEED,
        )
        errors = [
            None if certificate is None else _true_error(certificate, scores, labels)
            for certificate in compared.certificates
        ]
        tables.append([replace(row, error=error) for row, error in zip(compared.rows, errors, strict=True)])
        certificates.append(compared.certificates[[row.method for row in compared.rows].index(METHOD)])
        rows_drawn.append((source, target))
    title = f"{facts['model'][:1].upper()}{facts['model'][1:]}, {facts['data']}"
    assert certificates[0] is not None  # label shift holds in this world
    return DemoResult(title, names, scores, labels, *rows_drawn[0], certificates[0], tables)


def _true_error(certificate: Certificate, scores: FloatArray, labels: IntArray) -> float:
    """The error on the whole target population, of which all scored rows are known."""
    missed = ~certificate.sets(scores)[np.arange(len(labels)), labels]
    return float(np.dot(TARGET_MIX, [missed[labels == label].mean() for label in range(len(TARGET_MIX))]))


def write_files(folder: Path, result: DemoResult) -> dict[str, Path]:
    """Write the files of the demo, over those of an earlier run."""
    import pyarrow as pa
    import pyarrow.parquet

    files = {"report": folder / "report.html", "figure": folder / "demo.png"}
    files |= {"certificate": folder / "certificate.json"}
    files |= {name: folder / f"{name}.parquet" for name in ("source", "target", "labelled")}
    certificate = result.certificate
    certificate.save(files["certificate"])
    write_report(certificate, files["report"], comparison=result.draws[0])
    draw_figure(files["figure"], result)
    names = result.class_names
    for table, rows in (("source", result.source), ("target", result.target), ("labelled", result.target)):
        columns: dict[str, Any] = {"id": np.arange(len(rows))}
        columns |= {f"p_{name}": result.scores[rows, place] for place, name in enumerate(names)}
        if table != "target":
            columns["label"] = np.array(names)[result.labels[rows]]
        with atomic_write(files[table]) as draft:
            pyarrow.parquet.write_table(pa.table(columns), draft)
    return files


def draw_figure(path: Path, result: DemoResult) -> None:
    """Draw one row per method and one dot per draw: the error against ε, and the size of the sets."""
    figure = Figure(figsize=(7.2, 2.4), layout="constrained", dpi=150)
    error_axes, size_axes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    for axes, quantity in ((error_axes, "error"), (size_axes, "size")):
        for place, method in enumerate(METHODS_DRAWN):
            rows = [row for draw in result.draws for row in draw if row.method == method]
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
    title = f"{result.title}: {len(result.draws)} draws, one dot per draw"
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    with atomic_write(path) as draft:
        figure.savefig(draft)
