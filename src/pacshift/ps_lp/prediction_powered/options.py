"""What is decided before the data, by the numbers of rows alone: options, classes in every set, whether to try.

Section "Options" of the page (docs/methods/many-classes.md).
"""

from dataclasses import dataclass

import numpy as np
import scipy

from pacshift.arrays import BoolArray, IntArray
from pacshift.ps_lp.prediction_powered.bound import LARGEST_BET, ErrorBound, Option
from pacshift.ps_lp.prediction_powered.box import N_DETECTORS, critical_level, largest_ratio
from pacshift.ps_lp.prediction_powered.evidence import Evidence

STAKES = (0.25, 0.45, 0.7)
"""Stakes tried, in units of the best one if the mix were known. Only 0.45: +1.1 %; without 0.45: -0.2 %; five
stakes: +0.4 %, because each option costs level."""
VARIATIONS = (0.05, 0.5)
"""Guesses of how much miss rates differ between classes, in units of ε: they set the spread of corrections. Only
0.05: +17 %; only 0.5: -0.4 %. The small one is for scores that differ less; there it was not measured."""
CONCENTRATION = 3.0
"""Guess of K Σ t_j²: what a Dirichlet(1/2) mix has. With 1.5 or 6: -0.1 or +2.1 %."""
SOURCE_NOISE = 0.44
"""Guess of 1 minus the squared recall: how much of the predictions of a class is noise. With 0.2 or 0.8: -0.1 or
+0.5 %."""
LEAST_RECALL, BOLD_LEAST_RECALL = 0.5, 0.4
"""A class whose rows could not show this recall, were they all predicted right, is in every set. Where the second
leaves fewer classes, rescaled thresholds are tried with both. ImageNet scores with 5 to 500 rows per class, three
draws: 0.5 gives 340 labels, 0.4 gives 278; 0.3 gives 226 and 317, but nothing passes in the third draw."""
IMAGINED_RECALL = 0.75
LARGEST_SPREAD = 2.0
"""Limits of what is imagined: recall of a usual classifier, and a spread beyond which no correction is wanted.
With 0.6 or 0.9, and with 1 or 4, nothing changes."""
PROMISING = 0.2
"""Largest bound, in units of ε, of an imagined classifier that misses nothing, if the bound is to be tried. With
0.1 it would not be tried with 20,000 rows of 100 classes; with 0.4 nothing changes."""


@dataclass(frozen=True, slots=True)
class CorrectionShares:
    """What the bound gets of δ ("Theorem"): the box, and the bound for each kind of thresholds."""

    box: float
    one_threshold: float
    rescaled: float


@dataclass(frozen=True, eq=False)
class CorrectionPlan:
    """What is fixed before the data: the options, and the classes with too few source rows ("Options").

    ``sparse`` classes are in every set. Rescaled thresholds are also tried with the ``sparsest`` only.
    """

    options: tuple[Option, ...]
    sparse: BoolArray
    sparsest: BoolArray


def plan_for(
    class_counts: IntArray, n_target: int, *, epsilon: float, delta: float, shares: CorrectionShares
) -> CorrectionPlan | None:
    """The plan, or None where the numbers of rows do not promise success ("Options")."""
    sparse = sparse_classes(class_counts, delta=shares.box * delta)
    if sparse.all() or n_target == 0 or epsilon >= 0.5:
        return None
    sparsest = sparse_classes(class_counts, delta=shares.box * delta, least_recall=BOLD_LEAST_RECALL)
    options = options_for(class_counts, sparse, n_target, epsilon=epsilon, delta=delta)
    plan = CorrectionPlan(options, sparse, sparsest)
    found = _bound_of_imagined_classifier(plan, class_counts, n_target, epsilon=epsilon, delta=shares.box * delta)
    return plan if found <= PROMISING * epsilon else None


def sparse_classes(class_counts: IntArray, *, delta: float, least_recall: float = LEAST_RECALL) -> BoolArray:
    """Classes with too few source rows for a useful bound of their share ("Options"): they go into every set.

    ``delta`` is what the box gets. Were all rows of the class hits, the rate would still be bounded by
    exp(-x / m_j) only (Lemma 1).
    """
    level = critical_level(delta / (len(class_counts) * N_DETECTORS))
    return np.asarray(class_counts < level / -np.log(least_recall))


def options_for(
    class_counts: IntArray, sparse: BoolArray, n_target: int, *, epsilon: float, delta: float
) -> tuple[Option, ...]:
    """Stakes and spreads ("Options")."""
    n_classes = len(class_counts)
    log_cost = np.log(len(STAKES) * len(VARIATIONS) / delta)
    noise = CONCENTRATION / n_classes * float((1 / class_counts[~sparse]).mean())
    best = float(np.sqrt(2 * log_cost / (epsilon * noise)))
    reach = float(np.sqrt(n_classes / (1 / n_target + SOURCE_NOISE * noise)))
    found = []
    for stake in (min(part * best, LARGEST_BET / 2 * n_target) for part in STAKES):
        spreads = (min((part * epsilon * reach / stake) ** 0.5, LARGEST_SPREAD) for part in VARIATIONS)
        found += [Option(stake, spread) for spread in spreads]
    return tuple(found)


def _bound_of_imagined_classifier(
    plan: CorrectionPlan, class_counts: IntArray, n_target: int, *, epsilon: float, delta: float
) -> float:
    """The bound if nothing is missed and nothing corrected, all classes being equally frequent ("Options")."""
    n_classes, level = len(class_counts), critical_level(delta / (len(class_counts) * N_DETECTORS))
    hits = np.round(IMAGINED_RECALL * class_counts).astype(np.int64)
    equal = np.full(n_classes, n_target // n_classes)
    recall, nothing = np.full(n_classes, IMAGINED_RECALL), np.zeros(n_classes, np.int64)
    evidence = Evidence(
        class_counts=class_counts,
        predictions=scipy.sparse.diags_array(recall, format="csr"),
        recall=recall,
        target_shares=np.full(n_classes, 1 / n_classes),
        n_target=n_target,
        largest_shares=largest_ratio(hits, class_counts, equal, n_target, level=level),
        in_every_set=plan.sparse,
    )
    log_cost = float(np.log(len(plan.options) / delta))
    bounds = [ErrorBound(evidence, option, epsilon, log_cost) for option in plan.options]
    return min(bound.value(nothing.astype(float), nothing) for bound in bounds)
