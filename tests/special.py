"""What is in a folder but is no regular file."""

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest


def special_file(folder: Path, kind: str) -> Path:
    """A folder, pipe, socket or device of the test's own.

    Never a device of the machine: where the code under test is broken, a test run as root would replace it.
    """
    path = folder / f"special-{kind}"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(folder):
            made.bind(path.name)  # the name of a socket must be short
    else:
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as /dev/null
        except PermissionError:
            pytest.skip("making a device needs root")
    return path
