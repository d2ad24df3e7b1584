"""Examples of the pages "In a service", "Deploy" and "Large tables" compile, and run where their libraries are."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import Data, make_tables, run
from pacshift import Certificate

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("serving.md", "deploy.md", "scale.md")
PAGE = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in PAGES)
PYTHON: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
YAML: list[str] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Data:
    """A folder with the files that the page names."""
    monkeypatch.chdir(tmp_path)
    made = make_tables(tmp_path)
    pa.parquet.write_table(pa.parquet.read_table(made.target), "new.parquet")
    return made


def block(library: str) -> str:
    """The one example that imports a library."""
    (found,) = [code for code in PYTHON if re.search(rf"^(import|from) {library}\b", code, re.MULTILINE)]
    return found


def executed(library: str) -> dict[str, Any]:
    pytest.importorskip(library)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block(library), library, "exec"), names)
    return names


@pytest.mark.parametrize("library", ["duckdb", "polars", "fastapi", "mlflow"])
def test_every_example_is_python(library: str) -> None:
    compile(block(library), library, "exec")


def test_sql_makes_the_sets(data: Data) -> None:
    names = executed("duckdb")
    made: Certificate = names["certificate"]
    rows = pa.parquet.read_table("new.parquet").sort_by("id")
    wanted = [[name for name in made.classes if row[name]] for row in made.sets(rows).to_pylist()]
    found = pa.parquet.read_table("sets.parquet").sort_by("id")
    assert found.column("labels").to_pylist() == wanted


def test_a_query_is_counted(data: Data) -> None:
    made: Certificate = executed("polars")["certificate"]
    rows = pa.parquet.read_table("target.parquet")
    assert made.n_target == sum(number > 500 for number in rows.column("id").to_pylist())
    assert made.guarantee == "pac-target"


@pytest.mark.filterwarnings("ignore")  # of the library about itself
def test_fastapi_serves_the_sets(data: Data) -> None:
    names = executed("fastapi")
    pytest.importorskip("httpx")
    client = pytest.importorskip("fastapi.testclient").TestClient(names["app"])
    assert "crow" in client.post("/set", json=[0.98, 0.01, 0.01]).json()
    assert client.post("/set", json=[0.5, 0.5]).status_code == 422


def test_numpy_is_enough_to_serve(data: Data) -> None:
    program = """
import sys
sys.modules.update(dict.fromkeys(("scipy", "threadpoolctl", "highspy", "pyarrow"), None))
from pacshift import Certificate
made = Certificate.load("certificate.json")
print(made.predictor().labels([0.98, 0.01, 0.01]), made.provenance.warnings(model_id="net 3") != [])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wanted = Certificate.load("certificate.json").labels([[0.98, 0.01, 0.01]])[0]
    assert done.stdout == f"{wanted} True\n"


def test_the_image_has_what_the_service_needs() -> None:
    (image,) = re.findall(r"```dockerfile\n(.*?)```", PAGE, re.DOTALL)
    assert "--no-deps /tmp/pacshift" in image
    assert {"numpy", "fastapi", "uvicorn"} <= set(image.split())
    assert "service.py certificate.json" in image


@pytest.mark.filterwarnings("ignore")  # of the library about itself
def test_mlflow_keeps_the_certificate(data: Data, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.create_experiment("sets", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("sets")
    run_id = executed("mlflow")["run"].info.run_id
    logged = Path(mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="certificate.json"))
    assert logged.read_bytes() == Path("certificate.json").read_bytes()


def test_the_gate_is_yaml_and_its_commands_run(data: Data) -> None:
    yaml = pytest.importorskip("yaml")
    (text,) = YAML
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("pacshift")]
    assert [shlex.split(line)[1] for line in commands] == ["check", "monitor"]
    for line in commands:
        done = run(*shlex.split(line)[1:])
        assert done.exit_code == 0, done.output
    table = pa.parquet.read_table(data.labelled)
    others = pa.array(["owl"] * table.num_rows)
    pa.parquet.write_table(table.set_column(table.column_names.index("label"), "label", others), data.labelled)
    assert run(*shlex.split(commands[0])[1:]).exit_code == 4
