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

SMALLEST_SPACE = 1 << 30
"""Bytes of address space (``ulimit -v``) that the libraries need. With 0.7 GB some spin for ever or crash, out of
reach of signals; with 0.8 GB a small run of ``monitor`` ended well."""
AMPLE_SPACE = 4 << 30
"""Below this the libraries are told to reserve little: Arrow takes a gigabyte beforehand, BLAS some per thread."""
FRUGAL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Entry point of the ``pacshift`` command and of ``python -m pacshift``."""
    if sys.argv[1:] == ["--version"]:  # asked by scripts, often: without waiting for Typer
        return _print_version()
    _on_interrupt(_stop_loading)
    is_quick = _is_quick(sys.argv[1:])
    if not is_quick:
        _fit_into_space(_address_space())
    try:
        from pacshift.cli import run

        if not is_quick:
            import pacshift.certification.calibrate  # noqa: F401  NumPy and others do not expect Ctrl-C
            from pacshift.mix.lp import solver

            solver()
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


def _print_version() -> None:
    from pacshift import __version__

    sys.stdout.write(f"pacshift {__version__}\n")


def _is_quick(words: "list[str]") -> bool:
    """Whether only the version, help or a completion is asked for, which need none of the large libraries."""
    return not words or not {"--version", "--help", "-h"}.isdisjoint(words) or "_PACSHIFT_COMPLETE" in os.environ


def _address_space() -> "int | None":
    """Bytes that this process may map (``ulimit -v``); None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _fit_into_space(limit: "int | None") -> None:
    """Make the libraries frugal where memory is limited, and end the command where it cannot be enough."""
    if limit is None or limit >= AMPLE_SPACE:
        return
    if limit < SMALLEST_SPACE:
        sys.stderr.write(
            f"error: the memory of this process is limited to {limit / 1e9:.2f} GB of address space (ulimit -v), "
            f"and pacshift needs at least {SMALLEST_SPACE / 1e9:.2f} GB. Raise the limit.\n"
        )
        sys.exit(BAD_INPUT)
    for name, value in FRUGAL.items():
        os.environ.setdefault(name, value)  # read by the libraries when they are loaded


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
    from pacshift.errors import install_line

    sys.stderr.write(f"error: the pacshift command needs {error.name}. {install_line('cli')}.\n")
    return BAD_INPUT


if __name__ == "__main__":
    main()
