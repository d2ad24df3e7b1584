"""The monitor: one labelled source, period after period of unlabelled target rows."""

import os
from collections.abc import Mapping
from dataclasses import replace as changed
from datetime import date
from typing import Any

from pacshift.arrays import IntArray, LabelsLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.request import check_request, require_fit
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.methods import Method, resolve_method
from pacshift.methods.base import default_options, options_of
from pacshift.monitor.check import check_source, require_own_promise
from pacshift.monitor.deliveries import Delivery, digests, find_repeats
from pacshift.monitor.examine import examine
from pacshift.monitor.fresh import fresh_certificate
from pacshift.monitor.in_use import InUse
from pacshift.monitor.ledger import Ledger
from pacshift.monitor.periods import Counted
from pacshift.monitor.report import PeriodReport
from pacshift.monitor.shares import report_delta, source_delta
from pacshift.monitor.state import StateFolder, fingerprint, request_settings
from pacshift.rows.columns import Columns
from pacshift.scores.check import ScoreMatrix, check_scores
from pacshift.tally import Tally
from pacshift.tally.groups import Grouped, one_row_per_group


class Monitor(Ledger):
    """Watch whether a certificate still holds in each new period, and make a fresh one for it.

    Each period is compared with the same labelled source under label shift, until ``new_source`` puts labelled
    rows of a later period in its place. The sizes and label mixes of periods must not depend on the source or on
    earlier reports: a period that is closed because its report looks good, or patients who are admitted by the
    verdict, are not covered. The page "Monitor" has the proofs, and says what holds even then.

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
    >>> from pacshift import Monitor, Tally, calibrate_tally
    >>> rng = np.random.default_rng(0)
    >>> def patients(share_sick):
    ...     sick = (rng.random(9000) < share_sick).astype(int)
    ...     p = np.round(1 / (1 + np.exp(-rng.normal(5 * sick - 4.0, 1.5))), 4)
    ...     return np.column_stack([1 - p, p]), sick
    >>> source = Tally.from_scores(*patients(0.05))
    >>> old = calibrate_tally(source, epsilon=0.05, delta=0.05, method="PS")  # a method that ignores the shift
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
        check_source(source)
        self._method = require_own_promise(resolve_method(method))
        self._request = check_request(
            epsilon=epsilon,
            delta=delta,
            class_epsilon=class_epsilon,
            contamination=contamination,
            known_mix=known_mix,
            model_id=model_id,
            rng=rng,
        ).for_classes(source.classes)
        require_fit(self._method, self._request)
        self._forever, self._columns = bool(forever), columns
        settings = request_settings(self._request) | {
            "forever": self._forever,
            "method": self._method.name,
            "options": options_of(self._method),
        }
        defaults = default_options(self._method)
        folder = None if state is None else StateFolder(state, settings, fingerprint(source), defaults)
        super().__init__(source, folder)
        if certificate is not None:
            self.offer(certificate)

    @property
    def epsilon(self) -> float:
        """Share of true labels that the sets may miss in every period."""
        return self._request.epsilon

    @property
    def class_epsilon(self) -> float | None:
        """Share of any one class that the sets may miss, if there is a limit."""
        return self._request.class_epsilon

    @property
    def contamination(self) -> float:
        """Share of every period that may be anything."""
        return self._request.contamination

    @property
    def delta(self) -> float:
        """Chance that a report, or with ``forever`` any report, is wrong."""
        return self._request.delta

    @property
    def forever(self) -> bool:
        """Whether all reports are right at once."""
        return self._forever

    @property
    def method(self) -> str:
        """Name of the method that makes the fresh certificates."""
        return self._method.name

    def update(
        self,
        target: ScoresLike | Tally,
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
        target : array_like, frame or Tally
            Scores of the new rows, one column per class, or their counts.
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
        with self.one_step():
            name = self._new_name() if period is None else str(period)
            rows, n_rows = self._one_per_group(target, groups)
            counted = self._counted(rows, start, end, n_rows)
            if replace:
                self.recount(
                    {name: counted}, [Delivery(None, None, counted.target.n_target, digests({name: counted}))]
                )
            elif not self.add({name: counted}):
                return self._report_on_known(counted, name)
            self.report(name)
            if not isinstance(rows, Tally) and counted.set_sizes is None and self.certificate is not None:
                self.set_sizes({name: self._sizes(rows)})  # adopted just now
            self.mark_delivered()
            report = self._saved.periods[name].report
        assert report is not None
        return report

    def _counted(
        self, target: ScoresLike | ScoreMatrix | Tally, start: str | None, end: str | None, n_rows: int | None
    ) -> Counted:
        """The counts of the rows; ``n_rows`` is their number before one of each group was left."""
        if isinstance(target, Tally):
            return Counted(target, start, end)
        counted = self.count(target)
        if n_rows is not None:
            counted = changed(counted, target_grouped=Grouped(n_rows))
        return Counted(counted, start, end, self._sizes(target))

    def _one_per_group(
        self, target: ScoresLike | Tally, groups: LabelsLike | None
    ) -> tuple[ScoresLike | ScoreMatrix | Tally, int | None]:
        """One row of each group, and how many rows there were; all rows and None without groups."""
        if groups is None:
            return target, None
        if isinstance(target, Tally):
            raise InputError("groups are those of rows, but a Tally was given. Count it with groups=.")
        scores = check_scores(target, name="target", classes=self._source.classes)
        return scores.take(one_row_per_group(groups, scores, softmax=self._source.softmax)), len(scores)

    def _new_name(self) -> str:
        number = len(self._saved.periods) + 1
        while str(number) in self._saved.periods:
            number += 1
        return str(number)

    def _report_on_known(self, counted: Counted, name: str) -> PeriodReport:
        """The report that there is about rows that were counted before."""
        _, period = find_repeats(digests({name: counted}), self.deliveries).get(name, (None, "several"))
        known = self._saved.periods[period].report if period == name else None
        if known is None:
            raise InputError(
                f"these rows were counted before, as period {period!r}, not {name!r}. Every row counts once."
            )
        return known

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
        return self.certificate.provenance.warnings(model_id=self._request.model_id, today=today)

    def count(self, scores: ScoresLike | ScoreMatrix) -> Tally:
        """Count unlabelled rows as the method needs them.

        Parameters
        ----------
        scores : array_like or frame
            One row per example, one column per class.

        Returns
        -------
        Tally
            Counts of the target alone.
        """
        source, soft = self._source, self._method.needs_soft
        return Tally.from_target(scores, classes=source.classes, soft=soft, softmax=source.softmax)

    def report(self, name: str) -> PeriodReport:
        """Report on a period with all of its rows; this spends the next share of delta.

        Parameters
        ----------
        name : str
            Name of the period.

        Returns
        -------
        PeriodReport
            The last report if no rows were added since, else a new one.
        """
        with self.one_step():
            period = self._saved.periods[name]
            if period.report is not None and period.is_reported:
                return period.report
            number = self._saved.n_reports + 1
            source, looks = self.source, self.source_looks
            delta = report_delta(self.delta, number, forever=self._forever, looks=looks)
            request = changed(self._request, delta=delta)
            tally = source + period.target
            fresh = fresh_certificate(tally, self._method, request).with_columns(self._columns)
            if self.in_use is None and fresh.certificate is not None:
                self._save(in_use=InUse(fresh.certificate, 1, "first", name))
            made = examine(
                period,
                fresh,
                self.in_use,
                source,
                self._request,
                number=number,
                delta=delta,
                source_number=self.source_number,
                source_looks=looks,
                source_delta=source_delta(self.delta, self.source_place, forever=self._forever, looks=looks),
            )
            periods = self._saved.periods | {name: changed(period, report=made)}
            self._save(periods=periods, n_reports=number)
        return made

    def _sizes(self, scores: ScoresLike | ScoreMatrix) -> IntArray | None:
        in_use = self.certificate
        return None if in_use is None else in_use.with_set_sizes(scores).set_sizes
