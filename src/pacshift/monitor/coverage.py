"""What a certificate that is in use achieves in a period: Lemmas 1 and 3 of docs/methods/monitor.md."""

import numpy as np

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.mix.programs import largest_means


def lies_below(in_use: Certificate, fresh: Certificate) -> bool:
    """Whether every threshold in use is at most the fresh one, so that its error is at most as large (Lemma 1)."""
    return bool((in_use.thresholds <= fresh.thresholds).all())


def error_bounds(
    miss_rates: Interval, prevalence: Interval | None, contamination: float = 0.0
) -> tuple[float, float]:
    """Smallest and largest Σ t_j e_j over the mixes and miss rates that the bounds allow (Lemma 3).

    Without bounds of the mix every mix is allowed. Contaminated rows may all be missed, or none of them.

    >>> error_bounds(Interval(np.array([0.1, 0.3]), np.array([0.2, 0.5])), None)
    (0.1, 0.5)
    """
    size = len(miss_rates.lower)
    box = prevalence if prevalence is not None else Interval(np.zeros(size), np.ones(size))
    most = largest_means(np.stack([-miss_rates.lower, miss_rates.upper]), box)
    lower, upper = -float(most[0]), float(most[1])
    clean = 1 - contamination
    return max(clean * lower, 0.0) + 0.0, min(clean * upper + contamination, 1.0)
