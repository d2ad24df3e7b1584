"""From a fresh certificate to the report on a period."""

from pacshift.certification.class_miss import class_miss
from pacshift.certification.request import Request
from pacshift.monitor.fresh import Fresh
from pacshift.monitor.in_use import InUse
from pacshift.monitor.periods import Period
from pacshift.monitor.report import PeriodReport, estimated_size
from pacshift.monitor.verdict import judge
from pacshift.rows.sets import mean_and_empty
from pacshift.tally import Tally


def examine(
    period: Period,
    fresh: Fresh,
    in_use: InUse | None,
    source: Tally,
    promise: Request,
    *,
    number: int,
    delta: float,
    source_number: int,
    source_looks: int,
    source_delta: float,
) -> PeriodReport:
    """The report of a ``number`` on a period, whose fresh certificate was made at ``delta``.

    ``source_delta`` is for the band around the miss rates of the source, whose number is ``source_number`` and
    which might have come in ``source_looks`` sizes.
    """
    certificate = None if in_use is None else in_use.certificate
    band = None
    if certificate is not None:
        band = class_miss(
            source,
            certificate.thresholds,
            delta=source_delta,
            never_empty=certificate.never_empty,
        )
    found = judge(fresh, certificate, band, promise)
    sizes = period.set_sizes
    size, empty = (estimated_size(period.target, certificate), None) if sizes is None else mean_and_empty(sizes)
    return PeriodReport(
        period=period.name,
        start=period.start,
        end=period.end,
        number=number,
        rows=period.target.n_target,
        epsilon=promise.epsilon,
        delta=delta,
        verdict=found.verdict,
        finding=found.text,
        error=found.error,
        fresh=fresh.certificate,
        fresh_size=estimated_size(period.target, fresh.certificate),
        size=size,
        empty=empty,
        in_use_number=0 if in_use is None else in_use.number,
        source_number=source_number,
        source_looks=source_looks,
        in_use_epsilon=None if certificate is None else certificate.epsilon,
    )
