"""How δ is spent by a certificate: the method, and what is promised or learned besides.

Lemma 2 of docs/methods/trust-proofs.md (limit per class) and the theorem of docs/methods/few-labels.md.
"""

from dataclasses import dataclass

from pacshift.certification.request import Request
from pacshift.methods import Method

CLASS_EPSILON_SHARE = 0.2
"""Share of δ for the limit on every class's misses; the method gets the rest. Only where a limit is asked for.

A round number; not measured.
"""

MIX_SHARE = 0.1
"""Share of δ for the bounds of the label mix from target labels (Lemma 1 of few-labels.md). A round
number; not measured."""

DIRECT_SHARE = 0.3
"""Share of δ for thresholds that the labelled rows certify on their own, half of it for each family (Lemma 2
of few-labels.md). A round number; not measured."""


@dataclass(frozen=True, slots=True)
class DeltaShares:
    """The parts of δ, which add up to it."""

    method: float
    cap: float
    direct: float
    mix: float


def delta_shares(request: Request, method: Method, *, has_labels: bool) -> DeltaShares:
    """The parts of δ. Bounds of the mix from labels cost something only where the method uses them."""
    cap = 0.0 if request.class_epsilon is None else CLASS_EPSILON_SHARE * request.delta
    direct = DIRECT_SHARE if has_labels else 0.0
    mix = MIX_SHARE if has_labels and getattr(method, "uses_known_mix", False) else 0.0
    return DeltaShares(
        method=request.delta - cap - (direct + mix) * request.delta,
        cap=cap,
        direct=direct * request.delta,
        mix=mix * request.delta,
    )
