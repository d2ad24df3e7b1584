"""Ray, Dask or any other map: count each partition where it lies, add the counts, calibrate once."""

from collections.abc import Callable, Iterable

import numpy as np

from pacshift import Population, Tally, calibrate

CLASSES = ["cat", "dog", "bird"]
animals = Population.synthetic(CLASSES, strength=3, rng=0)


def count(part: tuple[str, int]) -> Tally:
    """One partition. In place of the first lines, read your scores (and labels) of this partition."""
    kind, seed = part
    mix = [0.6, 0.3, 0.1] if kind == "source" else [0.2, 0.3, 0.5]
    scores, labels = animals.draw(mix, 5_000, rng=seed)
    if kind == "source":
        return Tally.from_scores(scores, labels, classes=CLASSES, grid=True, soft=False)
    return Tally.from_target(scores, classes=CLASSES, soft=False)


def with_ray(parts: list[tuple[str, int]]) -> Iterable[Tally]:
    import ray

    return ray.get([ray.remote(count).remote(part) for part in parts])  # type: ignore[no-any-return]


def with_dask(parts: list[tuple[str, int]]) -> Iterable[Tally]:
    import dask

    return dask.compute(*[dask.delayed(count)(part) for part in parts])  # type: ignore[no-any-return]


def in_one_process(parts: list[tuple[str, int]]) -> Iterable[Tally]:
    return map(count, parts)


parts = [("source", seed) for seed in range(4)] + [("target", seed) for seed in range(10, 14)]
thresholds = []
ways: list[Callable[[list[tuple[str, int]]], Iterable[Tally]]] = [in_one_process, with_dask, with_ray]
for way in ways:
    try:
        tally = Tally.sum(way(parts))  # the same as a + b + c + ...
    except ModuleNotFoundError as missing:
        print(f"{way.__name__}: left out, {missing.name} is not installed")
        continue
    certificate = calibrate(tally, epsilon=0.05, delta=0.05)
    thresholds.append(certificate.thresholds)
    print(f"{way.__name__}: {tally.n_source:,} labelled and {tally.n_target:,} unlabelled rows")
assert all(np.array_equal(thresholds[0], other) for other in thresholds)
print(certificate.explain())
