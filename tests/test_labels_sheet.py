"""The label sheet: random rows, fixed looks, and a file that survives spreadsheets but not tampering."""

import csv
import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from damage import damage_bytes, outcome, require_message
from pacshift import InputError, LabelSheet, PacshiftError, label_sheet
from pacshift.labels.sheet import RowDraw, plan_sheet
from pacshift.paths.looks import look_cuts
from refused import fill_in

SCORES = np.random.default_rng(0).dirichlet([1, 1, 1], 1000)
NAMES = ("crow", "owl", "wren")


def make(**options: Any) -> LabelSheet:
    usual: dict[str, Any] = {"budget": 200, "looks": (120,), "rng": 3, "classes": NAMES}
    return label_sheet(SCORES, **usual | options)


def texts(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text("utf-8-sig"))))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "to_label.csv"
    make(keep={"id": np.arange(1000) + 7000}).save(made)
    return made


def test_pilot_and_looks_count_rows_from_the_top() -> None:
    sheet = label_sheet(SCORES, budget=400, looks=(100, 200), rng=0)
    assert (sheet.looks, sheet.n_pilot, sheet.test_rows) == ((100, 200, 400), 24, (76, 176, 376))
    assert sheet.cuts(0.05) == look_cuts([76, 176, 376], epsilon=0.1, delta=0.05)
    assert sheet.cuts(0.01) <= sheet.cuts(0.05)
    assert label_sheet(SCORES, budget=400, looks=(100, 200, 400), rng=0).looks == (100, 200, 400)


def test_a_pilot_that_would_make_the_first_look_useless_is_left_out() -> None:
    """One test of 110 rows can pass at delta 1e-5; the first of several looks then cannot."""
    assert plan_sheet(150, (), epsilon=0.1, delta=1e-5).n_pilot == 40
    assert plan_sheet(300, (150,), epsilon=0.1, delta=1e-5).n_pilot == 0


def test_an_int_seed_gives_the_same_sheet_and_none_another() -> None:
    one, same, other, more = make(), make(), make(rng=None), make(rng=None)
    assert one.rows.tolist() == same.rows.tolist()
    assert one.seed == 3
    assert len({one.seed, other.seed, more.seed}) == 3
    assert other.rows.tolist() != more.rows.tolist()
    again = make(rng=other.seed)
    assert again.rows.tolist() == other.rows.tolist()


@pytest.mark.montecarlo
def test_every_row_is_as_likely_at_every_place() -> None:
    places = np.zeros((6, 4))
    for seed in range(6000):
        draw = RowDraw(4, seed, 0)
        draw.add(np.empty((6, 0)))
        places[draw.rows, np.arange(4)] += 1
    assert (np.abs(places - 1000) < 5 * np.sqrt(1000 * 5 / 6)).all()


def test_a_fixed_seed_draws_a_sorted_file_at_random() -> None:
    """At every threshold a little more than epsilon is missed, and the file is sorted by what is missed."""
    epsilon, delta, draws, failed = 0.1, 0.2, 100, []
    for seed in range(10):
        failed.append(0)
        for draw in range(draws):
            rng = np.random.default_rng([seed, draw])
            missed = np.sort(rng.random(300) < epsilon + 0.0005)[::-1]
            top = np.where(rng.random(300) < 0.5, 0.9, 0.1)  # the other label is the true one where it is missed
            sheet = label_sheet(np.column_stack([top, 1 - top]), budget=90, epsilon=epsilon, delta=delta, rng=seed)
            failed[-1] += missed[sheet.rows[sheet.n_pilot :]].sum() <= sheet.cuts(delta)[0]
    assert binom.sf(max(failed) - 1, draws, delta) > 1e-3
    assert sum(failed) > 0.3 * delta * 10 * draws  # some fail: the test is exact


