"""What is known about one period, and about all of them: along the time axis, and as one long table."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.errors import InputError
from pacshift.files.origin import current_time
from pacshift.files.writing import PathLike, atomic_write
from pacshift.monitor.calendar import Gap, day_of, find_gaps
from pacshift.monitor.verdict import Verdict
from pacshift.tally import Tally
from pacshift.tally.grid import mean_binned_size
from pacshift.words.display import short_repr
from pacshift.words.numbers import between, digits_against


@dataclass(frozen=True, eq=False, kw_only=True)
class PeriodReport:
    """What is known about one period.

    Under label shift, and if sizes and mixes of periods do not depend on the source or on earlier reports, the
    verdict, the error, the mix, the weights, the accuracy and the promise of the fresh certificate are right at
    once with the confidence of the monitor. The fresh certificate's ``class_miss`` has the confidence
    that it has in any certificate.

    Attributes
    ----------
    period : str
        Name of the period, such as ``"2026-05"``.
    start, end : str or None
        First and last day of the period; None if they were not given.
    number : int
        How many reports the monitor had made, this one included. With ``forever`` it decides the share of delta.
    rows : int
        Target rows of the period that had been counted.
    epsilon : float
        Share of true labels that the sets in use may miss.
    delta : float
        Chance that the fresh certificate of this report is wrong.
    verdict : {"kept", "not-proven", "broken", "shift-rejected"}
        ``kept``: the sets in use miss at most ``epsilon`` of this period, and of every class at most the monitor's
        ``class_epsilon`` if there is one. ``broken``: they miss more. ``not-proven``: neither is proven.
        ``shift-rejected``: the rows contradict label shift, so nothing is certified.
    finding : str
        The verdict in one or two sentences.
    error : tuple of two floats, or None
        Lower and upper bound of the share that the certificate in use misses; None if label shift was rejected.
    fresh : Certificate or None
        A certificate made for this period, with its label mix; None if label shift was rejected.
    fresh_size : float or None
        Mean size of the fresh certificate's sets in this period, estimated from coarse bins. They are made for
        ``epsilon``.
    size : float or None
        Mean size of the sets in use, which were made for ``in_use_epsilon``. Estimated from coarse bins where the
        sets of the rows were not counted: before there is a certificate, and of tallies.
    empty : float or None
        Share of sets in use that are empty; None if they were not counted.
    in_use_number : int
        Number of the certificate that was in use then, as in ``Monitor.in_use``.
    in_use_epsilon : float or None
        The epsilon that the certificate in use was made for: ``size`` belongs to it, and ``fresh_size`` to
        ``epsilon``.

    Examples
    --------
    >>> from pacshift import Monitor, Population, Tally
    >>> population = Population.synthetic(["healthy", "sick"], strength=5, rng=0)
    >>> source = Tally.from_scores(*population.draw([0.9, 0.1], 4000, rng=1), classes=["healthy", "sick"])
    >>> monitor = Monitor(source, epsilon=0.1, delta=0.05)
    >>> report = monitor.update(population.draw([0.8, 0.2], 4000, rng=2)[0], period="January")
    >>> report.period, report.rows, report.verdict, report.alert
    ('January', 4000, 'kept', False)
    """

    period: str
    start: str | None
    end: str | None
    number: int
    rows: int
    epsilon: float
    delta: float
    verdict: Verdict
    finding: str
    error: tuple[float, float] | None
    fresh: Certificate | None
    fresh_size: float | None
    size: float | None
    empty: float | None
    in_use_number: int = 0
    in_use_epsilon: float | None = None

    __repr__ = short_repr

    @property
    def missed(self) -> str | None:
        """What the sets in use miss, in words; None if label shift was rejected."""
        return None if self.error is None else between(*self.error, digits_against(self.error[0], self.epsilon))

    @property
    def alert(self) -> bool:
        """Whether something broke: the promise, or the assumption."""
        return self.verdict in ("broken", "shift-rejected")

    @property
    def prevalence(self) -> Interval | None:
        """Bounds of the period's label mix, where known."""
        return None if self.fresh is None else self.fresh.prevalence

    @property
    def weights(self) -> Interval | None:
        """Bounds of how many times as frequent each class is as on the source, where known."""
        return None if self.fresh is None else self.fresh.weights

    @property
    def accuracy(self) -> float | None:
        """Lower bound of the classifier's accuracy in this period, where known."""
        return None if self.fresh is None else self.fresh.accuracy


