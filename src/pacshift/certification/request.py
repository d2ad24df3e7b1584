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
        return replace(
            self,
            classes=classes,
            limits=check_limits(self.class_epsilon, classes)
            if self.label_error is None
            else check_limits(self.label_error, classes),
            known=None if self.known_mix is None else check_known_mix(self.known_mix, classes),
        )

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
    return Request(
        epsilon=allowed,
        delta=check_rate(delta, "delta"),
        class_epsilon=None if class_epsilon is None else check_rate(class_epsilon, "class_epsilon"),
        label_error=checked_limits(label_error),
        contamination=share,
        seed=check_seed(rng),
        known_mix=known_mix,
    )


def checked_limits(label_error: float | Mapping[Any, float] | None) -> float | dict[Any, float] | None:
    """The limits as they were asked for, or an InputError; the classes are not known yet."""
    if label_error is None or not isinstance(label_error, Mapping):
        return None if label_error is None else check_rate(label_error, "label_error")
    return {label: check_rate(limit, "label_error") for label, limit in label_error.items()} or None


def check_limits(asked: float | Mapping[Any, float] | None, classes: tuple[Label, ...]) -> FloatArray | None:
    """The limit of each class; 1, which no error exceeds, where there is none.

    >>> check_limits({"sick": 0.1}, ("healthy", "sick"))
    array([1. , 0.1])
    """
    if asked is None or not isinstance(asked, Mapping):
        return None if asked is None else np.full(len(classes), float(asked))
    limits = np.ones(len(classes))
    for label, limit in by_class(asked, classes, "label_error").items():
        limits[label] = limit
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
    asked = [name for name, given in about_target.items() if given]
    for name in asked:
        if name != "class_epsilon" and not method.assumes_label_shift:
            raise InputError(
                f"{param(name)} is about label shift, of which method {method.name} assumes nothing: labelled "
                "rows speak for the whole target. Leave it out."
            )
    if asked and not promises_target(method):
        raise InputError(
            f"{param(asked[0])} is about the target, but method {method.name} promises nothing there. "
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
