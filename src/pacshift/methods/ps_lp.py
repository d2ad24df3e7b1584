"""PS-LP, the default: builds two kinds of sets, each with the guarantee, and keeps the smaller.

The mathematics is in ``pacshift.ps_lp``, module by module in the order of the proof (docs/methods/ps-lp-proof.md).
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.methods.base import Method, Solution, Task, check_options
from pacshift.mix.region import PrevalenceRegion, prevalence_region, weight_bounds, within_known
from pacshift.ps_lp.theorem import (
    EQUAL_MISS_RATE,
    MAX_LP_CLASSES,
    TUNED,
    certified_thresholds,
    certify_many_classes,
    may_tune,
    plan_for,
    smallest_kind,
)
from pacshift.ps_lp.tuned import Tuning, tune
from pacshift.tally import Tally
from pacshift.words.numbers import given, up

ClassBalance: TypeAlias = Literal[3, 6, "none"]

MOST_SENTENCES = 20
"""More classes than this in every set are named in one sentence: what fits a screen."""


@dataclass(frozen=True)
class PSLP(Method):
    """Two kinds of sets, each with the guarantee; the smaller on the target are kept.

    The kinds are thresholds per class that are tuned on held-out rows (one threshold for all classes where scores
    are not probabilities), and thresholds of equal miss rate. The proof is the docs page "PS-LP: the proof".

    Parameters
    ----------
    unseen : {"all", "include"}
        What happens to classes without source rows. ``"all"``: a threshold may miss such a class always, and
        the proof allows for it. ``"include"``: such classes are in every set and never missed. Under equal miss
        rate they are in every set in either case.
    class_balance : {3, 6, "none"}
        Tuned thresholds aim at missing no class more often than this multiple of epsilon. A policy, not part of
        the promise: the promise is about all cases together, and the smallest sets that keep it hardly ever
        contain a rare class. With 6 or ``"none"`` sets get smaller, and such a class is missed more often;
        ``certificate.class_miss`` says how often. For a promise about every class use ``class_epsilon``.

    Raises
    ------
    InputError
        If an option has another value.

    Examples
    --------
    >>> PSLP(unseen="include", class_balance=6)
    PSLP(unseen='include', class_balance=6)
    """

    unseen: Literal["all", "include"] = "all"
    class_balance: ClassBalance = 3

    name = "PS-LP"
    idea = "the default: proves two families of thresholds and keeps the smaller sets"
    guarantee = "pac-target"
    needs_target = True
    needs_bins = True
    allows_contamination = True
    uses_mix_bounds = True
    version = "2"

    def __post_init__(self) -> None:
        check_options(self)

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class ("Theorem" of the proof page)."""
        if tally.n_classes > MAX_LP_CLASSES:
            return self._solve_many_classes(tally, task)
        epsilon, delta, counts = task.epsilon, task.delta, tally.class_counts
        plan = plan_for(tally, epsilon=epsilon, delta=delta, contamination=task.contamination)
        region = prevalence_region(
            tally.confusion,
            tally.target,
            delta=plan.shares.region * delta,
            classes=tally.classes,
            known=task.known,
            contamination=task.contamination,
        )
        included = (counts == 0) & (self.unseen == "include")
        tuning: Tuning | None = None
        if plan.correction is None and may_tune(tally):
            balance = np.inf if self.class_balance == "none" else float(self.class_balance)
            tuning = tune(tally, epsilon=epsilon, class_balance=balance, sample=task.rows.sample, seed=task.seed)
        tuned_on = "" if tuning is None else "score rows" if tuning.on_rows else "counts"
        certified = certified_thresholds(tally, region, plan, included=included, tuning=tuning, steps=task.steps)
        kind = smallest_kind(tally, certified, task.rows.mean_sizes)
        thresholds = certified[kind]
        mix = within_known(region.prevalence, task.known, task.contamination)
        return Solution(
            thresholds,
            weights=weight_bounds(mix, counts, delta=plan.shares.priors * delta),
            prevalence=mix,
            accuracy=region.accuracy,
            reasons=reasons_for(tally, task, region, thresholds),
            notes=self._notes(kind),
            tuned_on=tuned_on if kind == TUNED else "",
        )

    def _notes(self, kind: str) -> tuple[str, ...]:
        """What a class balance other than the usual one means for these sets."""
        if self.class_balance == 3:
            return ()
        if kind != TUNED:
            return (
                f"the class balance {self.class_balance!r} has no effect on these sets: it limits tuned "
                f"thresholds, and these are of the kind {kind!r}.",
            )
        if self.class_balance == "none":
            aim = "no limit per class was aimed at, so rare classes may be missed nearly always"
        else:
            aim = f"the thresholds aim at missing no class more often than {self.class_balance} times epsilon"
        return (f"{aim}. An aim is not a promise: the bounds of every class are.",)

    def _solve_many_classes(self, tally: Tally, task: Task) -> Solution:
        """Find thresholds without linear programs (docs/methods/many-classes.md)."""
        certified, prevalence = certify_many_classes(
            tally,
            epsilon=task.epsilon,
            delta=task.delta,
            known=task.known,
            contamination=task.contamination,
            steps=task.steps,
        )
        tried = prevalence is not None
        kind = smallest_kind(tally, certified, task.rows.mean_sizes) if tried else EQUAL_MISS_RATE
        reasons = reasons_for_many_classes(tally, task, certified[kind], kind=kind, tried=tried)
        return Solution(certified[kind], prevalence=prevalence, reasons=reasons, notes=self._notes(kind))