@pytest.mark.montecarlo
def test_a_fixed_seed_draws_every_row_of_other_scores_as_likely() -> None:
    places, rng = np.zeros((6, 4)), np.random.default_rng(0)
    for _ in range(6000):
        draw = RowDraw(4, 1, 1)
        draw.add(np.sort(rng.random((6, 1)), axis=0))
        places[draw.rows, np.arange(4)] += 1
    assert (np.abs(places - 1000) < 5 * np.sqrt(1000 * 5 / 6)).all()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(1, 20), st.integers(0, 99))
def test_blocks_do_not_matter_for_the_draw(blocks: list[int], budget: int, seed: int) -> None:
    whole, parts = RowDraw(budget, seed, 0), RowDraw(budget, seed, 0)
    whole.add(np.empty((sum(blocks), 0)))
    for block in blocks:
        parts.add(np.empty((block, 0)))
    assert whole.rows.tolist() == parts.rows.tolist()
    assert len(set(whole.rows.tolist())) == min(budget, sum(blocks))


def test_rows_that_cannot_be_used_are_counted_but_not_drawn() -> None:
    draw = RowDraw(5, 0, 0)
    draw.add(np.empty((5, 0)), np.arange(10) % 2 == 1)
    assert sorted(draw.rows.tolist()) == [1, 3, 5, 7, 9]
    assert (draw.n_rows, draw.n_usable) == (10, 5)


def test_how_many_rows_get_their_numbers_at_a_time_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, usable = RowDraw(9, 0, 3), np.arange(len(SCORES)) % 3 > 0
    draw.add(SCORES[usable], usable)
    expected = draw.rows.tolist()
    monkeypatch.setattr("pacshift.labels.sheet.BLOCK_ROWS", 64)
    assert draw.rows.tolist() == expected


