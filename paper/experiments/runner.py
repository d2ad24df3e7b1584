"""Run the trials of many panels on all cores. Resumes after an interruption."""

import json
import multiprocessing
import signal
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pacshift import __version__
from pacshift.errors import InputError
from pacshift.methods import METHODS
from pacshift.parallel import cores
from paper.experiments.datasets import Dataset
from paper.experiments.panels import Panel
from paper.experiments.trial import Experiment, TrialRow, load_base, run_trial

# The append-only log of finished trials, from which an interrupted run resumes.

LOG_NAME = "trials.jsonl"


def fingerprint(experiment: Experiment, base: Dataset) -> str:
    """Changes with anything that changes the numbers, so that a log never mixes two experiments."""
    data = (zlib.crc32(base.probs.tobytes()), zlib.crc32(base.labels.tobytes()))
    facts = (asdict(experiment.panel), experiment.seed, experiment.population, data, __version__)
    return f"{zlib.crc32(repr(facts).encode()):08x}"


class TrialLog:
    """One JSON line per trial. Only whole lines count: a trial whose line was cut off by a crash is run again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME

    def read(self) -> dict[tuple[str, int, str], TrialRow]:
        """Rows by (fingerprint, trial, method)."""
        if not self.path.exists():
            return {}
        with self.path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
        rows: dict[tuple[str, int, str], TrialRow] = {}
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                entry = json.loads(line)
                found = [TrialRow(**row) for row in entry["rows"]]
                rows |= {(entry["key"], row.trial, row.method): row for row in found}
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{self.path}, line {number}: not a finished trial ({error}). "
                    "Delete that line or the whole file to run those trials again."
                ) from error
        return rows

    def append(self, key: str, rows: Iterable[TrialRow]) -> None:
        """Add one trial; on disk before this returns."""
        entry: dict[str, Any] = {"key": key, "rows": [asdict(row) for row in rows]}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


Progress = Callable[[int, int, str], None]
"""Called with (trials done, trials in all, panel just worked on)."""


@dataclass(frozen=True)
class Job:
    """Methods still to run on one trial."""

    experiment: Experiment
    key: str
    trial: int
    methods: tuple[str, ...]


@dataclass(frozen=True)
class PanelResult:
    """All rows of one panel, in the order of trials and, within a trial, of the paper's figures."""

    panel: Panel
    title: str
    """The data set's name; says "twin" where it is one."""
    origin: str
    methods: tuple[str, ...]
    rows: tuple[TrialRow, ...]
    story: str = ""
    """Where the scores come from, in one line."""

    @property
    def name(self) -> str:
        """The panel's name as tables show it: never a twin's results without the word."""
        return self.panel.name + (" (twin)" if self.origin == "twin" else "")


def run_panels(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    trials: int = 100,
    methods: Sequence[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[PanelResult, ...]:
    """Run the trials that the log in ``folder`` lacks; results do not depend on the number of workers."""
    log = TrialLog(folder)
    known, runs, jobs = log.read(), [], []
    for experiment in experiments:
        base, names = load_base(experiment), check_methods(methods or experiment.panel.methods)
        check_experiment(experiment, base)
        key = fingerprint(experiment, base)
        runs.append((experiment.panel, base, key, names))
        for trial in range(trials):
            missing = tuple(name for name in names if (key, trial, name) not in known)
            jobs += [Job(experiment, key, trial, missing)] if missing else []
    total = trials * len(experiments)
    folder.mkdir(parents=True, exist_ok=True)
    for done, (job, rows) in enumerate(_run(jobs, workers), start=total - len(jobs) + 1):
        log.append(job.key, rows)
        known |= {(job.key, row.trial, row.method): row for row in rows}
        if progress:
            progress(done, total, job.experiment.panel.name)
    found = []
    for panel, base, key, names in runs:
        rows = tuple(known[key, trial, name] for trial in range(trials) for name in names)
        found.append(PanelResult(panel, base.title, base.origin, names, rows, base.story))
    return tuple(found)


def _run(jobs: Sequence[Job], workers: int | None) -> Iterator[tuple[Job, tuple[TrialRow, ...]]]:
    """Jobs in the order in which they finish."""
    workers = min(workers or cores(), len(jobs))
    if workers <= 1:
        yield from ((job, run_trial(job.experiment, job.trial, job.methods)) for job in jobs)
        return
    # "spawn" behaves alike on every system and never copies the threads of a progress bar.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupt)
    try:
        futures = {pool.submit(run_trial, job.experiment, job.trial, job.methods): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # on Ctrl-C too: at most the trials in flight are lost
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupt() -> None:
    """Ctrl-C reaches every process of the terminal; only the parent reacts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Known names, each once, in the order given."""
    for name in methods:
        if name not in METHODS:
            raise InputError(f"method {name!r} is unknown. Use some of {', '.join(METHODS)}.")
    return tuple(dict.fromkeys(methods))


def check_experiment(experiment: Experiment, base: Dataset) -> None:
    """Refuse mixes that do not fit the data: one share per class, and rows of every class with a share."""
    panel = experiment.panel
    for name, shares in (("source", panel.source_mix), ("target", panel.target_mix)):
        if len(shares) != base.n_classes:
            raise InputError(
                f"panel {panel.name}: the {name} mix has {len(shares)} shares, {base.title} has {base.n_classes} "
                "classes. Give one share per class."
            )
        for label, share in enumerate(shares):
            rows = int((base.labels == label).sum())
            if share > 0 and rows < 2:
                raise InputError(
                    f"panel {panel.name}: the {name} mix gives class {base.class_names[label]!r} a share of "
                    f"{share:g}, but the scores hold {rows} of its rows. At least 2 are needed."
                )
