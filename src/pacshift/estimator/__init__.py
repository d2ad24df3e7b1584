"""scikit-learn: a classifier that answers with sets, and a scorer that compares models by them."""

from pacshift.errors import MissingExtraError

try:
    import sklearn as _sklearn  # noqa: F401  # said here once, so that the modules below can just import it
except ModuleNotFoundError as error:
    raise MissingExtraError("PACClassifier", error, "sklearn") from None

from pacshift.estimator.classifier import NotCalibratedError, PACClassifier
from pacshift.estimator.scorer import set_scorer

__all__ = ["NotCalibratedError", "PACClassifier", "set_scorer"]
