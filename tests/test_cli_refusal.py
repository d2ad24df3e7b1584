"""A refusal on the command line: its commands work as they are printed, and its page says the same."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from commands import bad, good, run
from pacshift import Certificate, LabelSheet, Tally, calibrate, read
from pacshift.cli import app
from refused import NAMES, fill_in, save, table, world

SOURCE, SOURCE_LABELS = world(3000, 1, shifted=False)
TARGET, TRUTH = world(2000, 2, shifted=True)
FIRST = ("calibrate", "source.parquet", "target.parquet")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own with a source and a target."""
    monkeypatch.chdir(tmp_path)
    save(table(SOURCE, SOURCE_LABELS), tmp_path / "source.parquet")
    save(table(TARGET), tmp_path / "target.parquet")
    return tmp_path


def label_command(said: str) -> list[str]:
    (command,) = re.findall(r"Draw the rows with `pacshift ([^`]+)`", said)
    return shlex.split(command)


def more_words(said: str) -> list[str]:
    (words,) = re.findall(r"run this command again with `([^`]+)`", said)
    return shlex.split(words)


def people(n_labels: int) -> None:
    sheet = LabelSheet.load("to_label.csv")
    fill_in(Path("to_label.csv"), np.array(NAMES)[TRUTH[sheet.rows]][:n_labels].tolist())


def go_on(*words: object, n_labels: int = 400) -> Certificate:
    """From a refusal to a certificate, by what it prints alone."""
    said = bad(*words, "-o", "c.json", code=3)
    good(*label_command(said))
    people(n_labels)
    good(*words, "-o", "c.json", *more_words(said))
    return Certificate.load("c.json")


def test_commands_give_the_certificate_that_python_gives() -> None:
    said = bad(*FIRST, code=3)
    good(*label_command(said))
    for look in (100, 200, 400):
        people(look)
        good(*FIRST, "-m", "PS-T", "--labelled", "to_label.csv", "-o", "c.json", "--force")
        sheet = LabelSheet.load("to_label.csv")
        source = read("source.parquet", label="label")
        same = calibrate(source, read("target.parquet", like=source), labelled=sheet, method="PS-T")
        assert np.array_equal(Certificate.load("c.json").thresholds, same.thresholds)


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "PS-LW"),
        ("-m", "WCP"),
        ("-e", "0.08", "-d", "0.02"),
        ("--contamination", "0.02"),
        ("--known", "owl=0..0.9"),
        ("--score", "margin"),
        ("--scores", "p_*", "--classes", "wren,owl,crow"),
        ("--refusal-page", "refused.html", "--json"),
    ],
    ids=" ".join,
)
def test_the_printed_commands_work_with_every_option(words: tuple[str, ...]) -> None:
    made = go_on(*FIRST, *words)
    assert made.method == "PS-T"
    assert not made.trivial


def test_names_with_blanks_and_several_files(folder: Path) -> None:
    save(table(TARGET[:900]), folder / "part  north.parquet")
    save(table(TARGET[900:]), folder / "part  it's south.parquet")
    made = go_on("calibrate", "source.parquet", "part  *.parquet")
    assert made.method == "PS-T"


def test_columns_that_only_the_labels_of_the_source_name(folder: Path) -> None:
    save(table(SOURCE, SOURCE_LABELS, ""), folder / "plain.parquet")
    save(table(TARGET, prefix=""), folder / "other.parquet")
    assert go_on("calibrate", "plain.parquet", "other.parquet").method == "PS-T"
    assert "--scores crow,owl,wren" in bad("calibrate", "plain.parquet", "other.parquet", code=3)


def test_archives(folder: Path) -> None:
    names = np.array(NAMES)
    np.savez("s.npz", probs=SOURCE, labels=names[SOURCE_LABELS], class_names=names)
    np.savez("t.npz", probs=TARGET, class_names=names)
    assert go_on("calibrate", "s.npz", "t.npz").method == "PS-T"


def test_a_small_target(folder: Path) -> None:
    save(table(0.2 + 0.4 * TARGET[:150]), folder / "small.parquet")
    said = bad("calibrate", "source.parquet", "small.parquet", code=3)
    assert "--budget 150 --looks 100 -o" in said
    good(*label_command(said))
    said = bad("calibrate", "source.parquet", "small.parquet", "-e", "0.005", code=3)
    assert "But the 150 target rows are too few for any promise at epsilon 0.005" in said
    assert "`" not in said


