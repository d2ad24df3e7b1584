"""Accept the top label or ask: at most a share of what is accepted is wrong. ``pacshift.accept`` runs these
methods.

The mathematics is in ``pacshift.acceptance``, the proof on its page (docs/methods/accept.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pacshift.acceptance.plan import (
    N_RULES,
    SURE,
    first_rule,
    held_out_share,
    plan_bet,
    planned_mix,
    planned_path,
    within_limits,
)
from pacshift.acceptance.tops import TALLY_CUTS, TopScoreTable
from pacshift.acceptance.wealth import WealthTest, label_loss, loss
from pacshift.arrays import BoolArray, FloatArray
from pacshift.bounds import Interval, binomial_cdf, clopper_pearson
from pacshift.errors import InputError, param
from pacshift.methods.base import AcceptedByLabel, Method, Solution, Task
from pacshift.methods.guarantee import needs_labels
from pacshift.mix.region import PrevalenceRegion, prevalence_region, within_known
from pacshift.paths.labelled import LabelledTarget
from pacshift.rows.rule import AcceptRule
from pacshift.tally import Tally
from pacshift.tally.grid import single_cuts
from pacshift.words.numbers import given, up

REGION_SHARE = 0.1
"""Share of δ for the region of mixes; the test of the rules has the rest. With a third or three times
of it nothing changes."""

LIMITS = tuple(float(limit) for limit in (0.5 * 0.8 ** np.arange(20)).round(4))
"""Errors of one predicted label that are tested in turn, from 50 % to 0.7 %. Steps of a fifth are as fine as the
bounds are sharp with some thousand rows."""

MAX_TESTED = 20
"""With more classes the errors of predicted labels are bounded by counts alone, and of no more labels can the
error be limited: the tests would take seconds."""

MAX_CLASSES = 200
"""With more classes the region's linear programs take too long, as for PS-LP. Labelled rows have no limit."""


LIMITED = "a rule must also keep the limit of every label."
NO_LABEL = "no rule passes: by the rows that plan, no label would be shown to keep its limit. Add rows."


