"""Messages and pages install pacshift by one line, from where it can be had."""

import runpy
from pathlib import Path

import pytest

from pacshift import errors

ROOT = Path(__file__).resolve().parents[1]
script = runpy.run_path(str(ROOT / "scripts" / "install_line.py"))
PAGES = list(script["pages"]())


def test_every_page_installs_what_can_be_had() -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    wrong = [
        page.relative_to(ROOT).as_posix() for page, text in texts.items() if script["rewritten"](text) != text
    ]
    assert wrong == []  # `python scripts/install_line.py` puts them right


@pytest.mark.parametrize(
    ("checkout", "index"),
    [
        ("Run `pip install .` for the core.", "Run `pip install pacshift` for the core."),
        ("`pip install '.[cli]'` in a checkout of pacshift installs", "`pip install 'pacshift[cli]'` installs"),
        (
            "- run: pip install './pacshift[all]'   # where your checkout of pacshift is",
            "- run: pip install 'pacshift[all]'",
        ),
        ("$ pip install '.[train]'   # in a checkout of pacshift", "$ pip install 'pacshift[train]'"),
    ],
)
def test_one_variable_moves_every_page_to_the_index(checkout: str, index: str) -> None:
    assert script["rewritten"](checkout, "pacshift") == index
    assert script["rewritten"](checkout, ".") == checkout
    assert script["rewritten"](index, ".") != index
    assert script["rewritten"](index, "pacshift") == index


def test_other_packages_stay() -> None:
    text = (
        "pip install torch; pip install pacshift-extras; pip install -e '.[all]' --group test; pip install ./other"
    )
    assert script["rewritten"](text, ".") == script["rewritten"](text, "pacshift") == text


def test_messages_follow_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert errors.install_line("cli").endswith(f"pip install '{errors.PACKAGE}[cli]'")
    monkeypatch.setattr(errors, "PACKAGE", "pacshift")
    assert errors.install_line("cli") == "Install it: pip install 'pacshift[cli]'"
