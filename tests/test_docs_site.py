"""The documentation as built: links lead somewhere, or the build fails, and formulas are drawn."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built as ``make docs`` builds it."""
    pytest.importorskip("material", reason="needs the packages of the group docs")
    config = pytest.importorskip("mkdocs.config")
    build = pytest.importorskip("mkdocs.commands.build")
    folder = tmp_path_factory.mktemp("site")
    build.build(config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_no_formula_shows_its_source(site: Path) -> None:
    formulas = {
        path: re.findall(r"<math.*?</math>", path.read_text("utf-8"), re.DOTALL) for path in site.rglob("*.html")
    }
    assert sum(map(len, formulas.values())) > 1000
    shown = {
        path.name: [one for one in found if "\\" in re.sub(r"<[^>]+>", "", one)]
        for path, found in formulas.items()
    }
    assert {name: found for name, found in shown.items() if found} == {}
