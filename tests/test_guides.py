"""The guides: their code runs, and prints what the page says it prints.

``UPDATE_DOCS=1 pytest tests/test_guides.py`` writes what it prints now, and its pictures, into the documentation.
"""

import io
import os
import re
import runpy
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from test_cli_docs import parts

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, CODE = DOCS / "guides" / "year.md", DOCS / "guides" / "year.py"
OUTPUT = re.compile(r"(<!-- output: (begin|again) -->\n)(.*?)(<!-- output: end -->)", re.DOTALL)
SECOND_PART = "Oct: "


@pytest.mark.slow
def test_the_year_goes_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(str(CODE))
    year, october, rest = printed.getvalue().partition(SECOND_PART)
    told = {"begin": year, "again": october + rest}
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
