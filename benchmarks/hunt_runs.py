"""The tries of the hunt: named ones, and as many random ones as wanted. Running them on all cores."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks import hunt_worlds as world
from benchmarks.hunt_routes import ROUTES, WITH_GROUPS
from benchmarks.hunt_tries import (
    CLASS_MISS,
    CLOSED_FORM,
    ERROR,
    FLOATS,
    IDS,
    MIX,
    OF_OTHERS,
    ON_COUNTS,
    OPTIONS,
    PREVALENCE,
    Outcome,
    Subject,
    Try,
    subjects,
    tried,
)
from benchmarks.hunt_worlds import SIZES, World, random_world
from benchmarks.lab import Say
from pacshift.methods.accept import Accept
from pacshift.parallel import cores

SCAN, AGAIN, AT_SMALL_DELTA = 1, 2, 3
"""Stages; their draws have nothing in common."""

DELTAS, SMALL_DELTA = (0.05, 0.1, 0.2), 0.005
"""Failures are counted at a large δ, where there are enough of them; suspicious worlds also at a small one."""

MANY_CLASSES, FEWER = 25, 5
"""From this many classes on a draw takes long, and there are fewer of them by this factor."""

DRAWS_PER_JOB = 25

PUBLISHED = Subject("PS-W, intervals=elimination", "PS-W", (("intervals", "elimination"),))
DEFAULT, BY_LABELS, BY_CLASS, ACCEPT = (Subject(name, name) for name in ("PS-LP", "PS-T", "PS-LW", Accept.name))
SHARES = {DEFAULT: 0.3, BY_LABELS: 0.1}
"""Shares of the random worlds for what most users get, besides their turns among all: the method of those who
choose none, and what certifies where label shift is rejected."""


def labelled(name: str, world: World, subject: Subject = BY_LABELS, share: float = 0.1, **asked: Any) -> Try:
    """A try with labels of a share of the target."""
    return Try(name, world, subject, 0.2, ("target_labels",), label_share=share, **asked)


NAMED = {
    case.name: case
    for case in (
        Try("coins 6697/500", world.coin_world((6697, 500)), DEFAULT, 0.05),
        Try("coins 64888/500", world.coin_world((64888, 500)), DEFAULT, 0.05),
        Try("coins 67951/1000", world.coin_world((67951, 1000)), DEFAULT, 0.05),
        Try("coins 6550/2000", world.coin_world((6550, 2000)), DEFAULT, 0.05),
        Try("coins 19484/2000", world.coin_world((19484, 2000)), DEFAULT, 0.005),
        Try("coins, independent rows", world.coin_world((0.907 * 21484, 0.093 * 21484), iid=True), DEFAULT, 0.05),
        Try("coins, ties 3416/500", world.tied_world((3416, 500)), DEFAULT, 0.05),
        Try("coins, score rows 19423/2000", world.rows_world((19423, 2000)), DEFAULT, 0.05, ("known_mix",)),
        Try("long tail, 201 classes", world.long_tail_world(), DEFAULT, 0.2),
        Try("classes swapped", world.swapped_world(), Subject("PS-W", "PS-W"), 0.2),
        Try("classes swapped, elimination", world.swapped_world(), PUBLISHED, 0.2),
        Try("known weights", world.weights_world(), Subject("ORACLE", "ORACLE"), 0.05, seed=4),
        Try("aps in order", world.ordered_world(), Subject("PS", "PS"), 0.05, ("score=aps",), seed=27),
        Try("raps in order", world.ordered_world(), Subject("PS", "PS"), 0.05, ("score=raps",), seed=27),
        labelled("labels, rows", world.labels_world(340)),
        labelled("labels, few", world.labels_world(210)),
        labelled("labels, counts", world.labels_world(340), route="tally"),
        labelled("labels, sheet", world.labels_world(340), route="sheet"),
        labelled("labels, refuted", world.labels_world(1000), DEFAULT, 0.034),
        Try("ids, 0 to 598", world.patients_world(599), BY_CLASS, 0.05, route="groups", ids="numbers"),
        Try("ids, 0 to 598, PS-LP", world.patients_world(599), DEFAULT, 0.05, route="groups", ids="numbers"),
        Try("ids, patient_0 to 1130", world.patients_world(1131), BY_CLASS, 0.05, route="groups", ids="patient_"),
        Try("ids, alike on both sides", world.two_kinds_world(), Subject(MIX), 0.05, route="groups"),
        labelled("labels of whole patients", world.visits_world(), share=1, route="groups"),
        labelled("looks, largest thresholds", world.labels_world(340), share=1, route="sheet, largest thresholds"),
        labelled("blank rows of a sheet", world.labels_world(340), share=1, route="sheet, left blank"),
        labelled("shares and labels", world.two_kinds_world(), Subject(MIX)),
        Try("trees, used in float32", world.forest_world(20, 0.1), BY_CLASS, 0.05, floats=("float64", "float32")),
        Try("accepted, knife", world.knife_world(), ACCEPT, 0.2),
        Try("accepted, knife, counts", world.knife_world(), ACCEPT, 0.2, route="tally"),
        Try("accepted, a label", world.knife_world(0.02, 0.02, 0.1505), ACCEPT, 0.2, ("label_error",)),
        Try(
            "accepted, a label, labels",
            world.knife_world(0.02, 0.02, 0.1505, shifted=False),
            ACCEPT,
            0.2,
            ("label_error", "target_labels"),
            label_share=0.5,
        ),
        labelled("accepted, labels", world.knife_world(shifted=False), ACCEPT, 0.5),
        Try("accepted, ties, used in float32", world.ties_world(), ACCEPT, 0.2, floats=("float64", "float32")),
        Try("trees, made in float32", world.forest_world(10, 0.03), BY_CLASS, 0.05, floats=("float32", "float64")),
    )
}
"""Worlds in which something that looks harmless breaks a promise.

