"""Choosing a model by the size of its sets, in the cross-validation of scikit-learn."""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from sklearn.model_selection import train_test_split

from pacshift.errors import InputError
from pacshift.estimator.classifier import PACClassifier
from pacshift.rows.sets import mean_and_empty


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
