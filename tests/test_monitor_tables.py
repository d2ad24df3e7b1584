"""Tables cut into periods: by time, by files; the counts are those of the rows, wherever they lie."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hospital import NAMES, USUAL, patients, table
from pacshift import InputError, Tally, calibrate
from pacshift.monitor.periods import CountedRows
from pacshift.monitor.tables import PeriodRule, count_periods
from pacshift.rows.arrow.find import ReadOptions
from pacshift.rows.arrow.table import read_rows

N = 900
SCORES, LABELS = patients(N, USUAL, np.random.default_rng(0))
TIMES = np.datetime64("2026-01-28T12:00", "s") + np.arange(N) * np.timedelta64(3600 * 6, "s")  # 6 hours apart


def counted(file: Path, rule: PeriodRule, *, drop_invalid: float = 0.0, **options: Any) -> CountedRows:
    return count_periods(read_rows(file, ReadOptions(classes=NAMES, drop_invalid=drop_invalid)), rule, **options)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    order = np.random.default_rng(1).permutation(N)
    path = tmp_path / "visits.parquet"
    pa.parquet.write_table(table(SCORES[order], days=TIMES[order]), path)
    return path


def expected(keys: Any) -> dict[str, Tally]:
    return {key: Tally.from_target(SCORES[keys == key], classes=NAMES, soft=False) for key in np.unique(keys)}


@pytest.mark.parametrize("batch", [64, 1 << 20])
def test_months_hold_the_rows_of_the_month(file: Path, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", batch)
    found = counted(file, PeriodRule("month", "seen"))
    wanted = expected(TIMES.astype("M8[M]").astype(str))
    assert {name: part.target for name, part in found.periods.items()} == wanted
    assert (found.n_rows, found.n_dropped) == (N, 0)
    january = found.periods["2026-01"]
    assert (january.start, january.end) == ("2026-01-01", "2026-01-31")


def test_days_and_weeks(file: Path) -> None:
    days = counted(file, PeriodRule("day", "seen")).periods
    assert {name: part.target for name, part in days.items()} == expected(TIMES.astype("M8[D]").astype(str))
    weeks = counted(file, PeriodRule("week", "seen")).periods
    first = next(iter(weeks.items()))
    assert first[0] == "2026-W05"
    assert (first[1].start, first[1].end) == ("2026-01-26", "2026-02-01")  # Monday to Sunday
    assert sum(part.target.n_target for part in weeks.values()) == N


def test_a_file_is_a_period_and_its_sets_are_counted(file: Path) -> None:
    labels = np.array(NAMES)[LABELS]
    source = Tally.from_scores(SCORES, labels, classes=NAMES)
    in_use = calibrate(source, epsilon=0.1, delta=0.1, method="PS")
    (part,) = counted(file, PeriodRule(name="visits"), in_use=in_use).periods.values()
    sizes = in_use.sets(SCORES).sum(axis=1)
    assert part.set_sizes is not None
    assert part.set_sizes.tolist() == np.bincount(sizes, minlength=4).tolist()


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["2026-03-31T23:30:00", "2026-04-01", None]),
        pa.array(["2026-03-31T23:30:00", "2026-04-01", None]).dictionary_encode(),
        pa.array(np.array(["2026-03-31", "2026-04-01", "NaT"], "M8[ns]")),
        pa.array([np.datetime64("2026-03-31", "D").item(), np.datetime64("2026-04-01", "D").item(), None]),
        # 21:30 in UTC is 23:30 in Berlin: the hospital's own March.
        pa.array(np.array(["2026-03-31T21:30", "2026-04-01", "NaT"], "M8[us]")).cast(
            pa.timestamp("us", "Europe/Berlin")
        ),
        pa.array(["2026-03-31T23:30:00Z", "2026-04-01T00:00:00.250z", None]),
        # Half past eleven where it was written, although it was April in London already.
        pa.array(["2026-03-31T23:30:00-05:00", "2026-04-01 00:30:00+0200", None]),
        pa.array(["2026-03-31", "2026-04-01", "9999-12-31"]).cast(pa.date32()),
        pa.array(["2026-03-31T23:30:00+02", "2026-04-01", "1900-01-01"], pa.large_string()),
    ],
    ids=["text", "dictionary", "nanoseconds", "date", "zone", "Z", "offsets", "sentinels", "large text"],
)
def test_kinds_of_timestamps(column: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    made = table(SCORES[:3]).append_column("seen", column)
    pa.parquet.write_table(made, path)
    with pytest.raises(InputError, match=r"1 row has no timestamp .* outside the years 1901 to 2199"):
        counted(path, PeriodRule("month", "seen"))
    found = counted(path, PeriodRule("month", "seen"), drop_invalid=1.0)
    assert {name: part.target.n_target for name, part in found.periods.items()} == {"2026-03": 1, "2026-04": 1}
    assert found.n_dropped == 1


@pytest.mark.parametrize(
    ("column", "message"),
    [(pa.array([1, 2, 3]), "int64, not timestamps"), (pa.array(["soon", "2026-01-01", "x"]), "not ISO dates")],
)
def test_columns_that_are_no_timestamps(column: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(table(SCORES[:3]).append_column("seen", column), path)
    with pytest.raises(InputError, match=message):
        counted(path, PeriodRule("month", "seen"))
    with pytest.raises(InputError, match="no column 'when'"):
        counted(path, PeriodRule("month", "when"))


def test_an_unknown_time_zone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    times = pa.array(TIMES[:3]).cast(pa.timestamp("s", "Mars/Olympus"))
    pa.parquet.write_table(table(SCORES[:3]).append_column("seen", times), path)
    with pytest.raises(InputError, match=r"time zone 'Mars/Olympus', which this machine does not know"):
        counted(path, PeriodRule("month", "seen"))


def test_a_period_of_which_nothing_is_left_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a batch of its own, too."""
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 30)
    scores, path = SCORES.copy(), tmp_path / "t.parquet"
    scores[np.datetime64("2026-02-01") > TIMES] = np.nan
    pa.parquet.write_table(table(scores, days=TIMES), path)
    n_bad = int(np.isnan(scores[:, 0]).sum())
    with pytest.raises(InputError, match=rf"{n_bad} rows of 2026-01 cannot be used. That is 100 % of {n_bad}"):
        counted(path, PeriodRule("month", "seen"), drop_invalid=0.5)
    assert "2026-01" not in counted(path, PeriodRule("month", "seen"), drop_invalid=1.0).periods


