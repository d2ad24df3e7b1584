"""Pictures of a certificate. Each draws into ``ax`` (default: a new figure) and returns it.

Colours are those of Okabe and Ito, safe for colour-blind readers, and never the only cue.
"""

from pacshift.plots.certificate import BLUE as BLUE
from pacshift.plots.certificate import GREY as GREY
from pacshift.plots.certificate import MAX_CLASSES_SHOWN as MAX_CLASSES_SHOWN
from pacshift.plots.certificate import ORANGE as ORANGE
from pacshift.plots.certificate import RULE as RULE
from pacshift.plots.certificate import WIDTH as WIDTH
from pacshift.plots.certificate import bound_curve, boxes, label_mix, set_sizes, weight_intervals
from pacshift.plots.certificate import class_height as class_height
from pacshift.plots.certificate import plain_text as plain_text
from pacshift.plots.certificate import readable as readable
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