def reasons_for(tally: Tally, task: Task, region: PrevalenceRegion, thresholds: FloatArray) -> tuple[str, ...]:
    """Why classes are in every set; where all of them are, which class lacks data most."""
    if (thresholds > -np.inf).any():
        return classes_in_every_set(tally, thresholds)
    label = int(np.argmax(region.prevalence.upper / np.sqrt(tally.class_counts + 1)))
    return (
        f"class {tally.classes[label]!r} has {tally.class_counts[label]} source rows and may make up as much as "
        f"{up(region.prevalence.upper[label])} of the target: too few to promise {given(task.epsilon)}. Add "
        "source rows of this class or target rows, or allow a larger epsilon. pacshift plan says how many.",
    )


def reasons_for_many_classes(
    tally: Tally, task: Task, thresholds: FloatArray, *, kind: str, tried: bool
) -> tuple[str, ...]:
    """What many classes change, and which of them are in every set.

    ``tried`` says whether the bound that uses the target's predictions was computed too.
    """
    without = np.flatnonzero(thresholds == -np.inf)
    named = classes_in_every_set(tally, thresholds)
    if len(without) > MOST_SENTENCES:
        counts = tally.class_counts[without]
        fewest = ", ".join(repr(tally.classes[label]) for label in without[np.argsort(counts, kind="stable")][:5])
        named = (
            f"{len(without)} classes are in every set: their {counts.min()} to {counts.max()} source rows "
            f"each are too few. Those with the fewest are {fewest}. Add source rows of them, or merge "
            "classes.",
        )
    if kind != EQUAL_MISS_RATE:
        return named
    within = "" if task.known is None else " within the bounds that are known"
    alone = f"each class got a threshold of its own from the source, whatever the target's label mix{within}"
    if tried:
        many = (
            f"{alone}. Thresholds that rest on the target's predictions were certified too, but did not give "
            "smaller sets on the target."
        )
    else:
        why = (
            "the bound by the target's predictions does not allow for contamination"
            if task.contamination
            else "source or target rows are too few to bound the error by the target's predictions"
        )
        many = (
            f"{tally.n_classes} classes are more than the {MAX_LP_CLASSES} for which PS-LP solves linear "
            f"programs, and {why}: {alone}. No threshold depends on the target."
        )
    return (many, *named)


def classes_in_every_set(tally: Tally, thresholds: FloatArray) -> tuple[str, ...]:
    """One sentence per class without a threshold."""
    counts = tally.class_counts
    return tuple(
        f"class {tally.classes[label]!r} is in every set: "
        + ("it has no source row." if counts[label] == 0 else f"{counts[label]} source rows are too few.")
        for label in np.flatnonzero(thresholds == -np.inf).tolist()
    )
