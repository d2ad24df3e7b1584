"""Label shift within strata, for users who know that their composition changed (docs/methods/strata.md).

Every class of every stratum becomes a class of its own, or every stratum gets a certificate of its own. Either way
the certificates are ordinary ones.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray, Label, LabelsLike, RngLike, ScoresLike
from pacshift.bounds import Interval, clopper_pearson
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import AssumptionError, InputError, UninformativeWarning, users_line
from pacshift.methods import METHODS, Method, resolve_method
from pacshift.mix.prevalence import check_known_mix
from pacshift.scores.check import (
    ScoreMatrix,
    check_classes,
    check_flag,
    check_labels,
    check_rate,
    check_scores,
    is_finite,
    name_array,
    not_finite_error,
    require_plausible,
)
from pacshift.scores.frames import frame_like, require_same_index
from pacshift.scores.kind import ROUNDING, require_logits
from pacshift.scores.names import NOT_FOUND, is_missing, match_labels, shorten, text_of
from pacshift.words.numbers import all_but, have, one_of, plural, up

SHARES_OF_STRATA = 0.05
"""Share of delta for the bounds of the strata's shares of the target (Lemma 2). A round number; not measured."""

DECIMALS = 6
"""Bounds of joint shares are rounded outward to so many digits, so that messages can print them."""

IN_STRATUM = " in stratum "
"""Between class and stratum in the names of the classes of all strata."""

