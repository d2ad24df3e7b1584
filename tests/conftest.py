"""Fixtures every test file may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: a busy machine must not fail a test. Derandomised: CI never meets a new example by surprise.
settings.register_profile("pacshift", deadline=None, derandomize=True)
settings.register_profile("many", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "pacshift"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real scores; tests that ask for it skip where it is absent."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("PACSHIFT_DATA", beside))
    if not folder.is_dir():
        pytest.skip("real scores not found: set PACSHIFT_DATA to a folder laid out like docs/data-sets.md")
    return folder
