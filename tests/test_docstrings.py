"""Everything public has a NumPy docstring that documents exactly its parameters, and is listed on the API page."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from types import FunctionType
from typing import Any

import pytest

griffe = pytest.importorskip("griffe", reason="needs the packages of the group docs: make docs installs them")
pytest.importorskip("pyspark", reason="needs Spark, whose functions are public too: make docs installs it")

API_PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
MODULES = (
    "pacshift",
    "pacshift.blocks",
    "pacshift.estimator",
    "pacshift.methods",
    "pacshift.plots",
    "pacshift.report",
)


def path_of(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def exported(module_name: str) -> dict[str, Any]:
    """Functions and classes in the ``__all__`` of a module; the API page alone lists those of other modules."""
    module = importlib.import_module(module_name)
    found = [getattr(module, name) for name in getattr(module, "__all__", ())]
    return {path_of(value): value for value in found if isinstance(value, FunctionType | type)}


def methods_of(value: type) -> dict[str, Any]:
    """Public methods of a class and of its bases in the package; the first of them that has one documents it."""
    found: dict[str, Any] = {}
    for base in reversed(value.__mro__):
        for name, member in vars(base).items():
            if not name.startswith("_"):
                found.setdefault(
                    name, member.__func__ if isinstance(member, classmethod | staticmethod) else member
                )
    own = [each for each in found.values() if getattr(each, "__module__", "").startswith("pacshift")]
    return {path_of(method): method for method in own if isinstance(method, FunctionType)}


def listed() -> dict[str, Any]:
    """Functions and classes on the API page."""
    names = re.findall(r"^::: (\S+)", API_PAGE.read_text(), re.MULTILINE)
    return {path_of(value): value for value in map(resolve_name, names)}


EXPORTED = {path: value for name in MODULES for path, value in exported(name).items()}
PUBLIC = EXPORTED | listed()
CLASSES = [value for value in PUBLIC.values() if inspect.isclass(value)]
METHODS = {path: method for value in CLASSES for path, method in methods_of(value).items()}


def problems(value: Any) -> Iterator[str]:
    """What the docstring of a function or class lacks, read as the site reads it."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return  # users catch errors, they do not make them
    text = inspect.cleandoc(value.__doc__ or "")
    if not text:
        yield "no docstring"
    sections = {section.kind.value: section.value for section in griffe.Docstring(text, parser="numpy").parse()}
    signature, is_class = inspect.signature(value), inspect.isclass(value)
    expected = {
        name
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls") and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    documented = {item.name: item for item in sections.get("parameters", ()) if not item.name.startswith("*")}
    # The fields of a result that nobody constructs by hand are attributes rather than parameters.
    attributes = {name for item in sections.get("attributes", ()) for name in item.name.split(", ")}
    if missing := sorted(expected - set(documented) - (attributes if is_class else set())):
        yield f"not documented: {', '.join(missing)}"
    if unknown := sorted(set(documented) - expected):
        yield f"documented, but not in the signature: {', '.join(unknown)}"
    if untyped := [name for name, item in documented.items() if not item.annotation]:
        yield f"documented without a type: {', '.join(untyped)}"
    returns = not is_class and signature.return_annotation not in (None, "None")
    if returns and expected and not {"returns", "yields"} & set(sections):
        yield "no Returns section"


@pytest.mark.parametrize("path", sorted(PUBLIC))
def test_public_objects_are_documented(path: str) -> None:
    assert list(problems(PUBLIC[path])) == []


@pytest.mark.parametrize("path", sorted(METHODS))
def test_methods_of_public_classes_are_documented(path: str) -> None:
    assert list(problems(METHODS[path])) == []


def test_everything_exported_is_on_the_api_page() -> None:
    assert sorted(set(EXPORTED) - set(listed())) == []


def badly_documented(scores: Any, delta: float) -> int:
    """Summarise in one line.

    Parameters
    ----------
    scores
        What ``calibrate`` takes.
    epsilon : float
        A parameter of another function.
    """
    return 0


def test_faults_are_found() -> None:
    assert list(problems(badly_documented)) == [
        "not documented: delta",
        "documented, but not in the signature: epsilon",
        "documented without a type: scores",
        "no Returns section",
    ]
