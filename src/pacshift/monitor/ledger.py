"""The rows that a monitor has counted, period by period: each of them once. And who has heard about them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from pacshift.arrays import IntArray, KeyArray
from pacshift.errors import InputError
from pacshift.monitor.calendar import Gap, find_gaps, lies_in
from pacshift.monitor.check import check_target
from pacshift.monitor.deliveries import Delivery, digests, require_new, whole_digest
from pacshift.monitor.periods import Counted, in_order, recounted, with_rows
from pacshift.monitor.report import PeriodReport
from pacshift.monitor.sources import Sources
from pacshift.tally import Tally
from pacshift.tally.once import may_hold, rows_sha256


class Ledger(Sources):
    """The sources of a monitor with its periods and deliveries."""

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """The files and arrays that were counted, in the order in which they came."""
        return self._saved.deliveries

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

    def has_counted(self, sha256: str) -> bool:
        """Whether a file was counted before, under this name or another.

        Parameters
        ----------
        sha256 : str
            SHA-256 of its bytes.

        Returns
        -------
        bool
            Whether a file with the same bytes was counted.
        """
        return any(delivery.sha256 == sha256 for delivery in self.deliveries)

    def add(self, counted: Mapping[str, Counted], delivery: Delivery | None = None) -> bool:
        """Add rows to periods without a report, all of them or (if the process dies) none.

        Parameters
        ----------
        counted : mapping of str to Counted
            New rows by the name of their period.
        delivery : Delivery, optional
            The file they came from.

        Returns
        -------
        bool
            Whether the rows are new. Rows that were all counted before are not counted again.

        Raises
        ------
        InputError
            If rows do not fit the source (other classes, or another kind of scores), if some of them may have been
            counted before, or if labelled rows of their period are a source. Nothing is added then.
        """
        for part in counted.values():
            check_target(part.target, self._source)
        with self.one_step():
            self._require_keys(counted)
            n_rows = sum(part.target.n_target for part in counted.values())
            found = replace(delivery or Delivery(None, None, n_rows), parts=digests(counted))
            found = replace(found, whole=found.whole or whole_digest(counted))
            if not self.has_keys and not require_new(found, self.deliveries):
                self._remember_name(found)
                return False
            self._require_unlabelled(counted)
            periods = with_rows(self._saved.periods, counted, self._saved.in_use_number)
            self._save(periods=periods, deliveries=(*self.deliveries, found))
        return True

    def recount(self, counted: Mapping[str, Counted], deliveries: Sequence[Delivery]) -> list[str]:
        """Count periods anew: these rows replace all of theirs. Their next reports are new reports.

        Parameters
        ----------
        counted : mapping of str to Counted
            All rows of each period.
        deliveries : sequence of Delivery
            The files they came from, each with its digests of these periods.

        Returns
        -------
        list of str
            Files whose rows of these periods no longer count.

        Raises
        ------
        InputError
            If a period is not known, is a source itself, or its rows do not fit the source.
        """
        for name, part in counted.items():
            check_target(part.target, self._source)
            if name not in self._saved.periods:
                raise InputError(f"no period {name!r} to replace. Leave out replace=True to count it first.")
        given = {one.name for one in deliveries if one.name is not None}
        with self.one_step():
            self._require_keys(counted)
            self._require_unlabelled(counted)
            old = [one for one in self.deliveries if not set(one.parts).isdisjoint(counted)]
            kept = [one.without(*counted) for one in self.deliveries if one.name not in given]
            again = [replace(one, parts={**self._parts_of(one.name, counted), **one.parts}) for one in deliveries]
            periods = recounted(self._saved.periods, counted, self._saved.in_use_number)
            self._save(periods=periods, deliveries=(*kept, *again))
        return [one.called for one in old if one.name not in given]

    @property
    def has_keys(self) -> bool:
        """Whether rows are told apart by keys."""
        return any(period.keys is not None for period in self._saved.periods.values())

    def use_reading(self, reading: Mapping[str, str | None]) -> None:
        """Remember how files are read and cut into periods; refuse to read later ones otherwise.

        Rows that are cut or chosen in another way are not known again, so they would count twice.

        Parameters
        ----------
        reading : mapping of str to str or None
            Options by their names, such as ``{"timestamp": "seen", "period": "month"}``.

        Raises
        ------
        InputError
            If it differs from that of an earlier run.
        """
        with self.one_step():
            known = self._saved.reading
            if known is None:
                self._save(reading=dict(reading))
                return
            differ = [name for name in (*known, *reading) if known.get(name) != reading.get(name)]
            if differ:
                name = differ[0]
                was, now = (
                    f"{name}={each[name]!r}" if each.get(name) else f"no {name}=" for each in (known, reading)
                )
                raise InputError(
                    f"{self.state_folder} was begun with {was} and now there is {now}. Rows that are cut or "
                    "chosen in another way would count twice. Give the same as before, or begin with a new folder."
                )

    def known_keys(self, *, but: str | None = None) -> dict[str, KeyArray]:
        """Hashes of the keys of all rows.

        Parameters
        ----------
        but : str, optional
            A period whose rows are left out.

        Returns
        -------
        dict of str to uint64 arrays
            By the name of the period.
        """
        periods = self._saved.periods.values()
        return {one.name: one.keys for one in periods if one.keys is not None and one.name != but}

    def changed_periods(self, again: Mapping[str, Tally]) -> list[str]:
        """Where rows that were counted before have other scores now.

        Parameters
        ----------
        again : mapping of str to Tally
            Rows that were counted before, by the period that has their keys.

        Returns
        -------
        list of str
            Names of the periods that do not hold these rows. Counts are coarse: small changes are not seen.
        """
        return [name for name, rows in again.items() if not may_hold(self._saved.periods[name].target, rows)]

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

    @property
    def period_names(self) -> tuple[str, ...]:
        """Names of all periods, in the order in which they came."""
        return tuple(self._saved.periods)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Periods with rows that no report has seen yet, in the order of time."""
        return tuple(period.name for period in in_order(self._saved.periods) if not period.is_reported)

    @property
    def undelivered(self) -> tuple[PeriodReport, ...]:
        """Reports that have not reached anybody yet, in the order of time."""
        return tuple(report for report in self.history if report.number > self._saved.n_delivered)

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
                self._save(n_delivered=self._saved.n_reports, told_gaps=(*self._saved.told_gaps, *told))

    def set_sizes(self, sizes: Mapping[str, IntArray | None]) -> None:
        """Record the sizes of the sets in use, counted after the periods were; costs no share of delta.

        Parameters
        ----------
        sizes : mapping of str to int array
            Counts of sets by size, by the name of the period. Those that do not cover all rows are ignored.
        """
        periods = dict(self._saved.periods)
        for name, counts in sizes.items():
            if counts is not None:
                periods[name] = periods[name].sized(counts, self._saved.in_use_number)
        with self.one_step():
            self._save(periods=periods)

    def _remember_name(self, repeated: Delivery) -> None:
        """Known rows in a file that was written again, or copied: its bytes need not be counted to be known."""
        if repeated.name is not None:
            known = [one for one in self.deliveries if one.name == repeated.name]
            parts = {period: digest for one in known for period, digest in one.parts.items()}
            whole = known[0].whole if len(known) == 1 else None  # of a copy nothing is counted
            again = replace(repeated, rows=sum(one.rows for one in known), parts=parts, whole=whole)
            self._save(deliveries=(*(one for one in self.deliveries if one not in known), again))

    def _parts_of(self, name: str | None, counted: Mapping[str, Counted]) -> dict[str, str | None]:
        """What else was counted from a file."""
        own = [one for one in self.deliveries if one.name == name and name is not None]
        return {period: digest for one in own for period, digest in one.parts.items() if period not in counted}

    def _require_keys(self, counted: Mapping[str, Counted]) -> None:
        """All rows have keys, or none: a row without one could be any of the others."""
        with_keys = {part.keys is not None for part in counted.values()}
        with_keys |= {period.keys is not None for period in self._saved.periods.values()}
        if len(with_keys) > 1:
            raise InputError(
                "some rows would be counted with a key and some without one, so they could not be told apart. "
                "Give the same key=COLUMN in every run from the first one on, or begin with a new folder."
            )
