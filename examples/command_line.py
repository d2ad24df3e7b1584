"""Parquet on the command line: calibrate, predict, check and report, as a shell script would call them."""

import shlex
import subprocess
import sysconfig
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pacshift import Population

model = Population.synthetic(["benign", "malignant", "unclear"], strength=3, rng=0)


def table(n: int, mix: list[float], seed: int) -> pa.Table:
    """A score table: a key, one column p_<class> per class, and the true label."""
    scores, labels = model.draw(mix, n, rng=seed)
    columns = {f"p_{name}": column for name, column in zip(model.classes, scores.T, strict=True)}
    return pa.table({"patient": range(n), **columns, "diagnosis": labels})


def run(command: str) -> None:
    """Show a command and run it."""
    print("$", command, flush=True)
    program, *arguments = shlex.split(command)
    subprocess.run([Path(sysconfig.get_path("scripts"), program), *arguments], check=True)


pq.write_table(table(10_000, [0.8, 0.1, 0.1], seed=1), "source.parquet")
labelled = table(10_000, [0.3, 0.6, 0.1], seed=2)
pq.write_table(labelled.drop_columns(["diagnosis"]), "target.parquet")
pq.write_table(labelled, "labelled.parquet")  # as if the labels had arrived later

run("pacshift calibrate source.parquet target.parquet --label diagnosis --epsilon 0.1 --delta 0.05")
run("pacshift predict certificate.json target.parquet --keep patient -o sets.parquet")
run("pacshift check certificate.json labelled.parquet --label diagnosis")
run("pacshift report certificate.json -o report.html")

print(pq.read_table("sets.parquet").slice(0, 3).to_pylist())
