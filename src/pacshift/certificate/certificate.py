"""What comes out: the rule that makes the sets, what it guarantees and for whom, from which data."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pacshift.arrays import IntArray, ScoresLike, read_only
from pacshift.assumption import Assumption
from pacshift.bounds import BoundCurve, Interval, Sensitivity
from pacshift.certificate.file import read_fields, to_document
from pacshift.certificate.predictor import Predictor
from pacshift.certificate.provenance import Provenance
from pacshift.certificate.rule import SetRule, transform_of
from pacshift.files.codec import write_document
from pacshift.methods import Guarantee, MethodFacts
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import TransformFunction
from pacshift.tally.groups import Grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_LABEL_SHARE = 0.1
"""Chance that the shares of set sizes mislead us, as a share of δ and beside it. A round number; not measured."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate(SetRule):
    """Thresholds, what they guarantee, and what is needed to check, save and use them.

    Label y is in the set of x if and only if its score f(x, y) is at least ``thresholds[y]``. ``calibrate`` and
    ``calibrate`` make certificates.

    Attributes
    ----------
    thresholds : float array of shape (K,)
        The lowest score at which a label is included, per class; -inf includes it in every set. Scores of single
        and double precision make the same sets: it is the least double that rounds to the same float32.
    classes : tuple of str, int, float or bool
        Class names, in the order of the score columns.
    epsilon, delta : float
        Share of true labels that the sets may miss; chance that the calibration data mislead us.
    method : str
        Name of the method.
    options : dict
        Options of the method.
    score : str
        Name of the score transform; ``"custom"`` for a function of your own.
    guarantee : {"pac-target", "pac-source", "marginal", "none"}
        What is promised; ``explain`` says it in words.
    facts : MethodFacts
        What else is to be said about the method: its idea, its extra assumption, and so on.
    n_source, n_target : int
        Number of labelled source and unlabelled target examples.
    n_target_labels : int
        How many of the target examples had labels that were used.
    source_grouped, target_grouped : Grouped or None
        If one random row of each group was counted, such as of each patient: how many rows there were in all.
        The promise is then about a random row of a random group.
    class_counts, predicted_counts : int array of shape (K,)
        Source examples per true label; target examples per predicted label.
    weights, prevalence : Interval or None
        Bounds of q(y)/p(y) and of q(y) per class, where the method computes them.
    accuracy : float or None
        Lower bound of the classifier's accuracy on the target, where the method computes it.
    class_miss : Interval or None
        Bounds of how often each class is missed on source and target. Those of all classes hold together with
        confidence ``1 - delta``. This is a statement of its own, beside the guarantee. With ``contamination`` the
        label-shifted part of the target is meant, as with ``class_epsilon``, ``prevalence`` and ``weights``; where
        target labels certify (PS-T), the cases that have a class.
    class_epsilon : float or None
        Share of any one class that the sets may miss, if a limit was asked for.
    one_label_error : float or None
        Among the target's sets with exactly one label, at most this share is wrong, with confidence
        ``1 - 1.1 * delta``. None where it is not known: without a PAC guarantee on the target, from counts alone,
        and where too few sets hold one label.
    contamination : float
        Share of the target that may be anything, without breaking the promise of ``epsilon``.
    known_mix : Interval or None
        Bounds of the target's label mix that the user was sure of.
    assumption : Assumption or None
        What the test of label shift saw, at which level; None if there was nothing to test.
    score_kind : ScoreKind or None
        Range and kind of the source's scores. ``sets`` refuses scores of another kind.
    reasons : tuple of str
        Which data were lacking, if a class or all classes are in every set.
    notes : tuple of str
        What else should be known: a class that is missed often, data that look like a mistake.
    curve : BoundCurve or None
        Bounds of the target error at other thresholds: a picture, not a second guarantee. ``with_curves``
        computes it.
    sensitivity : Sensitivity or None
        How the bound of the target error grows with the share of the target that is not label-shifted.
        ``with_curves`` computes it.
    find_curves : callable or None
        What ``with_curves`` calls. It needs the counts, which are neither saved nor pickled.
    set_sizes : int array of shape (K + 1,) or None
        ``set_sizes[s]`` counts the target sets with s labels, if they were counted.
    never_empty : bool
        Whether empty sets are filled with the top label.
    softmax : bool
        Whether scores are logits, of which ``sets`` takes the softmax before anything else.
    columns : Columns or None
        Score columns and label column of the table that the certificate was made from. Frames and tables given to
        it later must have these score columns, in any order. None if it was made from arrays.
    provenance : Provenance
        When and from which data it was made, by which version, for which model, and until when it may be used.
    transform : Transform or None
        The score transform itself; not saved.

    Examples
    --------
    >>> import numpy as np
    >>> from pacshift import calibrate
    >>> labels = np.tile([0, 1], 200)
    >>> scores = np.where(np.eye(2)[labels] == 1, 0.8, 0.2)
    >>> certificate = calibrate(scores, labels, scores, epsilon=0.1, delta=0.05, method="PS-LW")
    >>> certificate.thresholds
    array([0.79999998, 0.79999998])
    >>> certificate.sets([[0.9, 0.1], [0.1, 0.9]])
    array([[ True, False],
           [False,  True]])
    >>> print(certificate.explain().splitlines()[4])
    Data: 400 labelled source examples (fewest: 200 of class 0), 400 unlabelled target examples, 2 classes.
    """

    epsilon: float
    delta: float
    method: str
    options: dict[str, Any]
    guarantee: Guarantee
    facts: MethodFacts = field(default_factory=MethodFacts)
    n_source: int
    n_target: int
    n_target_labels: int = 0
    source_grouped: Grouped | None = None
    target_grouped: Grouped | None = None
    class_counts: IntArray
    predicted_counts: IntArray
    weights: Interval | None = None
    prevalence: Interval | None = None
    accuracy: float | None = None
    class_miss: Interval | None = None
    class_epsilon: float | None = None
    one_label_error: float | None = None
    contamination: float = 0.0
    known_mix: Interval | None = None
    assumption: Assumption | None = None
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    curve: BoundCurve | None = None
    sensitivity: Sensitivity | None = None
    find_curves: Callable[[], tuple[BoundCurve | None, Sensitivity | None]] | None = None
    set_sizes: IntArray | None = None
    provenance: Provenance

    def __post_init__(self) -> None:
        """What was certified stays: nobody can write to its arrays, and what was given in stays the caller's."""
        for one in fields(self):
            if one.name not in ("transform", "find_curves"):
                object.__setattr__(self, one.name, read_only(getattr(self, one.name)))

    def __repr__(self) -> str:
        from pacshift.words.notebook import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from pacshift.words.notebook import to_html

        return to_html(self)

    def predictor(self, *, score: TransformFunction | None = None) -> Predictor:
        """Prepare for rows that come one at a time, as in a service.

        Parameters
        ----------
        score : callable, optional
            As in ``sets``.

        Returns
        -------
        Predictor
            Its ``sets`` and ``labels`` take one row or a few and answer what ``sets`` and ``labels`` of the
            certificate answer, but much faster.

        Raises
        ------
        InputError
            If the certificate was made with a score function of your own, and it is not given.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
        >>> certificate = calibrate(scores, labels, None, epsilon=0.1, delta=0.1, method="PS")
        >>> certificate.predictor().sets([0.05, 0.95])
        array([False,  True])
        """
        return Predictor(self, transform_of(self, score))

    def with_set_sizes(self, scores: ScoresLike | ScoreMatrix) -> "Certificate":
        """The same certificate, with the sizes of the sets of ``scores`` counted.

        Parameters
        ----------
        scores : array_like or frame
            The target's scores: one row per example, one column per class.

        Returns
        -------
        Certificate
            Its ``set_sizes[s]`` counts the sets with s labels.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
        >>> certificate = calibrate(scores, labels, None, epsilon=0.1, delta=0.1, method="PS")
        >>> certificate.with_set_sizes([[0.7, 0.3], [0.05, 0.95]]).set_sizes.tolist()
        [1, 1, 0]
        """
        (sizes,) = self._sizes(self._checked(scores), [self.thresholds])
        return replace(self, set_sizes=sizes)

    def with_curves(self) -> "Certificate":
        """The same certificate, with ``curve`` and ``sensitivity``, which take some linear programs.

        Plots and reports call it. ``save`` does not: a file holds the two if the certificate does.

        Returns
        -------
        Certificate
            The certificate as it is if it has them, or if the counts are not at hand any more, because it was
            loaded or pickled.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 100, [0, 1] * 100
        >>> certificate = calibrate(scores, labels, scores, epsilon=0.1, delta=0.05)
        >>> certificate.sensitivity is None, certificate.with_curves().sensitivity.contamination
        (True, array([0.   , 0.025, 0.05 , 0.1  , 0.2  ]))
        """
        if self.find_curves is None or self.curve is not None or self.sensitivity is not None:
            return self
        curve, sensitivity = self.find_curves()
        return replace(self, curve=curve, sensitivity=sensitivity, find_curves=None)

    def __getstate__(self) -> dict[str, Any]:
        """Pickles hold no counts."""
        return {**self.__dict__, "find_curves": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: read_only(value) for name, value in state.items()})

    def explain(self) -> str:
        """Say in plain words what is guaranteed, under which assumption, from which data, by which sets.

        Returns
        -------
        str
            One line each for the guarantee, the assumption (if there is one), the data, the sets and every note.
        """
        return self._words

    @cached_property
    def _words(self) -> str:
        from pacshift.words.statements import explain

        return explain(self)

    def plot(self) -> "list[Axes]":
        """Draw the certificate: label mix, misses by class and, if they were counted, set sizes.

        Returns
        -------
        list of matplotlib.axes.Axes
            One figure with these axes. ``pacshift.plots`` draws each picture on its own.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        from pacshift.plots import overview

        return overview(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the certificate as JSON that a person can read; ``load`` gives every number back bit for bit.

        Parameters
        ----------
        path : path
            The file. It is written whole or not at all.
        overwrite : bool
            Whether an existing file may be replaced.

        Raises
        ------
        InputError
            If the file exists and may not be replaced, or cannot be written.
        """
        write_document(to_document(self), path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read a file written by ``save``. Nothing in it is executed.

        Parameters
        ----------
        path : path
            The file. Its method need not be one of ``METHODS``: the file carries the facts about it.

        Returns
        -------
        Certificate

        Raises
        ------
        InputError
            If the file cannot be read, is not a certificate, or contradicts itself.
        """
        return cls(**read_fields(path))
