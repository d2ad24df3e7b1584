"""SOURCE and TARGET on the command line: files, folders, or tallies counted elsewhere."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from pacshift.cli.console import note, progress
from pacshift.cli.options import TargetLabels
from pacshift.errors import InputError, param
from pacshift.files.same import file_sha256, find_same_files, same_file_error
from pacshift.tally import Tally
from pacshift.tally.inputs import Input, Role, printable, shorten_inputs, sum_left_out, why_in_words
from pacshift.tally.same_rows import require_distinct

if TYPE_CHECKING:
    from pacshift.certificate import Certificate
    from pacshift.progress import Progress
    from pacshift.rows.arrow.find import ReadOptions
    from pacshift.rows.base import CheckedRows, Doing


WORDS = "patient|subject|person|participant|user|customer|client|member"
NAMED_LIKE_AN_ID = re.compile(rf"({WORDS})s?([ _-]?(id|no|nr|number|key))?|(.+[ _-])?id", re.IGNORECASE)

NO_LABELS = TargetLabels()

MIN_IDS = 20
"""With fewer different values it is rather a site or a device than a person. A round number; not measured."""


@dataclass(eq=False)
class Watch:
    """Shows a bar around every pass, and says once what was left out and what looks like the id of a group."""

    silent: bool
    names_told: set[str] = field(default_factory=set)

    @contextmanager
    def __call__(self, rows: "CheckedRows", doing: "Doing") -> "Iterator[Progress | None]":
        with progress(f"counting the {rows.name}" if doing == "counting" else doing, silent=self.silent) as report:
            yield report
        if doing not in ("counting", "checking", "drawing rows") or rows.name in self.names_told:
            return
        self.names_told.add(rows.name)
        faults = rows.last_scan.faults
        note_left_out_rows(rows.name, faults.n_rows, rows.last_scan.n_rows - faults.n_rows, faults.why)
        if rows.reread_cost == "expensive" and rows.labels == "all" and rows.grouped is None and not self.silent:
            tell_repeated_ids(rows)


def open_data(
    files: Sequence[Path] | None,
    reading: "ReadOptions",
    labels: TargetLabels = NO_LABELS,
    *,
    silent: bool,
    like: "Certificate | None" = None,
) -> "tuple[Tally] | tuple[CheckedRows, CheckedRows | None]":
    """What a verb takes first: the sum of tallies; or a labelled source and, if there is one, its target.

    The target is read like the source; ``labels`` says where labels of its rows are.
    """
    paths = list(files or ())
    tallies = [path for path in paths if path.suffix == ".tally"]
    if labels.target_label is not None and labels.labelled is not None:
        raise InputError("--target-label and --labelled are two ways to say the same. Give one of them.")
    if tallies:
        for path in (path for path in paths if path not in tallies):
            raise InputError(
                f"tallies and tables do not mix: {tallies[0]} is a tally, {path} is not. Count the tables first, "
                "with `pacshift tally`."
            )
        return (load_tallies(paths),)
    if len(paths) > 2:
        raise InputError(
            f"one SOURCE and one TARGET, got {len(paths)} paths. Put the files of each into a folder, or "
            "name them by a pattern in quotes: 'part-*.parquet'."
        )
    if not paths:
        raise InputError("no SOURCE: name a labelled table (a file or a folder).")
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError(f"{paths[0]} is both SOURCE and TARGET. Name the new population's table as TARGET.")
    from pacshift.rows.arrow.table import read_rows

    watch = Watch(silent)
    source = read_rows(paths[:1], reading, like=like, watch=watch, name="source", role="source")
    if len(paths) < 2:
        return source, None
    reading = replace(reading, label=labels.target_label, scores=None, classes=None)
    try:
        return source, read_rows(paths[1:], reading, like=source, watch=watch, name="target", role="target")
    except InputError as error:  # what is wrong with both should not come one at a time
        scores = f", or name its score columns with {param('scores=')}"
        of_target = str(error).replace(scores, "")  # these are the source's
        try:
            look_at_first_rows(source)
        except InputError as of_source:
            raise InputError(f"source: {of_source} And {of_target}") from None
        raise InputError(of_target) from None


def look_at_first_rows(*tables: "CheckedRows | Tally | None") -> None:
    """Refuse rows that a verb would refuse later, as far as the first rows show it."""
    for table in tables:
        if table is None or isinstance(table, Tally) or table.reread_cost == "never":
            continue
        rows: CheckedRows = getattr(table, "rows", table)  # of groups all rows
        for batch in islice(rows.batches(), 1):
            _ = batch.raw_scores, batch.labels
            may_drop = float(rows.drop_invalid > 0)  # whether that is too many, all rows say
            batch.faults.raise_if_any(rows.classes, drop_invalid=may_drop, n_rows=batch.faults.n_rows)


def load_tallies(paths: Sequence[Path]) -> Tally:
    """The sum of tally files, whatever site each came from. Its inputs are these files."""
    for first, second, *_ in find_same_files(paths):  # also those of arrays
        raise same_file_error(first, second)
    tallies, inputs = [Tally.load(path) for path in paths], list[Input]()
    require_distinct(tallies, [str(path) for path in paths])
    for path, tally in zip(paths, tallies, strict=True):
        rows: tuple[tuple[Role, int], ...] = (("source", tally.n_source), ("target", tally.n_target))
        for role, n_rows in rows:
            # What was left out when the files behind the tally were counted, where it says so.
            behind = [entry for entry in tally.inputs if entry.role == role]
            left_out = sum_left_out(behind) if behind and not tally.n_more_inputs else (None, (), None)
            if n_rows:
                inputs.append(Input(role, printable(path.name), n_rows, (), file_sha256(path), *left_out))
    return replace(Tally.sum(tallies), inputs=shorten_inputs(inputs), n_more_inputs=0)


def note_left_out_rows(what: str, dropped: int, rows: int, why: Sequence[tuple[str, int]] = ()) -> None:
    """Say how many rows were left out, and why where it is known; never leave any out silently."""
    if dropped:
        note(f"{what}: {dropped:,} of {dropped + rows:,} rows left out{why_in_words(why)}.")


def tell_repeated_ids(rows: Any) -> None:
    """Say which column of a table may name groups, if it is not used already. Looks at a batch."""
    import pyarrow.compute as pc

    from pacshift.rows.arrow.source import without_codes

    source, used = rows.source, rows.columns.used
    names = [name for name in source.schema.names if NAMED_LIKE_AN_ID.fullmatch(name) and name not in used]
    for name in (name for name in names if source.schema.names.count(name) == 1):
        batch = next(source.batches([], 1, [name]), None)
        if batch is None:
            return
        values = without_codes(batch.data.column(0)).drop_null()
        n_ids = pc.count_distinct(values).as_py()
        if MIN_IDS <= n_ids < len(values):
            note(
                f"column {name!r} repeats ({n_ids:,} ids in {len(values):,} rows). If rows of one id are copies "
                "or belong to one person, they are not independent, and the promise does not hold: "
                f"--group {quote(name)} counts one random row of each."
            )
            return
