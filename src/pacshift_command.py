"""The ``pacshift`` command from its first moment: Ctrl-C while it loads, a missing extra, SIGTERM.

This module stands beside the package and imports nothing heavy, so that it is in charge before NumPy and the
others are loaded. The commands themselves are in ``pacshift.cli``.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # importing typing would leave Ctrl-C without an answer for longer
if TYPE_CHECKING:
    from typing import Any

BAD_INPUT, INTERRUPTED = 2, 130
STOPPED = (129, 130, 143)  # by SIGHUP, Ctrl-C, SIGTERM


def main() -> None:
    """Entry point of the ``pacshift`` command and of ``python -m pacshift``."""
    _on_interrupt(_stop_loading)
    try:
        from pacshift.cli import run

        if not _is_quick(sys.argv[1:]):
            import pacshift.certification.calibrate  # noqa: F401  NumPy and others do not expect Ctrl-C
    except ModuleNotFoundError as error:
        sys.exit(_missing(error))
    try:
        _on_interrupt(signal.default_int_handler)
        run()
    except KeyboardInterrupt:  # in the moments before and after a command
        _leave(INTERRUPTED)
    except SystemExit as end:
        if end.code in STOPPED:
            _leave(end.code)
        raise
    finally:
        _on_interrupt(signal.SIG_DFL)  # the work is done: Ctrl-C while Python tidies up gives no traceback


def _is_quick(words: "list[str]") -> bool:
    """Whether only the version, help or a completion is asked for, which need none of the large libraries."""
    return not words or not {"--version", "--help", "-h"}.isdisjoint(words) or "_PACSHIFT_COMPLETE" in os.environ


def _leave(code: int) -> None:
    """End a stopped command at once. Its drafts are removed; threads of libraries may still be at work.

    Python's own end takes away what such threads use, and they would crash the process.
    """
    from contextlib import suppress

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads it any more
            stream.flush()
    os._exit(code)


def _on_interrupt(handler: "Any") -> None:
    """Set what Ctrl-C does, unless it is ignored, as in the background of a shell script."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def _stop_loading(_number: int, _frame: object) -> None:
    """Nothing has been done yet, and libraries do not expect an exception while they are loaded."""
    os.write(2, b"stopped\n")
    os._exit(INTERRUPTED)


def _missing(error: ModuleNotFoundError) -> int:
    """Say which package is missing; the exit code."""
    if (error.name or "").startswith("pacshift"):
        raise error
    sys.stderr.write(
        f"error: the pacshift command needs {error.name}, which is not installed. "
        "Install it: pip install 'pacshift[cli]'.\n"
    )
    return BAD_INPUT


if __name__ == "__main__":
    main()
