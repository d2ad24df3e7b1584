"""scikit-learn: a classifier that answers with sets, and a scorer that compares models by them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import Label, RngLike
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError, LabelCommands, MissingExtraError, PacshiftError, Speech, in_python, speak
from pacshift.labels.refusal import Attempt
from pacshift.labels.sheet import LabelSheet, label_sheet
from pacshift.methods import Method
from pacshift.rows.rows import Rows
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.check import check_flag
from pacshift.scores.frames import index_of, require_same_index, to_frame
from pacshift.scores.transforms import TransformFunction

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.utils import column_or_1d, get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted
except ModuleNotFoundError as error:
    raise MissingExtraError("PACClassifier", error, "sklearn") from None

__all__ = ["NotCalibratedError", "PACClassifier", "set_scorer"]

Call = TypeVar("Call", bound=Callable[..., Any])
Output: TypeAlias = Literal["default", "pandas", "polars"]
"""What ``predict_set`` may return: an array, or a frame."""


def _model_has(method: str) -> Callable[[Call], Call]:
    decorate: Callable[[Call], Call] = available_if(
        lambda self: hasattr(getattr(self, "estimator_", self._given()), method)
    )
    return decorate


class NotCalibratedError(PacshiftError, NotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """Raised if sets are asked for before ``calibrate``."""


class PACClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
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
    score_function : str, callable or None
        The score to threshold: ``score`` of ``pacshift.calibrate``. scikit-learn uses that name for the accuracy.
    never_empty : bool
        Fill empty sets with the top label, as ``Certificate.without_empty_sets`` does.
    class_epsilon : float or None
        Share of any one class that the sets may miss, promised besides ``epsilon``. With ``contamination`` it is
        promised for the label-shifted part of the target, or, where target labels certify instead (PS-T), for the
        cases that have a class.
    contamination : float
        A share of the target that may be anything; the promise of ``epsilon`` holds even so. Below ``epsilon``.
    known_mix : dict of class to (low, high) or None
        Bounds that you are sure of on how frequent a class is in the target.
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
        score_function: str | TransformFunction | None = None,
        never_empty: bool = False,
        class_epsilon: float | None = None,
        contamination: float = 0.0,
        known_mix: Mapping[Any, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.score_function = score_function
        self.never_empty = never_empty
        self.class_epsilon = class_epsilon
        self.contamination = contamination
        self.known_mix = known_mix
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> PACClassifier:
        """Fit a clone of ``estimator``. This first deletes an earlier model and its certificate.

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
        with self._replace("fit", "estimator_", "certificate_"):
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
        target_labels: Any = None,
        groups: Any = None,
        target_groups: Any = None,
        labelled: LabelSheet | str | os.PathLike[str] | None = None,
    ) -> PACClassifier:
        """Compute the certificate from a labelled source and an unlabelled target, both not used in training.

        This first deletes an earlier certificate: after an error there are no sets.

        Parameters
        ----------
        X_source : array or frame of shape (m, d)
            Features of the source.
        y_source : array of shape (m,)
            Labels of the source.
        X_target : array or frame of shape (n, d), optional
            Features of the target. Methods that do not use the target (PS-LW, PS, ...) work without.
        target_labels : array or list of length n, optional
            Labels of a random sample of the rows of ``X_target``, None or NaN for the other rows. One look at one
            sample, whose rows are not in the source: another spends ``delta`` again.
        groups : array of shape (m,), optional
            Group of each row of ``X_source``, such as the patient, if several rows belong to one: one random row
            of each group is counted. The promise is then about a random row of a random group.
        target_groups : array of shape (n,), optional
            The same for ``X_target``.
        labelled : LabelSheet or path, optional
            A filled-in sheet, made by ``label_sheet(X_target, ...)``. Instead of ``target_labels``.

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
        with self._replace("calibrate", "certificate_"):
            self.estimator_ = self._model()
            require_same_index(index_of(X_source), y_source, "source", rows="X_source", what="y_source")
            require_same_index(index_of(X_target), target_labels, "target", rows="X_target", what="target_labels")
            require_same_index(index_of(X_source), groups, "source", rows="X_source", what="groups")
            require_same_index(index_of(X_target), target_groups, "target", rows="X_target", what="target_groups")
            source, target = self._scores(X_source), None if X_target is None else self._scores(X_target)
            classes = getattr(self.estimator_, "classes_", None)
            if classes is None or np.ndim(classes) != 1:
                raise InputError(
                    f"{type(self.estimator_).__name__} must be a classifier with one list of classes in classes_, "
                    f"got {classes!r}."
                )
            seed: RngLike = self.random_state
            if isinstance(seed, np.random.RandomState):  # which only scikit-learn knows: it gives its next number
                seed = int(seed.randint(2**31 - 1))
            if target is None and not (target_labels is None and target_groups is None):
                raise InputError("target_labels and target_groups are about X_target, which is None. Pass it too.")
            never_empty = check_flag(self.never_empty, "never_empty")
            # All others are called as in calibrate.
            apart = ("estimator", "score_function", "random_state", "never_empty")
            options = {name: value for name, value in self.get_params(deep=False).items() if name not in apart}
            with speak(_EstimatorSpeech()):
                self.certificate_ = calibrate(
                    Rows(source, column_or_1d(y_source, warn=True), classes=list(classes), groups=groups),
                    target=None if target is None else Rows(target, target_labels, groups=target_groups),
                    score=self.score_function,
                    rng=seed,
                    labelled=labelled,
                    **options,
                )
            if never_empty:
                self.certificate_ = self.certificate_.without_empty_sets()
        return self

    def label_sheet(
        self, X_target: Any, *, budget: int, looks: Sequence[int] = (), keep: Any = None, groups: Any = None
    ) -> LabelSheet:
        """Draw rows of the target to be labelled, in random order: after a refusal, or to assume nothing.

        Save the sheet, fill it in from the top, and pass it to ``calibrate`` with the same ``X_target``:
        ``model.calibrate(X_source, y_source, X_target, labelled="to_label.csv")``.

        Parameters
        ----------
        X_target : array or frame of shape (n, d)
            Features of the target.
        budget : int
            How many rows to label at most.
        looks : sequence of int, optional
            After how many labels you want to look before the budget is used up, increasing.
        keep : frame, dict of columns, or list of columns of ``X_target``, optional
            What to copy into the sheet for those who label, such as an id or a text, one entry per row.
        groups : array of shape (n,), optional
            Group of each row, such as the patient, as ``target_groups`` of ``calibrate``.

        Returns
        -------
        LabelSheet
            ``sheet.save("to_label.csv")`` writes it for a spreadsheet. Its random order has a seed of its own, not
            ``random_state``.

        Raises
        ------
        InputError
            As from ``pacshift.label_sheet``.
        """
        if isinstance(keep, (list, tuple)):
            if index_of(X_target) is None:
                raise InputError("keep names columns, but X_target is no pandas frame. Pass a dict of columns.")
            keep = X_target[list(keep)]
        return label_sheet(
            Rows(self._scores(X_target), groups=groups),
            budget=budget,
            looks=looks,
            epsilon=self.epsilon,
            delta=self.delta,
            keep=keep,
            classes=list(self.classes_),
        )

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
            If the last ``fit`` or ``calibrate`` left no certificate.
        """
        certificate = self._require_certificate()
        sets = certificate.sets(self._scores(X))
        chosen: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        library = chosen.get("transform", get_config()["transform_output"])
        return to_frame(library, sets, certificate.classes, index_of(X))

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
            If the last ``fit`` or ``calibrate`` left no certificate.
        """
        return self._require_certificate().labels(self._scores(X))

    def set_output(self, *, transform: Output | None = None) -> PACClassifier:
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

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the estimator's own single label per row, not a set.

        Parameters
        ----------
        X : array_like
            Rows to classify.

        Returns
        -------
        numpy.ndarray of shape (n,)
            One class per row.
        """
        return np.asarray(self._model().predict(X))

    @_model_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the estimator's own probabilities."""
        return np.asarray(self._model().predict_proba(X))

    @_model_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the estimator's own decision values."""
        return np.asarray(self._model().decision_function(X))

    @property
    def classes_(self) -> NDArray[Any]:
        """Class names, in the order of the columns of ``predict_set``."""
        return np.asarray(self._model().classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of features that the estimator was fitted on."""
        return int(self._model().n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if the estimator was fitted on a frame."""
        return np.asarray(self._model().feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        try:
            self._model()
        except NotFittedError:
            return False
        return True

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._given())
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:  # never its multi-label tags: here a row has one label
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags

    @contextmanager
    def _replace(self, step: str, *names: str) -> Iterator[None]:
        """Forget what a step makes anew before it starts, and remember how it failed."""
        for name in (*names, "_failure"):
            self.__dict__.pop(name, None)
        try:
            yield
        except Exception as error:
            self._failure = f" (its last {step} ended with {type(error).__name__}: {error})"
            raise

    def _require_certificate(self) -> Certificate:
        self._model()
        certificate: Certificate | None = getattr(self, "certificate_", None)
        if certificate is None:
            why = getattr(self, "_failure", "")
            raise NotCalibratedError(
                f"This PACClassifier has no certificate{why}, so it cannot make sets: call "
                "calibrate(X_source, y_source, X_target) first, with data that the estimator was not trained on "
                "(fit and calibrate delete an earlier certificate before they start)."
            )
        return certificate

    def _model(self) -> Any:
        """The model made by `fit`, or else the given one, which must then be fitted."""
        model = getattr(self, "estimator_", None)
        if model is None:
            model = self._given()
            check_is_fitted(
                model,
                msg="The estimator of this PACClassifier is not fitted yet: call fit(X, y) first, "
                "or pass an estimator that is fitted.",
            )
        return model

    def _given(self) -> Any:
        """The estimator, or the default one, which is not fitted."""
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _scores(self, X: Any) -> NDArray[Any]:
        model = self._model()
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(X))
        if not hasattr(model, "decision_function"):
            raise InputError(f"{type(model).__name__} has neither predict_proba nor decision_function.")
        values = np.asarray(model.decision_function(X))
        return np.column_stack([-values, values]) if values.ndim == 1 else values


