"""What a monitor remembers: the certificate in use, the periods with their reports, the files it has counted."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pacshift.arrays import IntArray
from pacshift.certificate import Certificate
from pacshift.errors import InputError
from pacshift.monitor.check import check_certificate, check_target
from pacshift.monitor.periods import Counted, in_order, with_rows
from pacshift.monitor.report import PeriodReport
from pacshift.monitor.state import Delivery, Saved, StateFolder
from pacshift.tally import Tally


class Ledger:
    """The memory of a monitor, in a folder if there is one. Every change is saved in one step."""

    def __init__(self, source: Tally, folder: StateFolder | None) -> None:
        self._source, self._folder, self._is_step_open = source, folder, False
        self._saved = Saved() if folder is None else folder.read()

    @property
    def source(self) -> Tally:
        """Counts of the labelled source."""
        return self._source

    @property
    def certificate(self) -> Certificate | None:
        """The certificate in use; None before the first period if none was given."""
        return self._saved.in_use

    @property
    def history(self) -> tuple[PeriodReport, ...]:
        """The last report of every period, in the order of time."""
        ordered = in_order(self._saved.periods)
        return tuple(period.report for period in ordered if period.report is not None)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        """The files that were counted, in the order in which they came."""
        return self._saved.deliveries

    def has_counted(self, name: str, sha256: str) -> bool:
        """Whether a file was counted before, under this name or another.

        Parameters
        ----------
        name : str
            Name of the file.
        sha256 : str
            SHA-256 of its bytes.

        Returns
        -------
        bool
            Whether a file with the same bytes was counted.

        Raises
        ------
        InputError
            If a file of this name was counted with other bytes: some of its rows might count twice.
        """
        if any(delivery.sha256 == sha256 for delivery in self.deliveries):
            return True
        if any(delivery.name == name for delivery in self.deliveries):
            raise InputError(
                f"{name} was counted before with other content, so some of its rows might be counted twice. "
                "Give new rows in a file of a new name."
            )
        return False

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Save all changes made inside at once, or none of them if an error is raised."""
        if self._is_step_open:
            yield
            return
        before, self._is_step_open = self._saved, True
        try:
            yield
        except BaseException:
            self._saved = before
            raise
        finally:
            self._is_step_open = False
        self._save()

    def add(self, counted: Mapping[str, Counted], delivery: Delivery | None = None) -> None:
        """Add rows to periods without a report, all of them or (if the process dies) none.

        Parameters
        ----------
        counted : mapping of str to Counted
            New rows by the name of their period.
        delivery : Delivery, optional
            The file they came from, remembered so that it is not counted twice.

        Raises
        ------
        InputError
            If rows do not fit the source: other classes, or another kind of scores. Nothing is added then.
        """
        for part in counted.values():
            check_target(part.target, self._source)
        periods = with_rows(self._saved.periods, counted, self._saved.in_use_number)
        more = () if delivery is None else (delivery,)
        self._save(periods=periods, deliveries=self._saved.deliveries + more)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Periods with rows that no report has seen yet, in the order of time."""
        return tuple(period.name for period in in_order(self._saved.periods) if not period.is_reported)

    def adopt(self, certificate: Certificate | None) -> None:
        """Use another certificate from now on. Reports that were made stay as they are.

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
            raise InputError("no certificate to adopt: the rows of that period refute label shift.")
        check_certificate(certificate, self._source)
        self._save(in_use=certificate, in_use_number=self._saved.in_use_number + 1)

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
        self._save(periods=periods)

    def _save(self, **changes: Any) -> None:
        self._saved = replace(self._saved, **changes)
        if self._folder is not None and not self._is_step_open:
            self._folder.write(self._saved)
