"""The manifest of a state folder: what a monitor remembers as one sealed JSON document, and back, checked."""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol, get_args

import numpy as np

from pacshift.arrays import KeyArray
from pacshift.certificate import Certificate
from pacshift.files.codec import TEXT, is_count
from pacshift.monitor.deliveries import Delivery
from pacshift.monitor.in_use import Choice, InUse
from pacshift.monitor.labelled import Labelled
from pacshift.monitor.periods import Period
from pacshift.monitor.report import PeriodReport
from pacshift.monitor.shares import report_delta
from pacshift.monitor.verdict import Verdict
from pacshift.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """All that a monitor remembers.

    ``given`` is the digest of the certificate that the monitor was started with last. Reports up to number
    ``n_delivered`` have reached somebody, and so have the gaps in ``told_gaps`` (first and last day). ``labelled``
    are the rows that are or were the source after the first one, of which there were ``source_number``.
    ``reading`` says how files are read and cut into periods, by the names of the options; None before it was said.
    """

    in_use: InUse | None = None
    given: str | None = None
    n_reports: int = 0
    n_delivered: int = 0
    told_gaps: tuple[tuple[str, str], ...] = ()
    periods: dict[str, Period] = field(default_factory=dict)
    deliveries: tuple[Delivery, ...] = ()
    labelled: tuple[Labelled, ...] = ()
    source_number: int = 0
    reading: Mapping[str, str | None] | None = None

    @property
    def in_use_number(self) -> int:
        """How many certificates have been in use."""
        return 0 if self.in_use is None else self.in_use.number


class Files(Protocol):
    """The files that a manifest names."""

    def name_of(self, content: Any, kind: str) -> Any:
        """The name of the file that holds the content, written now if it is new; None for None."""

    def tally(self, name: Any) -> Tally:
        """The tally in a file."""

    def certificate(self, name: Any) -> Certificate | None:
        """The certificate in a file; None for None."""

    def keys(self, name: Any) -> KeyArray | None:
        """The keys in a file; None for None."""


def to_document(saved: Saved, files: Files) -> dict[str, Any]:
    """Everything as plain JSON values; what is large gets a file of its own."""
    in_use = saved.in_use
    return {
        "in_use": None if in_use is None else _in_use_document(in_use, files),
        "given": saved.given,
        "n_reports": saved.n_reports,
        "n_delivered": saved.n_delivered,
        "source_number": saved.source_number,
        "reading": saved.reading,
        "labelled": [_labelled_document(one, files) for one in saved.labelled],
        "told_gaps": [list(ends) for ends in saved.told_gaps],
        "deliveries": [asdict(delivery) for delivery in saved.deliveries],
        "periods": [_period_document(period, files) for period in saved.periods.values()],
    }


def _in_use_document(in_use: InUse, files: Files) -> dict[str, Any]:
    plain = {name: getattr(in_use, name) for name in ("number", "choice", "period")}
    return plain | {"certificate": files.name_of(in_use.certificate, "in-use")}


def _labelled_document(labelled: Labelled, files: Files) -> dict[str, Any]:
    plain = {name: getattr(labelled, name) for name in ("period", "since", "sheet", "in_source", "looks")}
    return plain | {"rows": files.name_of(labelled.rows, f"{labelled.period}-labelled")}


def _period_document(period: Period, files: Files) -> dict[str, Any]:
    return {
        "name": period.name,
        "start": period.start,
        "end": period.end,
        "tally": files.name_of(period.target, period.name),
        "keys": files.name_of(period.keys, f"{period.name}-keys"),
        "set_sizes": None if period.set_sizes is None else period.set_sizes.tolist(),
        "sized_by": period.sized_by,
        "report": None if period.report is None else _report_document(period.report, files),
    }


def _report_document(report: PeriodReport, files: Files) -> dict[str, Any]:
    plain = {name.name: getattr(report, name.name) for name in fields(report)}
    return plain | {"fresh": files.name_of(report.fresh, f"{report.period}-fresh")}