WAY_ON = (
    "More or finer strata do not help: they only make the test weaker. Label some random target rows and pass "
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
) -> Any:
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
    Certificate or dict of stratum to Certificate
        Ordinary certificates: one whose classes are those of all strata, one stratum after the other; with
        ``per_stratum`` one for each stratum, at its share of delta. ``sets_in_strata`` makes their sets.

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
    >>> certificate.classes
    ('0 in stratum north', '1 in stratum north', '0 in stratum south', '1 in stratum south')
    >>> sets = sets_in_strata(certificate, target, target_sites)
    >>> bool((~sets[np.arange(4000), truth]).mean() <= 0.1)
    True
    """
    delta = check_rate(delta, "delta")
    chosen = resolve_method(method)
    if not chosen.allows_strata:
        proven = [name for name, known in METHODS.items() if known.allows_strata]
        raise InputError(f"strata are proven with {one_of(proven)}, not with {chosen.name}. Use one of them.")
    if target_scores is None:
        raise InputError("strata need target scores. Pass target_scores.")
    softmax, per_stratum = check_flag(softmax, "softmax"), check_flag(per_stratum, "per_stratum")
    source = _checked(source_scores, "source", classes, softmax)
    target = _checked(target_scores, "target", source.classes, softmax)
    labels = check_labels(source_labels, source.classes, n_rows=len(source), name="source", index=source.index)
    if source.named_by_frame:
        require_plausible(source, np.bincount(labels, minlength=len(source.classes)))
    names, known = _check_strata_mix(known_mix, source.classes)
    own = _stratum_places(strata, source, names, "strata")
    others = _stratum_places(target_strata, target, names, "target_strata", only_known=True)
    for side, places in (("source", own), ("target", others)):
        empty = [name for place, name in enumerate(names) if not (places == place).any()]
        if empty:
            raise InputError(
                f"known_mix names strata without any {side} rows: {shorten(empty)}. Nothing can be certified for "
                "them. Join each with another stratum, or leave it out of known_mix, and its rows out of the "
                "target."
            )

    def certified(
        about: str, note: str, scores: Any, columns: IntArray, seen: Any, mix: Interval, called: Any, level: float
    ) -> Certificate:
        bounds = dict(zip(called, zip(mix.lower.tolist(), mix.upper.tolist(), strict=True), strict=True))
        asked: dict[str, Any] = {"epsilon": epsilon, "delta": level, "class_epsilon": class_epsilon, "rng": rng}
        asked |= {"method": chosen, "classes": called, "known_mix": bounds, "softmax": softmax}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UninformativeWarning)  # it would not name the stratum
                found = calibrate(scores, [called[column] for column in columns.tolist()], seen, **asked)
        except AssumptionError as refused:  # which must not send anybody to try other strata
            raise AssumptionError(f"{about}: {refused.refusal}", WAY_ON, assumption=refused.assumption) from None
        return replace(found, notes=(note, *found.notes))

    made: list[Certificate] = []
    if per_stratum:  # Theorem 2
        for place, name in enumerate(names):
            rows, seen, mix = own == place, others == place, Interval(known.lower[place], known.upper[place])
            note = (
                f"this is stratum {name!r}, one of {len(names)}, and label shift is assumed within it; nothing is "
                f"promised about other strata. All {len(names)} hold at once with confidence {all_but(delta)}."
            )
            data = source.values[rows], labels[rows], target.values[seen]
            made.append(certified(f"stratum {name!r}", note, *data, mix, source.classes, delta / len(names)))
    else:  # Theorem 1
        if not softmax and min(source.values.min(), target.values.min()) < -ROUNDING:
            raise InputError(
                "scores below 0: with strata a row's scores stand beside zeros, so they must be probabilities or "
                "other numbers from 0 on. Use softmax=True for logits, or per_stratum=True."
            )
        kept, for_shares, blank = own != NOT_FOUND, SHARES_OF_STRATA * delta, -np.inf if softmax else 0.0
        together = certified(
            f"strata together (classes are called 'class{IN_STRATUM}stratum'; a bound of known_mix is multiplied "
            "by that of the stratum's share of the target, and these shares are wrong with probability at most "
            f"{up(for_shares)})",
            f"the strata are {shorten(names)}, and label shift is assumed within them; nothing is promised about "
            "others. They are taken together: one may be missed more often (per_stratum=True limits each). What "
            "is known about a class is what was given times bounds of its stratum's share of the target; the "
            "confidence allows for these. With strata the test of label shift notices less, so the promise rests "
            "on what is known more than without. pacshift.sets_in_strata makes the sets.",
            expand(source.values[kept], own[kept], len(names), blank),
            own[kept] * len(source.classes) + labels[kept],
            expand(target.values, others, len(names), blank),
            joint_bounds(known, np.bincount(others), delta=for_shares),
            joint_names(source.classes, names),
            delta - for_shares,
        )
        made = [replace(together, delta=delta)]
    cuts = np.concatenate([one.thresholds for one in made]).reshape(len(names), -1)
    for place in np.flatnonzero(np.isneginf(cuts).all(axis=1)).tolist():
        causes = " ".join(made[place if per_stratum else 0].reasons) or "no threshold passes."
        said = f"every set of stratum {names[place]!r} contains all labels: {causes}"
        warnings.warn(said, UninformativeWarning, stacklevel=users_line())
    return dict(zip(names, made, strict=True)) if per_stratum else made[0]


def _checked(scores: ScoresLike, name: str, classes: Sequence[Label] | None, softmax: bool) -> ScoreMatrix:
    given = check_scores(scores, name=name, classes=classes)
    if softmax:
        require_logits(given.values, name=name)
    elif not is_finite(given.values):
        raise not_finite_error(given, name)
    return given


def sets_in_strata(
    certificate: Certificate | Mapping[Label, Certificate], scores: ScoresLike, strata: LabelsLike
) -> Any:
    """Make the prediction sets of rows whose strata are known.

    Parameters
    ----------
    certificate : Certificate or dict of stratum to Certificate
        What ``calibrate_strata`` returned, or ordinary certificates loaded from its files.
    scores : array_like or frame
        One row per example, one column per class. The columns of a frame are found by name.
    strata : array_like
        The stratum of each row, matched by value. Rows of other strata are refused: nothing is promised about
        them.

    Returns
    -------
    numpy.ndarray of bool, shape (n, K), or frame
        Whether label y is in the set of row x; a frame if ``scores`` is one.

    Raises
    ------
    InputError
        If scores or strata do not fit, or are not of the kind that the certificate was made from.

    Examples
    --------
    >>> import numpy as np
    >>> from pacshift import calibrate_strata
    >>> labels, sites = np.tile([0, 1], 400), np.repeat(["north", "south"], 400)
    >>> scores = np.where(np.eye(2)[labels] == 1, 0.8, 0.2)
    >>> known_mix = {"north": {1: (0.3, 0.6)}, "south": {1: (0.3, 0.6)}}
    >>> certificate = calibrate_strata(
    ...     scores, labels, scores, strata=sites, target_strata=sites, known_mix=known_mix
    ... )
    >>> sets_in_strata(certificate, [[0.9, 0.1], [0.1, 0.9]], ["south", "north"])
    array([[ True, False],
           [False,  True]])
    """
    if isinstance(certificate, Certificate):
        split = [str(name).rpartition(IN_STRATUM) for name in certificate.classes]
        names: tuple[Label, ...] = tuple(dict.fromkeys(stratum for _, _, stratum in split))
        classes: tuple[Label, ...] = tuple(name for name, _, stratum in split if stratum == names[0])
        if joint_names(classes, names) != list(certificate.classes):
            raise InputError(
                f"this certificate has no strata: its classes are {shorten(certificate.classes)}, and not called "
                f"'class{IN_STRATUM}stratum'. Its own sets(scores) makes its sets."
            )
        softmax = certificate.softmax
    else:
        names, first = tuple(certificate), next(iter(certificate.values()))
        classes, softmax = first.classes, first.softmax
    given = _checked(scores, "scores", classes, softmax)
    place = _stratum_places(strata, given, names, "strata", only_known=True)
    found = np.empty(given.values.shape, np.bool_)
    if isinstance(certificate, Certificate):  # what `expand` did, undone: each row's columns of its own stratum
        wide = certificate.sets_of_rows(expand(given.values, place, len(names), -np.inf if softmax else 0.0))
        found = wide.reshape(len(wide), len(names), -1)[np.arange(len(wide)), place]
        return frame_like(scores, found, classes)
    for stratum in np.unique(place).tolist():
        rows = place == stratum
        found[rows] = certificate[names[stratum]].sets_of_rows(given.values[rows])
    return frame_like(scores, found, classes)


def joint_names(classes: Sequence[Label], strata: Sequence[Label]) -> list[str]:
    """What the classes are called, stratum after stratum.

    >>> joint_names(["well", "sick"], ["young", "old"])[1:3]
    ['sick in stratum young', 'well in stratum old']
    """
    return [f"{name}{IN_STRATUM}{stratum}" for stratum in strata for name in classes]


def expand(
    scores: NDArray[np.floating[Any]], place: IntArray, n_strata: int, blank: float = 0.0
) -> NDArray[np.floating[Any]]:
    """The scores of each row in the columns of its own stratum, ``blank`` in all others (Lemma 1).

    >>> expand(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1, 0]), 2).tolist()
    [[0.0, 0.0, 0.9, 0.1], [0.2, 0.8, 0.0, 0.0]]
    """
    wide = np.full((len(scores), n_strata, scores.shape[1]), blank, scores.dtype)
    wide[np.arange(len(scores)), place] = scores
    return wide.reshape(len(scores), -1)


def joint_bounds(known: Interval, counts: IntArray, *, delta: float) -> Interval:
    """Bounds of the target's shares of (stratum, class), right with probability at least 1 - ``delta`` (Lemma 2).

    ``known`` bounds the mix within each stratum, one line per stratum; ``counts`` are target rows per stratum.

    >>> known = Interval(np.zeros((2, 2)), np.array([[1.0, 0.5], [1.0, 0.2]]))
    >>> joint_bounds(known, np.array([600, 400]), delta=0.01).upper.round(3)
    array([0.643, 0.322, 0.444, 0.089])
    """
    share = clopper_pearson(counts, counts.sum(), delta=delta / len(counts))
    rest = Interval(*(end.sum(axis=1, keepdims=True) - end for end in (known.lower, known.upper)))
    lower = np.maximum(known.lower, 1 - rest.upper) * share.lower[:, None]
    upper = np.minimum(known.upper, 1 - rest.lower) * share.upper[:, None]
    scale = 10.0**DECIMALS
    return Interval(np.floor(lower.ravel() * scale) / scale, np.ceil(upper.ravel() * scale) / scale)


def _stratum_places(
    values: LabelsLike, scores: ScoreMatrix, names: tuple[Label, ...], name: str, *, only_known: bool = False
) -> IntArray:
    """Place of each row's stratum among ``names``, by value as labels are matched; ``NOT_FOUND`` for others."""
    found = name_array(values, name, "strata")
    if found.shape != (len(scores),):
        raise InputError(f"{name}: one stratum per row is needed ({len(scores):,}), got shape {found.shape}.")
    require_same_index(scores.index, values, name, what="strata")
    places = match_labels(found, names)
    others = found[places == NOT_FOUND].tolist()
    missing = sum(is_missing(one) or text_of(one) is None for one in others)
    if missing:
        raise InputError(
            f"{name}: {have(missing, 'row')} no stratum. Every row must name its stratum by a text, a number or "
            "a boolean. Fill it in; to leave such rows out is right only if the gaps have nothing to do with them."
        )
    if others and only_known:
        raise InputError(
            f"{name}: {plural(len(others), 'row')} of strata that known_mix does not name, such as {others[0]!r}. "
            f"It names {shorten(names)}. Nothing is promised about others: leave these rows out, or calibrate "
            "with bounds for their strata."
        )
    return places


