"""Ctrl-C, SIGTERM and SIGHUP end a command in the same way: drafts are removed, one line is said."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after Ctrl-C. For every signal shells say 128 and its number."""

_NUMBERS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
_received: list[int] = []  # signals belong to the process, and so does this


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP stop like Ctrl-C while a command runs; a signal that is ignored (nohup) stays ignored."""
    numbers = [number for number in _NUMBERS if signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in numbers:
            if signal.getsignal(number) == _stop:  # not while a stopped command tidies up
                signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt the tidying up
    _received.append(number)
    raise KeyboardInterrupt  # everything that tidies up after Ctrl-C does so now


def stop_code() -> int:
    """Exit code of a stopped command: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + _received[0] if _received else INTERRUPTED