def from_document(document: Mapping[str, Any], files: Files, settings: Mapping[str, Any]) -> Saved:
    """What a document says, or a ValueError, KeyError or TypeError: nothing may restart the spending of delta."""
    periods = [_period(each, files) for each in document["periods"]]
    saved = Saved(
        in_use=None if document["in_use"] is None else _in_use(document["in_use"], files),
        given=_optional_text(document["given"]),
        n_reports=_count(document["n_reports"]),
        n_delivered=_count(document["n_delivered"]),
        told_gaps=tuple((_text(start), _text(end)) for start, end in document["told_gaps"]),
        periods={period.name: period for period in periods},
        deliveries=tuple(_delivery(each) for each in document["deliveries"]),
        labelled=tuple(_labelled(each, files) for each in document.get("labelled", ())),
        source_number=_count(document.get("source_number", 0)),
        reading=_reading(document.get("reading")),
    )
    _require(len(saved.periods) == len(periods), "two periods have one name")
    _require(saved.n_delivered <= saved.n_reports, f"{saved.n_delivered} of {saved.n_reports} reports delivered")
    _require_reports(saved, settings)
    _require_sources(saved)
    return saved


def _reading(document: Any) -> dict[str, str | None] | None:
    if document is None:
        return None
    return {_text(name): _optional_text(value) for name, value in document.items()}


def _require_sources(saved: Saved) -> None:
    periods = [one.period for one in saved.labelled]
    _require(len(set(periods)) == len(periods), "a period was labelled twice")
    _require(set(periods) <= set(saved.periods), f"labels of {periods}")
    _require(bool(saved.source_number) == bool(periods), "a source without rows")
    _require(all(0 < one.since <= saved.source_number for one in saved.labelled), "labels of a later source")


def _require_reports(saved: Saved, settings: Mapping[str, Any]) -> None:
    reports = [period.report for period in saved.periods.values() if period.report is not None]
    numbers = {report.number for report in reports}
    _require(len(numbers) == len(reports), "two reports have one number")
    _require(numbers <= set(range(1, saved.n_reports + 1)), f"reports {sorted(numbers)} of {saved.n_reports}")
    for report in reports:
        share = report_delta(
            settings["delta"], report.number, forever=settings["forever"], looks=report.source_looks
        )
        _require(math.isclose(report.delta, share), f"report {report.number} with delta {report.delta}")
        _require(report.epsilon == settings["epsilon"], f"report {report.number} with epsilon {report.epsilon}")
        _require(report.source_number <= saved.source_number, f"source {report.source_number}")
        _require(report.in_use_number <= saved.in_use_number, f"certificate {report.in_use_number} in use")


def _in_use(document: Mapping[str, Any], files: Files) -> InUse:
    certificate, choice = files.certificate(document["certificate"]), document["choice"]
    _require(certificate is not None and choice in get_args(Choice), f"{choice!r} in use")
    assert certificate is not None  # said above, for the type checker
    number = _count(document["number"])
    _require(number > 0, "no certificate has been in use, but one is")
    return InUse(certificate, number, choice, _optional_text(document["period"]))


def _labelled(document: Mapping[str, Any], files: Files) -> Labelled:
    rows, in_source = files.tally(document["rows"]), document["in_source"]
    _require(isinstance(in_source, bool) and bool(rows.n_source), f"{in_source!r} with {rows.n_source} labels")
    sheet = _optional_text(document["sheet"])
    since, looks = _count(document["since"]), _count(document.get("looks", 1))
    _require(looks > 0, "a sheet without looks")
    return Labelled(_text(document["period"]), rows, since, sheet, in_source, looks)


def _delivery(document: Mapping[str, Any]) -> Delivery:
    parts = {_text(name): _optional_text(digest) for name, digest in document["parts"].items()}
    name, sha256 = _optional_text(document["name"]), _optional_text(document["sha256"])
    return Delivery(name, sha256, _count(document["rows"]), parts, _optional_text(document.get("whole")))


