"""The whole check: from a tally to the evidence for or against label shift."""

from pacshift.assumption.evidence import Assumption
from pacshift.assumption.fit import best_fit
from pacshift.assumption.folds import count_cells
from pacshift.assumption.groups import around, chance, shown_groups
from pacshift.assumption.noticeable import noticeable
from pacshift.assumption.program import difference_hurdle, place
from pacshift.assumption.words import largest_difference, nothing_found, outside_known
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.tally import Tally

ASSUMPTION_SHARE = 0.1
"""Level of the test as a share of delta.

A false alarm costs a certificate, never the promise: sets that are not handed out cannot err. So the level is not
taken from delta, and a method keeps all of it, unless labels are used. A tenth keeps false alarms rarer than
misled certificates. Ten times the level would notice more below 5,000 rows, but could be all of delta ("The test"
of the page).
"""


def check_assumption(
    tally: Tally,
    *,
    level: float,
    known: Interval | None = None,
    contamination: float = 0.0,
    known_from: str = "known_mix says",
) -> Assumption:
    """Test whether the target is a mix of the source's classes.

    Predicted classes and their confidence are looked at; their top scores, where scores are not probabilities.
    Under label shift the test refuses with probability at most ``level``, whatever the sample sizes (docs page
    "Is it label shift?"). The same tally always gives the same answer.

    Parameters
    ----------
    tally : Tally
        Counts of source and target.
    level : float
        Largest chance that the test refuses although label shift holds. ``ASSUMPTION_SHARE`` times delta is usual.
    known : Interval, optional
        Bounds of the target's label mix that you are sure of, arrays of length K.
    contamination : float, default 0
        Largest share of the target that need not be label-shifted at all.
    known_from : str, default "known_mix says"
        Where ``known`` comes from, for the words of a refutation.

    Returns
    -------
    Assumption
        The evidence; a refutation is said there, not raised.

    Raises
    ------
    InputError
        If source or target are empty.

    Examples
    --------
    >>> from pacshift import Population
    >>> population = Population.synthetic(["cat", "dog"], rng=0)
    >>> source, target = population.draw([0.5, 0.5], 5000, rng=1), population.draw([0.2, 0.8], 5000, rng=2)[0]
    >>> tally = Tally.from_scores(*source, classes=["cat", "dog"])
    >>> shifted = tally + Tally.from_target(target, classes=["cat", "dog"])
    >>> check_assumption(shifted, level=0.005).refuted
    False
    >>> broken = tally + Tally.from_target(0.2 + 0.6 * target, classes=["cat", "dog"])
    >>> check_assumption(broken, level=0.005).refuted
    True
    """
    if not (tally.n_source and tally.n_target):
        raise InputError("label shift can be tested only with source and target rows; one of them is empty.")
    counts = count_cells(tally)
    placed = place(counts, level=level, contamination=contamination)
    rows = placed.rows(known)
    fit = best_fit(counts)
    mix = fit.mix
    if not rows.refuted:
        finding = nothing_found(counts)
    elif known is not None and not (free := placed.rows()).refuted:
        finding = outside_known(tally.classes, free, known, known_from)
    else:
        some = [left for left in (rows.only_box, rows.without_differences) if not left.refuted]
        finding = largest_difference(counts, tally.classes, mix, [None, *some], level=level)
    groups = shown_groups(counts, tally.classes, mix)
    explained = groups.rates(counts) @ mix
    hurdle = difference_hurdle(counts.n_classes, level)
    return Assumption(
        level=level,
        refuted=rows.refuted,
        mix=mix,
        groups=groups.names,
        observed=groups.observed(counts),
        explained=explained,
        allowed=around(explained, chance(counts, groups, mix, level=level)),
        finding=finding,
        noticeable=noticeable(counts, tally.classes, fit, hurdle=hurdle, contamination=contamination),
    )
