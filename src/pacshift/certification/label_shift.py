"""Is it label shift? The test that comes before every promise about the target, and the refusal."""

import logging
from dataclasses import replace
from time import perf_counter

from pacshift.assumption import ASSUMPTION_SHARE, Assumption, check_assumption
from pacshift.certification.few_labels import mix_within
from pacshift.certification.request import Request
from pacshift.errors import AssumptionError
from pacshift.paths.labelled import LabelledTarget
from pacshift.tally import Tally
from pacshift.words.numbers import up

logger = logging.getLogger(__name__)


def check_label_shift(tally: Tally, request: Request, labelled: LabelledTarget | None = None) -> Assumption:
    """What the test saw, at its share of δ; with labelled target rows half of its level is for their bounds."""
    start, level = perf_counter(), ASSUMPTION_SHARE * request.delta
    logger.info("testing label shift with %d source and %d target rows", tally.n_source, tally.n_target)
    if labelled is None:
        found = check_assumption(tally, level=level, known=request.known, contamination=request.contamination)
    else:
        found = check_assumption(
            tally,
            level=level / 2,
            known=mix_within(request, labelled, delta=level / 2),
            contamination=request.contamination,
            known_from="the labelled target rows say"
            if request.known is None
            else "target labels and known_mix say",
        )
        found = replace(found, level=level)
    seen = "refuted" if found.refuted else "not refuted"
    logger.info("label shift was tested and %s in %.2f s", seen, perf_counter() - start)
    return found


def refusal_of(found: Assumption | None, request: Request) -> AssumptionError | None:
    """The error where label shift is refuted, without the ways on."""
    if found is None or not found.refuted:
        return None
    and_known = " and the given bounds of the mix were right" if request.known is not None else ""
    return AssumptionError(
        f"label shift is refuted: {found.finding} Nothing is certified. If label shift held{and_known}, the test "
        f"would refuse with probability at most {up(found.level)}."
    )
