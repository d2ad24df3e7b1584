"""Pictures of certificates and plans. Each draws into ``ax`` (default: a new figure) and returns it.

Every colour has one meaning, see ``pacshift.plots.axes``.
"""

from pacshift.plots import axes as _axes  # noqa: F401  # says which extra is missing
from pacshift.plots.pictures import (
    assumption_groups,
    class_misses,
    label_mix,
    overview,
    plan_curve,
    set_sizes,
    weight_intervals,
)

__all__ = [
    "assumption_groups",
    "class_misses",
    "label_mix",
    "overview",
    "plan_curve",
    "set_sizes",
    "weight_intervals",
]
