"""What the user asked for, checked once and before anything is counted."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, Label, RngLike
from pacshift.bounds import Interval
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError, param
from pacshift.methods import Method
from pacshift.methods.base import takes_labels
from pacshift.methods.guarantee import needs_labels, promises_target
from pacshift.mix.prevalence import check_known_mix
from pacshift.scores.check import check_rate, check_seed
from pacshift.scores.names import by_class


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What must hold, whatever the method. ``check_request`` makes it, ``for_classes`` completes it."""

    epsilon: float
    delta: float
    class_epsilon: float | None = None
    label_error: float | Mapping[Any, float] | None = None
    contamination: float = 0.0
    seed: int = 0
    known_mix: Mapping[Any, Any] | None = None
    classes: tuple[Label, ...] | None = None
    known: Interval | None = None
    """``known_mix`` in the order of ``classes``."""
    limits: FloatArray | None = None
    """``class_epsilon`` or ``label_error`` in the order of ``classes``: 1 where there is none."""

    def for_classes(self, classes: tuple[Label, ...]) -> "Request":
        """The request with what is said class by class in the order of the classes, or an InputError."""
        if self.classes == classes:  # checked before: compare asks again for the tally of each method
            return self
        limits = self.class_epsilon if self.label_error is None else self.label_error
        return replace(
            self,
            classes=classes,
            limits=None if limits is None else check_limits(limits, classes),
            known=None if self.known_mix is None else check_known_mix(self.known_mix, classes),
        )

    @property
    def sheet_epsilon(self) -> float:
        """What the rows of a sheet are tested at, because blank ones may have no class.

        Lemma 5 of docs/methods/ps-t.md.
        """
        return self.epsilon - self.contamination

    def fitting(self, method: Method) -> "Request":
        """The request without what ``method`` has no use for: promises about the target."""
        if promises_target(method):
            return self
        return replace(self, class_epsilon=None, limits=None, contamination=0.0, known_mix=None, known=None)


def check_request(
    *,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    class_epsilon: float | None = None,
    label_error: float | Mapping[Any, float] | None = None,
    contamination: float = 0.0,
    known_mix: Mapping[Any, Any] | None = None,
    rng: RngLike = None,
) -> Request:
    """The request, or an InputError that says what is wrong with it."""
    allowed = check_rate(epsilon, "epsilon")
    try:
        share = float(contamination)
    except (TypeError, ValueError):
        share = np.nan
    if not 0 <= share < 1:
        raise InputError(
            f"{param('contamination')} must be a share, at least 0 and below 1, got {contamination!r}."
        )
    if share >= allowed:
        raise InputError(
            f"{param('contamination')} must be below epsilon ({allowed:g}), got {share:g}: that share alone may "
            f"be missed. Lower it, or raise {param('epsilon=')}."
        )
    if isinstance(label_error, Mapping):  # the classes are not known yet
        label_error = {label: check_rate(limit, "label_error") for label, limit in label_error.items()} or None
    elif label_error is not None:
        label_error = check_rate(label_error, "label_error")
    return Request(
        epsilon=allowed,
        delta=check_rate(delta, "delta"),
        class_epsilon=None if class_epsilon is None else check_rate(class_epsilon, "class_epsilon"),
        label_error=label_error,
        contamination=share,
        seed=check_seed(rng),
        known_mix=known_mix,
    )


def check_limits(limit: float | Mapping[Any, float], classes: tuple[Label, ...]) -> FloatArray:
    """The limit of each class; 1, which no error exceeds, where there is none.

    >>> check_limits({"sick": 0.1}, ("healthy", "sick"))
    array([1. , 0.1])
    """
    if not isinstance(limit, Mapping):
        return np.full(len(classes), limit)
    limits = np.ones(len(classes))
    for place, share in by_class(limit, classes, "label_error").items():
        limits[place] = share
    return limits


def require_fit(method: Method, request: Request, *, has_labels: bool = False) -> None:
    """Refuse what ``method`` would ignore silently, or what nothing proves together with it.

    The table at the end of docs/methods/trust-proofs.md says why each pair is proven or refused.
    """
    if (method.needs_labels or not method.assumes_label_shift) and not has_labels:
        raise InputError(f"method {method.name} {needs_labels()}")
    about_target = {
        "class_epsilon": request.class_epsilon is not None,
        "contamination": request.contamination > 0,
        "known_mix": request.known_mix is not None,
    }
    used = [name for name, is_used in about_target.items() if is_used]
    for name in used:
        if name != "class_epsilon" and not method.assumes_label_shift:
            raise InputError(
                f"{param(name)} is about label shift, of which method {method.name} assumes nothing: labelled "
                "rows speak for the whole target. Leave it out."
            )
    if used and not promises_target(method):
        raise InputError(
            f"{param(used[0])} is about the target, but method {method.name} promises nothing there. "
            "Use PS-LP, PS-LW or another method that does, or leave it out."
        )
    if request.contamination and method.needs_target and not method.allows_contamination:
        raise InputError(
            f"{param('contamination')} is not proven with method {method.name}. Use PS-LP, PS-LW, PS-W, PS-C or "
            "ORACLE."
        )
    if has_labels and not takes_labels(method):
        why = "is for every label mix" if method.any_mix else "is not PAC on the target"
        raise InputError(
            f"target labels cannot help method {method.name}: what it promises {why}. "
            "Leave them out and use them with pacshift.check, or use PS-LP."
        )
