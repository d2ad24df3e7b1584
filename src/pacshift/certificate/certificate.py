"""What comes out: the rule that makes the sets, what it guarantees and for whom, from which data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import (
    BoolArray,
    FloatArray,
    Frame,
    IntArray,
    Label,
    ScoresLike,
    SupportsDLPack,
    cached_property,
    read_only,
)
from pacshift.assumption import Assumption
from pacshift.bounds import Interval
from pacshift.certificate.file import FORMAT, VERSION, sealed_fields, to_document
from pacshift.certificate.predictor import Predictor
from pacshift.certificate.provenance import Provenance, check_stamp
from pacshift.certificate.sql import Dialect, set_expression
from pacshift.errors import InputError, param
from pacshift.files.codec import parse_document, write_document
from pacshift.files.reading import read_document
from pacshift.methods import Guarantee, MethodFacts
from pacshift.rows.base import CheckedRows
from pacshift.rows.columns import Columns
from pacshift.rows.rows import Rows, bind_rows
from pacshift.rows.rule import Rule
from pacshift.rows.sets import label_lists, make_sets, set_sizes
from pacshift.scores.check import ScoreMatrix, as_rows, check_scores, is_row
from pacshift.scores.frames import frame_like, series_like
from pacshift.scores.kind import ScoreKind, require_same_kind
from pacshift.scores.transforms import (
    TRANSFORMS,
    Transform,
    TransformFunction,
    resolve_transform,
    to_probabilities,
)
from pacshift.tally.grid import fits_single
from pacshift.tally.inputs import Grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MatrixLike: TypeAlias = ArrayLike | Sequence[Any] | SupportsDLPack
"""Scores that have no column names."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate:
    """Thresholds, what they guarantee, and what is needed to check, save and use them.

    ``calibrate`` makes certificates of prediction sets, ``accept`` those of another rule.

    Attributes
    ----------
    rule : SetRule or AcceptRule
        Thresholds, and what is done with them. Scores of single and double precision make the same sets: each
        threshold is the least double that rounds to the same float32.
    classes : tuple of str, int, float or bool
        Class names, in the order of the score columns.
    epsilon, delta : float
        Share of true labels that the sets may miss, or of what is accepted that may be wrong; chance that the
        calibration data mislead us.
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
    class_counts : int array of shape (K,)
        Source examples per true label.
    predicted_counts : int array of shape (K,) or None
        Target examples per predicted label; None where the method does not look at them.
    weights, prevalence : Interval or None
        Bounds of q(y)/p(y) and of q(y) per class, where the method computes them.
    accuracy : float or None
        Lower bound of the classifier's accuracy on the target, where the method computes it.
    class_miss : Interval or None
        Bounds of how often each class is missed on source and target. Those of all classes hold together with
        confidence ``1 - delta``. This is a statement of its own, beside the guarantee. With ``contamination`` the
        label-shifted part of the target is meant, as with ``limits``, ``prevalence`` and ``weights``; where
        target labels certify (PS-T), the cases that have a class.
    limits : float array of shape (K,) or None
        Share of each class that the sets may miss, or of what is accepted as it that may be wrong; 1 where no
        limit was asked for.
    accepted, accepted_error : Interval or None
        Of certificates that ``accept`` makes, for each predicted label: bounds of the share of the target's cases
        that is accepted, and of the share of these that is wrong. They hold together with confidence
        ``1 - delta``. A statement of its own, beside the guarantee, which is about all labels together.
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
    set_sizes : int array of shape (K + 1,) or None
        ``set_sizes[s]`` counts the target sets with s labels, if they were counted.
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
    >>> print(certificate.explain().splitlines()[-3])
    Sets on the target: 100 % name one label, 0 % both, none is empty; 1.000 labels on average.
    """

    rule: Rule
    classes: tuple[Label, ...]
    epsilon: float
    delta: float
    method: str
    options: dict[str, Any]
    score: str
    guarantee: Guarantee
    facts: MethodFacts = field(default_factory=MethodFacts)
    n_source: int
    n_target: int
    n_target_labels: int = 0
    source_grouped: Grouped | None = None
    target_grouped: Grouped | None = None
    class_counts: IntArray
    predicted_counts: IntArray | None
    weights: Interval | None = None
    prevalence: Interval | None = None
    accuracy: float | None = None
    class_miss: Interval | None = None
    limits: FloatArray | None = None
    accepted: Interval | None = None
    accepted_error: Interval | None = None
    contamination: float = 0.0
    known_mix: Interval | None = None
    assumption: Assumption | None = None
    score_kind: ScoreKind | None = None
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    set_sizes: IntArray | None = None
    softmax: bool = False
    columns: Columns | None = None
    provenance: Provenance
    transform: Transform | None = field(default=None, repr=False)  # a function of the user's own: not saved

    def __post_init__(self) -> None:
        """What was certified stays: nobody can write to its arrays, and what was given in stays the caller's."""
        for each in fields(self):
            if each.name != "transform":
                object.__setattr__(self, each.name, read_only(getattr(self, each.name)))

    def __repr__(self) -> str:
        from pacshift.words.statements import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from pacshift.words.statements import to_html

        return to_html(self)

    @property
    def thresholds(self) -> FloatArray:
        """The lowest score at which a label is included, or accepted, per class."""
        return self.rule.thresholds

    @property
    def trivial(self) -> bool:
        """Whether every set contains all labels, which is always correct but never informative."""
        return self.rule.trivial

    @cached_property
    def fits_single(self) -> bool:
        """Whether scores of single precision can be compared with the thresholds; else they are refused."""
        cuts = self.thresholds[np.isfinite(self.thresholds)]
        return self.score != "probability" or bool(fits_single(cuts).all())

    @overload
    def sets(self, scores: Frame, *, score: TransformFunction | None = None) -> Any: ...

    @overload
    def sets(self, scores: MatrixLike | Rows, *, score: TransformFunction | None = None) -> BoolArray: ...

    def sets(self, scores: ScoresLike | Rows, *, score: TransformFunction | None = None) -> Any:
        """Make the prediction sets: for every row and label, whether the label is in the row's set.

        Parameters
        ----------
        scores : array_like, frame or Rows
            One row per example, one column per class. An array has its columns in the order of ``classes``. In a
            frame they are found by name, in any order and beside other columns: ``columns.scores`` if the frame
            has them, else the names of the classes. A single row may have one dimension; the scores of a pandas
            series are found by name. For many single rows, ``predictor`` is many times faster. A table,
            ``read(table, like=certificate)``, must fit into memory as sets; ``write_sets`` takes any.
        score : callable, optional
            The score function of your own that the certificate was made with, after loading it from a file.

        Returns
        -------
        numpy.ndarray of bool, shape (n, K) or (K,), or frame
            Whether label y is in the set of row x. A frame of pandas, polars or Arrow gives a frame of the same
            kind with one column per class; that of pandas has the same index. A single row gives one dimension.

        Raises
        ------
        InputError
            If scores are not a finite matrix with a column for every class, or are plainly of another kind than
            those of the calibration: logits instead of probabilities, or the other way round.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
        >>> certificate = calibrate(scores, labels, None, epsilon=0.1, delta=0.1, method="PS")
        >>> certificate.sets([[0.7, 0.3], [0.05, 0.95]]).tolist()
        [[False, False], [False, True]]
        """
        if isinstance(scores, Rows | CheckedRows):
            return np.concatenate(self._of_batches(scores, partial(self.sets_of_rows, score=score)))
        if is_row(scores):
            return self.sets_of_rows(as_rows(scores, len(self.classes)), score=score)[0]
        return frame_like(scores, self.sets_of_rows(scores, score=score), self.classes)

    @overload
    def labels(self, scores: Frame, *, score: TransformFunction | None = None) -> Any: ...

    @overload
    def labels(
        self, scores: MatrixLike | Rows, *, score: TransformFunction | None = None
    ) -> list[list[Label]]: ...

    def labels(self, scores: ScoresLike | Rows, *, score: TransformFunction | None = None) -> Any:
        """Make the prediction sets as lists of class names, the most likely first.

        Parameters
        ----------
        scores : array_like, frame or Rows
            As in ``sets``.
        score : callable, optional
            As in ``sets``.

        Returns
        -------
        list of list, or series
            One list per row. A frame of pandas or polars gives a series; that of pandas has the same index.

        Raises
        ------
        InputError
            As in ``sets``.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, names = [[0.9, 0.1], [0.2, 0.8]] * 50, ["cat", "dog"]
        >>> certificate = calibrate(scores, names * 50, None, method="PS-LW", epsilon=0.2, classes=names)
        >>> certificate.labels([[0.95, 0.05], [0.91, 0.93], [0.5, 0.5]])
        [['cat'], ['dog', 'cat'], []]
        """
        if isinstance(scores, Rows | CheckedRows):
            return list(chain.from_iterable(self._of_batches(scores, partial(self.labels, score=score))))
        checked = self._check(scores)
        sets = make_sets(checked, self.rule, self.own_transform(score))
        return series_like(scores, label_lists(sets, checked))

    def _bind(self, rows: Rows | CheckedRows) -> CheckedRows:
        """Rows that must have the classes of the certificate."""
        columns = () if self.columns is None else self.columns.scores
        return bind_rows(
            rows, name="table", role="target", classes=self.classes, columns=columns, softmax=self.softmax
        )

    def _of_batches(self, rows: Rows | CheckedRows, make: Callable[[Any], Any]) -> list[Any]:
        """What is made of the scores of each batch of rows, all rows of each group."""
        every = self._bind(rows).every.without_labels()
        return list(every.fold(lambda batch: make(batch.raw_scores), "measuring the sets"))

    def _check(self, scores: ScoresLike | ScoreMatrix) -> ScoreMatrix:
        """Scores as a matrix of the kind that the thresholds belong to."""
        if (  # then check_scores would find nothing to do, and take longer than the sets of a thousand scores
            type(scores) is np.ndarray
            and scores.dtype in (np.float64, np.float32)
            and scores.ndim == 2
            and scores.shape[1] == len(self.classes)
            and len(scores) > 0
        ):
            checked = ScoreMatrix(scores, self.classes)
        else:
            columns = () if self.columns is None else self.columns.scores
            checked = check_scores(scores, name="scores", classes=self.classes, columns=columns)
        if checked.values.dtype == np.float32 and not self.fits_single:
            raise InputError(
                f"{param('scores')}: thresholds of this certificate are too small or too large for single "
                "precision, which would lose the scores at them. Pass scores in double precision (float64), as "
                "the model computes them."
            )
        if self.softmax:
            return to_probabilities(checked, name="scores")
        require_same_kind(self.score_kind, ScoreKind.of_rows(checked.values), name="scores", n_rows=len(checked))
        return checked

    def sets_of_rows(self, scores: ScoresLike, *, score: TransformFunction | None = None) -> BoolArray:
        """Prediction sets as a matrix, whatever holds the scores: for engines that read a table piece by piece.

        Parameters
        ----------
        scores : array_like or frame
            One row per example, one column per class.
        score : callable, optional
            As in ``sets``.

        Returns
        -------
        bool array of shape (n, K)
            As from ``sets``.
        """
        return make_sets(self._check(scores), self.rule, self.own_transform(score))

    def sizes_of_rows(self, scores: ScoresLike | ScoreMatrix) -> IntArray:
        """How many sets of some rows hold 0, 1, ..., K labels.

        Parameters
        ----------
        scores : array_like or frame
            As in ``sets_of_rows``.

        Returns
        -------
        array of shape (K + 1,)
            Counts of sets by size.
        """
        return set_sizes(self._check(scores), [self.rule], self.own_transform())[0]

    def own_transform(self, score: TransformFunction | None = None) -> Transform:
        """What is done to scores before they are compared with the thresholds.

        Parameters
        ----------
        score : callable, optional
            As in ``sets``.

        Returns
        -------
        Transform
            The transform that the certificate was made with.

        Raises
        ------
        InputError
            If the certificate was made with a score function of your own, and it is not given; or the other way.
        """
        if score is not None and self.score in TRANSFORMS:
            raise InputError(
                f"{param('score=')} is for a function of your own; this certificate compares {self.score!r}."
            )
        if score is not None:
            return resolve_transform(score)
        if self.transform is not None:
            return self.transform
        if self.score not in TRANSFORMS:
            raise InputError(
                f"this certificate was made with a score function of your own: pass it as {param('score=')}."
            )
        return TRANSFORMS[self.score]

    def without_empty_sets(self) -> Certificate:
        """The certificate whose empty sets get the top label. Sets only grow, so the promise stays.

        Returns
        -------
        Certificate
            A copy. Files, SQL, ONNX and predictors that are made of it fill empty sets too.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> certificate = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, method="PS")
        >>> certificate.sets([0.6, 0.4]).tolist(), certificate.without_empty_sets().sets([0.6, 0.4]).tolist()
        ([False, False], [True, False])
        """
        rule = self.rule.fill_empty_sets()
        if rule is self.rule:  # where a person is asked, the set holds every label
            return self
        sizes, misses = self.set_sizes, self.class_miss
        if sizes is not None:
            sizes = np.array([0, sizes[0] + sizes[1], *sizes[2:]])
        if misses is not None:  # a set that is filled may hold a label that was missed
            misses = Interval(0 * misses.lower, misses.upper)
        return replace(self, rule=rule, set_sizes=sizes, class_miss=misses)

    def to_sql(self, dialect: Dialect = "duckdb", *, columns: Sequence[str] | None = None) -> str:
        """The sets as one SQL expression, so that a database can make them where the scores are.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "bigquery", "snowflake", "spark"}
            Which SQL to write.
        columns : sequence of str, optional
            The score column of each class, in the order of ``classes``. Default: those of the table that the
            certificate was made from.

        Returns
        -------
        str
            An expression for ``SELECT``: the labels in the row's set, in the order of ``classes``, as an array of
            the class names' own type, or of texts if they have several; in Snowflake an ARRAY of variants. It is
            NULL for rows with a score that is missing, NaN or +inf, which ``sets`` refuses. Where the top label is
            accepted, BigQuery and Snowflake, which have no single precision, need columns of numbers of single
            precision.

        Raises
        ------
        InputError
            If the certificate takes logits, if a score other than ``"probability"`` is compared, if the columns
            are unknown or too few or one for the dialect (names that differ in case only), or if the dialect is
            unknown.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, names = [[0.9, 0.1], [0.2, 0.8]] * 50, ["cat", "dog"]
        >>> certificate = calibrate(
        ...     scores, names * 50, None, epsilon=0.1, delta=0.1, method="PS", classes=names
        ... )
        >>> print(certificate.to_sql("spark", columns=["p_cat", "p_dog"]))
        CASE WHEN `p_cat` < CAST('Infinity' AS DOUBLE) AND `p_dog` < CAST('Infinity' AS DOUBLE)
        THEN filter(array(
          CASE WHEN `p_cat` >= CAST('0.7999999821186067' AS DOUBLE) THEN 'cat' END,
          CASE WHEN `p_dog` >= CAST('0.7999999821186067' AS DOUBLE) THEN 'dog' END
        ), label -> label IS NOT NULL) END
        """
        if self.score != "probability":
            raise InputError(
                f"SQL can only compare probabilities, but this certificate transforms them first (score "
                f"{self.score!r}). Make the sets with `sets` or `pacshift predict`, or calibrate with "
                "score='probability'."
            )
        if self.softmax:
            raise InputError(
                "SQL can only compare probabilities, but this certificate takes logits (softmax). Store the "
                "probabilities of the model in the table and make the certificate of them, or make the sets with "
                "`sets` or `pacshift predict`."
            )
        if columns is None and self.columns is not None:
            columns = self.columns.scores
        return set_expression(columns, self.classes, self.rule, dialect)

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
        return Predictor(self, self.own_transform(score))

    def annotate(
        self, *, note: str | None = None, model_id: str | None = None, valid_until: str | date | None = None
    ) -> Certificate:
        """The certificate with what it should remember; what is not named stays as it is.

        Parameters
        ----------
        note : str, optional
            Anything.
        model_id : str, optional
            Which classifier the scores come from.
        valid_until : str or datetime.date, optional
            The last day on which the sets should be used, such as ``"2027-01-31"``. Commands warn after it.

        Returns
        -------
        Certificate
            A copy.

        Raises
        ------
        InputError
            If a text is empty or too long, or the day is over.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> certificate = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, method="PS")
        >>> certificate.annotate(model_id="net 3").provenance.model_id
        'net 3'
        """
        remarks = check_stamp(note=note, model_id=model_id, valid_until=valid_until)
        return replace(self, provenance=replace(self.provenance, **remarks))

    def with_set_sizes(self, scores: ScoresLike | ScoreMatrix | Rows) -> Certificate:
        """The same certificate, with the sizes of the sets of ``scores`` counted.

        Parameters
        ----------
        scores : array_like, frame or Rows
            The target's scores: one row per example, one column per class. Or a table, ``read(table, like=...)``,
            of any size: on a cluster sizes are counted there, and with groups those of one row of each.

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
        if isinstance(scores, Rows | CheckedRows):
            return replace(self, set_sizes=self._bind(scores).total(self.sizes_of_rows))
        return replace(self, set_sizes=self.sizes_of_rows(scores))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: read_only(value) for name, value in state.items()})

    def explain(self, *, full: bool = False) -> str:
        """Say in plain words what is promised, if what holds, which change it implies, how useful the sets are.

        Parameters
        ----------
        full : bool
            Everything, a paragraph each, instead of the few lines that matter most.

        Returns
        -------
        str
            A line each for the promise, the implied change, the test, the worst class, the sets, and a note.
        """
        from pacshift.words.statements import explain

        return explain(self, full=full)

    def plot(self) -> Figure:
        """Draw the certificate: label mix, misses by class and, if they were counted, set sizes.

        Returns
        -------
        matplotlib.figure.Figure
            ``figure.savefig("certificate.png")`` writes it. ``pacshift.plots`` draws each picture on its own.

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
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
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
        return cls(**parse_document(read_document(path), path, FORMAT, VERSION, sealed_fields))
