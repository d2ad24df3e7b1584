"""Real cases for the page "Real cases": people of a health survey and headlines, each with its set.

People are those of BRFSS 2015, a survey of a US federal agency. Headlines (AG News, for research only) are printed
on the terminal and not written into the page.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.try_it import in_words
from pacshift import AssumptionError, Certificate, calibrate, evaluate, label_sheet, resample
from pacshift.arrays import FloatArray, IntArray
from pacshift.simulate.population import heart_arrays, unpack_scores

EPSILON, DELTA, BUDGET = 0.1, 0.05, 400
OLD = 9  # code of 60 to 64 years
QUANTILES = (0.02, 0.3, 0.6, 0.8, 0.92, 0.99)
TOPICS = ("World", "Sports", "Business", "Sci/Tech")
NEWS_MIX = (0.1, 0.05, 0.6, 0.25)


def run(lab: Lab) -> Blocks:
    """Tables of the page; headlines on the terminal."""
    if lab.data is None:
        raise SystemExit("cases needs --data: neither answers nor headlines are shipped.")
    yield "cases-people", people(Path(lab.data))
    yield "cases-headlines", headlines(Path(lab.data), lab)


def people(data: Path) -> str:
    """From the young to the old: refused, then certified by labels."""
    import pyarrow.parquet as pq

    arrays, rng = heart_arrays(), np.random.default_rng(0)
    scores, labels, ids = unpack_scores(arrays["gaps"]), arrays["labels"].astype(int), arrays["row_ids"]
    names = [str(name) for name in arrays["class_names"]]
    table = pq.read_table(data / "heart" / "brfss2015.parquet")
    old = table["Age"].to_numpy()[ids] >= OLD
    source, target = (rng.choice(np.flatnonzero(side), 20_000, replace=False) for side in (~old, old))
    refused, truth = "not refused", np.array(names)[labels]
    asked: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "classes": names}
    try:
        calibrate(scores[source], truth[source], scores[target], **asked)
    except AssumptionError as refusal:
        refused = refusal.refusal
    sheet = label_sheet(scores[target], budget=BUDGET, epsilon=EPSILON, delta=DELTA, rng=1)
    filled = sheet.with_labels(truth[target][sheet.rows])
    made = calibrate(scores[source], truth[source], scores[target], **asked, labelled=filled)
    left = np.delete(target, sheet.rows)
    found = evaluate(made.sets(scores[left]), labels[left])
    lines = [
        f"*Without labels*: {refused}",
        "",
        f"*With {BUDGET} labels of the target* ({made.method}): {found.size:.2f} labels per set, "
        f"{100 * found.error:.1f} % missed among the {len(left):,} others (allowed: {100 * EPSILON:g} %).",
        "",
        "| who | score | the set | in truth |",
        "|---|---|---|---|",
    ]
    order = left[np.argsort(scores[left, 1], kind="stable")]
    for quantile in QUANTILES:
        row = int(order[int(quantile * len(order))])
        told = in_words(table.slice(int(ids[row]), 1).to_pylist()[0])
        lines.append(
            f"| {told} | {scores[row, 1]:.2f} | {the_set(made, scores[row], names)} | {names[labels[row]]} |"
        )
    return "\n".join(lines)


def headlines(data: Path, lab: Lab) -> str:
    """Four topics in equal parts, then a paper that is mostly about business."""
    import pyarrow.parquet as pq

    with np.load(data / "agnews" / "scores.npz") as stored:
        scores, labels = stored["probs" if "probs" in stored else "scores"], stored["labels"].astype(int)
        rows = stored["parquet_row"]
    rng = np.random.default_rng(0)
    mixed = rng.permutation(len(labels))
    source, rest = mixed[:10_000], mixed[10_000:]
    target = rest[resample(labels[rest], NEWS_MIX, 10_000, rng)]
    made = calibrate(scores[source], labels[source], scores[target], epsilon=0.05, delta=DELTA, classes=range(4))
    ignoring = calibrate(scores[source], labels[source], epsilon=0.05, delta=DELTA, method="PS", classes=range(4))
    lines = ["| method | missed | labels per set | missed, by topic |", "|---|---|---|---|"]
    for one in (ignoring, made):
        found = evaluate(one.sets(scores[target]), labels[target])
        by = ", ".join(
            f"{name} {100 * error:.1f} %" for name, error in zip(TOPICS, found.class_error, strict=True)
        )
        lines.append(f"| {one.method} | {100 * found.error:.1f} % | {found.size:.2f} | {by} |")
    texts, sizes = pq.read_table(data / "agnews" / "agnews.parquet")["text"], made.sets(scores[target]).sum(axis=1)
    for size in (1, 2, 3):
        for row in target[sizes == size][:2].tolist():
            chosen = the_set(made, scores[row], TOPICS)
            lab.say(f"{texts[int(rows[row])].as_py()[:110]} -> {chosen} (in truth {TOPICS[labels[row]]})")
    return "\n".join(lines)


def the_set(made: Certificate, row: FloatArray, names: Any) -> str:
    """The labels in the set of a row."""
    held: IntArray = np.flatnonzero(made.sets(row[None])[0])
    return ", ".join(names[label] for label in held.tolist()) or "none"
