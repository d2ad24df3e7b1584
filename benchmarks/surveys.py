"""BRFSS, a survey of health. An answer splits the people of a year into two populations without label shift."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Year:
    """Where a year's scores are, which column holds the label, and by which columns people are split."""

    scores: str
    label: str
    columns: tuple[str, ...]


YEARS = {
    2015: Year(
        "scores.npz",
        "HeartDiseaseorAttack",
        ("Sex", "Age", "Income", "Education", "Smoker", "PhysActivity", "GenHlth", "HighBP"),
    ),
    2020: Year(
        "scores_2020.npz",
        "HeartDisease",
        (
            "Sex", "Smoking", "AgeCategory", "GenHealth", "Diabetic", "PhysicalActivity", "DiffWalking",
            "KidneyDisease", "Asthma", "SkinCancer",
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Survey:
    """Scores, labels and answers of the people that the classifier was not fitted on."""

    scores: FloatArray
    labels: IntArray
    answers: Mapping[str, FloatArray]


def read_survey(data: str | None, year: int, *, part: str) -> Survey:
    """The rows that were not used for fitting, in the order of the scores; ``part`` says who needs them."""
    folder, asked = Path(data or "") / "heart", YEARS[year]
    if not data or not (folder / f"brfss{year}.parquet").exists():
        raise SystemExit(
            f"{part}: needs heart/brfss{year}.parquet and heart/{asked.scores}. Name their folder with --data."
        )
    from pyarrow import parquet

    table = parquet.read_table(folder / f"brfss{year}.parquet")
    kept = ~np.asarray(table["fit"].to_numpy(), bool)
    stored = np.load(folder / asked.scores)
    answers = {name: _codes(table[name].to_numpy()[kept]) for name in (asked.label, *asked.columns)}
    if not np.array_equal(answers.pop(asked.label), stored["labels"]):
        raise SystemExit(f"{part}: the rows of brfss{year}.parquet and {asked.scores} do not match.")
    return Survey(stored["probs"].astype(float), stored["labels"].astype(np.int64), answers)


def _codes(answers: np.ndarray) -> FloatArray:
    """Answers as numbers; words by their alphabetical order."""
    if answers.dtype.kind in "OUS":
        return np.unique(answers.astype(str), return_inverse=True)[1].astype(float)
    return np.asarray(answers, float)


def halves(answers: FloatArray) -> Iterator[tuple[str, BoolArray, BoolArray]]:
    """Both directions of the split at the median: what the target has, the source, and the target."""
    low, below = answers <= np.median(answers), answers < np.median(answers)
    low = below if low.mean() >= 0.9 and below.any() else low
    yield "higher values", low, ~low
    yield "lower values", ~low, low