@dataclass(frozen=True)
class Accept(Method):
    """The loosest of a sequence of rules that passes its tests for every label mix of the region.

    A share of the rows of both sides plans nested rules and a bet for each. They are tested in turn on the other
    rows, up to the first failure, so that no share of δ is paid for their number. With limits of labels a rule
    passes if it passes all of its tests, each at the same level (Lemma 6 of the page).

    Examples
    --------
    >>> Accept().rule.kind, Accept().assumes_label_shift
    ('accept', True)
    """

    name = "ACCEPT"
    idea = "accepts the top label where its score is high enough, and asks elsewhere"
    guarantee = "pac-target"
    rule = AcceptRule
    needs_target = True
    uses_mix_bounds = True

    def too_many(self, n_classes: int, limits: FloatArray | None) -> str:
        """Why so many classes or limits cannot be tested under label shift; "" if they can."""
        n_limits = 0 if limits is None else int((limits < 1).sum())
        if n_classes > MAX_CLASSES:
            return f"accept takes up to {MAX_CLASSES} classes under label shift, got {n_classes}."
        if n_limits > MAX_TESTED:
            return f"{param('label_error')} takes up to {MAX_TESTED} labels under label shift, got {n_limits}."
        return ""

    @property
    def by_labels(self) -> Method:
        return AcceptByLabels()

    def best_of(self, thresholds: Sequence[FloatArray], tally: Tally, task: Task) -> int:
        """The place of those that accept most of the target."""
        _, target = tops_of_tally(tally) if task.rows.top_scores is None else task.rows.top_scores()
        return int(np.argmax([target.tables(one[None], 1)[0, 1::2].sum() for one in thresholds]))

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per predicted label ("Theorem" of the page)."""
        n_classes, level = tally.n_classes, (1 - REGION_SHARE) * task.delta
        if reason := self.too_many(n_classes, task.limits):
            way = "Label" if n_classes > MAX_CLASSES else "Limit those that matter most, or label"
            raise InputError(
                f"{reason} {way} a random sample of the target: {param('labelled=')} or "
                f"{param('target_labels=')}, where there is no limit."
            )
        limits = np.ones(tally.n_classes) if task.limits is None else task.limits
        labels: list[int] = np.flatnonzero(limits < 1).tolist()
        limited = {label: label_loss(n_classes, label, limits[label]) for label in labels}
        region = prevalence_region(
            tally.confusion,
            tally.target,
            delta=REGION_SHARE * task.delta,
            classes=tally.classes,
            known=task.known,
        )
        cuts, sides = (
            (None, task.rows.top_scores())
            if task.rows.top_scores is not None
            else (TALLY_CUTS, tops_of_tally(tally))
        )
        (held, source), (held_target, target) = (
            side.split(role, held_out_share(side.n_rows), task.seed)
            for role, side in zip(("source", "target"), sides, strict=True)
        )
        rows: FloatArray = np.bincount(source.labels, source.counts, n_classes).astype(float)
        n_target = float(max(target.n_rows, 1))
        mix = planned_mix(held, held_target, n_classes)
        prior = np.bincount(held.labels, held.counts, n_classes) + 0.5
        weights = held.counts.astype(float) * (mix / prior)[held.labels]
        path = planned_path(held, weights, held_target, n_classes, cuts)
        planned = partial(plan_bet, mix=mix, rows=rows, n_target=n_target, level=level)
        sure, by_rule = np.ones(path.shape, bool), held.tables(path, n_classes)
        for label, of_label in limited.items():
            sure[:, label] = [planned(of_label, table).score <= SURE for table in by_rule]
        path = within_limits(path, sure)
        by_rule, phi = held.tables(path, n_classes), loss(n_classes, task.epsilon)
        plans = [planned(phi, table) for table in by_rule]
        scores = np.array([one.score for one in plans])
        test = WealthTest.over(region, rows, n_target)
        counted, seen = source.tables(path, n_classes), target.tables(path, 1)[:, :, 0]
        used, kept = path < np.inf, None
        task.steps.expect(len(path))
        for rule in range(first_rule(scores), len(path)):  # Lemma 4: in turn, up to the first failure
            task.steps()
            label_tests = (
                planned(of_label, by_rule[rule]) for label, of_label in limited.items() if used[rule, label]
            )
            tests = [plans[rule].bet, *(one.bet for one in label_tests)]  # Lemma 6: all of them must pass
            if not all(test.passes(bet, counted[rule], seen[rule], delta=level) for bet in tests):
                break
            kept = rule
        box = within_known(region.prevalence, task.known, 0.0)
        if kept is None or not used[kept].any():
            reasons = beside_limits(nothing_passes(tally, task, region, float(scores.min())), limits, used)
            never = np.full(n_classes, np.inf)
            return Solution(
                never, prevalence=box, accuracy=region.accuracy, reasons=reasons, by_label=nothing_to_say
            )

        def by_label(beside: float) -> AcceptedByLabel:
            plan = by_rule[kept], mix
            level = (beside - REGION_SHARE * task.delta) / 4
            return table_by_label(test, counted[kept], seen[kept], plan, level).at(thresholds)

        thresholds = single_cuts(path[kept])
        return Solution(thresholds, prevalence=box, accuracy=region.accuracy, by_label=by_label)


def nothing_to_say(_level: float) -> None:
    """Where nothing is accepted, there is nothing to say of labels."""


def tops_of_tally(tally: Tally) -> tuple[TopScoreTable, TopScoreTable]:
    """Source and target rows by predicted label and bin of the top score."""
    return (
        TopScoreTable.of_cells(tally.source_cells, tally.source_kind),
        TopScoreTable.of_cells(tally.target_cells, tally.target_kind),
    )


def table_by_label(
    test: WealthTest, source: FloatArray, target: FloatArray, plan: tuple[FloatArray, FloatArray], delta: float
) -> AcceptedByLabel:
    """Of the rows predicted i, how many are accepted, and how many of these are wrong ("Label by label").

    For all rules of the path at once, because the rows themselves chose one: four families of bounds, each wrong
    with probability at most ``delta``. Accepted and right are t_i ρ_i, with ρ_i = P(accepted, predicted i given
    Y = i), so the error is 1 - t_i ρ_i / a_i, which bounds it from below. From above it is tested. ``plan`` has
    the held-out rows by (cell, label), and the planned mix.
    """
    mix, n_classes = test.region.prevalence, len(test.rows)
    each, right_cells, labels = delta / (n_classes * N_RULES), 2 * np.arange(n_classes) + 1, np.arange(n_classes)
    share = clopper_pearson(target[1::2], target[0::2] + target[1::2], delta=each)
    mass = clopper_pearson(target[1::2], target.sum(), delta=each)
    right = clopper_pearson(source[right_cells, labels], test.rows, delta=each)
    most = np.divide(mix.upper * right.upper, mass.lower, out=np.ones(n_classes), where=mass.lower > 0)
    lower = np.clip(1 - most, 0.0, 1.0)
    if n_classes > MAX_TESTED:
        least = mix.lower * right.lower / np.maximum(mass.upper, 1e-300)
        return AcceptedByLabel(share, Interval(lower, np.clip(1 - least, 0.0, 1.0)))
    upper = [tested_error(test, source, target, plan, label, each) for label in labels.tolist()]
    return AcceptedByLabel(share, Interval(np.minimum(lower, upper), np.array(upper)))


def tested_error(
    test: WealthTest,
    source: FloatArray,
    target: FloatArray,
    plan: tuple[FloatArray, FloatArray],
    label: int,
    delta: float,
) -> float:
    """The last of falling limits of a label's error that passes its test; 1 if none does.

    Going down and stopping at the first failure is Lemma 4 again: the first limit that is too small must pass.
    """
    least = 1.0
    for limit in LIMITS:
        phi = label_loss(len(test.rows), label, limit)
        bet = plan_bet(phi, *plan, test.rows, test.n_target, level=delta).bet
        if not test.passes(bet, source, target, delta=delta):
            break
        least = limit
    return least


def nothing_passes(tally: Tally, task: Task, region: PrevalenceRegion, score: float) -> str:
    """Why nothing is accepted, and about how many more rows would change it, by the plan of the best rule."""
    if score >= 0:
        return (
            f"no rule passes: by the rows that plan, more than {given(task.epsilon)} are wrong among what any "
            "rule accepts."
        )
    label = int(np.argmax(region.prevalence.upper / np.sqrt(tally.class_counts + 1)))
    more = max(1.5, score**-2)
    times = f"about {more:.2g} times as many rows" if more < 1000 else "very many more rows"
    return (
        f"no rule passes: {tally.n_source:,} source and {tally.n_target:,} target rows are too few to show that "
        f"at most {given(task.epsilon)} are wrong among what is accepted. By the plan, {times} would do. "
        f"Source rows of class {tally.classes[label]!r} help most: it has {tally.class_counts[label]:,}, and "
        f"may be up to {up(region.prevalence.upper[label])} of the target."
    )


def beside_limits(reason: str, limits: FloatArray, used: BoolArray) -> tuple[str, ...]:
    """The reason why nothing is accepted, and what limits have to do with it; ``used``: labels of the plan."""
    if not used.any():
        return (NO_LABEL,)
    return (reason, LIMITED) if (limits < 1).any() else (reason,)


@dataclass(frozen=True)
class AcceptByLabels(Method):
    """The loosest of a sequence of rules that passes exact tests on labelled target rows.

    Examples
    --------
    >>> AcceptByLabels().rule.kind, AcceptByLabels().assumes_label_shift
    ('accept', False)
    """

    name = "ACCEPT-T"
    idea = "an exact test on labelled target rows of what is accepted; assumes nothing about the shift"
    guarantee = "pac-target"
    rule = AcceptRule
    assumes_label_shift = False
    needs_target = True
    needs_labels = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per predicted label (Lemma 5 of the page)."""
        labelled = task.labelled
        if labelled is None:
            raise InputError(f"accepting by labels {needs_labels()}")
        rows = labelled.looks[labelled.look]
        level, unknown = task.delta / len(labelled.looks), labelled.n_unknown  # all looks hold together
        test = labelled.tops or TopScoreTable.of_cells(labelled.test.source_cells, labelled.test.source_kind)
        limits = np.ones(tally.n_classes) if task.limits is None else task.limits
        planned = (task.plan_delta or task.delta) / len(labelled.looks)  # one sequence at every share (Lemma 7)
        path = planned_by_labels(labelled, tally, limits, error=task.epsilon, rows=rows, level=planned)
        tables, kept = test.tables(path, tally.n_classes), None
        total, right = tables[:, 1::2].sum(axis=2), np.diagonal(tables[:, 1::2], axis1=1, axis2=2)
        if labelled.blanks is not None:  # rows without a label are wrong where a rule would accept them
            total = total + TopScoreTable.of_rows(labelled.blanks.scores).tables(path, 1)[:, 1::2, 0]
        wrong, used = total - right, path < np.inf
        for rule in range(len(path)):
            limited = np.flatnonzero((limits < 1) & used[rule])
            promised = [
                (wrong[rule].sum(), total[rule].sum(), task.epsilon),
                *zip(wrong[rule, limited], total[rule, limited], limits[limited], strict=True),
            ]
            if not all(
                few_are_wrong(k + unknown, n + unknown, error=most, delta=level) for k, n, most in promised
            ):
                break  # Lemma 6
            kept = rule
        if kept is None or not used[kept].any():
            reason = (
                f"no rule passes: on the {rows:,} labelled target rows of the test, not even the strictest rule "
                f"shows that at most {given(task.epsilon)} are wrong among what it accepts. Label more rows."
            )
            reasons, never = beside_limits(reason, limits, used), np.full(tally.n_classes, np.inf)
            return Solution(never, reasons=reasons, by_label=nothing_to_say)

        def by_label(beside: float) -> AcceptedByLabel:
            return table_by_labels(tables[kept], unknown + labelled.n_blank, beside).at(thresholds)

        thresholds = single_cuts(path[kept])
        return Solution(thresholds, by_label=by_label)


