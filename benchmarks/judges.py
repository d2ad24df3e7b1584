"""Language models as judges of real answers: what their verdicts prove, beside three estimators from papers.

Votes of people and verdicts of two judges on pairs of models, ``judges/arena.csv`` below ``--data``. The other
estimators are written here from their published formulas: ``lee`` by Lee et al., arXiv 2511.21140 (the interval of
Lang and Reiczigel, 2014); ``bootstrap`` as the package judgy does, Rogan and Gladen's estimate with percentiles
of a bootstrap of labels and verdicts; ``ppi`` PPI++ by Angelopoulos et al., arXiv 2311.01453, for a mean.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np
from scipy.stats import norm

from benchmarks.lab import Blocks, Lab
from benchmarks.page import report
from pacshift import AssumptionError, Tally, prevalence
from pacshift.arrays import IntArray
from pacshift.bounds import clopper_pearson
from pacshift.errors import InputError
from paper.experiments.summary import markdown_table

DELTA = 0.05
NEW_ANSWERS = 1000
RESAMPLES = 2000
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Answers: what people say and what the judge says, 0 or 1 each."""

    human: IntArray
    judge: IntArray

    def take(self, places: IntArray) -> "Verdicts":
        return Verdicts(self.human[places], self.judge[places])

    def draw(self, size: int, rng: np.random.Generator, share: float | None = None) -> "Verdicts":
        """Answers with replacement; with another share of those that people prefer, if it is given."""
        if share is None:
            return self.take(rng.integers(0, len(self.human), size))
        wanted = rng.random(size) < share
        places = [np.flatnonzero(self.human == each) for each in (0, 1)]
        return self.take(np.where(wanted, rng.choice(places[1], size), rng.choice(places[0], size)))

    @property
    def rates(self) -> tuple[float, float]:
        """Specificity and sensitivity of the judge."""
        return tuple(float((self.judge[self.human == each] == each).mean()) for each in (0, 1))  # type: ignore[return-value]

    @property
    def truth(self) -> float:
        return float(self.human.mean())


