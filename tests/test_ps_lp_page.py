"""The proof page, the symbol table and the code of PS-LP speak of the same things."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pacshift
from pacshift import ps_lp

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "methods" / "ps-lp-proof.md").read_text(encoding="utf-8")
SYMBOLS = (DOCS / "symbols.md").read_text(encoding="utf-8")

NAME = re.compile(r"`((?:pacshift|mix|paths|ps_lp)(?:\.\w+)+)`")
HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
STEP = re.compile(r"^\*\*(Lemma \d+|[A-Z][^*(]*?)\.?(?: \(.*?\)\.?)?\*\*", re.MULTILINE)
LEMMAS = re.compile(r"Lemmas? (\d+)(?:(,| and| to) (\d+))?")
PROVEN_IN_MIX = ("programs", "region", "tails")
WITHOUT_CODE = {"Setting", "Tails with their prefactor"}


def annotations(found: type) -> set[str]:
    """Names of the fields of a class and of those it inherits from."""
    return {name for base in found.__mro__ for name in vars(base).get("__annotations__", ())}


def resolve(name: str) -> Any:
    """The object behind a dotted name, or a failure; attributes set in ``__init__`` and fields count."""
    parts = name.removeprefix("pacshift.").split(".")
    found: Any = pacshift
    for place, part in enumerate(parts):
        if isinstance(found, ModuleType) and not hasattr(found, part):
            found = importlib.import_module(f"{found.__name__}.{part}")
        elif isinstance(found, type) and not hasattr(found, part):
            field = part in annotations(found) or re.search(rf"self\.(\w+, self\.)*{part}\b.* = ", source(found))
            assert field, f"{name}: {found.__name__} has no {part}"
            assert place == len(parts) - 1
            return found
        else:
            found = getattr(found, part)
    return found


def source(found: Any) -> str:
    return inspect.getsource(found)


def modules() -> list[str]:
    """The modules whose steps are proven on the page: all of ps_lp, and those of mix that say so."""
    found = [*pkgutil.iter_modules(ps_lp.__path__, "pacshift.ps_lp.")]
    names = [info.name for info in found] + [f"pacshift.mix.{name}" for name in PROVEN_IN_MIX]
    return [name for name in names if name != "pacshift.methods.ps_lp"]  # words only


def documents() -> dict[str, str]:
    """The docstring of every module, class and function of these modules, by its dotted name."""
    found = {}
    for where in modules():
        module = importlib.import_module(where)
        found[where] = module.__doc__ or ""
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) != where or not (
                inspect.isclass(member) or inspect.isfunction(member)
            ):
                continue
            found[f"{where}.{name}"] = member.__doc__ or ""
            if inspect.isclass(member):
                inner = {key: value for key, value in vars(member).items() if inspect.isfunction(value)}
                found |= {f"{where}.{name}.{key}": value.__doc__ or "" for key, value in inner.items()}
    return found


def lemma_numbers(text: str) -> set[int]:
    """All numbers in "Lemma 3", "Lemmas 1 and 3", "Lemmas 1 to 3"."""
    numbers: set[int] = set()
    for first, join, last in LEMMAS.findall(text):
        numbers |= set(range(int(first), int(last) + 1)) if join.strip() == "to" else {int(first)}
        numbers |= {int(last)} if last else set()
    return numbers


def parts_of_the_page() -> dict[str, str]:
    """Headings and steps (bold beginnings of paragraphs), each with its text up to the next one."""
    marks = sorted(
        [(found.start(), found[1]) for found in HEADING.finditer(PAGE)]
        + [(found.start(), found[1]) for found in STEP.finditer(PAGE)]
    )
    ends = [start for start, _ in marks[1:]] + [len(PAGE)]
    return {title: PAGE[start:end] for (start, title), end in zip(marks, ends, strict=True)}


PARTS = parts_of_the_page()
STATED = {int(title.split()[1]) for title in PARTS if title.startswith("Lemma ")}


def test_lemmas_are_numbered_without_gaps() -> None:
    assert set(range(1, len(STATED) + 1)) == STATED
    assert len(STATED) > 5


@pytest.mark.parametrize("title", sorted(set(HEADING.findall(PAGE)) - WITHOUT_CODE))
def test_every_section_names_its_functions(title: str) -> None:
    section = re.split(rf"^#+ {re.escape(title)}$", PAGE, flags=re.MULTILINE)[1]
    assert NAME.search(re.split(r"^## ", section, flags=re.MULTILINE)[0])


@pytest.mark.parametrize("title", sorted(title for title, text in PARTS.items() if NAME.search(text)))
def test_from_a_lemma_or_step_to_its_functions_and_back(title: str) -> None:
    for name in NAME.findall(PARTS[title]):
        if "largest_threshold" in name:  # the search that every method uses
            continue
        text = " ".join((resolve(name).__doc__ or "").split())
        named = int(title.split()[1]) in lemma_numbers(text) if title.startswith("Lemma") else f'"{title}"' in text
        assert named, f"{name} does not name {title}"


def test_every_lemma_leads_to_a_function() -> None:
    assert [number for number in STATED if not NAME.search(PARTS[f"Lemma {number}"])] == []


def test_every_lemma_that_the_code_names_is_on_the_page() -> None:
    named = {name: lemma_numbers(text) for name, text in documents().items()}
    assert {name: numbers - STATED for name, numbers in named.items() if numbers - STATED} == {}
    assert set().union(*named.values()) == STATED
    assert lemma_numbers(PAGE) == STATED


def test_every_section_or_step_that_the_code_names_is_on_the_page() -> None:
    quoted = {
        name: set(re.findall(r'"([A-Z][^"]+)"', " ".join(text.split()))) for name, text in documents().items()
    }
    assert {name: titles - PARTS.keys() for name, titles in quoted.items() if titles - PARTS.keys()} == {}
    assert len(set().union(*quoted.values())) > 12


def test_every_module_is_on_the_page_and_says_so() -> None:
    for name in modules():
        assert f"`{name.removeprefix('pacshift.')}." in PAGE, name
        assert "docs/methods/ps-lp-proof.md" in (importlib.import_module(name).__doc__ or "")


def rows_of_symbols() -> list[tuple[str, str]]:
    cells = [line.strip("|").split("|") for line in SYMBOLS.splitlines() if line.startswith("| ")]
    return [(row[0].strip(), row[1].strip()) for row in cells if row[1].strip() not in ("code", "---")]


def test_every_code_name_of_the_symbol_table_exists() -> None:
    rows = rows_of_symbols()
    assert len(rows) > 35
    for symbol, code in rows:
        for name in re.findall(r"`([^`]+)`", code):
            called = re.fullmatch(r"([\w.]+)\((\w+)\)", name)
            if called:
                assert called[2] in inspect.signature(resolve(called[1])).parameters, symbol
            else:
                resolve(name)


def test_a_name_that_does_not_exist_is_noticed() -> None:
    for wrong in ("ps_lp.region.miss_rate", "ps_lp.nothing.at_all", "Tally.confusion_given_label"):
        with pytest.raises((AssertionError, AttributeError, ImportError)):
            resolve(wrong)
