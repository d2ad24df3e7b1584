"""What the user asked for, checked once: rates, limits, known mix and labelled target rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacshift.bounds import Interval
from pacshift.certification.few_labels import DIRECT_SHARE, MIX_SHARE, both_bounds, check_labelled, mix_bounds
from pacshift.certification.sensitivity import clean_epsilon
from pacshift.errors import InputError
from pacshift.methods import PSC, PSLP, PSW, Method, Task
from pacshift.mix.known_mix import check_known_mix
from pacshift.scores.check import check_flag, check_rate, check_weights
from pacshift.tally import Tally

ALLOWING_FOR_CONTAMINATION = (PSLP.name, PSW.name, PSC.name)
"""Methods that look at the target and widen what they see there (Lemma 4 of docs/methods/trust-proofs.md)."""

CLASS_EPSILON_SHARE = 0.2
"""Share of δ for the cap on every class's misses; the method gets the rest. Only where a cap is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What the user asked for, checked."""

    epsilon: float
    delta: float
    class_epsilon: float | None = None
    contamination: float = 0.0
    known: Interval | None = None
    never_empty: bool = False
    labelled: Tally | None = None
    uses_mix: bool = False
    """Whether the method uses bounds of the mix: those from labels cost a share of δ, and only then."""

    @property
    def label_delta(self) -> float:
        """What the labelled target rows may cost."""
        if self.labelled is None:
            return 0.0
        return (DIRECT_SHARE + (MIX_SHARE if self.uses_mix else 0.0)) * self.delta

    def mix(self, delta: float) -> Interval | None:
        """Bounds of the target's mix: what the user knows, and what labelled rows show at ``delta``."""
        if self.labelled is None:
            return self.known
        found = mix_bounds(self.labelled, delta=delta)
        return both_bounds(self.known, found, self.labelled.classes, level=delta, contamination=self.contamination)

    @property
    def cap_delta(self) -> float:
        """What the cap may cost."""
        return 0.0 if self.class_epsilon is None else CLASS_EPSILON_SHARE * self.delta

    def task(self, tally: Tally, *, weights: ArrayLike | None, seed: int) -> Task:
        """What the method is asked: ε of the label-shifted part of the target, at its share of δ."""
        return Task(
            epsilon=clean_epsilon(self.epsilon, self.contamination),
            delta=self.delta - self.cap_delta - self.label_delta,
            seed=seed,
            weights=None if weights is None else check_weights(weights, tally.classes),
            known=self.mix(MIX_SHARE * self.delta) if self.uses_mix else self.known,
            contamination=self.contamination,
        )


def promises_target(method: Method) -> bool:
    """Whether a method promises anything about the target."""
    return method.guarantee in ("pac-target", "marginal")


def check_request(
    tally: Tally,
    method: Method,
    *,
    epsilon: float,
    delta: float,
    class_epsilon: float | None = None,
    contamination: float = 0.0,
    known_mix: Any = None,
    never_empty: bool = False,
    labelled: Tally | None = None,
    weights: ArrayLike | None = None,
) -> Request:
    """The request, or an InputError that says what is wrong with it."""
    if not tally.n_source:
        raise InputError("no source examples: every method needs a labelled source.")
    if method.needs_target and not tally.n_target:
        raise InputError(f"no target examples: method {method.name} needs unlabelled target scores.")
    allowed = check_rate(epsilon, "epsilon")
    request = Request(
        epsilon=allowed,
        delta=check_rate(delta, "delta"),
        class_epsilon=None if class_epsilon is None else check_rate(class_epsilon, "class_epsilon"),
        contamination=check_contamination(contamination, allowed),
        known=None if known_mix is None else check_known_mix(known_mix, tally.classes),
        never_empty=check_flag(never_empty, "never_empty"),
        labelled=None if labelled is None else check_labelled(labelled, tally),
        uses_mix=bool(getattr(method, "uses_known_mix", False)),
    )
    _require_target_promise(method, request)
    _require_use_of_labels(method, request)
    if weights is not None and not method.needs_weights:
        raise InputError(
            f"weights are the true importance weights for ORACLE; method {method.name} does not use them. Leave "
            "them out, or use ORACLE."
        )
    return request


def check_contamination(contamination: Any, epsilon: float) -> float:
    """A share below ``epsilon``, as a float."""
    try:
        share = float(contamination)
    except (TypeError, ValueError):
        share = np.nan
    if not 0 <= share < 1:
        raise InputError(f"contamination must be a share, at least 0 and below 1, got {contamination!r}.")
    if share >= epsilon:
        raise InputError(
            f"contamination must be below epsilon: up to {share:g} of the target may be missed for that reason "
            f"alone, but epsilon is {epsilon:g}. Lower contamination or raise epsilon."
        )
    return share


def _require_target_promise(method: Method, request: Request) -> None:
    """The three requests are about promises on the target; other methods would ignore them silently."""
    asked = {
        "class_epsilon": request.class_epsilon is not None,
        "contamination": request.contamination > 0,
        "known_mix": request.known is not None,
    }
    for name in (name for name, given in asked.items() if given and not promises_target(method)):
        raise InputError(
            f"{name} is about the target, but method {method.name} promises nothing there "
            f"(guarantee {method.guarantee!r}). Use PS-LP, PS-LW or another method that does, or leave it out."
        )
    if request.contamination and method.needs_target and method.name not in ALLOWING_FOR_CONTAMINATION:
        raise InputError(
            f"contamination: method {method.name} looks at the target, where contaminated rows distort what it "
            "sees, and nothing proves that it allows for them. Use PS-LP, PS-LW, PS-W, PS-C or ORACLE."
        )


def _require_use_of_labels(method: Method, request: Request) -> None:
    """Labels of the target help a PAC promise about this target, and no other promise."""
    if request.labelled is not None and (method.guarantee != "pac-target" or method.any_mix):
        why = "is for every label mix" if method.any_mix else "is not PAC on the target"
        raise InputError(
            f"target_labels cannot help method {method.name}: what it promises {why}. "
            "Leave them out and use them with `pacshift check`, or use PS-LP."
        )