def read(path: Path) -> dict[str, dict[str, Verdicts]]:
    """Verdicts by judge, then by pair of models."""
    with path.open(newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    found: dict[str, dict[str, Verdicts]] = {}
    for judge, pair in sorted({(row["judge"], row["opponent"]) for row in rows}):
        own = [row for row in rows if (row["judge"], row["opponent"]) == (judge, pair)]
        columns = (
            np.array([int(row[name]) for row in own]) for name in ("human_prefers_opus", "judge_prefers_opus")
        )
        found.setdefault(judge, {})[pair] = Verdicts(*columns)
    return found


def ours(source: Verdicts, target: Verdicts) -> Ends | None:
    """By label shift: ``pacshift.prevalence``; None where it is refused."""
    scores = np.array([[0.9, 0.1], [0.1, 0.9]])
    counts = Tally.from_scores(scores[source.judge], source.human, classes=[0, 1])
    counts = counts + Tally.from_target(scores[target.judge], classes=[0, 1])
    try:
        mix = prevalence(counts, delta=DELTA).mix
    except AssumptionError:
        return None
    return float(mix.lower[1]), float(mix.upper[1])


def labels_alone(labelled: Verdicts) -> Ends:
    """What ``prevalence(..., target_labels=...)`` answers with two classes: Clopper and Pearson's interval."""
    found = clopper_pearson(labelled.human.sum(), len(labelled.human), delta=DELTA)
    return float(found.lower), float(found.upper)


def lee(source: Verdicts, target: Verdicts) -> Ends | None:
    """The interval of Lee et al.; None where the judge is no better than a coin, or a class has no label."""
    z, n = float(norm.ppf(1 - DELTA / 2)), len(target.judge)
    m0, m1 = (int((source.human == each).sum()) for each in (0, 1))
    if not (m0 and m1):
        return None
    specificity, sensitivity = source.rates
    p = (target.judge.sum() + z**2 / 2) / (n + z**2)
    q0, q1 = (m0 * specificity + 1) / (m0 + 2), (m1 * sensitivity + 1) / (m1 + 2)
    spread = q0 + q1 - 1
    if spread <= 0:
        return None
    share = (p + q0 - 1) / spread
    v0, v1 = q0 * (1 - q0) / (m0 + 2), q1 * (1 - q1) / (m1 + 2)
    shift = 2 * z**2 * (share * v1 - (1 - share) * v0)
    error = np.sqrt(p * (1 - p) / (n + z**2) + (1 - share) ** 2 * v0 + share**2 * v1) / spread
    return _clipped(share + shift - z * error, share + shift + z * error)


def bootstrap(source: Verdicts, target: Verdicts, rng: np.random.Generator) -> Ends | None:
    """Rogan and Gladen's estimate, percentiles of a bootstrap of labelled answers and of verdicts."""
    cells = np.bincount(2 * source.human + source.judge, minlength=4)
    n, m = len(target.judge), len(source.human)
    drawn = rng.multinomial(m, cells / m, RESAMPLES)
    says = rng.binomial(n, target.judge.mean(), RESAMPLES) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        specificity, sensitivity = drawn[:, 0] / drawn[:, :2].sum(axis=1), drawn[:, 3] / drawn[:, 2:].sum(axis=1)
        shares = (says + specificity - 1) / (specificity + sensitivity - 1)
    shares = np.clip(shares[specificity + sensitivity > 1], 0, 1)
    return None if not len(shares) else _clipped(*np.quantile(shares, [DELTA / 2, 1 - DELTA / 2]))


def ppi(labelled: Verdicts, others: Verdicts) -> Ends:
    """PPI++ for a mean: labelled answers, and verdicts on the others, with its tuned weight."""
    z, n, m = float(norm.ppf(1 - DELTA / 2)), len(labelled.human), len(others.judge)
    human, judge, rest = (one.astype(float) for one in (labelled.human, labelled.judge, others.judge))
    variance = np.append(judge, rest).var(ddof=1)
    weight = float(np.clip(np.cov(human, judge)[0, 1] / ((1 + n / m) * variance), 0, 1)) if variance else 0.0
    centre = human.mean() + weight * (rest.mean() - judge.mean())
    error = np.sqrt((human - weight * judge).var(ddof=1) / n + weight**2 * variance / m)
    return _clipped(centre - z * error, centre + z * error)


def _clipped(low: float, high: float) -> Ends:
    return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))


def run(lab: Lab) -> Blocks:
    """Three tables: carried over between pairs, labels of the new answers, and label shift made on purpose."""
    if lab.data is None or not (path := Path(lab.data, "judges", "arena.csv")).is_file():
        raise InputError("judges needs --data DIR with judges/arena.csv.")
    judges = read(path)
    tables = carried_over(judges), *new_labels(lab, judges["gpt-5.2"])
    yield "judges", report(lab.command("judges --data DIR"), *tables)
    yield "judges-shift", made_on_purpose(lab, judges["gpt-5.2"])


def carried_over(judges: dict[str, dict[str, Verdicts]]) -> str:
    """Every pair of models as the source of every other."""
    rng, rows = np.random.default_rng(0), []
    for judge, pairs in judges.items():
        for one, other in permutations(pairs, 2):
            source, target = pairs[one], pairs[other]
            found = [ours(source, target), lee(source, target), bootstrap(source, target, rng)]
            rates = " → ".join("/".join(f"{rate:.2f}" for rate in part.rates) for part in (source, target))
            cells = [_said(ends, target.truth) for ends in found]
            cells[0] = cells[0].replace("none", "refused")
            rows.append((judge, f"{_short(one)} → {_short(other)}", rates, f"{target.truth:.2f}", *cells))
    headings = ("judge", "from → to", "specificity/sensitivity", "truth", "pacshift", "Lee et al.", "bootstrap")
    return markdown_table(headings, rows, left=3).strip()