class _EstimatorSpeech(Speech):
    """Lines of this estimator: it takes features where ``pacshift.label_sheet`` takes scores."""

    def label_commands(self, attempt: Attempt) -> LabelCommands:
        *looks, budget = attempt.looks
        groups = ", groups=target_groups" if attempt.has_target_groups else ""
        method = "" if attempt.with_method is None else f"set_params(method={attempt.with_method!r})."
        return in_python(
            f"model.label_sheet(X_target, budget={budget}, looks={tuple(looks)}{groups}).save('to_label.csv')",
            f"model.{method}calibrate(..., labelled='to_label.csv')",
        )


def set_scorer(X_target: Any = None) -> Callable[[Any, Any, Any], float]:
    """A scorer for ``cross_val_score`` and ``GridSearchCV``: minus the mean number of labels in a set.

    Every set of a ``PACClassifier`` keeps its promise, so the model with the smaller sets is the better one. In
    each fold the classifier, trained on the other folds, is calibrated on the rows of this fold. Its sets on the
    target are counted; this needs no labels there. The certificates serve to compare and are thrown away:
    calibrate the model that wins on rows that took no part in its choice.

    Parameters
    ----------
    X_target : array or frame of shape (n, d), optional
        Features of the target. Default: a random half of each fold, which is then not calibrated on; so models
        are compared without a shift.

    Returns
    -------
    callable
        The scorer, for ``scoring=``. It can be pickled.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(6000, random_state=0)
    >>> model = PACClassifier(epsilon=0.05, method="PS-LW")
    >>> scores = cross_val_score(model, X[:4000], y[:4000], cv=2, scoring=set_scorer(X[4000:]))
    >>> [bool(-2 <= score < 0) for score in scores]
    [True, True]
    """
    return partial(_minus_set_size, X_target)


def _minus_set_size(X_target: Any, model: Any, X: Any, y: Any) -> float:
    if not isinstance(model, PACClassifier):
        raise InputError(
            f"set_scorer scores a PACClassifier, got {type(model).__name__}. Wrap the model, or the whole "
            "pipeline: PACClassifier(make_pipeline(...))."
        )
    if X_target is None:
        X, X_target, y, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    sizes = copy(model).calibrate(X, y, X_target).certificate_.set_sizes
    assert sizes is not None  # there is a target
    return -mean_and_empty(sizes)[0]
