"""The monitor: one labelled source, period after period of unlabelled target rows."""

import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace as changed
from datetime import date
from pathlib import Path
from typing import Any

from pacshift.arrays import IntArray, LabelsLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.class_bounds import class_miss
from pacshift.certification.counted import cut_of
from pacshift.certification.request import Request, check_request, require_fit
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.files.same import file_sha256
from pacshift.labels.sheet import LabelSheet
from pacshift.methods import Method, resolve_method
from pacshift.methods.base import options_of
from pacshift.monitor import check
from pacshift.monitor.calendar import Gap, find_gaps, lies_in
from pacshift.monitor.periods import CountedRows, Delivery, Known, Period, in_order, period_name
from pacshift.monitor.report import PeriodReport, estimated_size
from pacshift.monitor.state import CURRENT, Choice, InUse, Labelled, Saved, State, use_digest
from pacshift.monitor.verdict import fresh_certificate, judge, report_delta, source_delta
from pacshift.progress import Progress
from pacshift.rows import fold
from pacshift.rows.base import CheckedRows
from pacshift.rows.columns import Columns
from pacshift.rows.memory import memory
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.tally.same_rows import may_hold, rows_sha256


class Monitor:
    """Watch whether a certificate still holds in each new period, and make a fresh one for it.

    Each period is compared with the same labelled source under label shift, until ``new_source`` puts labelled
    rows of a later period in its place. The sizes and label mixes of periods must not depend on the source or on
    earlier reports: a period that is closed because its report looks good, or patients who are admitted by the
    verdict, are not covered. The page "Monitor" has the proofs, and says what holds even then. Threads may share a
    monitor: one step waits for the other.

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
            model_id=model_id,
            rng=rng,
        ).for_classes(source.classes)
        require_fit(self._method, request)
        self.forever, self._columns, self._source = bool(forever), columns, source
        known = request.known
        # The shares of delta that were spent belong to what was asked for, so a state folder remembers it.
        asked = ("epsilon", "delta", "class_epsilon", "contamination")
        settings = {
            **{name: getattr(request, name) for name in asked},
            "known_mix": None if known is None else [known.lower.tolist(), known.upper.tolist()],
            "forever": self.forever,
            "method": self._method.name,
            "options": options_of(self._method),
        }
        self._state = State(state, settings, source)
        if certificate is not None:
            self.offer(certificate)

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
        return self.certificate.provenance.warnings(model_id=self.request.model_id, today=today)

    def update(
        self,
        target: ScoresLike | CheckedRows | Tally,
        period: str | None = None,
        *,
        start: str | None = None,
        end: str | None = None,
        groups: LabelsLike | None = None,
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
        groups : array_like, optional
            Group of each new row, such as the patient: one random row of each group is counted. Pass all rows of a
            period at once: a group that is added to a period again counts twice.

        Returns
        -------
        PeriodReport
            What is known about the period now.

        Raises
        ------
        InputError
            If the rows do not have the source's classes, were counted before in another period, have no group, or
            are late rows of a period whose labelled rows are a source.
        """
        if groups is not None and isinstance(target, Tally | CheckedRows):
            what = type(target).__name__
            raise InputError(f"groups are those of rows, but a {what} was given. Count it with groups=.")
        rows, source = target, self._source
        if not isinstance(rows, Tally | CheckedRows):
            classes, softmax = source.classes, source.softmax
            rows = memory(rows, name="period", role="target", classes=classes, softmax=softmax, groups=groups)
        tally = rows if isinstance(rows, Tally) else rows.unlabelled().tally(soft=self._method.needs_soft)
        with self.one_step():
            free = (str(number) for number in itertools.count(len(self._saved.periods) + 1))
            name = next(one for one in free if one not in self._saved.periods) if period is None else str(period)

            def sizes(certificate: Certificate) -> dict[str, IntArray]:
                return {} if isinstance(rows, Tally) else {name: fold.sizes(rows, [cut_of(certificate)])[0]}

            def count(_file: None, known: Known) -> CountedRows:
                sized = None if known.in_use is None else sizes(known.in_use).get(name)
                return CountedRows({name: Period(name, start, end, tally, sized)}, tally.n_target, sizes)

            if name not in self.follow([None], count, replace=name if replace else None):
                digest = rows_sha256(tally, "target")
                counted = {sha256: name for one in self.deliveries for name, sha256 in one.parts.items()}
                if (was := counted.get(digest, "several")) != name:
                    raise InputError(
                        f"these rows were counted before, as period {was!r}, not {name!r}. Every row counts once."
                    )
            self.mark_delivered()
            report = self._saved.periods[name].report
        assert report is not None
        return report

    def follow(
        self,
        files: Sequence[Path | None],
        count: Callable[[Any, Known], CountedRows],
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
            Makes the ``CountedRows`` of a file, of this file and what must be ``Known`` for it.
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

        def bring_in(file: Path | None) -> CountedRows | None:
            try:
                return self._bring_in(file, files, count, replace, tell)
            except (InputError, OSError) as error:
                if refuse is None or file is None:
                    raise
                refuse(file, error)
                return None

        with self.one_step():
            known = self._saved.reading
            if reading is not None and known is None:
                self._state.change(reading=dict(reading))
            elif reading is not None and known is not None:
                for name in (name for name in (*known, *reading) if known.get(name) != reading.get(name)):
                    was, now = (
                        f"{name}={each[name]!r}" if each.get(name) else f"no {name}=" for each in (known, reading)
                    )
                    raise InputError(
                        f"{self.state_folder} was begun with {was} and now there is {now}. Rows that are cut or "
                        "chosen in another way would count twice. Give the same as before, or begin with a new "
                        "folder."
                    )
            before = self._saved
            if replace is not None:  # forget the period, and count it as if it were new
                self._require_unlabelled([replace])
                self._state.change(
                    periods={name: one for name, one in before.periods.items() if name != replace},
                    deliveries=tuple(one.without(replace) for one in before.deliveries),
                )
            counted = [bring_in(file) for file in files]
            if replace is not None:
                if replace not in self._saved.periods:
                    raise InputError(f"replace={replace!r}: the files hold no row of this period.")
                if replace not in before.periods:
                    raise InputError(
                        f"no period {replace!r} to replace. Leave out replace=True to count it first."
                    )
                given = {str(file) for file in files if file is not None}
                for one in before.deliveries:
                    if replace in one.parts and one.name not in given:
                        tell(f"{one.called} no longer counts in {replace}: it was not among the files given.")
                anew = self._saved.periods
                self._state.change(periods={name: anew[name] for name in before.periods})  # in its old place
            waiting = [period.name for period in in_order(self._saved.periods.values()) if not period.is_reported]
            with bar("reporting") as progress:
                for done, name in enumerate(waiting, start=1):
                    had_certificate = self.certificate is not None
                    self._report(name)
                    if not had_certificate:  # only now there are sets to count
                        self._count_sizes(rows for rows in counted if rows is not None)
                    if progress:
                        progress(done, len(waiting))
        return tuple(waiting)

    def _bring_in(
        self,
        file: Path | None,
        files: Iterable[Path | None],
        count: Callable[[Any, Known], CountedRows],
        replace: str | None,
        tell: Callable[[str], None],
    ) -> CountedRows | None:
        """Count a delivery and add its rows to their periods; None if all of them were counted before."""
        saved, known = self._saved, self.deliveries
        sha256 = None if file is None else file_sha256(file)
        same = [one for one in known if sha256 is not None and one.sha256 == sha256]
        if replace is None and same:
            if all(one.name != str(file) for one in same):  # an export that hangs delivers the old rows anew
                tell(
                    f"{file} has the same content as {same[0].called}, which was counted. It is not counted again."
                )
                again = Delivery(str(file), sha256, 0)
                self._state.change(deliveries=(*(one for one in known if one.name != str(file)), again))
            return None
        own = [one for one in known if file is not None and one.name == str(file)]
        own_parts = {name: digest for one in own for name, digest in one.parts.items()}

        def name() -> str:
            """What the file is called as a period: as its first rows are, if some were counted before."""
            assert file is not None
            others = [other for other in files if other is not None]
            others += [Path(one.name) for one in known if one.name is not None]
            return next(iter(own_parts), None) or period_name(
                file, others, () if any(one.rows for one in own) else saved.periods
            )

        keys = {one.name: one.keys for one in saved.periods.values() if one.keys is not None}
        counted = count(file, Known(keys, self.certificate, sum(one.rows for one in known), name))
        self._check_counted(counted, file, tell)
        found = counted.delivered(None if file is None else str(file), sha256)
        others = tuple(one for one in known if one not in own)
        if replace is not None:  # of its rows only those of this period are new
            found.require_only(replace, known)
            added = [each for each in found.parts if each == replace]
            deliveries = (*others, changed(found, parts=own_parts | {each: found.parts[each] for each in added}))
        else:
            if file is not None:
                found = self._without_late_rows(found, counted, tell)
            if not keys and not found.is_new(known):
                tell(f"{file} holds rows that were counted before. They are not counted again.")
                if file is not None:  # written again, or copied: its bytes need not be counted to be known
                    n_rows, whole = sum(one.rows for one in own), own[0].whole if len(own) == 1 else None
                    again = Delivery(str(file), sha256, n_rows, own_parts, whole)  # of a copy nothing is counted
                    self._state.change(deliveries=(*others, again))
                return None
            self._require_unlabelled(found.parts)
            added, deliveries = list(found.parts), (*known, found)
        periods = dict(saved.periods)
        for each in added:
            rows = changed(counted.periods[each], sized_by=saved.in_use_number)
            periods[each] = periods[each].plus(rows) if each in periods else rows
        self._state.change(periods=periods, deliveries=deliveries)
        return counted

    def _without_late_rows(self, found: Delivery, counted: CountedRows, tell: Callable[[str], None]) -> Delivery:
        """A file without new rows of periods that are a source: no row can be compared with itself."""
        if found.is_repeated(self.deliveries):
            return found
        repeats = found.repeats(self.deliveries)
        late = [each for each in found.parts if each in self.labelled_periods and each not in repeats]
        for each in late:
            tell(
                f"{found.name}: {counted.periods[each].target.n_target:,} late rows of {each} are left out. "
                "Labelled rows of this period are a source now, and no row can be compared with itself."
            )
        return changed(found, parts={each: one for each, one in found.parts.items() if each not in late})

    def _check_counted(self, counted: CountedRows, file: Path | None, tell: Callable[[str], None]) -> None:
        """Refuse rows that do not fit the source or those that were counted before; say what was left out."""
        periods = self._saved.periods
        again = [name for name, rows in counted.again.items() if not may_hold(periods[name].target, rows)]
        for name in dict.fromkeys([*counted.moved, *again]):
            said = f"{file}: rows of {name} that were counted before (key=) have other scores or times now."
            if name not in self.labelled_periods:
                raise InputError(
                    f"{said} A row counts once, as it came first. If they were corrected, count the period anew "
                    f"from all of its rows: replace={name!r}. Else leave the file out."
                )
            tell(f"{said} They are left out: labelled rows of this period are a source.")
        if counted.n_dropped:
            tell(f"{file}: {counted.n_dropped:,} of {counted.n_rows:,} rows left out.")
        if counted.n_known:
            tell(
                f"{file}: {counted.n_known:,} of {counted.n_rows:,} rows were counted before (key=), left out. "
                "Only replace=PERIOD counts a period anew."
            )
        for rows in counted.periods.values():
            check.check_target(rows.target, self._source)
        if len({one.keys is None for one in (*counted.periods.values(), *periods.values())}) > 1:
            raise InputError(  # a row without a key could be any of the others
                "some rows would be counted with a key and some without one, so they could not be told apart. "
                "Give the same key=COLUMN in every run from the first one on, or begin with a new folder."
            )

    def _require_unlabelled(self, periods: Iterable[str]) -> None:
        """Refuse more rows of a period that is a source: they would be compared with themselves."""
        for name in self.labelled_periods & set(periods):
            raise InputError(
                f"{name}: labelled rows of this period are a source now, so no rows can be added to it, nor "
                "exchanged. Leave them out."
            )

    def _report(self, name: str) -> None:
        """Report on a period with all of its rows; this spends the next share of delta."""
        period, number = self._saved.periods[name], self._saved.n_reports + 1
        source, looks, asked = self.source, self.source_looks, self.request
        delta = report_delta(asked.delta, number, forever=self.forever, looks=looks)
        made = fresh_certificate(source + period.target, self._method, changed(asked, delta=delta), self._columns)
        fresh = None if isinstance(made, str) else made
        if self.in_use is None and fresh is not None:
            self._state.change(in_use=InUse(fresh, 1, "first", name))
        in_use, band = self.certificate, None
        if in_use is not None:
            share = source_delta(asked.delta, self.source_place, forever=self.forever, looks=looks)
            band = class_miss(source, in_use.thresholds, delta=share, never_empty=in_use.never_empty)
        (verdict, error, finding), sizes = judge(made, in_use, band, asked), period.set_sizes
        size, empty = (estimated_size(period.target, in_use), None) if sizes is None else mean_and_empty(sizes)
        report = PeriodReport(
            period=name,
            start=period.start,
            end=period.end,
            number=number,
            rows=period.target.n_target,
            epsilon=asked.epsilon,
            delta=delta,
            verdict=verdict,
            finding=finding,
            error=error,
            fresh=fresh,
            fresh_size=estimated_size(period.target, fresh),
            size=size,
            empty=empty,
            in_use_number=self._saved.in_use_number,
            source_number=self.source_number,
            source_looks=looks,
            in_use_epsilon=None if in_use is None else in_use.epsilon,
        )
        self._state.change(periods=self._saved.periods | {name: changed(period, report=report)}, n_reports=number)

    def _count_sizes(self, counted: Iterable[CountedRows]) -> None:
        """Count the sizes of the sets in use in rows that were counted before there were any; costs no delta."""
        if self.certificate is None:
            return
        sizes: dict[str, IntArray] = {}
        for rows in counted:
            for name, counts in rows.sizes(self.certificate).items():
                sizes[name] = sizes[name] + counts if name in sizes else counts
        number, periods = self._saved.in_use_number, self._saved.periods
        sized = {name: periods[name].sized(counts, number) for name, counts in sizes.items() if name in periods}
        self._state.change(periods=periods | sized)

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

    def offer(self, certificate: Certificate) -> bool:
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
            if self._saved.given != digest:
                self._use(certificate, "given")
                self._state.change(given=digest)
        return self.certificate is not None and use_digest(self.certificate) == digest

    def _use(self, certificate: Certificate, choice: Choice) -> None:
        check.check_certificate(certificate, self._source)
        digest = use_digest(certificate)
        with self.one_step():
            made = [report for report in self.history if report.fresh and use_digest(report.fresh) == digest]
            itself = [report for report in made if report.fresh is certificate]
            period = next((report.period for report in (*itself, *made)), None)
            now, number = self.in_use, self._saved.in_use_number
            is_new = now is None or use_digest(now.certificate) != digest
            is_chosen_anew = (
                now is not None and choice == "adopted" and (now.choice, now.period) != (choice, period)
            )
            if is_new or is_chosen_anew:
                self._state.change(in_use=InUse(certificate, number + is_new, choice, period))

    @property
    def source(self) -> Tally:
        """Counts of the source in use: the first one, or labelled rows of later periods."""
        rows = [one.rows for one in self._saved.labelled if one.in_source]
        return Tally.sum(rows) if rows else self._source

    @property
    def source_number(self) -> int:
        """Which source is in use: 0 is the first one, later ones are counted as they come."""
        return self._saved.source_number if self.source_periods else 0

    @property
    def source_place(self) -> int:
        """How many periods had been labelled when the source in use came: it decides its share of delta."""
        return len(self._saved.labelled) if self.source_periods else 0

    @property
    def source_looks(self) -> int:
        """In how many sizes the source in use might have come: at any look of each of its sheets."""
        return math.prod(one.looks for one in self._saved.labelled if one.in_source)

    @property
    def source_periods(self) -> tuple[str, ...]:
        """The periods whose labelled rows are the source in use; none if it is the first one."""
        return tuple(one.period for one in self._saved.labelled if one.in_source)

    @property
    def source_in_words(self) -> str:
        """What new periods are compared with."""
        periods, rows = self.source_periods, f"{self.source.n_source:,} labelled rows"
        return f"{rows} of {', '.join(periods)}" if periods else f"the source that was given ({rows})"

    @property
    def labelled_periods(self) -> frozenset[str]:
        """The periods whose labelled rows are or were the source."""
        return frozenset(one.period for one in self._saved.labelled)

    def new_source(
        self, period: str, labelled: Tally, certificate: Certificate, *, sheet: LabelSheet | None = None
    ) -> None:
        """Make labelled rows of a period the source of all later reports, and use the certificate they gave.

        For a period that refutes label shift. Rows labelled earlier stay in the source, unless this period refuted
        a source that they were part of. More labels of the same sheet replace those given before; the same ones
        again change nothing. How many rows are labelled must be fixed beforehand, or be one of the looks of a
        sheet: a source of J looks gets a J-th of delta in every later report. From now on rows cannot be added to
        the period: they would be compared with themselves. ``first_source`` undoes it. "A new source" of the page
        "Monitor" says what holds then.

        Parameters
        ----------
        period : str
            A period that was reported on.
        labelled : Tally
            Counts of a random sample of its rows with their labels, as ``Tally.from_scores`` makes them.
        certificate : Certificate
            Made from these labels, by PS-T: ``calibrate(..., labelled=sheet, method="PS-T")``, with at most the
            monitor's ``epsilon``, ``delta`` and ``class_epsilon``.
        sheet : LabelSheet, optional
            The sheet that the labels stand in. It is remembered, so that another sheet of the period is refused.
            Without one the number of labels is taken as fixed beforehand, and no more can be given.

        Raises
        ------
        InputError
            If the period is not known, or does not refute the first source, if the rows are not rows of the period
            or not those of a look of the sheet, if rows or certificate do not fit the first source, if the
            certificate is not PS-T's or promises less than the monitor, or if other labels of the period were
            given before.

        Examples
        --------
        >>> import numpy as np
        >>> from pacshift import Monitor, Tally, calibrate, label_sheet
        >>> rng = np.random.default_rng(0)
        >>> def patients(n, scanner):
        ...     sick = (rng.random(n) < 0.3).astype(int)
        ...     p = np.round(1 / (1 + np.exp(-rng.normal(5 * sick - 2.0 - scanner, 1.5))), 4)
        ...     return np.column_stack([1 - p, p]), sick
        >>> old, old_labels = patients(9000, scanner=0)
        >>> monitor = Monitor(Tally.from_scores(old, old_labels), epsilon=0.1, delta=0.05)
        >>> rows, truth = patients(4000, scanner=4)
        >>> monitor.update(rows, "June").verdict
        'shift-rejected'
        >>> sheet = label_sheet(rows, budget=400, epsilon=0.1, delta=0.05, rng=1)
        >>> sheet = sheet.with_labels(truth[sheet.rows])  # somebody looked at these rows
        >>> made = calibrate(old, old_labels, rows, labelled=sheet, method="PS-T", epsilon=0.1, delta=0.05)
        >>> monitor.new_source("June", Tally.from_scores(rows[sheet.rows], truth[sheet.rows]), made, sheet=sheet)
        >>> monitor.update(patients(4000, scanner=4)[0], "July").verdict != "shift-rejected"
        True
        >>> monitor.source_in_words
        '400 labelled rows of June'
        """
        with self.one_step():
            saved = self._saved
            found = saved.periods.get(period)
            if found is None or found.report is None:
                known = shorten([report.period for report in self.history]) if self.history else "none yet"
                raise InputError(
                    f"no report on a period {period!r}, so its labels cannot be used. Reported: {known}."
                )
            is_refuted = found.report.verdict == "shift-rejected"
            if not is_refuted and not self.source_number:
                raise InputError(
                    f"{period} does not contradict label shift ({found.report.verdict}), so the source that was "
                    "given stays the better one. Labels can still certify sets for this period: "
                    "calibrate(..., labelled=...)."
                )
            check.check_new_source(labelled, certificate, sheet, self._source, found.target, self.request)
            digest, looks = None, 1
            if sheet is not None:  # by what is fixed before any label is known: which rows, and the looks
                plan = [sheet.target_sha256, sheet.rows.tolist(), sheet.looks, sheet.n_pilot]
                text = json.dumps([*plan, sheet.epsilon, sheet.delta])
                digest, looks = hashlib.sha256(text.encode()).hexdigest(), len(sheet.looks)
            number = saved.source_number + 1
            before = next((one for one in saved.labelled if one.period == period), None)
            if before is not None and not check.is_later_look(before, labelled, digest):
                return
            others = [
                changed(one, in_source=False) if is_refuted and one.since <= found.report.source_number else one
                for one in saved.labelled
                if one is not before
            ]
            since = number if before is None else before.since
            self._state.change(
                labelled=(*others, Labelled(period, labelled, since, digest, looks=looks)),
                source_number=number,
                in_use=InUse(certificate, saved.in_use_number + 1, "labelled", period),
            )

    def first_source(self) -> None:
        """Compare later periods with the first source again: what was labelled meanwhile was an exception.

        Its share of delta is the one that it always had. Reports that were made and the certificate in use stay;
        ``adopt`` changes the latter. Labels that were given cannot be the source again. "A new source" of the page
        "Monitor" says what holds then.
        """
        with self.one_step():
            self._state.change(labelled=tuple(changed(one, in_source=False) for one in self._saved.labelled))

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

        What broke is answered by another certificate. That label shift is rejected is answered by another source,
        or by sets that labels have certified: another certificate that assumes label shift leaves everything as
        it was.
        """
        new = tuple(report for report in self.history if report.number > self._saved.n_delivered)
        if new or not self.history:
            return new
        last, in_use = self.history[-1], self.in_use
        is_answered = in_use is not None and last.in_use_number != in_use.number
        if last.verdict == "shift-rejected":
            by_labels = is_answered and in_use is not None and not in_use.certificate.facts.assumes_label_shift
            is_answered = by_labels or last.source_number != self.source_number
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

    def mark_delivered(self, gaps: Sequence[Gap] = ()) -> None:
        """Remember that all reports have reached somebody, and these gaps.

        Parameters
        ----------
        gaps : sequence of Gap
            Gaps that were told.
        """
        with self.one_step():
            told = [(gap.start, gap.end) for gap in gaps if not lies_in(gap, self._saved.told_gaps)]
            if told or self._saved.n_delivered != self._saved.n_reports:
                self._state.change(n_delivered=self._saved.n_reports, told_gaps=(*self._saved.told_gaps, *told))

    def period_of(self, rows: Tally) -> str | None:
        """Which period holds these rows and no others.

        Parameters
        ----------
        rows : Tally
            Counts of unlabelled rows, in any order.

        Returns
        -------
        str or None
            Its name; None if there is none, or there are too few rows to tell.
        """
        digest = rows_sha256(rows, "target")
        periods = self._saved.periods.values()
        same = [one.name for one in periods if digest and rows_sha256(one.target, "target") == digest]
        return same[0] if same else None