def _period(document: Mapping[str, Any], files: Files) -> Period:
    sizes, report, target = document["set_sizes"], document["report"], files.tally(document["tally"])
    if sizes is not None:
        _require(sum(map(_count, sizes)) == target.n_target, f"{sizes} sets of {target.n_target} rows")
    keys = files.keys(document["keys"])
    _require(keys is None or len(keys) == target.n_target, f"keys of other than {target.n_target} rows")
    made = Period(
        name=_text(document["name"]),
        start=_optional_text(document["start"]),
        end=_optional_text(document["end"]),
        target=target,
        set_sizes=None if sizes is None else np.array(sizes, np.int64),
        sized_by=_count(document["sized_by"]),
        report=None if report is None else _report(report, files),
        keys=keys,
    )
    if made.report is not None:
        _require(made.report.period == made.name, f"a report on {made.report.period!r} in {made.name!r}")
        _require(made.report.rows <= target.n_target, f"{made.report.rows} of {target.n_target} rows reported on")
    return made


def _report(document: Mapping[str, Any], files: Files) -> PeriodReport:
    error, verdict, fresh = document["error"], document["verdict"], files.certificate(document["fresh"])
    _require(verdict in get_args(Verdict), f"the verdict {verdict!r}")
    _require((verdict == "refuted") == (fresh is None) == (error is None), f"{verdict} with an error of {error}")
    if error is not None:
        low, high = error
        _require(0 <= _number(low) <= _number(high) <= 1, f"an error between {low} and {high}")
        error = (low, high)
    for name in ("number", "rows", "in_use_number"):
        _count(document[name])
    _count(document.get("source_number", 0))
    _require(_count(document.get("source_looks", 1)) > 0, "a source of no size")
    for name in ("epsilon", "delta", "size", "empty", "fresh_size", "in_use_epsilon"):
        value = document.get(name)
        _require(value is None or _number(value) >= 0, f"{name} {value}")
    for name in ("period", "start", "end", "finding"):
        _optional_text(document[name])
    return PeriodReport(**{**document, "fresh": fresh, "error": error})


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """A document of version 1 in the form of today.

    What was adopted then is taken for a choice, so that the certificate on an old command line does not undo it.
    """
    certificate, number, n_reports = document["in_use"], document["in_use_number"], document["n_reports"]
    adopted = [one for one in document["periods"] if one["report"] and one["report"]["fresh"] == certificate]
    period = adopted[0]["name"] if adopted and certificate is not None else None
    choice = "given" if period is None else "adopted" if number > 1 else "first"
    in_use = {"number": number, "choice": choice, "period": period, "certificate": certificate}
    deliveries = [one | {"name": os.path.realpath(one["name"]), "parts": {}} for one in document["deliveries"]]
    settings = dict(document["settings"])
    return document | {
        "source": settings.pop("source"),
        "settings": settings,
        "n_files": document["serial"],
        "in_use": None if certificate is None else in_use,
        "given": ANY_GIVEN if choice == "adopted" else None,
        "n_delivered": n_reports,
        "told_gaps": [],
        "deliveries": deliveries,
        "periods": [_upgraded_period(one) for one in document["periods"]],
    }


ANY_GIVEN = "any"
"""Instead of a digest: version 1 did not remember which certificate it was started with."""


def _upgraded_period(document: dict[str, Any]) -> dict[str, Any]:
    report = document["report"]
    return document | {
        "keys": None,
        "report": None if report is None else report | {"in_use_number": document["sized_by"]},
    }


def _require(holds: bool, found: str) -> None:
    if not holds:
        raise ValueError(found)


def _text(value: Any) -> str:
    return str(TEXT.read(value, "the state"))


def _count(value: Any) -> int:
    _require(is_count(value), f"{value!r} where a count belongs")
    return int(value)


def _number(value: Any) -> float:
    _require(isinstance(value, (int, float)) and not isinstance(value, bool), f"{value!r} where a number belongs")
    return float(value)


def _optional_text(value: Any) -> str | None:
    return None if value is None else _text(value)
