"""The page of the test of label shift and the code speak of the same things."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from pacshift import assumption
from test_ps_lp_page import resolve

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "methods" / "assumption.md").read_text(encoding="utf-8")
NAME = re.compile(r"`((?:pacshift|assumption)(?:\.\w+)+)`")
LEMMA = re.compile(r"\*\*Lemma (\d+) .*?(?=\*\*Lemma|^## )", re.DOTALL | re.MULTILINE)
WITHOUT_CODE = {"Setting", "Power", "Bets", "Bounds"}  # the lemmas below the last two name theirs


@pytest.mark.parametrize("title", sorted(set(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) - WITHOUT_CODE))
def test_every_section_names_its_functions(title: str) -> None:
    assert NAME.search(re.split(rf"^## {re.escape(title)}$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0])


def test_every_lemma_is_proven_and_leads_to_a_function_that_leads_back() -> None:
    lemmas = {int(found[1]): found[0] for found in LEMMA.finditer(PAGE)}
    assert sorted(lemmas) == [1, 2, 3, 4, 5, 6]
    for number, text in lemmas.items():
        assert "*Proof.*" in text
        assert "∎" in text
        assert NAME.search(text)
        named = [resolve(name) for name in NAME.findall(text)]
        documents = " ".join((inspect.getdoc(found) or "") + inspect.getsource(found) for found in named)
        assert f"Lemma {number}" in documents, f"nothing that Lemma {number} names names it"


def test_every_module_that_says_lemma_knows_the_page() -> None:
    for info in pkgutil.iter_modules(assumption.__path__, "pacshift.assumption."):
        module = importlib.import_module(info.name)
        text = inspect.getsource(module)
        numbers = {int(number) for number in re.findall(r"Lemma (\d)", text)}
        assert numbers <= {1, 2, 3, 4, 5, 6}
