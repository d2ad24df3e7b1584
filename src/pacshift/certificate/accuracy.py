"""The classifier's own accuracy in words, where its bound tells anything."""

from typing import TYPE_CHECKING

from pacshift.bounds import Interval
from pacshift.words.numbers import at_least, at_most

if TYPE_CHECKING:
    from pacshift.certificate import Certificate


def accuracy_in_words(certificate: "Certificate") -> str:
    """The least accuracy of the classifier itself; "" where the bound says nothing."""
    if not tells_accuracy(certificate.accuracy, certificate.prevalence, len(certificate.classes)):
        return ""
    assert certificate.accuracy is not None  # else there is nothing to tell
    beside = guessing_in_words(certificate.prevalence)
    least = at_least(certificate.accuracy)
    return f"The classifier's own accuracy on the target is {least} (same confidence, same assumption){beside}."


def tells_accuracy(least: float | None, mix: Interval | None, n_classes: int) -> bool:
    """Whether a lower bound of the accuracy tells anything: more than guessing, or one class for all, reaches.

    >>> tells_accuracy(0.425, None, 2), tells_accuracy(0.425, None, 10)
    (False, True)
    """
    sure = 1 / n_classes if mix is None else max(1 / n_classes, float(mix.lower.max()))
    return least is not None and least > sure


def guessing_in_words(mix: Interval | None) -> str:
    """What naming one class for all cases would reach, to compare an accuracy with; "" if it is not known."""
    if mix is None:
        return ""
    return f"; always naming the most frequent class would be right for {at_most(float(mix.upper.max()))}"
