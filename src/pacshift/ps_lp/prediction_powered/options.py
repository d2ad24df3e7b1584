"""What is decided before the data, by the numbers of rows alone: options, classes in every set, whether to try.

Section "Options" of the page (docs/methods/many-classes.md).
"""

from collections.abc import Sequence

import numpy as np
import scipy

from pacshift.arrays import BoolArray, IntArray
from pacshift.ps_lp.prediction_powered.bound import LARGEST_BET, ErrorBound, Option
from pacshift.ps_lp.prediction_powered.box import N_DETECTORS, critical_level, largest_ratio
from pacshift.ps_lp.prediction_powered.evidence import Evidence

STAKES = (0.25, 0.5, 0.8)
"""Stakes tried, in units of the best one if the mix were known."""
VARIATIONS = (0.1, 0.4, 0.7)
"""Guesses of how much miss rates differ between classes, in units of ε: they set the spread of corrections."""
CONCENTRATION = 3.0
"""Guess of K Σ t_j²: what a Dirichlet(1/2) mix has."""
LEAST_RECALL = 1 / 3
"""A class whose rows could not show this recall, were they all predicted right, is in every set."""
IMAGINED_RECALL = 0.75
PROMISING = 0.6
"""Largest bound, in units of ε, of an imagined classifier that misses nothing, if the bound is to be tried."""


def options_for(class_counts: IntArray, n_target: int, *, epsilon: float, delta: float) -> list[Option]:
    """Stakes and spreads, fixed by the numbers of rows ("Options")."""
    n_classes = len(class_counts)
    log_cost = np.log(len(STAKES) * len(VARIATIONS) / delta)
    noise = CONCENTRATION / n_classes * float((1 / class_counts[class_counts > 0]).mean())
    best = np.sqrt(2 * log_cost / (epsilon * noise))
    reach = np.sqrt(n_classes / (1 / n_target + (1 - LEAST_RECALL) ** 2 * noise))
    found = []
    for stake in (min(part * best, n_target / 4) for part in STAKES):
        spreads = (min(float(np.sqrt(part * epsilon * reach / stake)), 2.0) for part in VARIATIONS)
        found += [Option(stake, spread) for spread in spreads]
    return [option for option in found if option.stake * option.spread < LARGEST_BET * n_target]


def sparse_classes(class_counts: IntArray, *, delta: float) -> BoolArray:
    """Classes with too few source rows for a useful bound of their share ("Options"): they go into every set.

    ``delta`` is what the box gets. Were all rows of the class hits, the rate would still be bounded by
    exp(-x / m_j) only (Lemma 1).
    """
    level = critical_level(delta / (len(class_counts) * N_DETECTORS))
    return np.asarray(class_counts < level / -np.log(LEAST_RECALL))


def is_promising(
    options: Sequence[Option], class_counts: IntArray, n_target: int, *, epsilon: float, delta: float
) -> bool:
    """Whether an imagined classifier that misses nothing would pass with room to spare ("Options").

    Its recall is the same in all classes, and so are the target's shares. Only numbers of rows go in.
    """
    if not options or epsilon >= 0.5:
        return False
    n_classes, level = len(class_counts), critical_level(delta / (len(class_counts) * N_DETECTORS))
    hits = np.round(IMAGINED_RECALL * class_counts).astype(np.int64)
    uniform = np.full(n_classes, n_target // n_classes)
    evidence = Evidence(
        class_counts=class_counts,
        predictions=scipy.sparse.diags_array(np.full(n_classes, IMAGINED_RECALL), format="csr"),
        recall=np.full(n_classes, IMAGINED_RECALL),
        target_shares=np.full(n_classes, 1 / n_classes),
        n_target=n_target,
        largest_shares=largest_ratio(hits, class_counts, uniform, n_target, level=level),
        in_every_set=sparse_classes(class_counts, delta=delta),
    )
    nothing = np.zeros(n_classes, np.int64)
    bounds = (ErrorBound(evidence, option, epsilon, np.log(len(options) / delta)) for option in options)
    return min(bound.value(nothing.astype(float), nothing) for bound in bounds) <= PROMISING * epsilon