def test_tallies_name_the_tables_in_general() -> None:
    Tally.from_scores(SOURCE, np.array(NAMES)[SOURCE_LABELS], classes=NAMES).save("s.tally")
    Tally.from_target(TARGET, classes=NAMES).save("t.tally")
    said = bad("calibrate", "s.tally", "t.tally", "-e", "0.09", code=3)
    assert label_command(said)[:4] == ["label", "TARGET", "--budget", "400"]
    assert "run `pacshift calibrate SOURCE TARGET --epsilon 0.09 --labelled to_label.csv`" in said
    good("label", "target.parquet", "--budget", "400", "-e", "0.09")
    people(400)
    said = bad("calibrate", "s.tally", "t.tally", "-m", "PS-T", "--labelled", "to_label.csv")
    assert "--labelled is about rows, but tallies hold no rows" in said


def test_an_unfinished_sheet_says_what_is_missing() -> None:
    good("label", "target.parquet", "-b", "400", "--looks", "100,200")
    words = [*FIRST, "--labelled", "to_label.csv", "-o", "c.json"]
    assert "to_label.csv: 0 rows are filled in, and the first look is after 100." in bad(*words, code=3)
    people(60)
    said = bad(*words, code=3)
    assert "By the 24 labels of the pilot, sets of about this many labels can be expected" in said
    assert not Path("c.json").exists()
    people(150)
    shown = " ".join(good(*words).stdout.split())
    assert "This certificate rests on the 100 labelled rows alone" in shown
    assert "(and 2 more notes)" in shown
    assert "two ways to say the same" in bad(*words, "--target-label", "label", "--force")
    said = bad(*words, "-e", "0.2", "--force")
    assert "to_label.csv was made for epsilon=0.1, but epsilon=0.2 was asked for" in said


def test_the_page_has_what_was_printed() -> None:
    result = run(*FIRST, "-o", "c.json", "--refusal-page", "refused.html")
    assert result.exit_code == 3
    assert result.stdout == "Written: refused.html\n"
    page = Path("refused.html").read_text(encoding="utf-8")
    assert shlex.join(["pacshift", *label_command(result.stderr)]) in page
    assert "calibrate source.parquet target.parquet -o c.json --refusal-page refused.html --labelled" in page
    assert "Stated shares do not help" in page
    assert "known_mix" not in page
    assert not Path("c.json").exists()


@pytest.mark.slow
def test_the_page_is_checked_before_the_work_and_written_whole(folder: Path) -> None:
    Path("mine.html").write_text("mine")
    assert "mine.html exists already" in bad(*FIRST, "--refusal-page", "mine.html")
    assert Path("mine.html").read_text() == "mine"
    assert run(*FIRST, "--refusal-page", "mine.html", "--force").exit_code == 3
    assert Path("mine.html").read_text().endswith("</html>")
    for words in (("-o", "x.json", "--refusal-page", "./x.json"), ("-o", "x.json", "--refusal-page", "x.json")):
        assert "--refusal-page and -o are the same file" in bad(*FIRST, *words)
    assert "cannot write" in bad(*FIRST, "--refusal-page", folder)
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_a_page_that_cannot_be_written_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_options: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("pacshift.report.write_refusal", full)
    result = run(*FIRST, "--refusal-page", "refused.html")
    assert result.exit_code == 3
    assert "note: the page of the refusal was not written: disk full" in result.stderr
    assert "refused: label shift is rejected" in result.stderr


def test_no_refusal_no_page(folder: Path) -> None:
    more, _ = world(3000, 7, shifted=False)
    save(table(more), folder / "like.parquet")
    good("calibrate", "source.parquet", "like.parquet", "--refusal-page", "refused.html", "-o", "c.json")
    assert not Path("refused.html").exists()


@pytest.mark.parametrize("name", ["refused.html", "C.HTM"])
def test_a_certificate_is_no_page(name: str) -> None:
    said = bad(*FIRST, "-o", name)
    assert f"-o names the certificate, a JSON file, got {name}." in said
    assert f"give --refusal-page {name}." in said


def test_on_a_terminal_the_command_has_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    said = CliRunner().invoke(app, [*FIRST]).stderr
    assert "\n    pacshift label target.parquet --budget 400 --looks 100,200 -o to_label.csv\nfill in" in said


def test_shares_are_bounded_after_a_refusal_too_where_labels_name_the_columns() -> None:
    for one in ("source", "target"):
        given = pyarrow.parquet.read_table(f"{one}.parquet")
        names = [name.removeprefix("p_") for name in given.column_names]
        pyarrow.csv.write_csv(given.rename_columns(names), f"{one}.csv")
    first = ("prevalence", "source.csv", "target.csv")
    said = bad(*first, code=3)
    good(*label_command(said))
    people(200)
    assert "The bounds rest on 200 random labels alone" in good(*first, *more_words(said)).stdout
