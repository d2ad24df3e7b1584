"""docs/methods/many-classes.md and the folder prediction_powered lead to each other."""

import importlib
import inspect
import pkgutil
import re

import pytest

from pacshift.ps_lp import prediction_powered
from test_ps_lp_page import DOCS, HEADING, STEP, lemma_numbers, resolve

PAGE = (DOCS / "methods" / "many-classes.md").read_text(encoding="utf-8")
NAME = re.compile(r"`(prediction_powered(?:\.\w+)+)`")
SECTIONS = set(HEADING.findall(PAGE))
MEASURED = {"How sharp it is", "One class that decides", "What theory allows"}
ELSEWHERE = {"Above 200 classes"}  # on the page of PS-LP


def parts_of_the_page() -> dict[str, str]:
    """Sections and lemmas, each with its text up to the next one."""
    marks = sorted(
        (found.start(), found[1])
        for pattern in (HEADING, STEP)
        for found in pattern.finditer(PAGE)
        if pattern is HEADING or found[1].startswith("Lemma ")
    )
    ends = [start for start, _ in marks[1:]] + [len(PAGE)]
    return {title: PAGE[start:end] for (start, title), end in zip(marks, ends, strict=True)}


PARTS = parts_of_the_page()
STATED = {int(title.split()[1]) for title in PARTS if title.startswith("Lemma ")}


def documents() -> dict[str, str]:
    """The docstring of every module, class, function and method of the folder."""
    found = {}
    for info in pkgutil.iter_modules(prediction_powered.__path__, "pacshift.ps_lp.prediction_powered."):
        module = importlib.import_module(info.name)
        found[info.name] = module.__doc__ or ""
        own = [each for each in vars(module).values() if getattr(each, "__module__", None) == info.name]
        for member in own:
            found[f"{info.name}.{member.__name__}"] = inspect.getdoc(member) or ""
            inner = vars(member).items() if inspect.isclass(member) else ()
            found |= {
                f"{info.name}.{member.__name__}.{name}": getattr(each, "__doc__", "") or "" for name, each in inner
            }
    return found


def test_every_name_on_the_page_exists_and_names_its_section_or_lemma() -> None:
    checked = 0
    for title, text in PARTS.items():
        for name in NAME.findall(text):
            document = " ".join((resolve(f"ps_lp.{name}").__doc__ or "").split())
            number = int(title.split()[1]) if title.startswith("Lemma ") else None
            named = f'"{title}"' in document if number is None else number in lemma_numbers(document)
            assert named, f"{name} does not name {title}"
            checked += 1
    assert checked > 25


@pytest.mark.parametrize("title", sorted(SECTIONS - MEASURED))
def test_every_section_names_its_functions(title: str) -> None:
    assert NAME.search(PARTS[title]), title


def test_lemmas_and_sections_that_the_code_names_are_on_the_page() -> None:
    texts = documents()
    assert {1, 2, 3, 4} == STATED == set().union(*(lemma_numbers(text) for text in texts.values()))
    assert [number for number in STATED if not NAME.search(PARTS[f"Lemma {number}"])] == []
    quoted = set().union(*(re.findall(r'"([A-Z][^"]+)"', " ".join(text.split())) for text in texts.values()))
    assert quoted - SECTIONS - ELSEWHERE == set()
    assert len(quoted) > 8


def test_every_module_says_where_its_proof_is() -> None:
    for info in pkgutil.iter_modules(prediction_powered.__path__):
        module = importlib.import_module(f"pacshift.ps_lp.prediction_powered.{info.name}")
        assert f"`prediction_powered.{info.name}." in PAGE
        assert "docs/methods/many-classes.md" in (module.__doc__ or "")
