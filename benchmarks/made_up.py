"""Made-up scores for timing: their values do not matter, their number does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

STRENGTH = 5.0
"""How far the logit of the true label stands above the noise: about 95 % right of 10 classes, 80 % of 100."""

CHUNK_SCORES = 1 << 21
"""Scores of a table that are made and written at a time."""


def scores_and_labels(
    rows: int,
    n_classes: int,
    rng: np.random.Generator,
    *,
    mix: Sequence[float] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Softmax of noisy logits, one slice after the other so that no second matrix is in memory.

    >>> scores, labels = scores_and_labels(4000, 5, np.random.default_rng(0), mix=shifted_mix(5))
    >>> bool(np.allclose(scores.sum(axis=1), 1)), bool((scores.argmax(axis=1) == labels).mean() > 0.8)
    (True, True)
    >>> bool(abs(np.mean(labels == 0) - 3 / 7) < 0.03)
    True
    """
    labels = rng.choice(n_classes, rows, p=mix)
    scores = np.empty((rows, n_classes))
    step = max(1, (1 << 20) // n_classes)
    for start in range(0, rows, step):
        block = rng.standard_normal((min(step, rows - start), n_classes), np.float32)
        block[np.arange(len(block)), labels[start : start + step]] += STRENGTH
        np.exp(block, out=block)
        scores[start : start + step] = block
        scores[start : start + step] /= scores[start : start + step].sum(axis=1, keepdims=True)
    return scores, labels


def both_domains(rows: int, n_classes: int) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[Any]]:
    """Scores and labels of a source, and scores of a target with a shifted label mix."""
    rng = np.random.default_rng(0)
    source, labels = scores_and_labels(rows, n_classes, rng)
    target, _ = scores_and_labels(rows, n_classes, rng, mix=shifted_mix(n_classes))
    return source, labels, target


def shifted_mix(n_classes: int) -> list[float]:
    """The first label three times as frequent as every other one."""
    return [3 / (n_classes + 2)] + [1 / (n_classes + 2)] * (n_classes - 1)


def write_table(
    folder: Path, rows: int, n_classes: int, *, files: int = 1, columns: str = "float64", seed: int = 0
) -> Path:
    """Softmax scores of random logits and their labels as Parquet: one column per class, or "one list".

    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> for columns in ("float32", "one list"):
    ...     path = write_table(Path(tempfile.mkdtemp(), "table"), 100, 3, files=3, columns=columns)
    ...     table = pq.read_table(path)
    ...     print(table.column_names, table.num_rows, len(list(path.iterdir())))
    ['p_0', 'p_1', 'p_2', 'label'] 100 3
    ['scores', 'label'] 100 3
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, step = np.random.default_rng(seed), max(1, CHUNK_SCORES // n_classes)
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(rows), files)):
        writer = None
        for start in range(0, len(part), step):
            labels = rng.integers(0, n_classes, len(part[start : start + step]))
            scores = rng.normal(size=(len(labels), n_classes))
            scores[np.arange(len(labels)), labels] += 2.5
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            if columns == "one list":
                table = {"scores": pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), n_classes)}
            else:
                table = {f"p_{place}": column for place, column in enumerate(scores.astype(columns).T)}
            table = pa.table(table | {"label": labels})
            writer = writer or pq.ParquetWriter(folder / f"{number:05}.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return folder
