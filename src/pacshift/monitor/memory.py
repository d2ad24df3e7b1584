"""What a monitor remembers, changed in steps: each is saved whole or not at all, and knows those of others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pacshift.certificate import Certificate
from pacshift.errors import InputError
from pacshift.monitor.check import check_certificate
from pacshift.monitor.in_use import Choice, InUse, use_digest
from pacshift.monitor.manifest import ANY_GIVEN, Saved
from pacshift.monitor.periods import in_order
from pacshift.monitor.report import PeriodReport
from pacshift.monitor.state import CURRENT, StateFolder
from pacshift.tally import Tally


class Memory:
    """The first source, the certificate in use and the reports, in a folder if there is one."""

    def __init__(self, source: Tally, folder: StateFolder | None) -> None:
        self._source, self._folder, self._is_step_open = source, folder, False
        self._saved = Saved()
        if folder is not None:
            with folder.lock.held():
                self._saved = folder.read()

    @property
    def in_use(self) -> InUse | None:
        """The certificate in use, with who chose it; None before the first period if none was given."""
        return self._saved.in_use

    @property
    def certificate(self) -> Certificate | None:
        """The certificate in use; None before the first period if none was given."""
        return None if self._saved.in_use is None else self._saved.in_use.certificate

    @property
    def current_file(self) -> Path | None:
        """The copy of the certificate in use in the state folder, for ``pacshift predict``; None without one."""
        return None if self._folder is None or self.in_use is None else self._folder.path / CURRENT

    @property
    def state_folder(self) -> Path | None:
        """The folder that remembers; None without one."""
        return None if self._folder is None else self._folder.path

    @property
    def history(self) -> tuple[PeriodReport, ...]:
        """The last report of every period, in the order of time."""
        ordered = in_order(self._saved.periods)
        return tuple(period.report for period in ordered if period.report is not None)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let no other process use the state folder meanwhile, and begin with what the last one has saved."""
        if self._folder is None:
            yield
            return
        with self._folder.lock.held() as is_first:
            if is_first:
                self._saved = self._folder.read_again(self._saved)
            yield

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Save all changes made inside at once, or none of them if an error is raised."""
        if self._is_step_open:
            yield
            return
        with self.exclusive():
            before, self._is_step_open = self._saved, True
            try:
                yield
                if self._folder is not None and self._saved is not before:
                    self._folder.write(self._saved)
            except BaseException:
                self._saved = before
                raise
            finally:
                self._is_step_open = False

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
            raise InputError("no certificate to adopt: the rows of that period refute label shift.")
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
            if self._saved.given not in (digest, ANY_GIVEN):
                self._use(certificate, "given")
            if self._saved.given != digest:
                self._save(given=digest)
        return self.certificate is not None and use_digest(self.certificate) == digest

    def _use(self, certificate: Certificate, choice: Choice) -> None:
        check_certificate(certificate, self._source)
        digest = use_digest(certificate)
        with self.one_step():
            made = [report for report in self.history if report.fresh and use_digest(report.fresh) == digest]
            itself = [report for report in made if report.fresh is certificate]
            period = next((report.period for report in (*itself, *made)), None)
            now = self.in_use
            is_same = now is not None and use_digest(now.certificate) == digest
            if now is None or not is_same:
                self._save(in_use=InUse(certificate, self._saved.in_use_number + 1, choice, period))
            elif choice == "adopted" and (now.choice, now.period) != (choice, period):
                self._save(in_use=InUse(certificate, now.number, choice, period))  # the same sets, chosen now

    def _save(self, **changes: Any) -> None:
        """Change what is remembered, within a step."""
        assert self._is_step_open
        self._saved = replace(self._saved, **changes)
