"""Three hospitals, one certificate: each sends a small file of counts, no patient's row leaves the house."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pacshift import Tally, calibrate_tally, evaluate
from pacshift.tables import read_table, tally_table

NAMES = np.array(["healthy", "pneumonia", "effusion"])


def patients(n: int, mix: list[float], seed: int) -> pa.Table:
    """The same model everywhere; what differs is how common each diagnosis is."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=mix)
    logits = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[labels]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns = {f"p_{name}": scores[:, k] for k, name in enumerate(NAMES)}
    return pa.table({**columns, "diagnosis": NAMES[labels]})


# In each house: last year's patients have a diagnosis, this winter's do not have one yet.
WARDS = {"north": (12_000, 0), "south": (5_000, 1), "harbour": (3_000, 2)}
for house, (n, seed) in WARDS.items():
    pq.write_table(patients(n, [0.7, 0.2, 0.1], seed), f"{house}-labelled.parquet")
    pq.write_table(patients(n, [0.3, 0.6, 0.1], seed + 10), f"{house}-winter.parquet")

    # As `pacshift tally north-labelled.parquet --label diagnosis --no-soft -o north-labelled.tally` does.
    tally_table(f"{house}-labelled.parquet", label="diagnosis", soft=False).tally.save(f"{house}-labelled.tally")
    tally_table(f"{house}-winter.parquet", label=None, soft=False).tally.save(f"{house}-winter.tally")

# In the middle: add, calibrate. As `pacshift calibrate --tallies *.tally --epsilon 0.05 --delta 0.05` does.
files = sorted(Path().glob("*.tally"))
for file in files:
    print(f"received {file}: {file.stat().st_size:,} bytes")
certificate = calibrate_tally(Tally.sum(map(Tally.load, files)), epsilon=0.05, delta=0.05)
certificate.save("certificate.json")
print(certificate.explain())

# Had all rows been in one place, the certificate would be the same to the last bit.
labelled = read_table([f"{house}-labelled.parquet" for house in WARDS], label="diagnosis")
winter = read_table([f"{house}-winter.parquet" for house in WARDS], label="diagnosis")
pooled = Tally.from_scores(labelled.scores, labelled.labels, classes=labelled.classes, grid=True, soft=False)
pooled = pooled + Tally.from_target(winter.scores, classes=winter.classes, soft=False)
together = calibrate_tally(pooled, epsilon=0.05, delta=0.05)
assert certificate.thresholds.tolist() == together.thresholds.tolist()
assert certificate.explain() == together.explain()

# Back in each house the certificate makes the sets; later, when the labels are known, anyone can check it.
result = evaluate(certificate.sets(winter.scores), winter.labels, classes=winter.classes)
print(f"this winter: {result.error:.1%} of the true diagnoses missed, {result.size:.2f} labels a set")
