"""The monitor: one labelled source, period after period of unlabelled target rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace as changed
from datetime import date
from pathlib import Path
from typing import Any

from pacshift.arrays import ScoresLike
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.provenance import check_stamp
from pacshift.certification.class_bounds import class_miss
from pacshift.certification.counting import maker_of
from pacshift.certification.request import Request, check_request, require_fit
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError, param
from pacshift.files.same import file_sha256
from pacshift.methods import Method, resolve_method
from pacshift.methods.base import options_of
from pacshift.monitor import check
from pacshift.monitor.calendar import Gap, find_gaps, lies_in
from pacshift.monitor.periods import CountedRows, Delivery, Period, PeriodName, in_order, period_name
from pacshift.monitor.report import PeriodReport, estimated_size
from pacshift.monitor.state import CURRENT, Choice, InUse, Saved, State, use_digest
from pacshift.monitor.verdict import certify_period, judge, report_delta, source_delta
from pacshift.progress import Progress
from pacshift.rows import fold
from pacshift.rows.columns import Columns
from pacshift.rows.rows import Rows, bind_rows
from pacshift.rows.sets import mean_and_empty
from pacshift.tally import Tally
from pacshift.tally.same_rows import rows_sha256


class Monitor:
    """Watch whether a certificate still holds in each new period, and make a fresh one for it.

    Each period is compared with the same labelled source under label shift. Labels of a period that contradicts it
    certify sets for this period (``calibrate(..., labelled=sheet)``) and change nothing here: for another source
    begin another monitor.

    The sizes and label mixes of periods must not depend on the source or on earlier reports: a period that is
    closed because its report looks good, or patients who are admitted by the verdict, are not covered. The page
    "Monitor" has the proofs, and says what holds even then. Threads may share a monitor: one step waits for the
    other.

    Parameters
    ----------
    source : Tally
        Counts of the labelled source, from ``Tally.from_scores`` or ``Tally.load``.
    epsilon : float, default 0.1
        Share of true labels that the sets may miss in every period, between 0 and 1.
    delta : float, default 0.05
        Chance that a report is wrong; with ``forever`` the chance that any report is ever wrong.
    forever : bool, default False
        Make all reports hold simultaneously, however many there will be. Each report then gets a smaller share of
        ``delta``, so its fresh certificate has larger sets.
    method : str or Method, default "PS-LP"
        Makes the fresh certificates. It must have a guarantee on the target.
    certificate : Certificate, optional
        The certificate in use, until another one is adopted: the same certificate at the next start does not undo
        this. Default: the fresh certificate of the first period. If it was made with a smaller epsilon than the
        monitor's, small changes do not end its proof.
    class_epsilon : float, optional
        Share of any one class that the sets may miss, besides ``epsilon``. Fresh certificates keep it, and the
        verdict looks at every class too. With ``contamination`` it is about the label-shifted part of a period.
    contamination : float, default 0
        Share of every period that may be anything. The reports are right even so, but prove less.
    known_mix : dict of class to (low, high), optional
        Bounds that you are sure of on how frequent a class can be in any period, such as ``{"sick": (0, 0.3)}``.
        They help to refute label shift. The reports then rest on them.
    model_id : str, optional
        The classifier that the scores come from. Fresh certificates remember it, and ``warnings`` compares it.
    state : path, optional
        A folder that keeps the counts and reports. A monitor with the same folder continues where the last one
        stopped, also after it was killed. Several may use it in turn. ``current.json`` in it is the certificate in
        use. Default: nothing is kept.
    columns : Columns, optional
        Score columns of the source's table, which the fresh certificates remember.
    rng : int, default 0
        Seed of the coins that methods throw over the counts.

    Raises
    ------
    InputError
        If a parameter breaks a rule, or the state folder belongs to a monitor with other settings.

    Examples
    --------
    >>> import numpy as np
    >>> from pacshift import Monitor, Tally, calibrate
    >>> rng = np.random.default_rng(0)
    >>> def patients(share_sick):
    ...     sick = (rng.random(9000) < share_sick).astype(int)
    ...     p = np.round(1 / (1 + np.exp(-rng.normal(5 * sick - 4.0, 1.5))), 4)
    ...     return np.column_stack([1 - p, p]), sick
    >>> source = Tally.from_scores(*patients(0.05))
    >>> old = calibrate(source, epsilon=0.05, delta=0.05, method="PS")  # a method that ignores the shift
    >>> monitor = Monitor(source, epsilon=0.1, delta=0.05, certificate=old)
    >>> for month, share_sick in (("January", 0.05), ("February", 0.6)):
    ...     report = monitor.update(patients(share_sick)[0], period=month)
    ...     print(report.period, report.verdict)
    January kept
    February broken
    >>> monitor.adopt(report.fresh)
    >>> [report.period for report in monitor.history]
    ['January', 'February']
    """

    request: Request
    """What is asked for: ``epsilon`` and ``class_epsilon``, ``delta``, ``contamination``."""
    forever: bool
    """Whether all reports are right at once."""

    def __init__(
        self,
        source: Tally,
        *,
        epsilon: float = EPSILON,
        delta: float = DELTA,
        forever: bool = False,
        method: str | Method = "PS-LP",
        certificate: Certificate | None = None,
        class_epsilon: float | None = None,
        contamination: float = 0.0,
        known_mix: Mapping[Any, Any] | None = None,
        model_id: str | None = None,
        state: str | os.PathLike[str] | None = None,
        columns: Columns | None = None,
        rng: int = 0,
    ) -> None:
        check.check_source(source)
        self._method = check.require_own_promise(resolve_method(method))
        self.request = request = check_request(
            epsilon=epsilon,
            delta=delta,
            class_epsilon=class_epsilon,
            contamination=contamination,
            known_mix=known_mix,
            rng=rng,
        ).for_classes(source.classes)
        require_fit(self._method, request)
        self._model_id = check_stamp(model_id=model_id).get("model_id")
        self.forever, self._columns, self._source = bool(forever), columns, source
        known = request.known
        # The shares of delta that were spent belong to what was asked for, so a state folder remembers it.
        settings = {
            "epsilon": request.epsilon,
            "delta": request.delta,
            "class_epsilon": request.class_epsilon,
            "contamination": request.contamination,
            "known_mix": None if known is None else [known.lower.tolist(), known.upper.tolist()],
            "forever": self.forever,
            "method": self._method.name,
            "options": options_of(self._method),
        }
        self._state = State(state, settings, source)
        if certificate is not None:
            self.start_with(certificate)

    @property
    def method(self) -> str:
        """Name of the method that makes the fresh certificates."""
        return self._method.name

    @property
    def _saved(self) -> Saved:
        return self._state.now

    @property
    def history(self) -> tuple[PeriodReport, ...]:
        """The last report of every period, in the order of time."""
        ordered = in_order(self._saved.periods.values())
        return tuple(period.report for period in ordered if period.report is not None)

    @property
    def in_use(self) -> InUse | None:
        """The certificate in use, with who chose it; None before the first period if none was given."""
        return self._saved.in_use

    @property
    def certificate(self) -> Certificate | None:
        """The certificate in use; None before the first period if none was given."""
        return None if self._saved.in_use is None else self._saved.in_use.certificate

    @property
    def state_folder(self) -> Path | None:
        """The folder that remembers; None without one."""
        return self._state.path

    @property
    def current_file(self) -> Path | None:
        """The copy of the certificate in use in the state folder, for ``pacshift predict``; None without one."""
        return None if self.state_folder is None or self.in_use is None else self.state_folder / CURRENT

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """The files and arrays that were counted, in the order in which they came."""
        return self._saved.deliveries

    def exclusive(self) -> AbstractContextManager[None]:
        """Let no other thread or process in meanwhile, and begin with what the last one has saved."""
        return self._state.exclusive()

    def one_step(self) -> AbstractContextManager[None]:
        """Save all changes made inside at once, or none of them if an error is raised."""
        return self._state.one_step()

    def warnings(self, *, today: date | None = None) -> list[str]:
        """Why the certificate in use should not be used: it has expired, or is for another model.

        Parameters
        ----------
        today : datetime.date, optional
            The day of use. Default: today, in UTC.

        Returns
        -------
        list of str
            One sentence or two per reason; empty if there is none.
        """
        if self.certificate is None:
            return []
        return self.certificate.provenance.warnings(model_id=self._model_id, today=today)

    def update(
        self,
        target: ScoresLike | Rows | Tally,
        period: str | None = None,
        *,
        start: str | None = None,
        end: str | None = None,
        replace: bool = False,
    ) -> PeriodReport:
        """Add the rows of a period and report on it.

        Parameters
        ----------
        target : array_like, frame, Rows or Tally
            Scores of the new rows, one column per class, a table of them (``pacshift.read``), or their counts.
        period : str, optional
            Name of the period; default: a number that no period has yet. Rows of a known period are added to it,
            as late rows are. The same rows again change nothing.
        start, end : str, optional
            First and last day of the period, as ``"2026-05-01"``; they sort and label the periods, and show which
            ones are missing.
        replace : bool, default False
            Count a known period anew, from these rows alone. Its report is a new one, with a share of delta of its
            own. Correct rows because they were wrong, never because of what the report said.

        Returns
        -------
        PeriodReport
            What is known about the period now.

        Raises
        ------
        InputError
            If the rows do not have the source's classes, were counted before in another period, or have no group.
        """
        rows, source = target, self._source
        if not isinstance(rows, Tally):
            rows = bind_rows(rows, name="period", role="target", classes=source.classes, softmax=source.softmax)
        tally = rows if isinstance(rows, Tally) else rows.without_labels().tally(soft=self._method.needs_soft)
        with self.one_step():
            numbers = map(str, itertools.count(len(self._saved.periods) + 1))
            name = (
                next(each for each in numbers if each not in self._saved.periods)
                if period is None
                else str(period)
            )

            def count(_file: None, _name: PeriodName) -> CountedRows:
                sizes = None
                if self.certificate is not None and not isinstance(rows, Tally):
                    (sizes,) = fold.sizes(rows, [maker_of(self.certificate)])
                return CountedRows({name: Period(name, start, end, tally, sizes)}, tally.n_target)

            if name not in self.ingest([None], count, replace=name if replace else None):
                digest = rows_sha256(tally, "target")
                counted_in = {sha256: name for one in self.deliveries for name, sha256 in one.parts.items()}
                if (earlier := counted_in.get(digest, "several")) != name:
                    raise InputError(
                        f"these rows were counted before, as period {earlier!r}, not {name!r}. Every row counts "
                        "once."
                    )
            self.confirm_delivery()
            report = self._saved.periods[name].report
        assert report is not None
        return report

    def ingest(
        self,
        files: Sequence[Path | None],
        count: Callable[[Any, PeriodName], CountedRows],
        *,
        replace: str | None = None,
        reading: Mapping[str, str | None] | None = None,
        refuse: Callable[[Path, Exception], None] | None = None,
        tell: Callable[[str], None] = lambda _text: None,
        bar: Callable[[str], AbstractContextManager[Progress | None]] = lambda _what: nullcontext(),
    ) -> tuple[str, ...]:
        """Count what is new, add it to its periods, and report on all that got rows: the one way into a monitor.

        ``update`` comes here with rows in memory, ``pacshift monitor`` with files.

        Parameters
        ----------
        files : sequence of path or None
            Resolved paths of files that may be new, None for rows in memory. Files whose bytes were counted before
            are not read.
        count : callable
            Makes the ``CountedRows`` of a file; it is given the file, and a function that names it as a period.
        replace : str, optional
            Count this period anew, from these rows alone. Rows of other periods must have been counted before.
        reading : mapping of str to str or None, optional
            How files are read and cut into periods: options by their names, such as ``{"period": "month"}``. It is
            remembered, and must not change: rows that are cut or chosen in another way are not known again.
        refuse : callable, optional
            Is called with a file that cannot be counted, and why. Nothing of it is counted, the others are, and it
            is new again the next time. Default: the error is raised, and nothing is counted.
        tell : callable, optional
            Is called with a sentence for whatever was left out.
        bar : callable, optional
            Makes a progress bar of a title.

        Returns
        -------
        tuple of str
            The periods that were reported on, in the order of time.

        Raises
        ------
        InputError
            If rows do not fit the source or earlier rows, or may have been counted before, and nobody can
            ``refuse`` their file. Nothing is added then.
        """
        with self.one_step():
            if reading is not None:
                self._require_same_reading(reading)
            before = self._saved
            if replace is not None:  # forget the period, and count it as if it were new
                self._state.change(
                    periods={name: one for name, one in before.periods.items() if name != replace},
                    deliveries=tuple(one.without(replace) for one in before.deliveries),
                )
            for file in files:
                try:
                    self._count_delivery(file, files, count, replace, tell)
                except (InputError, OSError) as error:
                    if refuse is None or file is None:
                        raise
                    refuse(file, error)
            if replace is not None:
                self._finish_replacement(replace, before, files, tell)
            waiting = [period.name for period in in_order(self._saved.periods.values()) if not period.is_reported]
            with bar("reporting") as progress:
                for done, name in enumerate(waiting, start=1):
                    self._report(name)
                    if progress:
                        progress(done, len(waiting))
        return tuple(waiting)

    def _require_same_reading(self, reading: Mapping[str, str | None]) -> None:
        """Remember how files are read, and refuse another way later."""
        known = self._saved.reading or dict(reading)
        self._state.change(reading=known)
        for name in (name for name in reading if known.get(name) != reading[name]):
            was, now = (
                param(f"{name}={value!r}") if value else f"no {param(name + '=')}"
                for value in (known.get(name), reading[name])
            )
            raise InputError(
                f"{self.state_folder} was begun with {was} and now there is {now}. Rows that are cut or "
                "chosen in another way would count twice. Give the same as before, or begin with a new "
                "folder."
            )

    def _finish_replacement(
        self, name: str, before: Saved, files: Iterable[Path | None], tell: Callable[[str], None]
    ) -> None:
        """After a period was counted anew: it has rows, had some before, and keeps its place."""
        if name not in self._saved.periods:
            raise InputError(f"{param(f'replace={name!r}')}: the files hold no row of this period.")
        if name not in before.periods:
            raise InputError(
                f"no period {name!r} to replace. Leave out {param('replace=True')} to count it first."
            )
        names = {str(file) for file in files if file is not None}
        for delivery in before.deliveries:
            if name in delivery.parts and delivery.name not in names:
                tell(f"{delivery.called} no longer counts in {name}: it was not among the files given.")
        self._state.change(periods={each: self._saved.periods[each] for each in before.periods})

    def _count_delivery(
        self,
        file: Path | None,
        files: Iterable[Path | None],
        count: Callable[[Any, PeriodName], CountedRows],
        replace: str | None,
        tell: Callable[[str], None],
    ) -> None:
        """Count a delivery and add its rows to their periods, unless all of them were counted before."""
        saved, known, called = self._saved, self.deliveries, None if file is None else str(file)
        sha256 = None if file is None else file_sha256(file)
        same = [delivery for delivery in known if sha256 is not None and delivery.sha256 == sha256]
        earlier = [delivery for delivery in known if called is not None and delivery.name == called]
        others = [delivery for delivery in known if delivery not in earlier]
        if replace is None and same:
            if all(each.name != called for each in same):  # an export that hangs delivers the old rows anew
                tell(
                    f"{file} has the same content as {same[0].called}, which was counted. It is not counted again."
                )
                self._state.change(deliveries=(*others, Delivery(called, sha256, 0)))
            return
        counted_parts = {name: digest for delivery in earlier for name, digest in delivery.parts.items()}

        def name() -> str:
            """What the file is called as a period: as its first rows are, if some were counted before."""
            assert file is not None
            alike = [other for other in files if other is not None]
            alike += [Path(delivery.name) for delivery in known if delivery.name is not None]
            taken = () if any(delivery.rows for delivery in earlier) else saved.periods
            return next(iter(counted_parts), None) or period_name(file, alike, taken)

        counted = count(file, name)
        if counted.n_dropped:
            tell(f"{file}: {counted.n_dropped:,} of {counted.n_rows:,} rows left out.")
        for period in counted.periods.values():
            check.check_target(period.target, self._source)
        delivery = counted.as_delivery(called, sha256)
        added, deliveries = list(delivery.parts), (*known, delivery)
        if replace is not None:  # of its rows only those of this period are new
            delivery.require_only(replace, known)
            added = [replace] if replace in delivery.parts else []
            parts = counted_parts | {each: delivery.parts[each] for each in added}
            deliveries = (*others, changed(delivery, parts=parts))
        elif not delivery.is_new(known):
            tell(f"{file} holds rows that were counted before. They are not counted again.")
            added, deliveries = [], known
            if file is not None:  # written again, or copied: its bytes need not be counted to be known
                n_rows = sum(each.rows for each in earlier)  # of a copy nothing is counted
                whole = earlier[0].whole if len(earlier) == 1 else None
                deliveries = (*others, Delivery(called, sha256, n_rows, counted_parts, whole))
        periods = dict(saved.periods)
        for each in added:
            rows = changed(counted.periods[each], sized_by=saved.in_use_number)
            periods[each] = periods[each].plus(rows) if each in periods else rows
        self._state.change(periods=periods, deliveries=deliveries)

    def _report(self, name: str) -> None:
        """Report on a period with all of its rows; this spends the next share of delta."""
        period, number, request = self._saved.periods[name], self._saved.n_reports + 1, self.request
        delta = report_delta(request.delta, number, forever=self.forever)
        tally = self._source + period.target
        outcome = certify_period(tally, self._method, changed(request, delta=delta), self._columns)
        outcome = outcome if isinstance(outcome, str) else outcome.annotate(model_id=self._model_id)
        fresh = None if isinstance(outcome, str) else outcome
        if self.in_use is None and fresh is not None:
            self._state.change(in_use=InUse(fresh, 1, "first", name))
        in_use, band = self.certificate, None
        if in_use is not None:
            share = source_delta(request.delta)
            band = class_miss(self._source, in_use.thresholds, delta=share)
            band = Interval(0 * band.lower, band.upper) if in_use.rule.never_empty else band
        (verdict, error, finding), sizes = judge(outcome, in_use, band, request), period.set_sizes
        size, empty = (estimated_size(period.target, in_use), None) if sizes is None else mean_and_empty(sizes)
        report = PeriodReport(
            period=name,
            start=period.start,
            end=period.end,
            number=number,
            rows=period.target.n_target,
            epsilon=request.epsilon,
            delta=delta,
            verdict=verdict,
            finding=finding,
            error=error,
            fresh=fresh,
            fresh_size=estimated_size(period.target, fresh),
            size=size,
            empty=empty,
            in_use_number=self._saved.in_use_number,
            in_use_epsilon=None if in_use is None else in_use.epsilon,
        )
        self._state.change(periods=self._saved.periods | {name: changed(period, report=report)}, n_reports=number)

    def adopt(self, certificate: Certificate | None) -> None:
        """Use another certificate until a new one is chosen. Reports that were made stay as they are.

        Parameters
        ----------
        certificate : Certificate
            For example the ``fresh`` certificate of a report. How it is chosen does not matter for the guarantee.

        Raises
        ------
        InputError
            If there is none, or it has other classes or another score than the source.
        """
        if certificate is None:
            raise InputError("no certificate to adopt: label shift was rejected in that period.")
        self._use(certificate, "adopted")

    def start_with(self, certificate: Certificate) -> bool:
        """Use the certificate that a monitor is started with, unless the last start had the same one.

        A certificate on a nightly command line is a choice once; what is adopted later persists.

        Parameters
        ----------
        certificate : Certificate
            The certificate of the command line, or of ``Monitor(certificate=...)``.

        Returns
        -------
        bool
            Whether it is in use now.

        Raises
        ------
        InputError
            If it has other classes or another score than the source.
        """
        digest = use_digest(certificate)
        with self.one_step():
            if self._saved.started_with != digest:
                self._use(certificate, "given")
                self._state.change(started_with=digest)
        return self.certificate is not None and use_digest(self.certificate) == digest

    def _use(self, certificate: Certificate, choice: Choice) -> None:
        check.check_certificate(certificate, self._source)
        digest = use_digest(certificate)
        with self.one_step():
            alike = [report for report in self.history if report.fresh and use_digest(report.fresh) == digest]
            itself = [report for report in alike if report.fresh is certificate]
            period = next((report.period for report in (*itself, *alike)), None)
            now, number = self.in_use, self._saved.in_use_number
            is_new = now is None or use_digest(now.certificate) != digest
            is_chosen_anew = (
                now is not None and choice == "adopted" and (now.choice, now.period) != (choice, period)
            )
            if is_new or is_chosen_anew:
                self._state.change(in_use=InUse(certificate, number + is_new, choice, period))

    @property
    def source(self) -> Tally:
        """Counts of the source that every period is compared with."""
        return self._source

    def gaps(self, *, until: date | None = None) -> list[Gap]:
        """Which periods have no rows, by the first and last days of those that have.

        Parameters
        ----------
        until : datetime.date, optional
            Look for missing periods up to this day too. One period of grace is left for rows that come late.
            Default: only between periods that are there.

        Returns
        -------
        list of Gap
            In the order of time.
        """
        return find_gaps([(period.start, period.end) for period in self._saved.periods.values()], until)

    @property
    def open_reports(self) -> tuple[PeriodReport, ...]:
        """Reports that have not reached anybody yet; without any, the last one if nothing was done about it.

        What is done about a report is to use another certificate. That label shift is rejected is answered by one
        that labels have certified: another that assumes label shift leaves everything as it was.
        """
        new = tuple(report for report in self.history if report.number > self._saved.n_delivered)
        if new or not self.history:
            return new
        last, in_use = self.history[-1], self.in_use
        is_answered = in_use is not None and last.in_use_number != in_use.number
        if is_answered and in_use is not None and last.verdict == "shift-rejected":
            is_answered = not in_use.certificate.facts.assumes_label_shift
        return () if is_answered else (last,)

    def new_gaps(self, *, until: date | None = None) -> list[Gap]:
        """The gaps that have not been told yet.

        Parameters
        ----------
        until : datetime.date, optional
            As in ``gaps``.

        Returns
        -------
        list of Gap
            In the order of time.
        """
        return [gap for gap in self.gaps(until=until) if not lies_in(gap, self._saved.told_gaps)]

    def confirm_delivery(self, gaps: Sequence[Gap] = ()) -> None:
        """Remember that all reports have reached somebody, and these gaps.

        Parameters
        ----------
        gaps : sequence of Gap
            Gaps that were told.
        """
        with self.one_step():
            new = [(gap.start, gap.end) for gap in gaps if not lies_in(gap, self._saved.told_gaps)]
            if new or self._saved.n_delivered != self._saved.n_reports:
                self._state.change(n_delivered=self._saved.n_reports, told_gaps=(*self._saved.told_gaps, *new))
