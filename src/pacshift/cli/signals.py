"""Ctrl-C, SIGTERM and SIGHUP end a command in the same way: drafts are removed, one line is said."""

import signal
from types import FrameType
from typing import NoReturn

_FIRST_CODE = 128  # a shell's exit code for a process that was ended by a signal: this, plus the signal's number


class Stopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived. It is raised like Ctrl-C, so that everything that tidies up runs."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def stop_on_signals() -> None:
    """From now on SIGTERM and SIGHUP raise ``Stopped``; a signal that is ignored (nohup) stays ignored."""
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)):
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt the tidying up
    raise Stopped(number)


def stop_code(stopped: KeyboardInterrupt) -> int:
    """Exit code of a stopped command: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

    >>> stop_code(KeyboardInterrupt()), stop_code(Stopped(signal.SIGTERM))
    (130, 143)
    """
    return _FIRST_CODE + (stopped.number if isinstance(stopped, Stopped) else signal.SIGINT)
