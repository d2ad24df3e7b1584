"""How δ is split: between the test of label shift, the method, labels of the target, and the limit per class."""

from dataclasses import dataclass

from pacshift.certification.request import Request
from pacshift.methods import Method

ASSUMPTION_SHARE = 0.1
"""Level of the test as a share of delta.

A false alarm costs a certificate, never the promise: sets that are not handed out cannot err. So the level is not
taken from delta, and a method keeps all of it, unless labels are used. A tenth keeps false alarms rarer than
misled certificates. Ten times the level would notice more below 5,000 rows, but could be all of delta ("The test"
of the page).
"""

CLASS_EPSILON_SHARE = 0.2
"""Share of δ for the limit on every class's misses; the method gets the rest. Only where a limit is asked for.

A round number; not measured.
"""

MIX_SHARE = 0.1
"""Share of δ for the bounds of the label mix from target labels (Lemma 1 of few-labels.md). A round
number; not measured."""

DIRECT_SHARE = 0.3
"""Share of δ for PS-T beside a method that assumes label shift. A round number; not measured."""


@dataclass(frozen=True, slots=True)
class DeltaShares:
    """The parts of δ for one candidate, or for two that must hold at once; they add up to δ at most."""

    method: float = 0.0
    mix: float = 0.0
    labels: float = 0.0
    cap: float = 0.0
    """For the limit per class, of each candidate."""
    plan: float = 0.0
    """What rules by labels are planned for, whatever they are tested at: their least share. It is not spent."""
    misses: float = 0.0
    """For the bounds of the classes' misses, of each candidate: a statement beside the guarantee."""


def split_delta_one(request: Request, *, by_labels: bool) -> DeltaShares:
    """The parts of δ where one method certifies: PS-T, or one that assumes label shift, without target labels."""
    cap = 0.0 if request.class_epsilon is None else CLASS_EPSILON_SHARE * request.delta
    rest = request.delta - cap
    plan = DIRECT_SHARE * request.delta
    return DeltaShares(**{"labels" if by_labels else "method": rest}, cap=cap, plan=plan, misses=rest)


def split_delta_two(request: Request, method: Method) -> DeltaShares:
    """The parts of δ where PS-T is tried beside ``method``, which assumes label shift.

    Bounds of the mix from labels cost something only where the method uses them. The level of the test of label
    shift is left over: after a refusal PS-T has all of δ (the theorem of few-labels.md).
    """
    delta = request.delta
    cap = 0.0 if request.class_epsilon is None else CLASS_EPSILON_SHARE * delta / 2
    labels = DIRECT_SHARE * delta
    mix = MIX_SHARE * delta if method.uses_mix_bounds else 0.0
    rest = delta - ASSUMPTION_SHARE * delta - 2 * cap - labels - mix
    # Under label shift the test refuses with its level, after which PS-T's bounds have all of δ. Where the method
    # refuses on its own, which may take its whole share, the bounds stay as they are, and PS-T's limit has 2 caps.
    # What is said of accepted labels rests on the bounds of the mix from labels too.
    of_mix = mix if method.rule.of_labels else 0.0
    misses = (delta - ASSUMPTION_SHARE * delta - of_mix - 3 * cap) / 2
    return DeltaShares(method=rest, mix=mix, labels=labels, cap=cap, plan=labels, misses=misses)
