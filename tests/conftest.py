"""Fixtures every test file may use."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real scores; tests that ask for it skip where it is absent."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("PACSHIFT_DATA", beside))
    if not folder.is_dir():
        pytest.skip("real scores not found: set PACSHIFT_DATA to a folder laid out like docs/data-sets.md")
    return folder
