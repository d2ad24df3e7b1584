"""Ctrl-C, SIGTERM and SIGHUP end a command in the same way: drafts are removed, one line is said."""

import signal
from types import FrameType
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after Ctrl-C. For every signal shells say 128 and its number."""

_received: list[int] = []  # signals belong to the process, and so does this


def stop_on_signals() -> None:
    """From now on SIGTERM and SIGHUP stop like Ctrl-C; a signal that is ignored (nohup) stays ignored."""
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)):
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt the tidying up
    _received.append(number)
    raise KeyboardInterrupt  # everything that tidies up after Ctrl-C does so now


def stop_code() -> int:
    """Exit code of a stopped command: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + _received[0] if _received else INTERRUPTED
