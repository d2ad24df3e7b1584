"""What a plan is asked, checked once at its door."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pacshift.arrays import FloatArray, Label, LabelsLike, ScoresLike
from pacshift.errors import InputError
from pacshift.methods import Method
from pacshift.planning.pilot import CountPilot, Mixes, Pilot, RowPilot
from pacshift.scores.frames import in_class_order
from pacshift.scores.names import by_class, shorten
from pacshift.simulate import Population
from pacshift.simulate.mix import check_mix


@dataclass(frozen=True, slots=True)
class Question:
    """What is given; None is what is looked for."""

    n_source: int | None
    n_target: int | None
    size: float | None

    @property
    def found(self) -> Literal["size", "n_source", "n_target"]:
        return "size" if self.size is None else "n_source" if self.n_source is None else "n_target"

    @property
    def curve_over(self) -> Literal["n_source", "n_target"]:
        return "n_target" if self.found == "n_target" else "n_source"

    def rows(self, n_rows: int) -> tuple[int, int]:
        """Source and target rows where the curve has ``n_rows``."""
        if self.curve_over == "n_target":
            return self.n_source or 0, n_rows
        return n_rows, self.n_target or 0


def require_two(n_source: int | None, n_target: int | None, size: float | None) -> None:
    """Two of the three must be given: the third is looked for."""
    n_given = sum(value is not None for value in (n_source, n_target, size))
    if n_given != 2:
        raise InputError(
            f"give two of n_source, n_target and size, and the third is found; got {n_given} of them."
        )
    if size is not None and not size > 0:
        raise InputError(f"size must be the mean number of labels per set, above 0, got {size!r}.")


def require_simulable(method: Method) -> Method:
    """A method that works on plain scores and counts alone."""
    if method.needs_weights or method.needs_soft or method.default_score != "probability":
        raise InputError(
            f"a plan cannot simulate method {method.name}. Choose PS-LP, PS-W, PS-C, PS-LW, LWCP or PS."
        )
    return method


def check_rows(n_rows: int | None, limit: int) -> int | None:
    """Rows that can be drawn in reasonable time."""
    if n_rows is not None and not 1 <= n_rows <= limit:
        raise InputError(f"rows must be between 1 and {limit:,} for this number of classes, got {n_rows!r}.")
    return None if n_rows is None else int(n_rows)


def row_pilot(scores: ScoresLike, labels: LabelsLike | None, classes: Sequence[Label] | None) -> RowPilot:
    """A pilot of labelled rows, with some of every class."""
    if labels is None:
        raise InputError("a pilot of scores needs the labels of its rows: plan(scores, labels, ...).")
    population = Population(scores, labels, classes=classes)
    missing = sorted(set(range(len(population.classes))) - set(population.index.tolist()))
    if missing:
        names = shorten([population.classes[label] for label in missing])
        raise InputError(f"the pilot has no rows of class {names}. It needs some of every class.")
    return RowPilot(population)


def check_mixes(pilot: Pilot, source_mix: Any, target_mix: Any) -> list[Mixes]:
    """The mix of the source, with each mix that the target may have."""
    source = pilot.source_mix if source_mix is None else _mix(source_mix, pilot.classes)
    if target_mix is None:
        if not isinstance(pilot, CountPilot):
            raise InputError("target_mix is missing: the expected share of each class on the target.")
        return [Mixes(source, pilot.target_mix)]
    several = isinstance(target_mix, Sequence) and not isinstance(target_mix[0], int | float)
    given = list(target_mix) if several or np.ndim(target_mix) == 2 else [target_mix]
    return [Mixes(source, _mix(each, pilot.classes)) for each in given]


def _mix(given: Any, classes: tuple[Label, ...]) -> FloatArray:
    """Shares by class name, or in the order of the classes."""
    if isinstance(given, Mapping):
        shares = by_class(given, classes, "mix")
        given = [shares.get(place, 0.0) for place in range(len(classes))]
    return check_mix(in_class_order(given, classes, "mix"), len(classes))
