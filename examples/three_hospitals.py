"""Three hospitals, one certificate: each sends a small file of counts, and no patient's row leaves a hospital."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pacshift import Population, Tally, calibrate, evaluate, read

NAMES = ["healthy", "pneumonia", "effusion"]
model = Population.synthetic(NAMES, strength=3, rng=0)  # the same model in every hospital


def patients(n: int, mix: list[float], seed: int) -> pa.Table:
    """Scores and diagnoses; hospitals and seasons differ in how common each diagnosis is."""
    scores, labels = model.draw(mix, n, rng=seed)
    return pa.table(
        {f"p_{name}": column for name, column in zip(NAMES, scores.T, strict=True)} | {"diagnosis": labels}
    )


# In each hospital: last year's patients have a diagnosis, this winter's do not have one yet.
HOSPITALS = {"north": (12_000, 0), "south": (5_000, 1), "harbour": (3_000, 2)}
for hospital, (n, seed) in HOSPITALS.items():
    pq.write_table(patients(n, [0.7, 0.2, 0.1], seed), f"{hospital}-labelled.parquet")
    pq.write_table(patients(n, [0.3, 0.6, 0.1], seed + 10), f"{hospital}-winter.parquet")

    # As `pacshift tally north-labelled.parquet --label diagnosis --leave-out soft -o north-labelled.tally` does.
    read(f"{hospital}-labelled.parquet", label="diagnosis").tally(soft=False).save(f"{hospital}-labelled.tally")
    read(f"{hospital}-winter.parquet").tally(soft=False).save(f"{hospital}-winter.tally")

# In one place: add and calibrate. As `pacshift calibrate *.tally --epsilon 0.05 --delta 0.05` does.
files = sorted(Path().glob("*.tally"))
for file in files:
    print(f"received {file}: {file.stat().st_size:,} bytes")
certificate = calibrate(Tally.sum(map(Tally.load, files)), epsilon=0.05, delta=0.05)
certificate.save("certificate.json")
print(certificate.explain())

# With all rows in one place the certificate would be the same, bit for bit.
labelled = read([f"{hospital}-labelled.parquet" for hospital in HOSPITALS], label="diagnosis")
winter = read([f"{hospital}-winter.parquet" for hospital in HOSPITALS], label="diagnosis")
scores, diagnoses = winter.arrays()
pooled = labelled.tally(soft=False) + Tally.from_target(scores, classes=winter.classes, soft=False)
together = calibrate(pooled, epsilon=0.05, delta=0.05)
assert certificate.thresholds.tolist() == together.thresholds.tolist()
assert certificate.explain() == together.explain()

# Back in each hospital the certificate makes the sets; when the labels are known, anyone can check it.
result = evaluate(certificate.sets(scores), diagnoses, classes=winter.classes)
print(f"this winter: {100 * result.error:.1f} % of the true diagnoses missed, {result.size:.2f} labels per set")
