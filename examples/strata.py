"""Label shift holds within age groups, not over all ages: every class of every age becomes a class of its own."""

import numpy as np

import pacshift
from pacshift.bounds import clopper_pearson

AGES, CLASSES, DELTA = ["young", "old"], ["well", "sick"], 0.05
SICK = {"young": (0.0, 0.2), "old": (0.3, 0.6)}  # you are sure of it, and wrote it down before you saw the target
JOINT = [f"{name}, {age}" for age in AGES for name in CLASSES]
rng = np.random.default_rng(0)


def patients(n: int, old: float, sick: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In place of your model: scores, the truth and the age group. Old people score higher, sick or not."""
    age = (rng.random(n) < old).astype(int)
    label = (rng.random(n) < np.array(sick)[age]).astype(int)
    p = 1 / (1 + np.exp(-rng.normal(4 * label - 2 + age, 1.5)))
    return np.column_stack([1 - p, p]), label, age


def expand(scores: np.ndarray, age: np.ndarray) -> np.ndarray:
    """The scores of a row stand in the columns of its own age group, and 0 in the others."""
    return np.where(age[:, None, None] == np.arange(len(AGES))[:, None], scores[:, None], 0).reshape(len(age), -1)


source, labels, ages = patients(10_000, old=0.2, sick=(0.1, 0.3))
target, truth, target_ages = patients(10_000, old=0.6, sick=(0.05, 0.5))
shares = clopper_pearson(np.bincount(target_ages), len(target), delta=0.05 * DELTA / len(AGES))
known_mix = {}
for age, least, most in zip(AGES, shares.lower, shares.upper, strict=True):
    known_mix[f"sick, {age}"] = (least * SICK[age][0], most * SICK[age][1])
    known_mix[f"well, {age}"] = (least * (1 - SICK[age][1]), most * (1 - SICK[age][0]))
joint, wide = np.array(JOINT)[2 * ages + labels], expand(target, target_ages)
certificate = pacshift.calibrate(
    expand(source, ages), joint, wide, epsilon=0.1, delta=0.95 * DELTA, classes=JOINT, known_mix=known_mix
)
sets = certificate.sets(wide).reshape(-1, 2, 2)[np.arange(len(wide)), target_ages]  # of the own age group
missed = ~sets[np.arange(len(sets)), truth]
print(f"missed {100 * missed.mean():.1f} % (promised: at most 10 %), {sets.sum(axis=1).mean():.2f} labels per set")