def _check_strata_mix(known_mix: Any, classes: tuple[Label, ...]) -> tuple[tuple[Label, ...], Interval]:
    """The strata, and bounds of the mix within each, one line per stratum."""
    if not isinstance(known_mix, Mapping) or not known_mix:
        raise InputError(
            "known_mix is needed with strata: for every stratum, bounds of the target's label mix that you are "
            "sure of, such as {'40-49': {'sick': (0, 0.2)}, '50-59': {'sick': (0, 0.4)}}. Strata make many "
            "classes, which fit almost any target: of 5 real populations that were certified without such bounds, "
            "4 had an error above 12 % where 10 % was promised."
        )
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in known_mix)
    if None in map(text_of, names):
        raise InputError(f"known_mix: strata must be texts, numbers or booleans, got {shorten(names)}.")
    if any(IN_STRATUM in str(name) for name in names):
        raise InputError(f"known_mix: no stratum may be called {IN_STRATUM!r}, got {shorten(names)}. Rename it.")
    check_classes(joint_names(classes, names))  # texts that files can hold, no two alike
    bounds = []
    for name, mix in zip(names, known_mix.values(), strict=True):
        try:
            found = check_known_mix(mix, classes)
        except InputError as wrong:
            raise InputError(f"stratum {name!r}: {wrong}") from None
        if not ((found.lower > 0) | (found.upper < 1)).any():
            raise InputError(
                f"known_mix says nothing about stratum {name!r}: every class may have any share. Bound at least "
                "one class, as closely as you are sure of. Without bounds the test of label shift is too weak "
                "with strata."
            )
        bounds.append(found)
    return names, Interval(np.array([one.lower for one in bounds]), np.array([one.upper for one in bounds]))
