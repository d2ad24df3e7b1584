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

import pacshift

griffe = pytest.importorskip("griffe", reason="needs the packages of the group docs: make docs installs them")
pytest.importorskip("pyspark", reason="needs Spark, whose functions are public too: make docs installs it")

API_PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
MODULES = (
    "pacshift",
    "pacshift.estimator",
    "pacshift.methods",
    "pacshift.plots",
    "pacshift.report",
    "pacshift.tables",
    "pacshift.tables.spark",
)
SPHINX_MARKUP = re.compile(r":(?:func|class|meth|data|mod|attr):`")


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
    """What is wrong with the docstring of a function or class, read as the site reads it."""
    text = inspect.cleandoc(value.__doc__ or "")
    summary = text.split("\n\n")[0]
    if not summary.endswith(".") or "\n" in summary:
        yield f"the first paragraph must be one line that ends with a full stop: {summary!r}"
    if SPHINX_MARKUP.search(text):
        yield "roles like :func: are not rendered on the site, write ``name``"
    if inspect.isclass(value) and issubclass(value, BaseException):
        return  # users catch errors, they do not make them
    sections = {section.kind.value: section.value for section in griffe.Docstring(text, parser="numpy").parse()}
    if ">>> " in str(sections.get("text")):
        yield "an example outside the Examples section is not rendered as code"
    yield from parameter_problems(value, sections)
    if needs_example(value) and ">>> " not in str(sections.get("examples")):
        yield "no Examples section"


def needs_example(value: Any) -> bool:
    """Functions, and the classes that users meet first; a method is shown by the example of its class."""
    is_first = inspect.isclass(value) and value.__name__ in pacshift.__all__
    return is_first or (inspect.isfunction(value) and path_of(value) in PUBLIC)


def parameter_problems(value: Any, sections: dict[str, Any]) -> Iterator[str]:
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
        What :func:`calibrate` takes.
    epsilon : float
        A parameter of another function.
    """
    return 0


def test_faults_are_found() -> None:
    assert list(problems(badly_documented)) == [
        "roles like :func: are not rendered on the site, write ``name``",
        "not documented: delta",
        "documented, but not in the signature: epsilon",
        "documented without a type: scores",
        "no Returns section",
    ]
