"""A classifier around a classifier: what scikit-learn asks of it, the one inside answers."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pacshift.arrays import Label
from pacshift.errors import InputError

Call = TypeVar("Call", bound=Callable[..., Any])


def _model_has(method: str) -> Callable[[Call], Call]:
    decorate: Callable[[Call], Call] = available_if(
        lambda self: hasattr(getattr(self, "estimator_", self._given()), method)
    )
    return decorate


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What ``PACClassifier`` leaves to its estimator: labels, probabilities, classes, features and tags."""

    estimator: Any

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

    def _class_names(self) -> list[Label]:
        classes = getattr(self._model(), "classes_", None)
        if classes is None or np.ndim(classes) != 1:
            raise InputError(
                f"{type(self._model()).__name__} must be a classifier with one list of classes in classes_, "
                f"got {classes!r}."
            )
        return list(classes)