def new_labels(lab: Lab, pairs: dict[str, Verdicts]) -> tuple[str, str]:
    """50, 100, 200 random labels of the new answers, the judge's verdicts on the others."""

    def ask(size: int, pair: Verdicts, rng: np.random.Generator) -> dict[str, Ends | None]:
        answers = pair.draw(NEW_ANSWERS, rng)
        labelled, others = answers.take(np.arange(size)), answers.take(np.arange(size, NEW_ANSWERS))
        return {
            "labels alone": labels_alone(labelled),
            "by label shift": ours(labelled, others),
            "Lee et al.": lee(labelled, others),
            "bootstrap": bootstrap(labelled, others, rng),
            "PPI++": ppi(labelled, others),
        }

    draws = lab.trials or lab.choose(300, 3)
    about = f"{len(pairs)} pairs, {draws} draws each of {NEW_ANSWERS:,} answers: covered, mean width."
    return about, in_draws(
        lab, pairs, "labels", {f"{size}": (size, partial(ask, size)) for size in (50, 100, 200)}
    )


def made_on_purpose(lab: Lab, pairs: dict[str, Verdicts]) -> str:
    """Label shift that holds: labelled answers of one pair with few of a class, new answers of the same pair."""

    def ask(size: int, share: float, pair: Verdicts, rng: np.random.Generator) -> dict[str, Ends | None]:
        source, target = pair.draw(size, rng, share), pair.draw(NEW_ANSWERS, rng, 0.5)
        answers = {"pacshift": ours(source, target), "Lee et al.": lee(source, target)}
        return answers | {"bootstrap": bootstrap(source, target, rng)}

    cases = {
        f"{size}, {100 * share:.0f} %": (size, partial(ask, size, share))
        for size, share in ((30, 0.1), (100, 0.1), (200, 0.5))
    }
    return in_draws(lab, pairs, "labels, of which preferred", cases, share=0.5)


def in_draws(
    lab: Lab,
    pairs: dict[str, Verdicts],
    heading: str,
    cases: Mapping[str, tuple[int, Callable[[Verdicts, np.random.Generator], dict[str, Ends | None]]]],
    share: float | None = None,
) -> str:
    """A line for each case, with its number of labels, over draws of all pairs; ``share``: the truth in all."""
    rows: list[tuple[str, ...]] = []
    for title, (size, ask) in cases.items():
        answers = []
        for number, pair in enumerate(pairs.values()):
            rng = np.random.default_rng([size, number, int(share is not None)])
            truth = pair.truth if share is None else share
            answers += [(ask(pair, rng), truth) for _ in range(lab.trials or lab.choose(300, 3))]
        rows.append((title, *_summaries(answers)))
        lab.say(f"judges: {heading}: {title}")
    return markdown_table((heading, *answers[0][0]), rows, left=1).strip()


def _summaries(answers: list[tuple[dict[str, Ends | None], float]]) -> list[str]:
    """How often each answer holds the truth, and its mean width; no answer says 0 to 1."""
    ends = np.array([[each or (0.0, 1.0) for each in by_name.values()] for by_name, _ in answers])
    truth, (low, high) = np.array([truth for _, truth in answers])[:, None], np.moveaxis(ends, -1, 0)
    covered, widths = ((low <= truth) & (truth <= high)).mean(axis=0), (high - low).mean(axis=0)
    return [f"{100 * share:.1f} %, {width:.2f}" for share, width in zip(covered, widths, strict=True)]


def _said(ends: Ends | None, truth: float) -> str:
    if ends is None:
        return "none"
    wrong = not ends[0] <= truth <= ends[1]
    return f"{'**' if wrong else ''}{ends[0]:.2f} to {ends[1]:.2f}{'**' if wrong else ''}"


def _short(pair: str) -> str:
    return pair.replace("gemini-2.5-", "").replace("3-235b-a22b-no-thinking", "3")
