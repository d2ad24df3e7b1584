"""A hunt for worlds in which a promise is broken more often than it may be.

First many random worlds with few draws each, then neighbours of the worst, then the worst again with fresh seeds
and many draws. What is reported comes from these last draws alone: the worst of many looks worse than it is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from benchmarks.hunt_runs import (
    AGAIN,
    AT_SMALL_DELTA,
    FEWER,
    MANY_CLASSES,
    NAMED,
    SCAN,
    SMALL_DELTA,
    Result,
    RunTries,
    all_cores,
    try_of,
)
from benchmarks.hunt_tries import (
    CLASS_MISS,
    DESIGNS,
    ERROR,
    NOT_JUDGED,
    OPTIONS,
    PREVALENCE,
    Try,
    subjects,
)
from benchmarks.lab import Blocks, Lab, Say
from benchmarks.page import conditions
from pacshift.bounds import clopper_pearson
from paper.experiments.summary import markdown_table

HEADINGS = ("", "worst world found, drawn again", "worlds", "draws", "failures", "of", "failures / δ", "95 %")


@dataclass(frozen=True)
class Group:
    """Tries that share a row of a table, and the promise that is counted there."""

    title: str
    holds: Callable[[Try], bool]
    promise: str = ERROR
    on_average: bool = False
    """Whether the mean error is what was promised."""

    def suspicion(self, result: Result) -> tuple[float, float]:
        """How far a result is from what was promised, as far as few draws tell."""
        rate = result.wrong[self.promise] / max(result.draws, 1) / try_of(result.name).delta
        return (result.error, rate) if self.on_average else (rate, result.error)

    def members(self, results: Sequence[Result]) -> list[Result]:
        """The results of this group's tries that had an answer, the most suspicious last."""
        mine = [result for result in results if result.draws and self.holds(try_of(result.name))]
        return sorted(mine, key=self.suspicion)


def groups() -> dict[str, list[Group]]:
    """One row per method, per option, per design, and per other promise of certificates."""
    return {
        "by what is promised": [
            Group(one.name, lambda case, one=one: case.subject == one, on_average=one.is_marginal)  # type: ignore[misc]
            for one in subjects()
        ],
        "by what is asked for": [
            Group(f"`{name}`", lambda case, name=name: name in case.options)  # type: ignore[misc]
            for name in OPTIONS
        ],
        "by design": [
            Group(name, lambda case, name=name: name in case.designs)  # type: ignore[misc]
            for name in DESIGNS
        ],
        "what else certificates say": [
            Group(promise, lambda case: bool(case.subject.method), promise) for promise in (CLASS_MISS, PREVALENCE)
        ],
    }


@dataclass(frozen=True)
class Effort:
    """How many worlds and draws a hunt takes."""

    worlds: int
    scan: int
    """Draws of a world at first sight."""
    neighbours: int
    again: int
    """Draws of a world that looks suspicious."""
    at_small_delta: int
    """Worlds that are tried at a small δ."""
    max_classes: int = 1000


FULL = Effort(worlds=500, scan=6, neighbours=3, again=150, at_small_delta=3)
QUICK = Effort(worlds=46, scan=1, neighbours=1, again=2, at_small_delta=1, max_classes=10)


@dataclass(frozen=True)
class Bag:
    """What a hunt brought home: all worlds at first sight, the suspicious ones again, the worst at a small δ."""

    scanned: list[Result]
    again: list[Result]
    small: list[Result]


def run(lab: Lab) -> Blocks:
    """The named worlds, the hunt, and its report."""
    effort = lab.choose(FULL, QUICK)
    draws = lab.trials or effort.again
    with all_cores(lab.say, n_workers=lab.choose(None, 1)) as run_tries:
        lab.say("hunt: the named worlds")
        named = run_tries(AGAIN, dict.fromkeys(NAMED, draws))
        bag = hunt(run_tries, replace(effort, again=draws), lab.say)
    yield "hunt", report(named, bag)


