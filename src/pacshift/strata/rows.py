"""Which stratum each row belongs to, and what is known about the mix within each, checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacshift.arrays import IntArray, Label, LabelsLike
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.mix.prevalence import check_known_mix
from pacshift.rows.base import Rows
from pacshift.rows.memory import MemoryRows
from pacshift.scores.check import ScoreMatrix, check_classes, is_finite, name_array, not_finite_error
from pacshift.scores.frames import require_same_index
from pacshift.scores.names import NOT_FOUND, is_missing, match_labels, shorten, text_of
from pacshift.strata.expansion import joint_names


@dataclass(frozen=True, slots=True, eq=False)
class StrataRows:
    """Source and target rows, and the place of each row's stratum; source rows of other strata are left out."""

    source: ScoreMatrix
    labels: IntArray
    source_place: IntArray
    target: ScoreMatrix
    target_place: IntArray

    @classmethod
    def check(
        cls, own: Rows, other: Rows, strata: LabelsLike, target_strata: LabelsLike, names: tuple[Label, ...]
    ) -> "StrataRows":
        """The rows, or an InputError that says what is wrong with them or their strata."""
        assert isinstance(own, MemoryRows)  # strata are told of arrays
        assert isinstance(other, MemoryRows)
        source, target, labels = own.batch.ready, other.batch.ready, own.batch.index
        assert labels is not None  # the source has labels
        for side, name in ((source, "source"), (target, "target")):
            if not is_finite(side.values):
                raise not_finite_error(side, name)
        own.require_plausible(np.bincount(labels, minlength=len(source.classes)))
        places = stratum_places(strata, source, names, "strata")
        kept = np.flatnonzero(places != NOT_FOUND)
        others = stratum_places(target_strata, target, names, "target_strata", only_known=True)
        found = cls(source.take(kept), labels[kept], places[kept], target, others)
        _require_rows(found.source_place, names, "source")
        _require_rows(found.target_place, names, "target")
        return found


def _require_rows(places: IntArray, names: tuple[Label, ...], side: str) -> None:
    empty = [name for place, name in enumerate(names) if not (places == place).any()]
    if empty:
        raise InputError(
            f"known_mix names strata without any {side} rows: {shorten(empty)}. Nothing can be certified for "
            "them. Join each with another stratum, or leave it out of known_mix, and its rows out of the target."
        )


def stratum_places(
    values: LabelsLike, scores: ScoreMatrix, names: tuple[Label, ...], name: str, *, only_known: bool = False
) -> IntArray:
    """Place of each row's stratum among ``names``, by value as labels are matched; ``NOT_FOUND`` for others."""
    found = name_array(values, name, "strata")
    if found.shape != (len(scores),):
        raise InputError(f"{name}: one stratum per row is needed ({len(scores):,}), got shape {found.shape}.")
    require_same_index(scores.index, values, name, what="strata")
    places = match_labels(found, names)
    others = found[places == NOT_FOUND].tolist()
    missing = sum(is_missing(one) or text_of(one) is None for one in others)
    if missing:
        raise InputError(
            f"{name}: {missing:,} row(s) have no stratum. Every row must name its stratum by a text, a number or "
            "a boolean. Fill it in; to leave such rows out is right only if the gaps have nothing to do with them."
        )
    if others and only_known:
        raise InputError(
            f"{name}: {len(others):,} row(s) are of strata that known_mix does not name, such as {others[0]!r}. "
            f"It names {shorten(names)}. Nothing is promised about others: leave these rows out, or calibrate "
            "with bounds for their strata."
        )
    return places


def check_strata_mix(known_mix: Any, classes: tuple[Label, ...]) -> tuple[tuple[Label, ...], Interval]:
    """The strata, and bounds of the mix within each, one line per stratum.

    >>> check_strata_mix({"old": {"sick": (0, 0.4)}}, ("well", "sick"))[1].upper
    array([[1. , 0.4]])
    """
    if not isinstance(known_mix, Mapping) or not known_mix:
        raise InputError(
            "known_mix is needed with strata: for every stratum, bounds of the target's label mix that you are "
            "sure of, such as {'40-49': {'sick': (0, 0.2)}, '50-59': {'sick': (0, 0.4)}}. Strata make many "
            "classes, which fit almost any target: of 5 real populations that were certified without such bounds, "
            "4 had an error above 12 % where 10 % was promised."
        )
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in known_mix)
    if None in map(text_of, names):
        raise InputError(f"known_mix: strata must be texts, numbers or booleans, got {shorten(names)}.")
    check_classes(joint_names(classes, names))  # texts that files can hold, no two alike
    bounds = [_bounds(name, mix, classes) for name, mix in zip(names, known_mix.values(), strict=True)]
    return names, Interval(np.array([one.lower for one in bounds]), np.array([one.upper for one in bounds]))


def _bounds(name: Label, mix: Any, classes: tuple[Label, ...]) -> Interval:
    try:
        found = check_known_mix(mix, classes)
    except InputError as wrong:
        raise InputError(f"stratum {name!r}: {wrong}") from None
    if not ((found.lower > 0) | (found.upper < 1)).any():
        raise InputError(
            f"known_mix says nothing about stratum {name!r}: every class may have any share. Bound at least one "
            "class, as closely as you are sure of. Without bounds the test of label shift is too weak with strata."
        )
    return found
