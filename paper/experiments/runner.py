"""Run the trials of many panels on all cores. Resumes after an interruption."""

import json
import multiprocessing
import pickle
import signal
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pacshift import __version__
from pacshift.errors import InputError
from pacshift.files.writing import atomic_write
from pacshift.methods import Method
from pacshift.parallel import cores
from paper.experiments.datasets import Dataset
from paper.experiments.panels import PANEL_NAMES, Panel
from paper.experiments.trial import Experiment, TrialRow, identity, load_base, named, run_trial

# The append-only log of finished trials, from which an interrupted run resumes.

LOG_NAME, PANELS_NAME = "trials.jsonl", "panels.json"


def fingerprint(experiment: Experiment, base: Dataset) -> str:
    """Changes with anything that changes the numbers, so that a log never mixes two experiments."""
    data = (zlib.crc32(base.probs.tobytes()), zlib.crc32(base.labels.tobytes()))
    rows = tuple(field.name for field in fields(TrialRow))
    facts = (asdict(experiment.panel), experiment.seed, experiment.population, data, rows, __version__)
    return f"{zlib.crc32(repr(facts).encode()):08x}"


class TrialLog:
    """One JSON line per trial. Only whole lines count: a trial whose line was cut off by a crash is run again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME

    def read(self) -> dict[tuple[str, int, str], TrialRow]:
        """Rows by (fingerprint, trial, identity of the method)."""
        if not self.path.exists():
            return {}
        with self.path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
        rows: dict[tuple[str, int, str], TrialRow] = {}
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                entry = json.loads(line)
                found = [TrialRow(**row) for row in entry["rows"]]
                ids = entry["methods"]
                rows |= {(entry["key"], row.trial, name): row for name, row in zip(ids, found, strict=True)}
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{self.path}, line {number}: not a finished trial ({error}). "
                    "Delete that line or the whole file to run those trials again."
                ) from error
        return rows

    def append(self, key: str, methods: Sequence[str], rows: Iterable[TrialRow]) -> None:
        """Add one trial; on disk before this returns."""
        entry: dict[str, Any] = {"key": key, "methods": list(methods), "rows": [asdict(row) for row in rows]}
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
    methods: Mapping[str, Method]
    """By identity."""

    def run(self) -> tuple[TrialRow, ...]:
        """The rows of the trial."""
        return run_trial(self.experiment, self.trial, list(self.methods.values()))


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
    seed: int = 0
    population: bool = False
    key: str = ""
    """Of its trials in the log."""
    ids: tuple[str, ...] = ()
    """Of its methods in the log."""

    @property
    def n_trials(self) -> int:
        """Draws."""
        return len(self.rows) // max(1, len(self.methods))

    @property
    def name(self) -> str:
        """The panel's name as tables show it: never a twin's results without the word."""
        return self.panel.name + (" (twin)" if self.origin == "twin" else "")


def run_panels(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    trials: int = 100,
    methods: Sequence[str | Method] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[PanelResult, ...]:
    """Run the trials that the log in ``folder`` lacks; results do not depend on the number of workers.

    ``methods`` are names or method objects, of the package or one's own.
    """
    log = TrialLog(folder)
    known, runs, jobs = log.read(), [], []
    for experiment in experiments:
        base, chosen = load_base(experiment), named(methods or experiment.panel.methods)
        check_experiment(experiment, base)
        key, by_id = fingerprint(experiment, base), {identity(*item): item for item in chosen.items()}
        runs.append((experiment, base, key, by_id))
        for trial in range(trials):
            missing = {one: method for one, (_, method) in by_id.items() if (key, trial, one) not in known}
            jobs += [Job(experiment, key, trial, missing)] if missing else []
    total = trials * len(experiments)
    folder.mkdir(parents=True, exist_ok=True)
    for done, (job, rows) in enumerate(_run(jobs, workers), start=total - len(jobs) + 1):
        log.append(job.key, list(job.methods), rows)
        known |= {(job.key, job.trial, one): row for one, row in zip(job.methods, rows, strict=True)}
        if progress:
            progress(done, total, job.experiment.panel.name)
    found = []
    for experiment, base, key, by_id in runs:
        rows = tuple(known[key, trial, one] for trial in range(trials) for one in by_id)
        names, ran = tuple(name for name, _ in by_id.values()), (experiment.seed, experiment.population)
        about = base.title, base.origin, names, rows, base.story, *ran, key, tuple(by_id)
        found.append(PanelResult(experiment.panel, *about))
    return tuple(found)


def with_earlier(results: Sequence[PanelResult], folder: Path) -> tuple[PanelResult, ...]:
    """``results`` and the other panels that earlier runs left in the folder, in the paper's order."""
    path, found = folder / PANELS_NAME, {result.panel.name: result for result in results}
    known = TrialLog(folder).read()
    try:
        for entry in json.loads(path.read_text(encoding="utf-8")) if path.exists() else []:
            keys = [(entry["key"], trial, one) for trial in range(entry.pop("trials")) for one in entry["ids"]]
            panel = Panel(**_as_tuples(entry.pop("panel")))
            if known.keys() >= set(keys):  # else its trials were deleted
                rows = tuple(known[key] for key in keys)
                found.setdefault(panel.name, PanelResult(panel, rows=rows, **_as_tuples(entry)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not a list of panels ({error!r}). Delete the file, or use another folder."
        ) from error
    order = [*PANEL_NAMES, *found]
    panels = tuple(sorted(found.values(), key=lambda result: order.index(result.panel.name)))
    facts = ("title", "origin", "methods", "story", "seed", "population", "key", "ids")
    entries = [
        {"panel": asdict(one.panel), "trials": one.n_trials, **{name: getattr(one, name) for name in facts}}
        for one in panels
    ]
    with atomic_write(path) as draft:
        draft.write_text(json.dumps(entries, indent=1), encoding="utf-8")
    return panels


def _as_tuples(entry: dict[str, Any]) -> dict[str, Any]:
    """Values as they were before JSON made lists of them."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}


def _run(jobs: Sequence[Job], workers: int | None) -> Iterator[tuple[Job, tuple[TrialRow, ...]]]:
    """Jobs in the order in which they finish."""
    workers = min(workers or cores(), len(jobs))
    if workers <= 1:
        yield from ((job, job.run()) for job in jobs)
        return
    _check_methods_travel(jobs)
    # "spawn" behaves alike on every system and never copies the threads of a progress bar.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupt)
    try:
        futures = {pool.submit(job.run): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # on Ctrl-C too: at most the trials in flight are lost
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupt() -> None:
    """Ctrl-C reaches every process of the terminal; only the parent reacts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_methods_travel(jobs: Sequence[Job]) -> None:
    """Refuse methods of one's own that another process could not load."""
    for method in {id(method): method for job in jobs for method in job.methods.values()}.values():
        home = Path(getattr(sys.modules["__main__"], "__file__", "") or "")
        typed = type(method).__module__ == "__main__" and not home.is_file()
        try:
            pickle.dumps(method)
        except (pickle.PicklingError, AttributeError, TypeError):
            typed = True
        if typed:
            raise InputError(
                f"method {method.name}: other processes cannot load its class {type(method).__name__}. Write it "
                "at the top level of a module or script, or use workers=1."
            )


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
