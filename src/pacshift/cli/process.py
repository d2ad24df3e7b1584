"""How a command ends: signals stop it like Ctrl-C, and what it printed has arrived, or it fails."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Timer, main_thread
from types import FrameType
from typing import Any

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
    report, sys.unraisablehook = sys.unraisablehook, partial(_send_again, sys.unraisablehook)
    try:
        yield
    finally:
        sys.unraisablehook = report
        for number in numbers:  # the last steps of a stopped command are not disturbed
            signal.signal(number, signal.SIG_IGN if _received else signal.SIG_DFL)


def _stop(number: int, _frame: FrameType | None) -> None:
    """Stop as after Ctrl-C, but do not interrupt the tidying up after a first signal."""
    handled = sys.exc_info()[1]
    while handled is not None:
        if isinstance(handled, KeyboardInterrupt):
            return
        handled = handled.__context__
    _received.append(number)
    raise KeyboardInterrupt  # everything that tidies up after Ctrl-C does so now


def _send_again(report: Callable[[Any], object], lost: Any) -> None:
    """Python drops what is raised while an object is removed: a signal that came just then is sent again."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        report(lost)
        return
    wake = hasattr(signal, "pthread_kill")  # not on Windows; also ends a pause of the main thread
    send = partial(signal.pthread_kill, main_thread().ident or 0) if wake else signal.raise_signal
    again = Timer(0.01, send, [_received[-1] if _received else signal.SIGINT])
    again.daemon = True
    again.start()


def stop_code() -> int:
    """Exit code of a stopped command: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + _received[0] if _received else INTERRUPTED


@contextmanager
def whole_output() -> Iterator[None]:
    """What was printed inside has been written when this ends; an OSError, if it cannot be, is raised once.

    Python itself would try again when it ends, say so in its own words and take an exit code of its own.
    """
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):  # without buffers (PYTHONUNBUFFERED) Python drops what does not fit
        how: dict[str, Any] = {"encoding": sys.stdout.encoding, "errors": sys.stdout.errors}
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), **how, line_buffering=True)
    try:
        try:
            yield
        finally:
            _flush()
    except BrokenPipeError:
        raise  # `pacshift ... | head` is no error
    except OSError:
        try:
            _flush()
        except OSError:  # drop what is left
            with suppress(OSError, ValueError):  # what is no file cannot be full either
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _flush() -> None:
    if sys.stdout is not None:  # as it is where the shell has closed it
        sys.stdout.flush()
