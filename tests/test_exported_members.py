"""The public names are these and no others: a change here is a change for users and belongs in the CHANGELOG."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pacshift
from pacshift.cli.calibrate import calibrate as calibrate_command
from pacshift.cli.commands import flatten_groups
from pacshift.cli.compare import compare as compare_command
from pacshift.cli.label import label as label_command
from pacshift.cli.plan import plan as plan_command
from pacshift.cli.prevalence import prevalence as prevalence_command

NAMES = """
APS AssumptionError Certificate Check Comparison Evaluation InputError Interval LWCP LabelSheet METHODS
Monitor NextLabels Oracle PACClassifier PS PSC PSLP PSLW PSR PST PSW PacshiftError PeriodReport Plan Population
Prevalence Rows SetsWritten Tally UnfinishedSheetError UninformativeWarning Verification WCP accept calibrate
check compare evaluate label_sheet next_labels plan prevalence read resample
set_scorer tweak_one verify write_sets
"""
PUBLIC = set(NAMES.split())


def test_public_names() -> None:
    assert set(pacshift.__all__) == PUBLIC


def test_type_checkers_read_the_same_list() -> None:
    """``__init__.pyi`` is the one list of names. Each line exports one of them, from a module that has it."""
    tree = ast.parse(Path(str(pacshift.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = [(name.name, name.asname) for node in imports for name in node.names]
    assert sorted(names) == sorted((name, name) for name in PUBLIC)
    assert {name: node.module for node in imports for name in [node.names[0].name]} == pacshift.__dict__["_HOMES"]


def test_the_core_imports_neither_the_extras_nor_large_parts_of_scipy() -> None:
    """They would make every command start later: the parts of SciPy alone take longer than NumPy."""
    extras = "sklearn pyarrow matplotlib pandas polars pyspark typer rich jinja2 highspy importlib.metadata"
    slow = (*extras.split(), *(f"scipy.{name}" for name in ("optimize", "sparse", "special", "stats")))
    others = sorted(
        PUBLIC - {"PACClassifier", "SetsWritten", "set_scorer", "read", "write_sets"}
    )  # these need scikit-learn, and Arrow
    assert loaded(f"from pacshift import {', '.join(others)}", slow) == []


def test_importing_the_package_loads_nothing_that_takes_time() -> None:
    assert loaded("import pacshift; pacshift.__version__, dir(pacshift)", ("numpy", "scipy", "highspy")) == []


def test_the_version_is_printed_without_the_command_line_library() -> None:
    code = "import pacshift_command; sys.argv = ['pacshift', '--version']; pacshift_command.main()"
    assert loaded(code, ("typer", "rich", "numpy")) == ["pacshift", pacshift.__version__]


def test_every_public_name_has_a_home() -> None:
    assert set(dir(pacshift)) == PUBLIC | {"__version__", "blocks", "onnx", "plots", "report"}
    assert pacshift.methods.Method.__module__ == "pacshift.methods.base"  # without an import of its own
    with pytest.raises(AttributeError, match="no attribute 'certify'"):
        getattr(pacshift, "certify")  # noqa: B009


def loaded(code: str, names: tuple[str, ...]) -> list[str]:
    """Which of the modules a program loads."""
    code = f"import sys; {code}; print(*(name for name in {names} if name in sys.modules))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


DOORS = (
    pacshift.calibrate,
    pacshift.compare,
    pacshift.label_sheet,
    pacshift.Monitor,
    pacshift.PACClassifier,
    pacshift.plan,
    pacshift.prevalence,
    *(
        flatten_groups(command)
        for command in (calibrate_command, compare_command, plan_command, prevalence_command)
    ),
    flatten_groups(label_command),
)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__doc__.partition(".")[0])
def test_epsilon_and_delta_have_the_same_defaults_everywhere(door: Callable[..., Any]) -> None:
    parameters = inspect.signature(door).parameters
    assert parameters["delta"].default == 0.05
    if "epsilon" in parameters:
        assert parameters["epsilon"].default == 0.1


@pytest.mark.parametrize(
    ("unknown", "hint"),
    [("alpha", "Did you mean 'epsilon'"), ("classs", "Did you mean 'classes'"), ("zzz", "It has source, ")],
)
def test_a_parameter_of_another_library_is_translated(unknown: str, hint: str) -> None:
    with pytest.raises(TypeError, match=rf"calibrate\(\) has no parameter {unknown!r}. {hint}"):
        pacshift.calibrate([[0.9, 0.1]], [0], **{unknown: 0.1})  # type: ignore[arg-type]


def test_a_warning_names_the_line_of_the_user() -> None:
    with pytest.warns(pacshift.UninformativeWarning) as caught:
        pacshift.calibrate([[0.9, 0.1], [0.1, 0.9]], [0, 1], [[0.9, 0.1]])
    assert caught[0].filename == __file__


def test_modules_with_extras_need_no_import_of_their_own() -> None:
    code = "import pacshift; print(pacshift.plots.overview.__name__, pacshift.report.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown.split() == ["overview", "pacshift.report"]


def test_help_shows_types_as_they_are_written_and_real_defaults() -> None:
    shown = str(inspect.signature(pacshift.calibrate))
    assert shown.startswith("(source: ScoresLike | Rows | Tally, labels: ")
    assert "epsilon: float = 0.1" in shown
    assert len(shown) <= 700
    publics = pacshift.Rows, pacshift.Certificate.sets, pacshift.Monitor.update, pacshift.Tally.from_scores
    for public in publics:  # also of classes and their methods
        assert "scores: ScoresLike" in (text := str(inspect.signature(public))) or "target: ScoresLike" in text
    assert str(inspect.signature(pacshift.read)).endswith(" -> Rows")
