"""The source in use: the first one, or the labelled rows of later periods ("A new source" of the page)."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import replace

from pacshift.certificate import Certificate
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.request import Request
from pacshift.errors import InputError
from pacshift.monitor.check import (
    check_certificate,
    check_labelled_rows,
    check_labels_of_sheet,
    check_own_labels,
)
from pacshift.monitor.in_use import InUse
from pacshift.monitor.labelled import Labelled
from pacshift.monitor.memory import Memory
from pacshift.monitor.periods import Period
from pacshift.scores.check import shorten
from pacshift.tally import Tally
from pacshift.tally.once import may_hold


class Sources(Memory):
    """The memory of a monitor with what its periods are compared with."""

    _request: Request  # what is asked for; a monitor knows it

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
        'refuted'
        >>> sheet = label_sheet(rows, budget=400, epsilon=0.1, delta=0.05, rng=1)
        >>> sheet = sheet.with_labels(truth[sheet.rows])  # somebody looked at these rows
        >>> made = calibrate(old, old_labels, rows, labelled=sheet, method="PS-T", epsilon=0.1, delta=0.05)
        >>> monitor.new_source("June", Tally.from_scores(rows[sheet.rows], truth[sheet.rows]), made, sheet=sheet)
        >>> monitor.update(patients(4000, scanner=4)[0], "July").verdict != "refuted"
        True
        >>> monitor.source_in_words
        '400 labelled rows of June'
        """
        with self.one_step():
            found = self._reported(period)
            check_labelled_rows(labelled, self._source, found.target)
            check_certificate(certificate, self._source)
            check_own_labels(certificate, self._request)
            if sheet is not None:
                check_labels_of_sheet(labelled, sheet)
            digest, looks = (None, 1) if sheet is None else (sheet_digest(sheet), len(sheet.looks))
            number = self._saved.source_number + 1
            known = next((one for one in self._saved.labelled if one.period == period), None)
            if known is not None and not _is_later_look(known, labelled, digest):
                return
            since = number if known is None else known.since
            others = [_kept(one, found) for one in self._saved.labelled if one is not known]
            self._save(
                labelled=(*others, Labelled(period, labelled, since, digest, looks=looks)),
                source_number=number,
                in_use=InUse(certificate, self._saved.in_use_number + 1, "labelled", period),
            )

    def first_source(self) -> None:
        """Compare later periods with the first source again: what was labelled meanwhile was an exception.

        Its share of delta is the one that it always had. Reports that were made and the certificate in use stay;
        ``adopt`` changes the latter. Labels that were given cannot be the source again. "A new source" of the page
        "Monitor" says what holds then.
        """
        with self.one_step():
            self._save(labelled=tuple(replace(one, in_source=False) for one in self._saved.labelled))

    def _reported(self, name: str) -> Period:
        """A period whose labelled rows may be a source."""
        found = self._saved.periods.get(name)
        if found is None or found.report is None:
            known = shorten([report.period for report in self.history]) if self.history else "none yet"
            raise InputError(f"no report on a period {name!r}, so its labels cannot be used. Reported: {known}.")
        if found.report.verdict != "refuted" and not self.source_number:
            raise InputError(
                f"{name} does not refute label shift ({found.report.verdict}), so the source that was given stays "
                "the better one. Labels can still certify sets for this period: calibrate(..., labelled=...)."
            )
        return found

    def _require_unlabelled(self, periods: Iterable[str]) -> None:
        """Refuse more rows of a period that is a source: they would be compared with themselves."""
        for name in self.labelled_periods & set(periods):
            raise InputError(
                f"{name}: labelled rows of this period are a source now, so no rows can be added to it, nor "
                "exchanged. Leave them out."
            )

    @property
    def labelled_periods(self) -> frozenset[str]:
        """The periods whose labelled rows are or were the source."""
        return frozenset(one.period for one in self._saved.labelled)


def _is_later_look(known: Labelled, rows: Tally, sheet: str | None) -> bool:
    """Whether there are more labels of a period than before; False if they are the same. Others are refused."""
    if known.sheet != sheet:
        raise InputError(
            f"{known.period} was labelled with another sheet before. Certificates of two sheets would each be "
            "wrong with the chance that one may be. Go on with the first sheet."
        )
    if not known.in_source:
        raise InputError(
            f"the labelled rows of {known.period} are no longer the source: a later period refuted them, or the "
            "first source was chosen again. Label rows of a later period."
        )
    if known.rows == rows:
        return False
    if sheet is None:
        raise InputError(
            f"{known.period} was labelled before, without a sheet. How many rows are labelled must be fixed "
            "beforehand, or be one of the looks of a sheet. Keep the labels that were given."
        )
    if rows.n_source <= known.rows.n_source or not may_hold(rows, known.rows):
        raise InputError(
            f"{known.rows.n_source:,} labelled rows of {known.period} were given before, these are "
            f"{rows.n_source:,} others. Labels that were given cannot be changed. Give all of them, and more."
        )
    return True


def _kept(one: Labelled, period: Period) -> Labelled:
    """Earlier labelled rows, no longer in the source if the period's report refuted a source with them."""
    report = period.report
    assert report is not None  # checked before
    is_refuted = report.verdict == "refuted" and one.since <= report.source_number
    return replace(one, in_source=one.in_source and not is_refuted)


def sheet_digest(sheet: LabelSheet) -> str:
    """SHA-256 of what is fixed before any label is known: which rows are labelled, and the looks."""
    plan = [sheet.target_sha256, sheet.rows.tolist(), sheet.looks, sheet.n_pilot, sheet.epsilon, sheet.delta]
    return hashlib.sha256(json.dumps(plan).encode()).hexdigest()
