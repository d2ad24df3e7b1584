"""Pictures of a certificate. Each draws into ``ax`` (default: a new figure) and returns it.

Colours are those of Okabe and Ito, safe for colour-blind readers, and never the only cue.
"""

from pacshift.plots.certificate import (
    BLUE,
    GREY,
    MAX_CLASSES_SHOWN,
    ORANGE,
    RULE,
    WIDTH,
    bound_curve,
    boxes,
    class_height,
    label_mix,
    plain_text,
    readable,
    set_sizes,
    weight_intervals,
)
from pacshift.plots.trust import MAX_GROUPS_SHOWN, assumption_groups, class_misses, sensitivity_curve

__all__ = [
    "BLUE",
    "GREY",
    "MAX_CLASSES_SHOWN",
    "MAX_GROUPS_SHOWN",
    "ORANGE",
    "RULE",
    "WIDTH",
    "assumption_groups",
    "bound_curve",
    "boxes",
    "class_height",
    "class_misses",
    "label_mix",
    "plain_text",
    "readable",
    "sensitivity_curve",
    "set_sizes",
    "weight_intervals",
]