@pytest.mark.parametrize("of", [np.float32, np.float64, "frame", "reversed", "polars", "arrow"])
def test_the_fingerprint_is_of_the_numbers_not_of_how_they_are_stored(of: Any) -> None:
    halves = np.round(SCORES * 64) / 64  # exact in every type
    expected = label_sheet(halves, budget=100, classes=NAMES).target_sha256
    frame = pd.DataFrame(halves, columns=list(NAMES))
    kinds: dict[Any, Any] = {
        "frame": frame,
        "reversed": frame[list(NAMES[::-1])],
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
    }
    target = kinds[of] if isinstance(of, str) else halves.astype(of)
    assert label_sheet(target, budget=100, classes=NAMES if of != "reversed" else None).target_sha256 == expected
    assert label_sheet(halves[::-1], budget=100).target_sha256 != expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": 1001, "looks": ()}, "budget must not exceed the target: 1,001 rows to label, but the target"),
        ({"budget": 0}, "budget must be a whole number of rows above 0, got 0"),
        ({"budget": 2.5}, "budget must be a whole number of rows above 0, got 2.5"),
        ({"budget": True}, "budget must be a whole number"),
        ({"budget": 10**7}, "budget must be at most 1,000,000 rows"),
        ({"looks": (120, 100)}, "looks must increase, got 120, 100"),
        ({"looks": (120, 120)}, "looks must increase"),
        ({"looks": (120, 300)}, "looks must not exceed the budget: got a look after 300 rows and a budget of 200"),
        ({"looks": 120}, r"looks must be a list of numbers of rows such as \(100, 200\), got 120"),
        ({"looks": "100"}, "looks must be a list"),
        ({"looks": (0,)}, "looks must be a whole number"),
        ({"looks": (20,)}, "the first look is after 20 rows, too few .* Raise the first look to at least 33, or"),
        ({"budget": 20, "looks": ()}, "the budget is 20 rows, too few .* Raise the budget to at least 29, or"),
        ({"budget": 25, "looks": (20,)}, "Raise the first look and the budget to at least 29"),
        ({"epsilon": 1e-9}, "Raise the first look and the budget to at least"),
        ({"epsilon": 0}, "epsilon must lie strictly between 0 and 1"),
        ({"delta": "x"}, "delta must lie strictly between 0 and 1"),
        ({"rng": -1}, "rng must be a seed"),
        ({"rng": 2**64}, "rng must be a seed below"),
        ({"classes": ("a", "b", "?")}, "a class is called '\\?'"),
        ({"keep": {"label": SCORES[:, 0]}}, "cannot keep 'label'"),
        ({"keep": {"id": [1, 2]}}, r"keep: column 'id' has shape \(2,\), but the target has 1,000 rows"),
        ({"keep": ["id"]}, "keep must be a frame or a dict of columns"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(**options)


@pytest.mark.parametrize(("totals", "least"), [((20, 200), 33), ((20,), 29), ((10, 50, 100, 200), 36)])
def test_the_least_first_look_is_the_least(totals: tuple[int, ...], least: int) -> None:
    later = tuple(total for total in totals[1:] if total > least)
    assert plan_sheet((later or (least,))[-1], (least, *later), epsilon=0.1, delta=0.05).looks[0] == least
    with pytest.raises(InputError, match=f"at least {least}"):
        plan_sheet((later or (least - 1,))[-1], (least - 1, *later), epsilon=0.1, delta=0.05)


def test_scores_that_are_not_finite_are_refused() -> None:
    broken = SCORES.copy()
    broken[17, 0] = np.nan
    with pytest.raises(InputError, match="the first is row 17"):
        label_sheet(broken, budget=100)


def test_the_file_can_be_read_by_people(path: Path) -> None:
    first, names, *lines = texts(path)
    sheet = LabelSheet.load(path)
    assert re.fullmatch(
        r"# pacshift label sheet version=2 seed=3 epsilon=0\.1 delta=0\.05 looks=120/200 pilot=\d+ rows=1000 "
        r"target=[0-9a-f]{64} checksum=[0-9a-f]{16}",
        first[0],
    )
    assert first[1:] == [""] * 5  # as many cells as below
    assert names == ["order", "row", "part", "look", "label", "id"]
    assert [line[0] for line in lines] == [str(order) for order in range(1, 201)]
    assert [int(line[5]) - 7000 for line in lines] == sheet.rows.tolist() == [int(line[1]) for line in lines]
    assert [line[2] for line in lines] == ["pilot"] * sheet.n_pilot + ["test"] * (200 - sheet.n_pilot)
    assert [line[3] for line in lines] == ["1"] * 120 + ["2"] * 80


def test_what_is_saved_is_loaded(path: Path) -> None:
    made, found = make(keep={"id": np.arange(1000) + 7000}), LabelSheet.load(path)
    for name in ("looks", "n_pilot", "epsilon", "delta", "seed", "n_target", "target_sha256", "labels", "kept"):
        assert getattr(made, name) == getattr(found, name)
    assert made.rows.tolist() == found.rows.tolist()
    assert found.name == str(path)


def test_labels_are_counted_from_the_top(path: Path) -> None:
    sheet = LabelSheet.load(path)
    assert (sheet.n_filled, sheet.pilot_complete, sheet.last_complete_look) == (0, False, None)
    fill_in(path, ["owl"] * 119)
    sheet = LabelSheet.load(path)
    assert (sheet.n_filled, sheet.pilot_complete, sheet.last_complete_look) == (119, True, None)
    fill_in(path, ["crow", " wren ", "?"] * 40)
    sheet = LabelSheet.load(path)
    assert (sheet.n_filled, sheet.last_complete_look) == (120, 0)
    assert sheet.label_index(NAMES).tolist() == [0, 2, -1] * 40
    fill_in(path, ["owl"] * 200)
    assert LabelSheet.load(path).last_complete_look == 1


def test_labels_given_in_python() -> None:
    sheet = make().with_labels(["owl", "?", None, float("nan")])
    assert sheet.labels[:4] == ("owl", "?", None, None)
    with pytest.raises(InputError, match="201 labels for 200 rows"):
        make().with_labels(["owl"] * 201)
    with pytest.raises(InputError, match="order 1 has no label, but rows below it have one"):
        make().with_labels([None, "owl"])
    n_pilot = make().n_pilot
    gap = make().with_labels([*["owl"] * n_pilot, None, "?", None, "owl"])  # after the pilot rows may stay blank
    assert (gap.n_filled, gap.n_from_top, gap.last_complete_look) == (n_pilot + 2, n_pilot, None)
    assert gap.looks_in_reach == (0,)
    assert gap.label_index(NAMES)[n_pilot:].tolist() == [-2, -1, -2, NAMES.index("owl")]


def test_a_sheet_is_not_overwritten(path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        make().save(path)
    make().save(path, overwrite=True)


Change = Callable[[list[list[str]]], list[list[str]]]


def as_written(lines: list[list[str]], **options: Any) -> str:
    text = io.StringIO()
    csv.writer(text, **options).writerows(lines)
    return text.getvalue()


REWRITTEN: dict[str, Callable[[list[list[str]]], str]] = {
    "byte order mark": lambda lines: "\ufeff" + as_written(lines),
    "semicolons": lambda lines: as_written(lines, delimiter=";"),
    "tabs": lambda lines: as_written(lines, delimiter="\t", lineterminator="\n"),
    "quotes": lambda lines: as_written(lines, quoting=csv.QUOTE_ALL),
    "old Mac": lambda lines: as_written(lines, lineterminator="\r"),
    "short first line": lambda lines: as_written([lines[0][:1], *lines[1:]]),
    "empty cells": lambda lines: as_written([[*line, "", ""] for line in lines] + [[""] * 8]),
    "blanks": lambda lines: as_written([[f" {cell} " if cell else "" for cell in line] for line in lines]),
    "1.0": lambda lines: as_written([[re.sub(r"^(\d+)$", r"\1.0", cell) for cell in line] for line in lines]),
    "1,00": lambda lines: as_written(
        [[re.sub(r"^(\d+)$", r"\1,00", cell) for cell in line] for line in lines], delimiter=";"
    ),
    "columns moved": lambda lines: as_written([lines[0], *(line[::-1] for line in lines[1:])]),
    "a column added": lambda lines: as_written([[*line, "seen by AB"] for line in lines]),
}


@pytest.mark.parametrize("rewritten", REWRITTEN.values(), ids=REWRITTEN)
def test_what_spreadsheets_do_is_understood(rewritten: Callable[[Any], str], path: Path) -> None:
    fill_in(path, ["owl"] * 130)
    whole = LabelSheet.load(path)
    path.write_bytes(rewritten(texts(path)).encode())
    found = LabelSheet.load(path)
    assert found.rows.tolist() == whole.rows.tolist()
    assert found.label_index(NAMES).tolist() == [1] * 130
    assert found.last_complete_look == 0


def test_pandas_gives_the_sheet_back(path: Path) -> None:
    fill_in(path, ["owl"] * 130)
    pd.read_csv(path, header=None, dtype=str).to_csv(path, header=False, index=False)
    assert LabelSheet.load(path).n_filled == 130
    pd.read_csv(path).to_csv(path)  # its own names for empty ones, and an index
    assert LabelSheet.load(path).n_filled == 130


@pytest.mark.parametrize(
    ("classes", "label"),
    [((0, 1, 2), "1.0"), ((0, 1, 2), "1"), ((False, True), "TRUE"), ((False, True), "1"), (("1.0", "x"), "1.0")],
)
def test_names_that_spreadsheets_rewrite(classes: tuple[Any, ...], label: str) -> None:
    place = 0 if classes[0] == "1.0" else 1
    assert make().with_labels([label]).label_index(classes).tolist() == [place]


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (["owl ", "owl"], "cannot be told apart"),  # cells lose their blanks: one owl would become the other
        (["01", "1"], "cannot be told apart"),
        (["1.0", "1"], "cannot be told apart"),
        (["TRUE", "True"], "cannot be told apart"),
        (["\t", "owl"], "no label yet"),
        ([" ? ", "owl"], "nobody can tell"),
    ],
)
def test_names_that_a_sheet_would_mix_up_are_refused_before_anybody_labels(classes: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        label_sheet(SCORES[:, :2], budget=200, classes=classes, epsilon=0.1, delta=0.05)
    with pytest.raises(InputError, match=said):
        make().with_labels(["owl"]).label_index(classes)


def test_names_with_blanks_and_zeros_come_back_from_a_sheet(tmp_path: Path) -> None:
    make().with_labels([" 01", "1", "owl "]).save(tmp_path / "s.csv")
    assert LabelSheet.load(tmp_path / "s.csv").label_index([" owl ", "01"]).tolist() == [1, 1, 0]


def test_a_label_that_is_no_class_is_named() -> None:
    sheet = make().with_labels(["owl", "eagle"])
    with pytest.raises(InputError, match=rf"'eagle' at order 2 \(row {sheet.rows[1]} of the target\)"):
        sheet.label_index(NAMES)
    with pytest.raises(InputError, match="a class is called"):
        sheet.label_index(("owl", "?"))


def test_formulas_do_not_run_in_a_spreadsheet(tmp_path: Path) -> None:
    names = ("=cmd", "owl", "-")
    risky = ["=1+1", "@x", "-5", "plain", None, 2.5, np.nan, "a,b", 'say "x"', "two\nlines"] * 100
    sheet = make(classes=names, keep={"=id": np.array(risky, object)}).with_labels(["=cmd", "-", "?"])
    sheet.save(tmp_path / "s.csv")
    _, head, *lines = texts(tmp_path / "s.csv")
    assert head[5] == "'=id"
    texts_kept = {"'=1+1", "'@x", "-5", "plain", "", "2.5", "a,b", 'say "x"', "two\nlines"}
    assert {line[5] for line in lines} == texts_kept
    found = LabelSheet.load(tmp_path / "s.csv")
    assert found.label_index(names).tolist() == [0, 2, -1]
    assert found.kept == sheet.kept


def without(lines: list[list[str]], place: int) -> list[list[str]]:
    return [*lines[:place], *lines[place + 1 :]]


def with_cell(lines: list[list[str]], row: int, column: int, text: str) -> list[list[str]]:
    lines[row][column] = text
    return lines


def first_line(old: str, new: str) -> Change:
    return lambda lines: with_cell(lines, 0, 0, lines[0][0].replace(old, new))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[1:], "is not a label sheet: its first line does not begin with '# pacshift"),
        (lambda lines: without(lines, 1), "its second line must name the columns"),
        (lambda lines: with_cell(lines, 1, 4, "truth"), "its second line must name the columns"),
        (lambda lines: without(lines, 7), "order 7 stands where 6 belongs"),
        (lambda lines: lines[:150], "must hold order 1 to 200, each once, but it has 148 rows"),
        (lambda lines: [*lines, lines[5]], "order 4 stands where 201 belongs"),
        (lambda lines: [*lines, ["201", "5", "test", "2", ""]], "each once, but it has 201 rows"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "order 2 stands where 1 belongs"),
        (lambda lines: with_cell(lines, 9, 1, "999"), "the first line or the column row was changed"),
        (lambda lines: with_cell(lines, 9, 1, "x"), "column row must hold whole numbers, but entry 8 is 'x'"),
        (lambda lines: with_cell(lines, 9, 0, ""), "column order must hold whole numbers"),
        (lambda lines: with_cell(lines, 2, 2, "test"), "order 1 is in part 'test' and look 1, but"),
        (lambda lines: with_cell(lines, 150, 3, "1"), "Looks cannot be added or moved"),
        (first_line("120/", "60/120/"), "Looks cannot be added"),
        (first_line("seed=3", "seed=4"), "the first line or the column"),
        (first_line("epsilon=0.1", "epsilon=0.2"), "the first line"),
        (first_line("delta=", "delat="), "first line was changed"),
        (first_line("version=2", "version=9"), "label sheet version 9, this pacshift reads version 2"),
        (first_line("version=2", "version=0"), "label sheet version 0"),
        (first_line("version=2", "version=1"), "label sheet version 1"),
        (first_line("version=2", "version=two"), "first line was changed"),
        (
            lambda lines: with_cell(lines, 50, 4, "owl"),
            "order 1 has no label, but rows below it have one. The first .* rows, the pilot,",
        ),
    ],
)
def test_changes_are_found(change: Change, said: str, path: Path) -> None:
    path.write_text(as_written(change(texts(path))))
    with pytest.raises(InputError, match=said) as error:
        LabelSheet.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("row", [-1, None])
