"""Why PS-LP's sets are as large as they are, in words."""

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.mix.region import PrevalenceRegion
from pacshift.ps_lp.kinds import EQUAL_MISS_RATE, MAX_LP_CLASSES
from pacshift.tally import Tally
from pacshift.words.numbers import up

MOST_SENTENCES = 20
"""More classes than this in every set are named in one sentence: what fits a screen."""


def reasons_for(
    tally: Tally, region: PrevalenceRegion, thresholds: FloatArray, *, epsilon: float, delta: float
) -> tuple[str, ...]:
    """Why classes are in every set; where all of them are, which class lacks data most."""
    if (thresholds > -np.inf).any():
        return classes_in_every_set(tally, thresholds)
    label = int(np.argmax(region.prevalence.upper / np.sqrt(tally.class_counts + 1)))
    return (
        f"no thresholds pass: class {tally.classes[label]!r} may be up to {up(region.prevalence.upper[label])} of "
        f"the target, and its {tally.class_counts[label]} source examples cannot rule out that errors exceed "
        f"epsilon={epsilon:g} at delta={delta:g}. Add source examples of this class, or target rows.",
    )


def reasons_for_many_classes(
    tally: Tally, thresholds: FloatArray, *, kind: str, tried: bool, contamination: float, known: bool = False
) -> tuple[str, ...]:
    """What many classes change, and which of them are in every set.

    ``tried`` says whether the bound that uses the target's predictions was computed too, ``known`` whether bounds
    of the mix are known.
    """
    if kind != EQUAL_MISS_RATE:
        return few_sentences(tally, thresholds)
    within = " within the bounds that are known" if known else ""
    own = f"each class got a threshold of its own from the source, whatever the target's label mix{within}"
    if tried:
        many = (
            f"{own}. Thresholds that rest on the target's predictions were certified too, but did not give "
            "smaller sets on the target."
        )
        return (many, *few_sentences(tally, thresholds))
    why = (
        "the bound by the target's predictions does not allow for contamination"
        if contamination
        else "source or target rows are too few to bound the error by the target's predictions"
    )
    many = (
        f"{tally.n_classes} classes are more than the {MAX_LP_CLASSES} for which PS-LP solves linear programs, "
        f"and {why}: {own}. No threshold depends on the target."
    )
    return (many, *few_sentences(tally, thresholds))


def few_sentences(tally: Tally, thresholds: FloatArray) -> tuple[str, ...]:
    """One sentence per class without a threshold, but one for all of them where they are many."""
    without = np.flatnonzero(thresholds == -np.inf)
    if len(without) <= MOST_SENTENCES:
        return classes_in_every_set(tally, thresholds)
    counts = tally.class_counts[without]
    fewest = ", ".join(repr(tally.classes[label]) for label in without[np.argsort(counts, kind="stable")][:5])
    return (
        f"{len(without)} classes are in every set: their {counts.min()} to {counts.max()} source examples each "
        f"are too few. Those with the fewest are {fewest}. Add source examples of them, or merge classes.",
    )


def classes_in_every_set(tally: Tally, thresholds: FloatArray) -> tuple[str, ...]:
    """One sentence per class without a threshold."""
    counts = tally.class_counts
    return tuple(
        f"class {tally.classes[label]!r} is in every set: "
        + ("it has no source example." if counts[label] == 0 else f"{counts[label]} source examples are too few.")
        for label in np.flatnonzero(thresholds == -np.inf).tolist()
    )
