"""CSV tables on the command line: calibrate, predict, report, and check when labels arrive."""

import shlex
import subprocess
import sysconfig
from pathlib import Path

import matplotlib.pyplot as plt
import pyarrow as pa
import pyarrow.csv

from pacshift import Certificate, Population
from pacshift.plots import class_misses

CLASSES = ["bird", "cat", "dog"]
model = Population.synthetic(CLASSES, strength=3, rng=0)  # in place of your model


def table(n: int, mix: list[float], seed: int) -> pa.Table:
    """A key, one column of scores per class, and the true label. The columns are named as the labels."""
    scores, labels = model.draw(mix, n, rng=seed)
    columns = dict(zip(CLASSES, scores.round(4).T, strict=True))
    return pa.table({"id": range(n), **columns, "label": labels})


later = table(4_000, [0.2, 0.3, 0.5], seed=2)
pa.csv.write_csv(table(4_000, [0.5, 0.3, 0.2], seed=1), "before.csv")
pa.csv.write_csv(later.drop_columns(["label"]), "now.csv")
pa.csv.write_csv(later, "later.csv")  # the same rows on the day when their labels are known

for command in Path(__file__).with_suffix(".sh").read_text().splitlines():
    print("$", command, flush=True)
    program, *arguments = shlex.split(command)
    subprocess.run([Path(sysconfig.get_path("scripts"), program), *arguments], check=True)

figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
class_misses(Certificate.load("certificate.json"), ax=axes)
figure.savefig("command_line.png", dpi=150)
