"""Fixtures every test file here may use; ../conftest.py has those that the tests of the paper use too."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A cluster of two executors on this machine, each a process of its own."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install '.[spark]'")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java: install a JRE (Debian: openjdk-17-jre-headless)")
    import pacshift

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = sql.SparkSession.builder.master("local-cluster[2,1,1024]").appName("pacshift tests")
        options = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.executorEnv.PYTHONPATH": str(Path(pacshift.__file__).parents[1]),
            "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",  # many batches per partition
        }
        for key, value in options.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")  # the test below kills an executor, about which Spark says a lot
        yield session
        session.stop()


@pytest.fixture(scope="module")  # its event loop must not stay open for the tests of other modules
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium not found: install the system's chromium package")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    flags = ["no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"]
    flags += ["disable-component-update", "disable-sync"]
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=[f"--{flag}" for flag in flags])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Tables of birds and a certificate, as `commands.Data`, for tests that only read them."""
    from commands import make_tables

    return make_tables(tmp_path_factory.mktemp("birds"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a hospital, with two quiet months."""
    from hospital import USUAL, write_hospital

    monkeypatch.chdir(tmp_path)
    write_hospital(tmp_path, {3: USUAL, 4: USUAL})
    return tmp_path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports with empty pictures, for tests of their words: drawing takes nearly all of their time."""

    def nothing(pictures: dict[str, Any]) -> dict[str, Any]:
        from markupsafe import Markup

        return dict.fromkeys(pictures, Markup("<svg></svg>"))

    monkeypatch.setattr("pacshift.report.build.draw_all", nothing)


@pytest.fixture
def untested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the test of label shift, which takes most of the time and has Monte-Carlo tests of its own."""
    for module in ("certify", "prevalence"):
        for step in ("check_label_shift", "explain_refusal"):
            monkeypatch.setattr(f"pacshift.certification.{module}.{step}", lambda *_, **__: None)
