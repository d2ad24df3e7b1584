"""What ``pacshift monitor`` reads, files and labels, and which certificate and source it is told to use."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pacshift.certificate import Certificate
from pacshift.certification.certify import certify
from pacshift.certification.counted import Data, cut_of
from pacshift.cli import options
from pacshift.cli.certificates import require_model
from pacshift.cli.console import in_flags, note, progress
from pacshift.cli.inputs import Watch
from pacshift.cli.monitor import Watching
from pacshift.errors import InputError
from pacshift.labels.labelled import by_sheet
from pacshift.labels.sheet import LabelSheet
from pacshift.methods import PST, Method
from pacshift.methods.base import score_for
from pacshift.monitor import Monitor
from pacshift.monitor.periods import CountedRows, Known, Period
from pacshift.monitor.tables import Cut, count_periods
from pacshift.rows import fold
from pacshift.rows.arrow.files import list_files
from pacshift.rows.arrow.table import MAX_KEPT_BYTES, read_rows
from pacshift.rows.base import CheckedRows
from pacshift.rows.columns import Columns
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.names import shorten
from pacshift.scores.transforms import resolve_transform
from pacshift.tally import Tally
from pacshift.words.numbers import mean_size


def read_source(
    path: Path,
    label: str,
    asked: options.ColumnOptions,
    method: Method,
    certificate: Certificate | None,
    before_work: Callable[..., None],
    *,
    silent: bool,
) -> "tuple[Tally, Columns | None, Callable[..., CheckedRows]]":
    """The counts of the source, its columns if it is a table, and what reads other tables as it was read.

    ``before_work`` is called with the rows before they are counted.

    Its scores are taken as the certificate in use takes them, if there is one.
    """
    reading, score, columns = asked.reading(label), None, None
    if path.suffix == ".tally":
        about = {"--label": label != "label", "--classes": asked.classes, "--softmax": asked.softmax}
        for flag in (flag for flag, value in about.items() if value):
            raise InputError(f"{flag} is about rows of SOURCE, but {path} is a tally. Leave it out.")
        counted = Tally.load(path)
        before_work()
    else:
        if certificate is not None:
            reading["classes"] = reading["classes"] or certificate.classes
            reading["softmax"] = reading["softmax"] or certificate.softmax
            score = certificate.score
        rows = read_rows([path], **reading, name="source", role="source", watch=Watch(silent))
        before_work(rows)
        counted = rows.tally(score_for(method, score), soft=method.needs_soft)
        columns = rows.columns
    reading |= {"label": None, "classes": counted.classes, "softmax": counted.softmax, "columns": columns}
    reading["scores"] = asked.scores if columns is None else None
    return counted, columns, partial(read_rows, **reading)


def follow(
    watch: Monitor,
    targets: Sequence[Path],
    read: Callable[..., CheckedRows],
    watching: Watching,
    *,
    source: Path,
    group: str | None,
    soft: bool,
    silent: bool,
) -> dict[str, str]:
    """Let the monitor count the files that are new, and report on every period that got rows.

    What cannot be counted does not keep the others waiting: the files, each with the reason.
    """
    not_counted: dict[str, Exception] = {}
    classes, unit = watch.source.classes, watching.unit

    def count(file: Path, known: Known) -> CountedRows:
        """The rows of a file by period."""
        if file.is_relative_to(source.resolve()):
            raise InputError(f"{file} is SOURCE too, and labelled rows cannot be compared with themselves.")
        if file.suffix == ".tally":
            tally = Tally.load(file)
            if tally.n_source or tally.classes != classes:
                raise InputError(f"{file}: a period must be the tally of unlabelled rows of the source's classes.")
            if watching.key is not None:
                raise InputError(f"{file}: a tally has no rows, so --key cannot tell them apart. Give tables.")
            name = watching.replace or known.name()
            return CountedRows({name: Period(name, None, None, tally)}, tally.n_target, lambda _certificate: {})
        cut = Cut(unit, None if isinstance(unit, int) else watching.timestamp, known.rows_before)
        if unit is None:
            cut = Cut(None, name=watching.replace or known.name())
        # The first certificate is made from these rows, and then their sets are counted.
        keep = known.in_use is None and 8 * len(classes) * known.rows_before < MAX_KEPT_BYTES
        bar = partial(progress, f"counting {file.name}", silent=silent)
        rows = read(file, keep=keep, within=cut.keys, watch=lambda _rows, _doing: bar())
        key, keys = watching.key, known.keys
        return count_periods(rows, cut, soft=soft, in_use=known.in_use, key=key, known_keys=keys)

    refuse = None if watching.replace else lambda file, error: not_counted.update({str(file): error})
    files = [
        file.resolve()
        for path in targets
        for file in ([path] if path.suffix == ".tally" else list_files(path, refuse))
    ]
    # What must be the same in every run, or rows would be cut or chosen otherwise and count again.
    reading = {"timestamp": watching.timestamp, "period": None if unit is None else str(unit)}
    reading |= {"key": watching.key, "group": group}
    bar = partial(progress, silent=silent)
    watch.follow(files, count, replace=watching.replace, reading=reading, refuse=refuse, tell=note, bar=bar)
    if not_counted and not watch.history:  # there is nothing else to say
        raise next(iter(not_counted.values()))
    return {file: in_flags(str(error)).removeprefix(f"{file}: ") for file, error in not_counted.items()}


def label_period(
    watch: Monitor,
    first: tuple[Path, str, Tally, Columns | None],
    targets: Sequence[Path],
    read: Callable[..., CheckedRows],
    file: Path,
    *,
    silent: bool,
) -> None:
    """Certify by the labels of a refuted period, use this certificate, and make the labelled rows the source.

    The thresholds are planned with the first source, at every look: what is planned must not have seen the rows of
    the test, which an earlier look has put into the source in use (Lemma 1 of docs/methods/ps-t.md).
    """
    sheet, (path, label, counted, columns), watched = LabelSheet.load(file), first, Watch(silent)
    if any(path.suffix == ".tally" for path in targets):
        raise InputError("--labelled is about rows of a TARGET table, but a tally has none. Give the table.")
    target = read(list(targets), name="period", watch=watched)
    rows = target.tally(soft=counted.soft is not None)
    period = watch.period_of(rows)
    if period is None:
        raise InputError(
            f"--labelled: the {rows.n_target:,} rows of TARGET are not those of a period that was counted. "
            "Give all rows of one period and no others, as the sheet was made from them; in any file, if "
            "periods share files. Count a new period first, without --labelled."
        )
    # A tally has no rows to plan with.
    source = None if path.suffix == ".tally" else read(path, label=label, name="source", watch=watched)
    transform = resolve_transform(counted.score)
    labelled = by_sheet(source, target, sheet, watch.request, transform, counted)
    # Labelled rows speak for the whole period: there is nothing that bounds of the mix could narrow down.
    asked = replace(watch.request, contamination=0.0, known_mix=None, known=None)
    certificate = certify(Data(counted + rows, labelled, transform), PST(), asked)
    (sizes,) = fold.sizes(target, [cut_of(certificate)])
    certificate = replace(certificate, columns=columns, set_sizes=sizes)
    watch.new_source(period, labelled.counted, certificate, sheet=sheet)
    size, _ = mean_and_empty(sizes)
    note(f"{labelled.n_rows:,} labelled rows of {period} certify sets of {mean_size(size)} labels on average.")
    if watch.source_looks > 1:
        note(
            f"labelling could have stopped at {watch.source_looks:,} places, so each later report gets 1 of "
            f"{watch.source_looks:,} parts of its share of delta. A sheet without looks keeps all of it."
        )


def go_back(watch: Monitor) -> None:
    """Compare later periods with the first source again."""
    if not watch.source_number:
        note("--source first: periods are compared with the first source already.")
        return
    watch.first_source()
    in_use = "" if watch.in_use is None else f" In use is still {watch.in_use.in_words}; --adopt changes it."
    note(
        f"later periods are compared with {watch.source_in_words} again. Reports that were made stay: --replace "
        f"PERIOD makes one anew.{in_use}"
    )


def choose_certificate(watch: Monitor, given: Certificate | None, adopt: str | None, model_id: str | None) -> None:
    """Use what is asked for, if it is for this model. What was given in the last run too is no new choice."""
    if given is not None and not watch.offer(given) and adopt is None:
        in_use = "" if watch.in_use is None else f" In use is {watch.in_use.in_words}."
        note(f"--certificate was given before, and another one was adopted since.{in_use} --adopt FILE undoes it.")
    if adopt is not None:  # the fresh certificate of a period that was reported in an earlier run, or a file
        found = {report.period: report for report in watch.history}
        if adopt not in found and Path(adopt).suffix != ".json":
            known = shorten(list(found)) if found else "none yet (earlier runs are remembered with --state)"
            raise InputError(
                f"--adopt {adopt}: no report on this period, and not the name of a certificate (*.json). The "
                f"periods are {known}."
            )
        watch.adopt(found[adopt].fresh if adopt in found else Certificate.load(adopt))
    if watch.certificate is not None:
        require_model(watch.certificate, model_id)
    for text in watch.warnings():
        note(text)
