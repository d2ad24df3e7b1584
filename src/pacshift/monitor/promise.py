"""What a monitor promises in every period, and the fresh certificate that keeps the promise."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacshift.arrays import Label
from pacshift.certificate import Certificate
from pacshift.certificate.columns import Columns
from pacshift.certification.calibrate import calibrate_tally
from pacshift.certification.request import check_contamination
from pacshift.errors import AssumptionError, UninformativeWarning
from pacshift.methods import Method
from pacshift.mix.known_mix import check_known_mix
from pacshift.scores.check import check_rate
from pacshift.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """What must hold in every period. The words are those of ``calibrate``."""

    epsilon: float
    class_epsilon: float | None = None
    contamination: float = 0.0
    known_mix: Mapping[Any, Any] | None = None

    @classmethod
    def checked(
        cls,
        classes: tuple[Label, ...],
        *,
        epsilon: Any,
        class_epsilon: Any,
        contamination: Any,
        known_mix: Mapping[Any, Any] | None,
    ) -> "Promise":
        """The promise, or an InputError that says what is wrong with it."""
        allowed = check_rate(epsilon, "epsilon")
        if known_mix is not None:
            check_known_mix(known_mix, classes)
        return cls(
            allowed,
            None if class_epsilon is None else check_rate(class_epsilon, "class_epsilon"),
            check_contamination(contamination, allowed),
            known_mix,
        )

    def settings(self, classes: tuple[Label, ...]) -> dict[str, Any]:
        """As a state folder remembers it. What was not asked for is left out: older folders do not know it."""
        known = None if self.known_mix is None else check_known_mix(self.known_mix, classes)
        said: dict[str, Any] = {
            "epsilon": self.epsilon,
            "known_mix": None if known is None else [known.lower.tolist(), known.upper.tolist()],
        }
        if self.class_epsilon is not None:
            said["class_epsilon"] = self.class_epsilon
        return said | ({"contamination": self.contamination} if self.contamination else {})


@dataclass(frozen=True, slots=True, eq=False)
class Fresh:
    """A certificate for a period, or why there is none."""

    certificate: Certificate | None
    refusal: str = ""

    def with_columns(self, columns: Columns | None) -> "Fresh":
        """The same, remembering the columns of the source's table."""
        if self.certificate is None or columns is None:
            return self
        return Fresh(self.certificate.changed(columns=columns))


def certify(
    tally: Tally, promise: Promise, *, delta: float, method: Method, model_id: str | None, rng: int
) -> Fresh:
    """The certificate that ``calibrate_tally`` makes for the period, or the reason why label shift is refuted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # few rows: the verdict says what is not proven
            made = calibrate_tally(
                tally,
                epsilon=promise.epsilon,
                delta=delta,
                method=method,
                class_epsilon=promise.class_epsilon,
                contamination=promise.contamination,
                known_mix=promise.known_mix,
                model_id=model_id,
                rng=rng,
            )
    except AssumptionError as error:
        return Fresh(None, str(error))
    return Fresh(made)
