"""The interactive picture of the first page: real people, real scores, results computed beforehand.

Rows of a health survey are scored by the model that the package ships. The source is drawn at its own share of
heart disease; for every share of a list and every epsilon a target is drawn, and three methods are calibrated.
Errors and sizes are those of rows that neither of them saw, weighted to the target's mix.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import DOCS
from pacshift import calibrate
from pacshift.arrays import FloatArray, IntArray
from pacshift.simulate.population import heart_arrays, unpack_scores

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
EPSILONS = (0.03, 0.05, 0.1, 0.15, 0.2)
METHODS = ("PS", "LWCP", "PS-LP")
N_ROWS, DELTA = 20_000, 0.05
AGES = ("18-24", *(f"{low}-{low + 4}" for low in range(25, 80, 5)), "80 or older")
HEALTH = ("excellent", "very good", "good", "fair", "poor")


def run(lab: Lab) -> Blocks:
    """The file that the page shows."""
    if lab.data is None:
        raise SystemExit("try-it needs --data: the answers of the people that it shows are not shipped.")
    arrays = heart_arrays()
    scores, labels, classes = unpack_scores(arrays["gaps"]), arrays["labels"].astype(int), arrays["class_names"]
    rng = np.random.default_rng(0)
    pools = [np.array_split(rng.permutation(np.flatnonzero(labels == label)), 3) for label in (0, 1)]
    source = np.concatenate([parts[0] for parts in pools])
    source = rng.choice(source, N_ROWS, replace=False)
    unseen = [scores[parts[2]] for parts in pools]
    results: dict[str, Any] = {}
    for share in SHARES:
        n_sick = round(share * N_ROWS)
        target = np.concatenate(
            [
                rng.choice(parts[1], n, replace=n > len(parts[1]))
                for parts, n in zip(pools, (N_ROWS - n_sick, n_sick), strict=True)
            ]
        )
        for epsilon in EPSILONS:
            results[f"{share:g} {epsilon:g}"] = {
                method: result(scores[source], labels[source], scores[target], unseen, share, epsilon, method)
                for method in METHODS
            }
        lab.say(f"share {share:g}")
    found = {
        "source_share": round(float(labels[source].mean()), 4),
        "delta": DELTA,
        "rows": N_ROWS,
        "classes": [str(name) for name in classes],
        "shares": SHARES,
        "epsilons": EPSILONS,
        "methods": METHODS,
        "results": results,
        "people": people(Path(lab.data), arrays["row_ids"], scores, labels, [parts[2] for parts in pools]),
    }
    folder = DOCS / "assets" if lab.write else lab.out
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "try-it.json").write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    yield from ()


def result(
    source: FloatArray,
    labels: IntArray,
    target: FloatArray,
    unseen: list[FloatArray],
    share: float,
    epsilon: float,
    method: str,
) -> dict[str, Any]:
    """Thresholds, and error and labels per set on rows that nothing saw, at the target's mix."""
    made = calibrate(source, labels, target, epsilon=epsilon, delta=DELTA, method=method)
    sets = [made.sets(rows) for rows in unseen]
    mix = (1 - share, share)
    error = sum(part * (1 - one[:, label].mean()) for label, (part, one) in enumerate(zip(mix, sets, strict=True)))
    size = sum(part * one.sum(axis=1).mean() for part, one in zip(mix, sets, strict=True))
    return {
        "thresholds": [float(cut) for cut in made.thresholds],
        "error": round(float(error), 4),
        "size": round(float(size), 3),
    }


def people(
    data: Path, row_ids: IntArray, scores: FloatArray, labels: IntArray, pools: list[IntArray]
) -> list[dict[str, Any]]:
    """Six people with and six without heart disease: those at evenly spaced quantiles of the score, by rule."""
    import pyarrow.parquet as pq

    answers = pq.read_table(data / "heart" / "brfss2015.parquet")
    found = []
    for pool in pools:
        ordered = pool[np.argsort(scores[pool, 1], kind="stable")]
        for quantile in (0.05, 0.25, 0.5, 0.7, 0.85, 0.97):
            row = int(ordered[int(quantile * len(ordered))])
            told = answers.slice(int(row_ids[row]), 1).to_pylist()[0]
            found.append(
                {
                    "told": in_words(told),
                    "label": int(labels[row]),
                    "scores": [round(float(score), 6) for score in scores[row]],
                }
            )
    return sorted(found, key=lambda person: person["scores"][1])


def in_words(told: dict[str, int]) -> str:
    """What a person answered, in a line."""
    said = [
        f"{'man' if told['Sex'] else 'woman'}, {AGES[told['Age'] - 1]}",
        f"health {HEALTH[told['GenHlth'] - 1]}",
    ]
    said += [f"BMI {told['BMI']}"]
    for column, words in (
        ("HighBP", "high blood pressure"),
        ("HighChol", "high cholesterol"),
        ("Diabetes", "diabetes"),
        ("Stroke", "had a stroke"),
        ("Smoker", "smoker"),
        ("DiffWalk", "walks with difficulty"),
    ):
        said += [words] if told[column] else []
    return ", ".join(said)
