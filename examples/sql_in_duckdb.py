"""Sets where the scores are: one SQL expression, and the database makes the sets itself."""

import duckdb
import matplotlib.pyplot as plt
import pandas as pd

import pacshift

CLASSES = ["cat", "dog", "fox"]
model = pacshift.Population.synthetic(CLASSES, strength=3, rng=0)  # in place of your model
source, labels = model.draw([0.5, 0.4, 0.1], 10_000, rng=1)
animals = pd.DataFrame(model.draw([0.2, 0.3, 0.5], 10_000, rng=2)[0], columns=CLASSES)  # a table of the database

certificate = pacshift.calibrate(source, labels, animals, epsilon=0.1, delta=0.05, classes=CLASSES)
expression = certificate.to_sql("duckdb", columns=CLASSES)
print(expression)
counts = duckdb.execute(
    f"SELECT array_to_string({expression}, ', ') AS labels, count(*) AS n FROM animals GROUP BY 1 ORDER BY 2 DESC"
).fetchall()
for names, n in counts:
    print(f"{n:6} rows: {{{names}}}")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.barh([f"{{{names}}}" for names, _ in counts], [n for _, n in counts], color="#0072b2")
axes.set_xlabel("rows with this set")
axes.invert_yaxis()
figure.savefig("sql_in_duckdb.png", dpi=150)