def test_rows_that_cannot_be_drawn_are_refused(row: int | None, path: Path) -> None:
    """A row below 0, or one that stands there twice, in a sheet with a checksum of its own."""
    sheet = LabelSheet.load(path)
    rows = sheet.rows.copy()
    rows[5] = rows[6] if row is None else row
    replace(sheet, rows=rows).save(path, overwrite=True)
    with pytest.raises(InputError, match="column row must hold different rows of"):
        LabelSheet.load(path)


def test_a_sheet_with_more_rows_than_lines_is_refused_at_once(path: Path) -> None:
    lines = texts(path)
    lines[0][0] = lines[0][0].replace("120/200", f"120/{10**17}").replace("rows=1000", f"rows={10**18}")
    path.write_text(as_written(lines))
    with pytest.raises(InputError, match="each once, but it has 200 rows"):
        LabelSheet.load(path)


def test_other_encodings_are_named(path: Path) -> None:
    path.write_bytes(path.read_text("utf-8-sig").replace("id", "größe").encode("cp1252"))
    with pytest.raises(InputError, match="not in UTF-8"):
        LabelSheet.load(path)
    with pytest.raises(InputError, match="No such file"):
        LabelSheet.load(path.with_name("nope.csv"))


def test_frames_keep_their_columns() -> None:
    frame = pd.DataFrame(SCORES, columns=list(NAMES), index=np.arange(1000) + 5)
    others = pd.DataFrame({"id": np.arange(1000.0), "text": ["x"] * 1000}, index=frame.index)
    sheet = label_sheet(frame, budget=100, rng=0, keep=others)
    assert sheet.kept["id"] == tuple(str(row) for row in sheet.rows)
    assert label_sheet(frame, budget=100, rng=0, keep=pl.from_pandas(others)).kept == sheet.kept
    table = pa.Table.from_pandas(others, preserve_index=False)
    assert label_sheet(frame, budget=100, rng=0, keep=table).kept == sheet.kept
    with pytest.raises(InputError, match="have different indexes"):
        label_sheet(frame, budget=100, keep=others.reset_index(drop=True))


