"""A small table of scores that every test of columns, labels and archives uses."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from pacshift import Certificate, Tally, calibrate
from pacshift.rows.columns import Columns

NAMES = ("cat", "dog", "eel")
RNG = np.random.default_rng(0)
LABELS = RNG.choice(3, 300, p=[0.5, 0.3, 0.2])
SCORES = 0.6 * np.eye(3)[LABELS] + 0.4 * RNG.dirichlet(np.ones(3), 300)
EXPECTED = Tally.from_scores(SCORES, np.array(NAMES)[LABELS], classes=NAMES, grid=True)
LOGITS = 5 * np.log(SCORES)


def table(pattern: str = "p_*", names: Any = NAMES, scores: Any = SCORES, **others: Any) -> Any:
    return pa.table({pattern.replace("*", str(name)): scores[:, k] for k, name in enumerate(names)} | others)


def labelled(pattern: str = "p_*", **others: Any) -> Any:
    return table(pattern, label=np.array(NAMES)[LABELS], **others)


def save(content: Any, path: Path) -> Path:
    {".parquet": pq.write_table, ".csv": pa.csv.write_csv, ".feather": pa.feather.write_feather}[path.suffix](
        content, path
    )
    return path


def unlike_its_columns() -> Certificate:
    """Classes that no column is called: only the remembered columns tell which is which."""
    classes = ("x", "y", "z")
    tally = Tally.from_scores(SCORES, np.array(classes)[LABELS], classes=classes)
    made = calibrate(tally, epsilon=0.1, delta=0.1, method="PS")
    return Certificate(**{**made.__dict__, "columns": Columns(("p_cat", "p_dog", "p_eel"), "label")})