def few_are_wrong(wrong: float, total: float, *, error: float, delta: float) -> bool:
    """Whether so few wrong rows are unlikely if more than ``error`` of what is accepted were wrong (Lemma 5)."""
    return bool(total > 0 and binomial_cdf(wrong, total, error) <= delta)


def table_by_labels(table: FloatArray, unknown: int, delta: float) -> AcceptedByLabel:
    """The same as ``table_by_label`` from labelled target rows, and ``unknown`` rows that have no label."""
    each = delta / (2 * (len(table) // 2) * N_RULES)
    accepted, predicted = table[1::2].sum(axis=1), (table[0::2] + table[1::2]).sum(axis=1) + unknown
    wrong = accepted - np.diag(table[1::2])
    share = between_counts(accepted, accepted + unknown, predicted, each)
    return AcceptedByLabel(share, between_counts(wrong, wrong + unknown, accepted + unknown, each))


def between_counts(least: FloatArray, most: FloatArray, total: FloatArray, level: float) -> Interval:
    """Bounds of rates whose counts lie between two: rows that nobody could label may be either."""
    lower, upper = (clopper_pearson(counts, total, delta=level) for counts in (least, most))
    return Interval(lower.lower, upper.upper)


def planned_by_labels(
    labelled: LabelledTarget, tally: Tally, limits: FloatArray, *, error: float, rows: int, level: float
) -> FloatArray:
    """The rules to test in turn. No row of the test has a part in it (Lemma 5 of the page).

    Source rows at the label mix of the pilot, which together weigh half as much as it, and the pilot itself. With
    counts alone the source as it is.
    """
    n_classes, planning, cuts = tally.n_classes, labelled.planning, None
    if planning is None:
        fitted = seen = TopScoreTable.of_cells(tally.source_cells, tally.source_kind)
        weights, cuts = fitted.counts.astype(float), TALLY_CUTS
    else:
        source, seen = (
            TopScoreTable.of_rows(planning.rows.source, planning.rows.source_labels),
            TopScoreTable.of_rows(planning.rows.target),
        )
        pilot, n_pilot = TopScoreTable.of_rows(planning.pilot, planning.pilot_labels), len(planning.pilot)
        mix = np.bincount(planning.pilot_labels, minlength=n_classes) + 0.5
        prior = np.bincount(source.labels, source.counts, n_classes) + 0.5
        ratio = mix / mix.sum() / prior if n_pilot else np.ones(n_classes) / prior.sum()
        columns = TopScoreTable.__slots__
        fitted = TopScoreTable(
            *(np.concatenate([getattr(side, name) for side in (source, pilot)]) for name in columns)
        )
        weights = np.concatenate([max(0.5 * n_pilot, 1) * source.counts * ratio[source.labels], pilot.counts])

    def count_errors(path: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """By rule and label: rows of the test that are accepted; weights of those here, and of the wrong ones."""
        share = seen.tables(path, int(seen.labels.max()) + 1)[:, 1::2].sum(axis=2) / seen.n_rows
        accepted = TopScoreTable(fitted.predicted, fitted.top, fitted.labels, weights).tables(path, n_classes)[
            :, 1::2
        ]
        total = accepted.sum(axis=2)
        return share * rows, total, total - np.diagonal(accepted, axis1=1, axis2=2)

    path = planned_path(fitted, weights, seen, n_classes, cuts)
    n, total, wrong = count_errors(path)
    k = n * (wrong + limits) / (total + 1)
    sure = (limits >= 1) | ((n > 0) & (binomial_cdf(k + np.sqrt(k), n, limits) <= level))
    path = within_limits(path, sure)
    n, total, wrong = (each.sum(axis=1) for each in count_errors(path))
    scores = ((wrong + error) / (total + 1) - error) * np.sqrt(n)
    return path[int(np.argmin(scores)) :]


ACCEPTING: dict[str, type[Method]] = {method.name: method for method in (Accept, AcceptByLabels)}
"""The methods of ``pacshift.accept`` by name. They are not among ``METHODS``: they make no sets of their own."""