def hunt(run_tries: RunTries, effort: Effort, say: Say) -> Bag:
    """Scan, look around the worst, look at the worst again."""

    def results(stage: int, names: Iterable[str], draws: int) -> list[Result]:
        slow = {name: try_of(name).world.law.n_classes >= MANY_CLASSES for name in names}
        return run_tries(
            stage, {name: max(1, draws // FEWER) if is_slow else draws for name, is_slow in slow.items()}
        )

    numbers = map(str, range(effort.worlds))
    say("hunt: random worlds")
    small_enough = [name for name in numbers if try_of(name).world.law.n_classes <= effort.max_classes]
    scanned = results(SCAN, small_enough, effort.scan)
    say("hunt: their neighbours")
    around = [f"{name}.{number}" for name in suspects(scanned) for number in range(effort.neighbours)]
    scanned += results(SCAN, around, effort.scan)
    say(f"hunt: the {len(suspects(scanned))} most suspicious worlds again")
    again = results(AGAIN, suspects(scanned), effort.again)
    worst = Group("", lambda case: True).members(again)[-effort.at_small_delta :]
    say("hunt: the worst of them at a small delta")
    return Bag(scanned, again, results(AT_SMALL_DELTA, [one.name for one in worst], 2 * effort.again))


def suspects(scanned: Sequence[Result]) -> list[str]:
    """The most suspicious try of every group."""
    every = [group.members(scanned) for part in groups().values() for group in part]
    return sorted({members[-1].name for members in every if members})


def report(named: Sequence[Result], bag: Bag) -> str:
    """All tables and what is not in them."""
    scanned, again, small = bag.scanned, bag.again, bag.small
    draws = sum(one.draws for one in scanned)
    differing, alike = (
        sum(one.refusals for one in scanned if (try_of(one.name).world.other_law is None) == holds)
        for holds in (False, True)
    )
    worlds = sum(one.draws > 0 for one in scanned)
    parts = [
        conditions("hunt"),
        f"{worlds:,} random worlds with {draws:,} draws were scanned. Label shift holds in all without target "
        f'labels and in half of the others. It was "refuted" in {alike:,} draws where it holds. Where it does not '
        f"hold, {differing:,} draws had no certificate.",
        "**Worlds with names**",
        markdown_table(("world", "what", "δ", *HEADINGS[4:]), [named_row(one) for one in named]).strip(),
    ]
    for title, part in groups().items():
        rows = [row for group in part if (row := group_row(group, scanned, again))]
        parts += [f"**Random worlds, {title}**", markdown_table((title, *HEADINGS[1:]), rows).strip()]
    parts += [
        f"**The worst of all at δ = {SMALL_DELTA}**",
        markdown_table(
            ("world", "what", "δ", *HEADINGS[4:]), [named_row(one, SMALL_DELTA) for one in small]
        ).strip(),
        "Not judged: " + "; ".join(f"{name} {why}" for name, why in NOT_JUDGED.items()) + ".",
    ]
    return "\n\n".join(parts)


def named_row(result: Result, delta: float | None = None) -> tuple[str, ...]:
    """A try by its name."""
    case = try_of(result.name)
    level, name = delta or case.delta, result.name
    what = f"{case.subject.name}: {case}"
    return (name, what, f"{level:g}", *counted(result.wrong[ERROR], result.draws, level))


def group_row(group: Group, scanned: Sequence[Result], again: Sequence[Result]) -> tuple[str, ...] | None:
    """A group by the world that was its worst; nothing if no try of it had an answer."""
    members = group.members(scanned)
    if not members:
        return None
    worst = next(one for one in again if one.name == members[-1].name)
    case = try_of(worst.name)
    shown = (
        f"{worst.name}: {case}"
        if group.title == case.subject.name
        else f"{worst.name}: {case.subject.name}, {case}"
    )
    if group.on_average:
        low, high = (worst.error + sign * 1.96 * worst.deviation for sign in (-1, 1))
        numbers = "", f"{worst.draws:,}", f"mean error / ε: {worst.error:.2f}", f"{low:.2f} to {high:.2f}"
    else:
        numbers = counted(worst.wrong[group.promise], worst.draws, case.delta)
    return (group.title, shown, f"{len(members):,}", f"{sum(one.draws for one in members):,}", *numbers)


def counted(failures: int, draws: int, delta: float) -> tuple[str, str, str, str]:
    """Failures, draws, and failures / δ with its interval; bold where it is surely above 1.

    >>> counted(1, 100, 0.05), counted(20, 100, 0.05)[2:]
    (('1', '100', '0.2', '0.0 to 1.1'), ('**4.0**', '2.5 to 5.8'))
    """
    found = clopper_pearson(failures, max(draws, 1), delta=0.05)
    low, high = float(found.lower) / delta, float(found.upper) / delta
    ratio = f"{failures / max(draws, 1) / delta:.1f}"
    return f"{failures}", f"{draws:,}", f"**{ratio}**" if low > 1 else ratio, f"{low:.1f} to {high:.1f}"
