"""Pictures of certificates and plans. Each draws into ``ax`` (default: a new figure) and returns it.

Every colour has one meaning, see ``pacshift.plots.axes``.
"""

from pacshift.plots.axes import MAX_CLASSES_SHOWN as MAX_CLASSES_SHOWN
from pacshift.plots.axes import WIDTH as WIDTH
from pacshift.plots.axes import class_height as class_height
from pacshift.plots.axes import plain_text as plain_text
from pacshift.plots.axes import readable as readable
from pacshift.plots.certificate import MAX_GROUPS_SHOWN as MAX_GROUPS_SHOWN
from pacshift.plots.certificate import (
    assumption_groups,
    bound_curve,
    class_misses,
    label_mix,
    overview,
    sensitivity_curve,
    set_sizes,
    weight_intervals,
)
from pacshift.plots.runs import boxes, plan_curve

__all__ = [
    "assumption_groups",
    "bound_curve",
    "boxes",
    "class_misses",
    "label_mix",
    "overview",
    "plan_curve",
    "sensitivity_curve",
    "set_sizes",
    "weight_intervals",
]
