"""From scores with strata to a stratified certificate (docs/methods/strata.md)."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, Label, LabelsLike, RngLike, ScoresLike
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate
from pacshift.certification.request import check_request
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import AssumptionError, InputError, UninformativeWarning
from pacshift.methods import PSC, PSLP, PSW, Method, resolve_method
from pacshift.rows.memory import pair
from pacshift.scores.check import check_flag
from pacshift.scores.sums import ROUNDING
from pacshift.strata.certificate import StratifiedCertificate
from pacshift.strata.expansion import SHARES_OF_STRATA, expand, joint_bounds, joint_names
from pacshift.strata.rows import StrataRows, check_strata_mix
from pacshift.words.numbers import up

PROVEN = (PSLP.name, PSW.name, PSC.name)
"""Methods whose promise about the target rests on label shift alone, for any number of classes (Lemma 1)."""

TOGETHER = (
    "strata together (classes are called 'class in stratum'; a bound of known_mix is multiplied by that of the "
    "stratum's share of the target, and these shares are wrong with probability at most {})"
)
WAY_ON = (
    "More or finer strata are no way on: they only make the test weaker. Label some random target rows and pass "
    "them to calibrate with target_labels=: nothing is refused then because label shift does not hold."
)


def calibrate_strata(
    source_scores: ScoresLike,
    source_labels: LabelsLike,
    target_scores: ScoresLike,
    *,
    strata: LabelsLike,
    target_strata: LabelsLike,
    known_mix: Mapping[Any, Mapping[Any, Any]] | None = None,
    per_stratum: bool = False,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    method: str | Method = "PS-LP",
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
    class_epsilon: float | None = None,
    rng: RngLike = None,
) -> StratifiedCertificate:
    """Calibrate where label shift holds within strata, such as age bands or sites, and their shares changed too.

    For users who know that the composition changed, and between which shares each stratum's classes lie. It is no
    answer to a refusal of ``calibrate``: with many strata hardly any target is refused, whatever happened to it.

    Parameters
    ----------
    source_scores : array or frame of shape (m, K)
        Scores of the labelled source examples, as in ``calibrate``.
    source_labels : array or series of length m
        The true labels of the source examples.
    target_scores : array or frame of shape (n, K)
        Scores of unlabelled examples from the population that the sets are for.
    strata, target_strata : array or series of length m and n
        The stratum of each row, matched by value as labels are. Source rows of strata that ``known_mix`` does not
        name are left out; such target rows are refused.
    known_mix : dict of stratum to dict of class to (low, high)
        For every stratum, bounds that you are sure of on how frequent a class is in the target's rows of this
        stratum, such as ``{"40-49": {"sick": (0, 0.2)}, "50-59": {"sick": (0, 0.4)}}``. The promise rests on
        them. Fix strata and bounds before you look at the data.
    per_stratum : bool, default False
        Promise ``epsilon`` for every stratum, all of them at once, and not only for the target as a whole.
    epsilon : float, default 0.1
        The largest share of the target population whose true label the sets may miss.
    delta : float, default 0.05
        The largest probability that the calibration data mislead us.
    method : str or Method, default "PS-LP"
        ``"PS-LP"``, ``"PS-W"`` or ``"PS-C"``, or such a method object with options.
    classes : sequence of labels, optional
        The class of each score column, in order. Default: the column names of a frame, else 0 to K-1.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first.
    class_epsilon : float, optional
        The largest share of any class of any stratum that the sets may miss, promised besides ``epsilon``.
    rng : int, numpy.random.Generator or None, optional
        Seed of the coins, as in ``calibrate``.

    Returns
    -------
    StratifiedCertificate
        Its ``sets(scores, strata)`` makes the sets, ``explain()`` says what holds.

    Raises
    ------
    InputError
        If the data or a parameter break a rule, if bounds for a stratum are missing or say nothing, or if a
        stratum has no source rows or no target rows.
    AssumptionError
        If the data contradict label shift within strata, or the bounds. Nothing is certified then.

    Warns
    -----
    UninformativeWarning
        If every set of a stratum has to contain all labels.

    Examples
    --------
    Sites differ in how often people are sick, and the target has more rows of the south:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def draw(n, south, sick):
    ...     site = rng.choice(["north", "south"], n, p=[1 - south, south])
    ...     label = (rng.random(n) < np.where(site == "south", *sick)).astype(int)
    ...     shift = np.where(site == "south", 1.0, 0.0)
    ...     p = np.round(1 / (1 + np.exp(-rng.normal(4 * label - 2 + shift, 1.5))), 4)
    ...     return np.column_stack([1 - p, p]), label, site
    >>> source, labels, sites = draw(4000, 0.2, sick=(0.3, 0.3))
    >>> target, truth, target_sites = draw(4000, 0.7, sick=(0.5, 0.2))
    >>> certificate = calibrate_strata(
    ...     source, labels, target, strata=sites, target_strata=target_sites,
    ...     known_mix={"north": {1: (0, 0.4)}, "south": {1: (0.3, 0.8)}}, epsilon=0.1,
    ... )
    >>> sets = certificate.sets(target, target_sites)
    >>> bool((~sets[np.arange(4000), truth]).mean() <= 0.1)
    True
    """
    asked = check_request(epsilon=epsilon, delta=delta, class_epsilon=class_epsilon, rng=rng)
    options = {
        "method": _require_proven(resolve_method(method)),
        "epsilon": asked.epsilon,
        "class_epsilon": asked.class_epsilon,
        "rng": asked.seed,
    }
    each = check_flag(per_stratum, "per_stratum")
    source, target = pair(source_scores, source_labels, target_scores, classes=classes, softmax=softmax)
    if target is None:
        raise InputError("no target examples: strata need unlabelled target scores. Pass target_scores.")
    names, known = check_strata_mix(known_mix, source.classes)
    given = StrataRows.check(source, target, strata, target_strata, names)
    certificates = []
    for place, name in enumerate(names) if each else ():
        with _refusals(f"stratum {name!r}"):
            certificates.append(_within(given, place, known, asked.delta / len(names), options))
    if not each:
        with _refusals(TOGETHER.format(up(SHARES_OF_STRATA * asked.delta))):
            certificates.append(_together(given, names, known, asked.delta, options))
    made = StratifiedCertificate(
        strata=names,
        classes=source.classes,
        epsilon=asked.epsilon,
        delta=asked.delta,
        per_stratum=each,
        known_mix=known,
        softmax=source.softmax,
        certificates=tuple(certificates),
    )
    _warn_of_trivial(made)
    return made


def _require_proven(method: Method) -> Method:
    if method.name not in PROVEN:
        raise InputError(
            f"strata are proven with {', '.join(PROVEN)}, whose promise rests on label shift alone. Method "
            f"{method.name} is none of them: use one of them."
        )
    return method


def _together(
    rows: StrataRows, names: tuple[Label, ...], known: Interval, delta: float, options: Any
) -> Certificate:
    """One certificate whose classes are those of all strata (Theorem 1)."""
    if min(rows.source.values.min(), rows.target.values.min()) < -ROUNDING:
        raise InputError(
            "scores below 0: with strata a row's scores stand beside zeros, so they must be probabilities or "
            "other numbers from 0 on. Use softmax=True for logits, or per_stratum=True."
        )
    joint, for_shares = joint_names(rows.source.classes, names), SHARES_OF_STRATA * delta
    bounds = joint_bounds(known, np.bincount(rows.target_place), delta=for_shares)
    labels = rows.source_place * len(rows.source.classes) + rows.labels
    made = calibrate(
        expand(rows.source.values, rows.source_place, len(names)),
        [joint[label] for label in labels.tolist()],
        expand(rows.target.values, rows.target_place, len(names)),
        classes=joint,
        known_mix=_as_mix(joint, bounds.lower, bounds.upper),
        delta=delta - for_shares,
        **options,
    )
    # Expanded sets may hold labels of other strata: a bound among those with one label says nothing about ours.
    return made.changed(one_label_error=None)


def _within(rows: StrataRows, place: int, known: Interval, delta: float, options: Any) -> Certificate:
    """The certificate of one stratum, by its own rows (Theorem 2)."""
    classes, own = rows.source.classes, rows.source_place == place
    return calibrate(
        rows.source.values[own],
        [classes[label] for label in rows.labels[own].tolist()],
        rows.target.values[rows.target_place == place],
        classes=classes,
        known_mix=_as_mix(classes, known.lower[place], known.upper[place]),
        delta=delta,
        **options,
    )


def _as_mix(classes: Sequence[Label], lower: FloatArray, upper: FloatArray) -> dict[Label, tuple[float, float]]:
    return {name: (low, high) for name, low, high in zip(classes, lower.tolist(), upper.tolist(), strict=True)}


@contextmanager
def _refusals(about: str) -> Iterator[None]:
    """Refusals that say what they are about and what to do, which is not to try other strata."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # it would not name the stratum
            yield
    except AssumptionError as refused:
        raise AssumptionError(f"{about}: {refused.refusal}", WAY_ON, assumption=refused.assumption) from None


def _warn_of_trivial(made: StratifiedCertificate) -> None:
    for place, name in enumerate(made.strata):
        if np.isneginf(made.thresholds[place]).all():
            causes = (
                " ".join(made.certificates[place if made.per_stratum else 0].reasons) or "no threshold passes."
            )
            warnings.warn(
                f"every set of stratum {name!r} contains all labels: {causes}", UninformativeWarning, stacklevel=3
            )
