"""The pages with proofs and the code speak of the same things: a lemma leads to its function, and back."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pacshift
from pacshift import Monitor, Tally
from pacshift.certification import class_bounds, delta
from pacshift.monitor import verdict
from pacshift.report import render_history
from pacshift.report.history import NO_FEEDBACK

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((DOCS / "methods").glob("*.md"))}
SOURCES = {str(path): path.read_text(encoding="utf-8") for path in Path(pacshift.__path__[0]).rglob("*.py")}
FOLDERS = "|".join(["prediction_powered", *(info.name for info in pkgutil.iter_modules(pacshift.__path__))])
NAME = re.compile(rf"`((?:pacshift\.)?(?:{FOLDERS})(?:\.\w+){{2,}}|pacshift\.\w+\.\w+)`")
PART = re.compile(
    r"^(?:#+ |\*\*)(Lemma \d+)|^#{2,3} (.+)$|^\*\*([A-Z][^*($]*?)\.?(?: \(.*?\)\.?)?\*\*", re.MULTILINE
)
LEMMAS = re.compile(r"Lemmas? (\d+)(?:(,| and| to) (\d+))?")
ABOUT_TRUTH = {"monitor.md": {4, 5}}
"""Lemmas about what the code does not do; tests/test_monitor_montecarlo.py names them."""


def resolve(name: str) -> Any:
    """The object behind a dotted name, or a failure; attributes set in ``__init__`` and fields count."""
    parts = name.removeprefix("pacshift.").split(".")
    found: Any = pacshift
    for place, part in enumerate(parts):
        if isinstance(found, ModuleType) and not hasattr(found, part):
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except pacshift.errors.MissingExtraError as error:
                pytest.skip(str(error))
        elif isinstance(found, type) and not hasattr(found, part):
            fields = {field for base in found.__mro__ for field in vars(base).get("__annotations__", ())}
            is_field = part in fields or re.search(rf"self\.(\w+, self\.)*{part}\b.* = ", inspect.getsource(found))
            assert is_field, f"{name}: {found.__name__} has no {part}"
            assert place == len(parts) - 1
            return found
        else:
            found = getattr(found, part)
    return found


def lemma_numbers(text: str) -> set[int]:
    """All numbers in "Lemma 3", "Lemmas 1 and 3", "Lemmas 1 to 3"."""
    numbers: set[int] = set()
    for first, join, last in LEMMAS.findall(text):
        numbers |= set(range(int(first), int(last) + 1)) if join.strip() == "to" else {int(first)}
        numbers |= {int(last)} if last else set()
    return numbers


def lemmas_of(page: str, text: str) -> set[int]:
    """Lemmas of a page that a module names: "Lemma 2 of docs/methods/x.md" is x's, others its first page's."""
    named = re.compile(rf"{LEMMAS.pattern} of docs/methods/([\w-]+\.md)")
    of_page = [found[0] for found in named.finditer(text) if found[4] == page]
    first = re.search(r"docs/methods/([\w-]+\.md)", text)
    own = named.sub("", text) if first is None or first[1] == page else ""
    return lemma_numbers(" ".join([own, *of_page]))


def parts_of(page: str) -> dict[str, str]:
    """Headings and steps (bold beginnings of paragraphs), each with its text up to the next one."""
    marks = [(found.start(), next(filter(None, found.groups()))) for found in PART.finditer(page)]
    ends = [start for start, _ in marks[1:]] + [len(page)]
    return {title: page[start:end] for (start, title), end in zip(marks, ends, strict=True)}


def named_in(text: str) -> dict[str, Any]:
    """The code that a text names."""
    names = {name: re.sub(r"^prediction_powered", "ps_lp.prediction_powered", name) for name in NAME.findall(text)}
    return {name: resolve(path) for name, path in names.items()}


def code_of(page: str) -> dict[str, str]:
    """The modules that name a page, and those that it names."""
    paths = [path for path, text in SOURCES.items() if f"docs/methods/{page}" in text]
    named = named_in(PAGES[page]).values()
    paths += [inspect.getfile(found) for found in named if inspect.isfunction(found) or inspect.isclass(found)]
    return {path: " ".join(SOURCES[path].split()) for path in paths}


def own_code(page: str) -> dict[str, str]:
    """The modules whose proofs are on this page and no other."""
    code = code_of(page)
    return {
        path: text for path, text in code.items() if set(re.findall(r"docs/methods/([\w-]+\.md)", text)) == {page}
    }


PARTS = {name: parts for name, page in PAGES.items() if "Lemma 1" in (parts := parts_of(page))}
STATED = {
    page: {int(title.split()[1]) for title in parts if title.startswith("Lemma ")} for page, parts in PARTS.items()
}


@pytest.mark.parametrize("page", PARTS)
def test_every_lemma_is_named_by_code_and_every_lemma_that_code_names_is_stated(page: str) -> None:
    assert set(range(1, len(STATED[page]) + 1)) == STATED[page]
    named = [lemmas_of(page, text) for text in code_of(page).values()]
    assert STATED[page] - set().union(*named) == ABOUT_TRUTH.get(page, set())
    unknown = {path: lemma_numbers(text) - STATED[page] for path, text in own_code(page).items()}
    assert {path: numbers for path, numbers in unknown.items() if numbers} == {}


STRICT = [(page, title) for page in ("ps-lp-proof.md", "many-classes.md") for title in PARTS[page]]


@pytest.mark.parametrize(("page", "title"), STRICT)
def test_code_that_a_step_names_names_the_step(page: str, title: str) -> None:
    for name, found in named_in(PARTS[page][title]).items():
        if name.endswith(("largest_threshold", "largest_means")):  # the search of every method, and its program
            continue
        text = " ".join((found.__doc__ or "").split())
        named = int(title.split()[1]) in lemma_numbers(text) if title.startswith("Lemma") else f'"{title}"' in text
        assert named, f"{name} does not name {title}"


@pytest.mark.parametrize("page", ["ps-lp-proof.md", "many-classes.md"])
def test_sections_that_docstrings_quote_are_on_the_page(page: str) -> None:
    titles = {title for parts in PARTS.values() for title in parts}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for path in own_code(page):
        nodes = [node for node in ast.walk(ast.parse(SOURCES[path])) if isinstance(node, documented)]
        text = " ".join(" ".join((ast.get_docstring(node) or "").split()) for node in nodes)
        assert set(re.findall(r'"([A-Z][^"]+)"', text)) <= titles, path


def test_every_code_name_of_the_symbol_table_exists() -> None:
    lines = (DOCS / "symbols.md").read_text(encoding="utf-8").splitlines()
    cells = [line.strip("|").split("|")[1] for line in lines if line.startswith("| ")]
    for name in re.findall(r"`([^`]+)`", "\n".join(cells)):
        called = re.fullmatch(r"([\w.]+)\((\w+)\)", name)
        assert not called or called[2] in inspect.signature(resolve(called[1])).parameters
        resolve(called[1] if called else name)


def test_a_name_that_does_not_exist_is_noticed() -> None:
    for wrong in ("ps_lp.region.miss_rate", "ps_lp.nothing.at_all", "Tally.confusion_given_label"):
        with pytest.raises((AssertionError, AttributeError, ImportError)):
            resolve(wrong)


def test_shares_of_the_trust_pages_are_those_of_the_code() -> None:
    page = (DOCS / "trust.md").read_text(encoding="utf-8") + PAGES["trust-proofs.md"]
    for words in (
        f"{delta.ASSUMPTION_SHARE:g}\\,\\delta",
        f"the limit costs\n${delta.CLASS_EPSILON_SHARE:g}\\,\\delta$",
        f"a million rows need {len(class_bounds.band_ranks(10**6)):,}",
        rf"$\sqrt r/{1 / class_bounds.RANK_STEP:g}$ apart",
    ):
        assert words in page


def test_shares_of_the_monitor_page_are_those_of_the_code() -> None:
    page = PAGES["monitor.md"]
    assert verdict.SOURCE_SHARE == 0.1
    assert verdict.SOURCE_SHARE + 1.1 * verdict.FRESH_SHARE <= 1
    assert rf"{verdict.FRESH_SHARE:g}\,\delta" in page
    assert rf"{verdict.SOURCE_SHARE + 1.1 * verdict.FRESH_SHARE:g}\,\delta" in page
    assert verdict.report_delta(1.0, 3, forever=True) == pytest.approx(0.8 / 12)


def test_a_monitor_says_its_assumption_wherever_the_promise_is() -> None:
    rule = "sizes and label mixes of periods must not depend on the source or on earlier reports"
    assert "**Assumption: no feedback.**" in PAGES["monitor.md"]
    assert rule in " ".join((Monitor.__doc__ or "").split())
    assert rule.replace("must", "do") in NO_FEEDBACK
    source = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200)
    for forever in (False, True):
        monitor = Monitor(source, epsilon=0.2, delta=0.1, forever=forever)
        monitor.update([[0.9, 0.1], [0.2, 0.8]] * 200)
        assert NO_FEEDBACK in render_history(monitor)
