"""How much data is needed: set sizes by number of classes, rows per class, epsilon and delta."""

import numpy as np

from benchmarks.lab import Blocks, Lab, quiet
from pacshift import Population, calibrate
from pacshift.arrays import FloatArray
from paper.experiments.summary import markdown_table

STRENGTHS = {2: 2.2, 10: 4.3, 100: 6.4}
"""Strength of the imagined classifier for each number of classes: each is right on about 86 % of the rows."""
ROWS_PER_CLASS = (30, 100, 300, 1000, 3000)
RATES = ((0.1, 0.05), (0.1, 0.001), (0.05, 0.05))
MAX_SOURCE_ROWS = 120_000


def run(lab: Lab) -> Blocks:
    """One table per number of classes."""
    trials, parts = lab.trials or lab.choose(5, 1), []
    for n_classes in lab.choose(tuple(STRENGTHS), (2,)):
        lab.say(f"needs: {n_classes} classes, {trials} draws per cell")
        parts.append(table(n_classes, trials, lab.choose(ROWS_PER_CLASS, (100,))))
    yield "needs", "\n\n".join(parts)


def table(n_classes: int, trials: int, rows_per_class: tuple[int, ...]) -> str:
    """Mean set sizes, beside those of the best thresholds that know the whole population."""
    population = Population.synthetic(n_classes, strength=STRENGTHS[n_classes], rows_per_class=2000, rng=0)
    right = float((population.scores.argmax(axis=1) == population.index).mean())
    mix = target_mix(n_classes)
    fitting = [rows for rows in rows_per_class if rows * n_classes <= MAX_SOURCE_ROWS]
    lines = []
    for epsilon, delta in RATES:
        sizes = [mean_size(population, mix, rows, trials, epsilon, delta) for rows in fitting]
        best = population.size(population.best_threshold(epsilon, mix), mix)
        lines.append((f"{epsilon:g}", f"{delta:g}", *(f"{size:.2f}" for size in sizes), f"{best:.2f}"))
    headings = ("ε", "δ", *(f"{rows:,} rows per class" for rows in fitting), "best single threshold")
    title = f"**{n_classes} classes**, classifier right on {100 * right:.0f} %, as many target rows as source rows"
    return f"{title}\n\n{markdown_table(headings, lines).strip()}"


def target_mix(n_classes: int) -> FloatArray:
    """Frequencies that fall from the first class to the last, the first four times as frequent."""
    falling = np.linspace(4, 1, n_classes)
    mix: FloatArray = falling / falling.sum()
    return mix


def mean_size(
    population: Population, mix: FloatArray, rows: int, trials: int, epsilon: float, delta: float
) -> float:
    """Mean size of PS-LP's sets on the target; sets with all labels count as they are."""
    n_classes, sizes = len(mix), []
    for trial in range(trials):
        rng = np.random.default_rng([rows, trial])
        source, labels = population.draw(np.full(n_classes, 1 / n_classes), rows * n_classes, rng)
        target, _ = population.draw(mix, rows * n_classes, rng)
        with quiet():
            certificate = calibrate(source, labels, target, epsilon=epsilon, delta=delta)
        sizes.append(population.size(certificate.thresholds, mix))
    return float(np.mean(sizes))