Coins: a stream of coins laid over sorted rows always picks the same ranks. Worlds whose classes are apart find it
on counts, that with score rows on rows; its mix is known, so that nothing else makes sets larger. Labels: label
shift is false. They find a pilot that is no random choice of sorted rows, and cuts that allow a miss too many.
Classes swapped: no pivot is on the diagonal. The others are designs: ids that are the same in every draw and rows
that repeat, labels by patient, labels that were looked at, and scores that come in another float type. Accepted:
every rule errs a little too much, so whatever is accepted breaks the promise; or whatever is accepted as one label
that has a limit; and labels that tie in single precision, of which another one would be the top label.
"""


@dataclass(frozen=True)
class Result:
    """What the draws of one try showed."""

    name: str
    draws: int
    wrong: Mapping[str, int]
    """How often each promise was broken."""
    refusals: int
    error: float
    """Mean error as a multiple of ε."""
    deviation: float
    """Standard error of this mean."""
    not_offered: str = ""
    """Why there was no answer, if the combination of options is refused."""

    @classmethod
    def of(cls, name: str, outcomes: list[Outcome]) -> "Result":
        """Count the outcomes. Draws that the package does not take as input are no draws."""
        taken = [one for one in outcomes if not one.not_offered]
        errors = np.array([one.error for one in taken if not (one.refused or np.isnan(one.error))])
        spread = float(errors.std(ddof=1) / len(errors) ** 0.5) if len(errors) > 1 else 0.0
        return cls(
            name,
            len(taken),
            {promise: sum(promise in one.broken for one in taken) for promise in (ERROR, CLASS_MISS, PREVALENCE)},
            sum(one.refused for one in taken),
            float(errors.mean()) if len(errors) else 0.0,
            spread,
            next((one.not_offered for one in outcomes if one.not_offered), ""),
        )


@lru_cache(maxsize=64)
def try_of(name: str) -> Try:
    """A named try, the random one with this number, or a neighbour of it ("12.1"): the same one every time."""
    if name in NAMED:
        return NAMED[name]
    number, _, neighbour = name.partition(".")
    case = random_try(int(number))
    return nearby(case, int(neighbour)) if neighbour else case


def random_try(number: int) -> Try:
    """Any promise in any world."""
    rng = np.random.default_rng([SCAN, number])
    every = subjects()
    turn = every[number % len(every)]
    subject = [*SHARES, turn][int(rng.choice(3, p=[*SHARES.values(), 1 - sum(SHARES.values())]))]
    options = random_options(subject, rng)
    is_method = bool(subject.method)
    iid = (is_method and subject.method not in ON_COUNTS) or bool(rng.random() < 0.5)
    plain = set(options) <= CLOSED_FORM and subject.method != "APS"
    shifted = not (is_method and "target_labels" in options) or bool(rng.random() < 0.5)
    # Groups more often than others: they come in many ways.
    routes = [*ROUTES, "groups", "groups"] if is_method else ["tally", "grid", "groups"]
    route = "rows" if "softmax" in options else str(rng.choice(routes))
    sizes = SIZES[rng.integers(len(SIZES))] if route in WITH_GROUPS else (1,)
    floats = FLOATS[int(rng.choice(3, p=[0.8, 0.1, 0.1]))] if is_method else FLOATS[0]
    finite = (
        not plain
        or subject.method == Accept.name
        or floats != FLOATS[0]
        or (sizes != (1,) and bool(rng.random() < 0.7))
    )
    return Try(
        str(number),
        random_world(rng, iid=iid, finite=finite, shifted=shifted, sizes=sizes),
        subject,
        float(rng.choice(DELTAS)),
        options,
        route=route,
        seed=None if rng.random() < 0.5 else int(rng.integers(20)),
        cap=float(rng.choice([0.5, 1.0, 1.5, 3.0])),
        slack=float(rng.choice([0.0, 0.01, 0.2])),
        label_share=float(rng.choice([0.01, 0.1, 0.5, 1.0])),
        ids=str(rng.choice([*IDS])),
        floats=floats,
    )


def nearby(case: Try, number: int) -> Try:
    """The same try with somewhat other numbers of rows and another seed: fixed coins are good or bad by chance."""
    rng = np.random.default_rng([int(case.name), number])
    counts = np.array(case.world.counts) * rng.uniform(0.8, 1.25, len(case.world.counts))
    if not case.world.iid:
        counts = np.round(counts)
    near = replace(case.world, counts=tuple(counts.tolist()))
    return replace(case, name=f"{case.name}.{number}", world=near, seed=int(rng.integers(20)))


def random_options(subject: Subject, rng: np.random.Generator) -> tuple[str, ...]:
    """None to four options; at most one of them says what the score is. What a method needs is among them."""
    possible = OF_OTHERS.get(subject.name, OPTIONS.keys() - {"label_error"})  # accept alone has it
    wanted = [name for name in OPTIONS if name in possible]
    chosen = rng.permutation(wanted)[: rng.choice(5, p=[0.35, 0.2, 0.25, 0.15, 0.05])].tolist()
    scores = [name for name in chosen if name.startswith("score=")]
    if subject.method and tried()[subject.method].needs_labels:
        chosen.append("target_labels")
    return tuple(name for name in wanted if name in chosen and name not in scores[1:])


def run_draws(name: str, stage: int, draws: range) -> list[Outcome]:
    """Some draws of a try. Each has a seed of its own, so that they can be made anywhere in any order."""
    case = try_of(name)
    if stage == AT_SMALL_DELTA:
        case = replace(case, delta=SMALL_DELTA)
    number = crc32(name.encode())
    return [case.run(np.random.default_rng([stage, number, draw])) for draw in draws]


RunTries = Callable[[int, Mapping[str, int]], list[Result]]
"""Runs so many draws of each named try, at a stage; results come in the order of the names."""


@contextmanager
def all_cores(say: Say, *, n_workers: int | None = None) -> Iterator[RunTries]:
    """Runs tries in processes with one BLAS thread each; with one worker, right here."""
    number = n_workers or cores()
    if number == 1:
        yield lambda stage, draws: [Result.of(name, run_draws(name, stage, range(n))) for name, n in draws.items()]
        return
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by the processes started below
    with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as pool:

        def run(stage: int, draws: Mapping[str, int]) -> list[Result]:
            jobs = [
                (name, stage, range(start, min(start + DRAWS_PER_JOB, n)))
                for name, n in draws.items()
                for start in range(0, n, DRAWS_PER_JOB)
            ]
            found: dict[str, list[Outcome]] = {name: [] for name in draws}
            waiting = [(job[0], pool.submit(run_draws, *job)) for job in jobs]
            for done, (name, future) in enumerate(waiting, 1):
                found[name] += future.result()
                if done % 20 == 0 or done == len(jobs):
                    say(f"hunt: stage {stage}, {done} of {len(jobs)} jobs")
            return [Result.of(name, outcomes) for name, outcomes in found.items()]

        yield run
