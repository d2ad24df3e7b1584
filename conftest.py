"""What all tests and doctests share: settings, the real scores, and what is left out without torch or Spark."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Doctests come from every module; those that need a package are left out without it.
NEEDS = {"torch": "paper/recipes/fitting/*", "pyspark": "src/pacshift/rows/spark.py"}
collect_ignore_glob = [modules for package, modules in NEEDS.items() if not find_spec(package)]

# No deadline: a busy machine must not fail a test. Derandomised: CI never meets a new example by surprise.
settings.register_profile("pacshift", deadline=None, derandomize=True)
settings.register_profile("many", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "pacshift"))

# NumPy is not loaded yet, so this counts. pytest-xdist keeps every core busy, and on the small matrices of these
# tests further threads only wait for each other: they double the time that the suite takes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Certificates say when they were made. Tests that compare whole files must not depend on the second.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1760000000")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Tests that ask for real scores can be chosen by a marker."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real scores; tests that ask for it skip where it is absent."""
    beside = Path(__file__).resolve().parents[1] / "shared" / "data"
    folder = Path(os.environ.get("PACSHIFT_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("real scores not found: set PACSHIFT_DATA to a folder laid out like paper/data-sets.md")
    return folder