@pytest.mark.parametrize("batch", [30, 1 << 20])
def test_a_period_without_its_groups_is_refused(batch: int, tmp_path: Path, monkeypatch: Any) -> None:
    """Also where it makes up few rows of the table; a group is lost in the period in which it has no row."""
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", batch)
    scores, path, rule = SCORES.copy(), tmp_path / "t.parquet", PeriodRule("month", "seen")
    in_january, patient = np.datetime64("2026-02-01") > TIMES, pa.array(np.arange(N) % 2)
    scores[in_january & (np.arange(N) % 2 == 0)] = np.nan
    for bad, most, said in (
        (scores, 0.05, "2026-01: 1 group has no row .* 50 % of 2 groups"),
        (np.where(in_january[:, None], np.nan, SCORES), 0.5, "2026-01: 2 groups have no row .* 100 % of 2 groups"),
    ):
        pa.parquet.write_table(table(bad, days=TIMES).append_column("patient", patient), path)

        def count(most: float) -> CountedRows:
            rows = read_rows(
                path, ReadOptions(classes=NAMES, group="patient", drop_invalid=most), within=rule.keys
            )
            return count_periods(rows, rule)

        with pytest.raises(InputError, match=said):
            count(most)
        assert count(1.0).periods["2026-02"].target.n_target == 2
