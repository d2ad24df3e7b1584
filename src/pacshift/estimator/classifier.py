"""A classifier of scikit-learn whose prediction sets keep their promise on the target."""

import os
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d

from pacshift.arrays import Label, RngLike
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate
from pacshift.certification.groups import sample_groups
from pacshift.certification.label_sheet import LabelSheet
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError, PacshiftError
from pacshift.estimator.wrapper import Wrapper
from pacshift.methods import Method
from pacshift.methods.ps_lp import ClassBalance
from pacshift.scores.frames import index_of, require_same_index, to_frame
from pacshift.scores.transforms import TransformFunction
from pacshift.tally.groups import LabelsPer

Output: TypeAlias = Literal["default", "pandas", "polars"]
"""What ``predict_set`` may return: an array, or a frame."""


class NotCalibratedError(PacshiftError, NotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """Raised if sets are asked for before ``calibrate``."""


class PACClassifier(Wrapper):
    """A classifier that answers with sets of labels, calibrated for a target with another label mix.

    The score of a label is ``predict_proba``, or ``decision_function`` if the estimator has no probabilities; a
    binary decision value d becomes the two columns (-d, d). Calibrate on data that the estimator was **not**
    trained on: scores of training rows look better than they are, and then no guarantee holds.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Fitted, or to be cloned and fitted by ``fit``. Wrap a fitted one in ``FrozenEstimator`` if the
        ``PACClassifier`` will be cloned, as in cross-validation. Default: ``LogisticRegression(max_iter=1000)``.
    epsilon : float, default 0.1
        Share of true labels that the sets may miss, in (0, 1).
    delta : float, default 0.05
        Chance that the guarantee fails because the calibration data mislead us, in (0, 1).
    method : str or Method
        Name in ``METHODS``, or a method object.
    score_function : str or callable
        The score to threshold: ``score`` of ``pacshift.calibrate``. scikit-learn uses that name for the accuracy.
    never_empty : bool
        Fill empty sets with the top label.
    class_epsilon : float or None
        Share of any one class that the sets may miss, promised besides ``epsilon``. With ``contamination`` it is
        promised for the label-shifted part of the target, or, where target labels certify instead (PS-T), for the
        cases that have a class.
    class_balance : {3, 6, "none"} or None
        For PS-LP: tuned thresholds aim at missing no class more often than this multiple of epsilon. None: 3.
    contamination : float
        A share of the target that may be anything; the promise of ``epsilon`` holds even so. Below ``epsilon``.
    known_mix : dict of class to (low, high) or None
        Bounds that you are sure of on how frequent a class is in the target.
    note, model_id : str or None
        What the certificate should remember: anything, and which classifier it is for.
    valid_until : str, datetime.date or None
        The last day on which the sets should be used, such as ``"2027-01-31"``.
    random_state : int, RandomState, Generator or None
        Seed of the coins that methods throw over the calibration data; None is 0.

    Attributes
    ----------
    certificate_ : Certificate
        What is guaranteed; after ``calibrate``.
    estimator_ : classifier
        The fitted model.
    classes_ : array of shape (K,)
        Class names, in the order of the columns of ``predict_set``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(6000, random_state=0)
    >>> model = PACClassifier(LogisticRegression(), epsilon=0.1, delta=0.05, method="PS-LW")
    >>> model = model.fit(X[:2000], y[:2000]).calibrate(X[2000:4000], y[2000:4000], X[4000:])
    >>> model.predict_set(X[:2]).shape, model.certificate_.guarantee
    ((2, 2), 'pac-target')
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        epsilon: float = EPSILON,
        delta: float = DELTA,
        method: str | Method = "PS-LP",
        score_function: str | TransformFunction = "probability",
        never_empty: bool = False,
        class_epsilon: float | None = None,
        class_balance: ClassBalance | None = None,
        contamination: float = 0.0,
        known_mix: Mapping[Any, Any] | None = None,
        note: str | None = None,
        model_id: str | None = None,
        valid_until: str | date | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.score_function = score_function
        self.never_empty = never_empty
        self.class_epsilon = class_epsilon
        self.class_balance = class_balance
        self.contamination = contamination
        self.known_mix = known_mix
        self.note = note
        self.model_id = model_id
        self.valid_until = valid_until
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> "PACClassifier":
        """Fit a clone of ``estimator``. This deletes an earlier certificate, which belonged to another model.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            Training features.
        y : array of shape (n,)
            Training labels.
        **fit_params
            Passed to the ``fit`` of the estimator.

        Returns
        -------
        PACClassifier
            The object itself.
        """
        self.__dict__.pop("certificate_", None)
        require_same_index(index_of(X), y, "fit", rows="X", what="y")
        labels = y if y is None else column_or_1d(y, warn=True)  # None: the estimator words that error itself
        self.estimator_ = clone(self._given()).fit(X, labels, **fit_params)
        return self

    def calibrate(
        self,
        X_source: Any,
        y_source: Any,
        X_target: Any = None,
        *,
        weights: Any = None,
        target_labels: Any = None,
        labels_per: LabelsPer | None = None,
        groups: Any = None,
        target_groups: Any = None,
        labelled: LabelSheet | str | os.PathLike[str] | None = None,
    ) -> "PACClassifier":
        """Compute the certificate from a labelled source and an unlabelled target, both not used in training.

        Parameters
        ----------
        X_source : array or frame of shape (m, d)
            Features of the source.
        y_source : array of shape (m,)
            Labels of the source.
        X_target : array or frame of shape (n, d), optional
            Features of the target. Methods that do not use the target (PS-LW, PS, ...) work without.
        weights : array of shape (K,), optional
            True importance weights, for ORACLE.
        target_labels : array or list of length n, optional
            Labels of a random sample of the rows of ``X_target``, None or NaN for the other rows. One look at one
            sample, whose rows are not in the source: another spends ``delta`` again.
        labels_per : {"row", "group"}, optional
            How rows were chosen to be labelled, where ``target_groups`` are given, as in ``pacshift.calibrate``.
        groups : array of shape (m,), optional
            Group of each row of ``X_source``, such as the patient, if several rows belong to one: one random row
            of each group is counted. The promise is then about a random row of a random group.
        target_groups : array of shape (n,), optional
            The same for ``X_target``.
        labelled : LabelSheet or path, optional
            A filled-in sheet, made by ``pacshift.label_sheet`` of ``predict_proba(X_target)`` (or else of
            ``decision_function``, two columns (-d, d) if it is binary). Instead of ``target_labels``.

        Returns
        -------
        PACClassifier
            The object itself, with ``certificate_``.

        Raises
        ------
        InputError
            If the data or a parameter break a rule.
        AssumptionError
            If the data refute label shift, the method promises something about the target, and there are no
            labels of the target.
        UnfinishedSheetError
            If the sheet is not filled in as far as its first look.
        """
        self.estimator_ = self._model()
        require_same_index(index_of(X_source), y_source, "source", rows="X_source", what="y_source")
        require_same_index(index_of(X_target), target_labels, "target", rows="X_target", what="target_labels")
        require_same_index(index_of(X_source), groups, "source", rows="X_source", what="groups")
        require_same_index(index_of(X_target), target_groups, "target", rows="X_target", what="target_groups")
        target = None if X_target is None else self._scores(X_target)
        certificate = calibrate(
            self._scores(X_source),
            column_or_1d(y_source, warn=True),
            target,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            classes=self._class_names(),
            score=self.score_function,
            weights=weights,
            rng=self._seed(),
            never_empty=self.never_empty,
            class_epsilon=self.class_epsilon,
            class_balance=self.class_balance,
            contamination=self.contamination,
            known_mix=self.known_mix,
            target_labels=target_labels,
            labels_per=labels_per,
            groups=groups,
            target_groups=target_groups,
            labelled=labelled,
            note=self.note,
            model_id=self.model_id,
            valid_until=self.valid_until,
        )
        if target is not None:
            counted = sample_groups(
                target,
                (),
                target,
                groups=None,
                target_groups=target_groups,
                classes=self._class_names(),
                target_labels=target_labels,
                labels_per=labels_per,
            ).target_scores
            assert counted is not None  # a target was given
            certificate = certificate.with_set_sizes(counted)
        self.certificate_ = certificate
        return self

    def predict_set(self, X: Any) -> Any:
        """Return the prediction sets as a boolean matrix.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            Features.

        Returns
        -------
        bool array of shape (n, K), or frame
            One row per example, one column per class of ``classes_``: True where the set contains the label. A
            frame if ``set_output`` asks for one; that of pandas has the index of ``X`` if ``X`` has one.

        Raises
        ------
        NotCalibratedError
            If ``calibrate`` was not called since the last ``fit``.
        """
        certificate = self._calibrated()
        sets = certificate.sets(self._scores(X))
        return to_frame(self._output(), sets, certificate.classes, index_of(X))

    def predict_labels(self, X: Any) -> list[list[Label]]:
        """Return the prediction sets as lists of class names, the most likely first.

        Parameters
        ----------
        X : array or frame of shape (n, d)
            Features.

        Returns
        -------
        list of list
            One list per example.

        Raises
        ------
        NotCalibratedError
            If ``calibrate`` was not called since the last ``fit``.
        """
        return self._calibrated().labels(self._scores(X))

    def set_output(self, *, transform: Output | None = None) -> "PACClassifier":
        """Choose what ``predict_set`` returns, as scikit-learn's transformers choose what ``transform`` returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            ``"default"`` is a NumPy array. None changes nothing. If this is never called,
            ``sklearn.set_config(transform_output=...)`` decides.

        Returns
        -------
        PACClassifier
            The object itself.

        Raises
        ------
        InputError
            If it is none of these.
        """
        if transform is not None and transform not in get_args(Output):
            raise InputError(f"set_output takes {', '.join(get_args(Output))} or None, got {transform!r}.")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # under this name clone copies it
        return self

    def _output(self) -> str:
        chosen: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        default: str = get_config()["transform_output"]
        return chosen.get("transform", default)

    def _calibrated(self) -> Certificate:
        self._model()
        certificate: Certificate | None = getattr(self, "certificate_", None)
        if certificate is None:
            raise NotCalibratedError(
                "This PACClassifier has no certificate yet, so it cannot make sets: call "
                "calibrate(X_source, y_source, X_target) first, with data that the estimator was not trained on "
                "(fit deletes an earlier certificate)."
            )
        return certificate

    def _seed(self) -> RngLike:
        """The seed of the coins; a ``RandomState``, which only scikit-learn knows, gives its next number."""
        if isinstance(self.random_state, np.random.RandomState):
            return int(self.random_state.randint(2**31 - 1))
        given: RngLike = self.random_state
        return given
