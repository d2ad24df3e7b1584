"""The guides: their code runs, and prints what the page says it prints.

``UPDATE_DOCS=1 pytest tests/test_guides.py`` writes what it prints now, and its pictures, into the documentation.
"""

import io
import os
import re
import runpy
import shutil
from calendar import month_abbr
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from test_cli_docs import parts

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, CODE = DOCS / "guides" / "year.md", DOCS / "guides" / "year.py"
OUTPUT = re.compile(r"(<!-- output: (begin|sheet|again|sizes) -->\n)(.*?)(<!-- output: end -->)", re.DOTALL)
PARTS = re.compile(r"^(?=September: |Oct: |Source of 400)", re.MULTILINE)
TOLD = re.compile(r"^\*\*(?:In|From) (\w+)(?: (and|to) (\w+))?\*\*(.+?)^$", re.DOTALL | re.MULTILINE)


def months_told() -> dict[str, set[str]]:
    """The verdicts that the text names, by month."""
    found: dict[str, set[str]] = {}
    for first, word, last, text in TOLD.findall(PAGE.read_text(encoding="utf-8")):
        months = list(month_abbr)[1:]
        ends = months.index(first[:3]), months.index((last or first)[:3])
        assert word != "and" or ends[1] == ends[0] + 1
        verdicts = set(re.findall(r"`(kept|consistent|broken|refuted)`", text))
        found |= dict.fromkeys(months[ends[0] : ends[1] + 1], verdicts)
    return found


def test_the_text_of_the_year_tells_what_is_printed() -> None:
    printed = re.findall(r"^(\w{3}): (\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)[:9]
    assert months_told() == {month: {verdict} for month, verdict in printed}


@pytest.mark.slow
def test_the_year_goes_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(str(CODE))
    told = dict(zip(("begin", "sheet", "again", "sizes"), PARTS.split(printed.getvalue()), strict=True))
    pictures = sorted(tmp_path.glob("*.png"))
    assert [path.name for path in pictures] == re.findall(r"\.\./figures/(\S+?\.png)", PAGE.read_text())
    assert (tmp_path / "until-september.html").is_file()

    def truth(block: re.Match[str]) -> str:
        return f"{block[1]}\n```text\n{told[block[2]]}```\n\n{block[4]}"

    page = PAGE.read_text(encoding="utf-8")
    now = OUTPUT.sub(truth, page)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(now, encoding="utf-8")
        for path in pictures:
            shutil.copy(path, DOCS / "figures" / path.name)
        return
    said, shown = parts(page), parts(now)
    assert said[0] == shown[0], "run UPDATE_DOCS=1 pytest tests/test_guides.py and read the difference"
    assert shown[1] == pytest.approx(said[1], rel=0.1)
    assert all((DOCS / "figures" / path.name).is_file() for path in pictures)
