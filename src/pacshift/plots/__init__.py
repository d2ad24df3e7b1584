"""Pictures of certificates and plans. Each draws into ``ax`` (default: a new figure) and returns it.

Every colour has one meaning, see ``pacshift.plots.palette``.
"""

from pacshift.plots.axes import MAX_CLASSES_SHOWN as MAX_CLASSES_SHOWN
from pacshift.plots.axes import WIDTH as WIDTH
from pacshift.plots.axes import class_height as class_height
from pacshift.plots.axes import plain_text as plain_text
from pacshift.plots.axes import readable as readable
from pacshift.plots.boxes import boxes
from pacshift.plots.certificate import bound_curve, label_mix, set_sizes, weight_intervals
from pacshift.plots.planning import plan_curve
from pacshift.plots.together import overview
from pacshift.plots.trust import MAX_GROUPS_SHOWN as MAX_GROUPS_SHOWN
from pacshift.plots.trust import assumption_groups, class_misses, sensitivity_curve

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
