"""The ``pacshift`` command from its first moment: Ctrl-C while it loads, a missing extra, SIGTERM.

This module stands beside the package and imports nothing heavy, so that it is in charge before NumPy and the
others are loaded. The commands themselves are in ``pacshift.cli``.
"""

import os
import signal
import sys
from typing import Any, NoReturn

BAD_INPUT, INTERRUPTED = 2, 130


def main() -> None:
    """Entry point of the ``pacshift`` command and of ``python -m pacshift``."""
    signal.signal(signal.SIGINT, _stop_loading)
    try:
        from pacshift.cli import run
    except ModuleNotFoundError as error:
        _missing(error)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    finally:
        # The work is done: Ctrl-C while Python tidies up ends it at once, without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _stop_loading(_number: int, _frame: Any) -> NoReturn:
    """Nothing has been done yet, and libraries do not expect an exception while they are loaded."""
    os.write(2, b"stopped\n")
    os._exit(INTERRUPTED)


def _missing(error: ModuleNotFoundError) -> NoReturn:
    if (error.name or "").startswith("pacshift"):
        raise error
    sys.stderr.write(
        f"error: the pacshift command needs {error.name}, which is not installed. "
        "Install it: pip install 'pacshift[cli]'.\n"
    )
    sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