def in_use_epsilons(history: Iterable[PeriodReport]) -> list[float]:
    """What the sets in use were made for, whose sizes a history names."""
    return sorted(
        {one.in_use_epsilon for one in history if one.size is not None and one.in_use_epsilon is not None}
    )


def estimated_size(target: Tally, certificate: Certificate | None) -> float | None:
    """Mean size of a certificate's sets from the target's bins; None where they do not tell."""
    if certificate is None or target.bins is None or certificate.score != "probability":
        return None
    return mean_binned_size(target.bins, certificate.thresholds)


def timeline(history: Iterable[PeriodReport], gaps: Sequence[Gap]) -> list[PeriodReport | Gap]:
    """What there is to see along the time axis: reports in their order, each gap before what follows it."""
    shown: list[PeriodReport | Gap] = []
    left = list(gaps)
    for report in history:
        while left and report.start is not None and left[0].end < report.start:
            shown.append(left.pop(0))
        shown.append(report)
    return [*shown, *left]


COLUMNS = ("period", "start", "end", "metric", "value", "lower", "upper", "alert", "epsilon")
"""Of the long table, as monitoring tools name them."""
PROMETHEUS = ".prom"
ENDINGS = (".parquet", ".feather", ".csv", ".json", PROMETHEUS)

_RUN = "pacshift_last_run_"


def history_rows(history: Iterable[PeriodReport]) -> list[dict[str, Any]]:
    """One row per period and metric.

    Parameters
    ----------
    history : iterable of PeriodReport
        As ``Monitor.history`` gives it.

    Returns
    -------
    list of dict
        Each with period, start, end, metric, value, lower, upper, alert and epsilon. A value is counted, or
        estimated from counts (sizes). It is None where only bounds are known. An infinite bound is None too.
        Epsilon is what the sets were made for whose size it is, and what the error may be.

    Examples
    --------
    >>> from pacshift import Monitor, Tally
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200
    >>> monitor = Monitor(Tally.from_scores(scores, labels), epsilon=0.2, delta=0.1)
    >>> report = monitor.update(scores, period="first")
    >>> [row["metric"] for row in history_rows(monitor.history)][:6]
    ['rows', 'error', 'assumption', 'accuracy', 'size', 'empty']
    """
    rows: list[dict[str, Any]] = []
    for report in history:
        error, made_for = report.error or (None, None), report.in_use_epsilon
        metrics: list[tuple[Any, ...]] = [
            ("rows", report.rows, None, None, False, None),
            ("error", None, *error, report.verdict == "broken", report.epsilon),
            ("assumption", None, None, None, report.verdict == "shift-rejected", None),
            ("accuracy", None, report.accuracy, None, False, None),
            ("size", report.size, None, None, False, made_for),
            ("empty", report.empty, None, None, False, made_for),
            ("fresh size", report.fresh_size, None, None, False, report.epsilon),
        ]
        for name, interval in (("share", report.prevalence), ("weight", report.weights)):
            if interval is not None and report.fresh is not None:
                bounds = zip(report.fresh.classes, interval.lower, interval.upper, strict=True)
                metrics += [(f"{name}: {label}", None, low, high, False, None) for label, low, high in bounds]
        for metric, *numbers, alert, epsilon in metrics:
            finite = [None if one is None or not math.isfinite(one) else float(one) for one in numbers]
            values = (report.period, report.start, report.end, metric, *finite, alert, epsilon)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def write_history(
    history: Iterable[PeriodReport],
    path: PathLike,
    *,
    overwrite: bool = True,
    not_counted: Collection[str] = (),
) -> int:
    """Write the history as Parquet, Feather, CSV or JSON, chosen by the ending of the name.

    A name that ends in ``.prom`` gets the newest period alone, and how the run went that ends now, in the text
    format that Prometheus reads.

    Parameters
    ----------
    history : iterable of PeriodReport
        As ``Monitor.history`` gives it.
    path : path-like
        The file. It is written whole or not at all.
    overwrite : bool, default True
        Whether an existing file may be replaced.
    not_counted : collection of str, optional
        Files that could not be counted: for Prometheus the run has failed then.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    InputError
        If the ending is not known, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pacshift import Monitor, Tally
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200
    >>> monitor = Monitor(Tally.from_scores(scores, labels), epsilon=0.2, delta=0.1)
    >>> report = monitor.update(scores, period="first")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_history(monitor.history, pathlib.Path(folder, "monitor.csv"))
    11
    """
    kind, reports = check_history_path(path), list(history)
    rows = history_rows(reports[-1:] if kind == PROMETHEUS else reports)
    with atomic_write(path, overwrite=overwrite) as draft:
        if kind == ".json":
            draft.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
            return len(rows)
        if kind == PROMETHEUS:
            draft.write_text(_metrics(rows, reports, len(not_counted)), encoding="utf-8")
            return len(rows)
        import pyarrow as pa
        from pyarrow import csv, feather, parquet

        from pacshift.rows.arrow.sets import escape_batch  # needs Arrow, and says so

        texts = ("period", "start", "end", "metric")
        kinds = {name: pa.string() if name in texts else pa.float64() for name in COLUMNS} | {"alert": pa.bool_()}
        table = pa.Table.from_pylist(rows, pa.schema(kinds))
        if kind == ".csv":  # names of periods come from those of files
            csv.write_csv(pa.Table.from_batches(map(escape_batch, table.to_batches()), table.schema), str(draft))
        else:
            write = parquet.write_table if kind == ".parquet" else feather.write_feather
            write(table, str(draft))
    return len(rows)


