"""One contestant, one job, one process: ``python -m benchmarks.worker JOB.json`` in the contestant's environment.

The job names the library, the setting and a folder of arrays; the answer is the last line printed, as JSON.
"""

import importlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestants import Contestant, Given
from benchmarks.measure import resident_growth, run_times

WARM_ROWS = 2_000


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    np.random.seed(0)  # noqa: NPY002  # peers draw from NumPy's global generator
    contestant = importlib.import_module(f"benchmarks.contestants.{job['library']}").SETTINGS[job["setting"]]
    kinds: dict[str, Any] = {"speed": speed, "quality": quality}
    print(json.dumps(kinds[job["kind"]](contestant, job)))


def speed(contestant: Contestant, job: dict[str, Any]) -> dict[str, Any]:
    """Seconds and memory of calibrating and of making the sets of all target rows."""
    arrays = {name: np.load(f"{job['folder']}/{name}.npy") for name in ("source", "labels", "target")}
    n_classes = arrays["source"].shape[1]
    loaded = {name: contestant.load(array) for name, array in arrays.items()}
    given = Given(**loaded, n_classes=n_classes, epsilon=job["epsilon"], delta=job["delta"])
    load_lazily(contestant, given)
    fitted, memory = resident_growth(lambda: contestant.calibrate(given))  # the warm-up
    seconds, cores = run_times(lambda: contestant.calibrate(given), job["repeats"], job["budget"])
    answer = {"calibrate": seconds, "calibrate_memory": memory, "calibrate_cores": cores}
    rows = affordable_rows(contestant, fitted, given.target, job["budget"])
    part = given.target[:rows]
    _, memory = resident_growth(lambda: contestant.sets(fitted, part))
    seconds, cores = run_times(lambda: contestant.sets(fitted, part), job["repeats"], job["budget"])
    return answer | {"sets": seconds, "sets_rows": rows, "sets_memory": memory, "sets_cores": cores}


def load_lazily(contestant: Contestant, given: Given) -> None:
    """A first small call, so that what libraries import late is not counted as memory of the work."""
    few = slice(WARM_ROWS)
    small = replace(given, source=given.source[few], labels=given.labels[few], target=given.target[few])
    contestant.sets(contestant.calibrate(small), small.target)


def affordable_rows(contestant: Contestant, fitted: Any, scores: Any, budget: float) -> int:
    """All rows, unless that takes longer than ``budget`` seconds: then fewer, by steps of 8.

    >>> from benchmarks.contestants.floor import Floor
    >>> [affordable_rows(Floor(), np.zeros(10), np.zeros((5000, 2)), budget) for budget in (1e9, 0.0)]
    [5000, 64]
    """
    rows = 64
    while rows < len(scores):
        start = time.perf_counter()
        contestant.sets(fitted, scores[:rows])
        if 8 * (time.perf_counter() - start) > budget:
            return rows
        rows *= 8
    return len(scores)


def quality(contestant: Contestant, job: dict[str, Any]) -> list[dict[str, float]]:
    """Error before and after the shift and mean size after it, for every trial, over the whole population.

    >>> import tempfile
    >>> from benchmarks.contestants import NumpyContestant
    >>> class Fixed(NumpyContestant):
    ...     def calibrate(self, given):
    ...         return 0.5
    ...     def sets(self, fitted, scores):
    ...         return scores >= fitted
    >>> folder = tempfile.mkdtemp()
    >>> weights = {"source_weights": np.array([0.9, 0.1]), "target_weights": np.array([0.2, 0.8])}
    >>> np.savez(f"{folder}/population.npz", scores=[[0.7, 0.6], [0.7, 0.3]], labels=[0, 1], **weights)
    >>> np.save(f"{folder}/sources.npy", [[0, 1]])
    >>> [answer] = quality(Fixed(), {"folder": folder, "epsilon": 0.1, "delta": 0.1})
    >>> {name: round(value, 9) for name, value in answer.items()}
    {'error': 0.8, 'error_before': 0.1, 'size': 1.2}
    """
    population = np.load(f"{job['folder']}/population.npz")
    scores, labels = population["scores"], population["labels"]
    results = []
    for rows in np.load(f"{job['folder']}/sources.npy"):
        given = Given(
            source=contestant.load(scores[rows]),
            labels=contestant.load(labels[rows]),
            target=None,
            n_classes=scores.shape[1],
            epsilon=job["epsilon"],
            delta=job["delta"],
        )
        sets = contestant.matrix(contestant.calibrate(given), contestant.load(scores))
        missed = ~sets[np.arange(len(labels)), labels]
        error = {name: float(population[f"{name}_weights"] @ missed) for name in ("source", "target")}
        size = float(population["target_weights"] @ sets.sum(axis=1))
        results.append({"error": error["target"], "error_before": error["source"], "size": size})
    return results


if __name__ == "__main__":
    main()