CELLS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["", "?", "1", "=1", '"', "pilot", "#"]
)


SMALL = make(budget=50, looks=(40,))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_file_gives_a_traceback(data: st.DataObject, path: Path) -> None:
    """Any cells anywhere, lines lost or doubled, bytes flipped: read as it was, or refused with a message."""
    SMALL.save(path, overwrite=True)
    lines = texts(path)
    for _ in range(data.draw(st.integers(0, 3))):
        row = data.draw(st.integers(0, len(lines) - 1))
        column = data.draw(st.integers(0, 4))
        lines[row][column] = data.draw(CELLS)
    lines = lines[: data.draw(st.integers(0, len(lines)))] if data.draw(st.booleans()) else lines
    content = as_written(lines, delimiter=data.draw(st.sampled_from(",;\t|"))).encode("utf-8", "surrogatepass")
    if data.draw(st.booleans()):
        content = damage_bytes(content or b"x", np.random.default_rng(data.draw(st.integers(0, 10**6))))
    path.write_bytes(content)
    loaded = outcome(lambda: LabelSheet.load(path))
    if isinstance(loaded, PacshiftError):
        return require_message(loaded)
    assert loaded.rows.tolist() == SMALL.rows.tolist()
    assert loaded.looks == SMALL.looks
    found = outcome(lambda: loaded.label_index(NAMES))
    assert isinstance(found, PacshiftError) or len(found) == loaded.n_filled