def write_failed_run(path: PathLike) -> None:
    """Tell Prometheus that the run failed; what the last one found stays as it was."""
    file, text = Path(path), _in_text_format(_run_gauges(success=False))
    if file.exists():
        lines = file.read_text("utf-8", "replace").splitlines(keepends=True)
        ours = [line for line in lines if line.startswith(("# TYPE pacshift_", "pacshift_"))]
        text += "".join(line for line in ours if _RUN not in line)
    with atomic_write(file) as draft:
        draft.write_text(text, encoding="utf-8")


def _run_gauges(*, success: bool) -> dict[str, list[str]]:
    """When a run ended, and whether it did what it should."""
    values = {f"{_RUN}timestamp_seconds": current_time().timestamp(), f"{_RUN}success": int(success)}
    return {name: [f"{name} {value!r}"] for name, value in values.items()}


def _in_text_format(gauges: Mapping[str, Sequence[str]]) -> str:
    return "".join("\n".join([f"# TYPE {name} gauge", *lines, ""]) for name, lines in gauges.items())


def _metrics(rows: Iterable[dict[str, Any]], reports: Sequence[PeriodReport], n_not_counted: int) -> str:
    """Gauges of one period: what a collector of text files hands on, and an alert rule looks at.

    The period is no label of them: every one would begin new series. Its end tells which it is, and how old.
    Periods that should have come by now count as missing.
    """
    gauges = _run_gauges(success=not n_not_counted)
    gaps = find_gaps(((report.start, report.end) for report in reports), current_time().date())
    counted = {"periods_without_rows": sum(gap.periods for gap in gaps), "files_not_counted": n_not_counted}
    gauges |= {f"pacshift_{name}": [f"pacshift_{name} {number}"] for name, number in counted.items()}
    if reports and (last := day_of(reports[-1].end)) is not None:
        end = datetime.combine(last + timedelta(days=1), time(), UTC).timestamp()
        gauges["pacshift_period_end_seconds"] = [f"pacshift_period_end_seconds {end!r}"]
    for row in rows:
        metric, _, label = row["metric"].partition(": ")
        name, of_class = f"pacshift_{metric.replace(' ', '_')}", []
        if label:
            quoted = label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
            of_class = [f'class="{quoted}"']
        for kind in (kind for kind in ("value", "lower", "upper") if row[kind] is not None):
            labels = of_class if kind == "value" else [*of_class, f'bound="{kind}"']
            of = f"{{{','.join(labels)}}}" if labels else ""
            gauges.setdefault(name, []).append(f"{name}{of} {row[kind]!r}")
        if metric in ("error", "assumption"):
            alert = f'pacshift_alert{{kind="{metric}"}} {int(row["alert"])}'
            gauges.setdefault("pacshift_alert", []).append(alert)
    return _in_text_format(gauges)


def check_history_path(path: PathLike) -> str:
    """The ending of the name, or an error that lists those that are known."""
    kind = Path(path).suffix.lower()
    if kind not in ENDINGS:
        raise InputError(f"{path}: the name of the table must end in {', '.join(ENDINGS)}.")
    return kind
