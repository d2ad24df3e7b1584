"""Rows in memory: checked once, counted once, and looked at again where a method wants exact sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from pacshift import InputError, Population, Tally, calibrate
from pacshift.arrays import FloatArray
from pacshift.certification.counted import count
from pacshift.certification.request import check_request
from pacshift.methods import METHODS, Method, Solution, Task
from pacshift.rows.memory import pair
from pacshift.scores.transforms import TRANSFORMS

SOURCE, LABELS = Population.synthetic(3, strength=3, rng=0).draw([0.5, 0.3, 0.2], 900, rng=1)
TARGET, TRUTH = Population.synthetic(3, strength=3, rng=0).draw([0.2, 0.3, 0.5], 700, rng=2)
CUTS = [np.full(3, 0.4), np.array([0.1, 0.5, 0.9])]


@dataclass(frozen=True)
class Curious(Method):
    """Asks how large sets would be, and certifies nothing."""

    answers: list[list[float] | None] = field(default_factory=list)

    name = "CURIOUS"

    def solve(self, tally: Tally, task: Task) -> Solution:
        self.answers.append(None if task.count_labels is None else task.count_labels(CUTS))
        return Solution(np.full(tally.n_classes, 0.5))


def mean_sizes(scores: NDArray[Any], cuts: Sequence[FloatArray]) -> list[float]:
    return [float((scores >= cut).sum(axis=1).mean()) for cut in cuts]


def test_methods_can_count_exact_sizes_on_the_target() -> None:
    method = Curious()
    calibrate(SOURCE, LABELS, TARGET, method=method)
    calibrate(np.log(SOURCE), LABELS, np.log(TARGET), method=method, softmax=True)
    calibrate(SOURCE, LABELS, None, method=method)
    calibrate(SOURCE, LABELS, TARGET, method=method, score="margin")  # sizes would be those of other scores
    plain, from_logits, *others = method.answers
    assert plain == mean_sizes(TARGET, CUTS)
    assert from_logits == plain
    assert others == [None, None]


def test_frames_are_matched_by_name() -> None:
    names = ["a", "b", "c"]
    labels = np.array(names)[LABELS]
    source, target = pd.DataFrame(SOURCE, columns=names), pd.DataFrame(TARGET[:, ::-1], columns=names[::-1])
    _, found = pair(source, labels, target)
    assert found is not None
    assert all(np.array_equal(batch.given, TARGET) for batch in found.batches())


def test_labelled_target_rows() -> None:
    some = [int(label) if row % 3 == 0 else None for row, label in enumerate(TRUTH)]
    how: Any = {"method": METHODS["PS-LP"](), "request": check_request(), "transform": TRANSFORMS["probability"]}
    found = count(*pair(SOURCE, LABELS, TARGET, target_labels=some), **how).labelled
    assert found is not None
    assert found.counted.class_counts.tolist() == np.bincount(TRUTH[::3], minlength=3).tolist()
    assert count(*pair(SOURCE, LABELS, TARGET), **how).labelled is None
    with pytest.raises(InputError, match="target_scores is None"):
        pair(SOURCE, LABELS, None, target_labels=some)
