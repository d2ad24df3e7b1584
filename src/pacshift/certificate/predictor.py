"""Sets of one row at a time, for services: what can be prepared is prepared once.

``Certificate.sets`` looks for columns, kinds of scores and cores at every call, which takes sixty times as
long as the comparison itself. A ``Predictor`` compares at once where a quick look shows that a row is sound and of
the kind that the thresholds belong to. Whatever the quick look cannot tell goes the long way, which refuses or
answers.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pacshift.arrays import BoolArray, Label, ScoresLike
from pacshift.rows.rows import Rows
from pacshift.scores.check import as_rows, is_row
from pacshift.scores.frames import to_floats
from pacshift.scores.kind import FEWEST_ROWS, Row, fast_row_check
from pacshift.scores.transforms import Transform, softmax_of_row

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class Predictor:
    """Makes the sets of a certificate for one row or a few; ``Certificate.predictor`` makes it.

    It gives what ``Certificate.sets`` gives, bit for bit, and refuses what that refuses.

    Parameters
    ----------
    certificate : Certificate
        Its thresholds.
    transform : Transform
        How its scores are transformed before they are compared.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, names = [[0.9, 0.1], [0.2, 0.8]] * 50, ["cat", "dog"]
    >>> certificate = calibrate(scores, names * 50, None, method="PS-LW", epsilon=0.2, classes=names)
    >>> predictor = certificate.predictor()
    >>> predictor.sets([0.95, 0.05]), predictor.labels([0.95, 0.05])
    (array([ True, False]), ['cat'])
    """

    def __init__(self, certificate: "Certificate", transform: Transform) -> None:
        self._certificate = replace(certificate, transform=transform)
        self._transform, self._is_plain = transform, transform.function is None
        self._softmax = certificate.softmax
        self._shape = (len(certificate.classes),)
        self._makers = {
            kind: certificate.rule.maker(kind if self._is_plain else _DOUBLE)
            for kind in (_SINGLE, _DOUBLE)
            if kind != _SINGLE or certificate.fits_single
        }
        self._ones = {kind: np.ones(self._shape, kind) for kind in self._makers}
        self._is_usual = fast_row_check(certificate.score_kind, softmax=certificate.softmax)

    def sets(self, scores: ScoresLike | Rows) -> BoolArray:
        """Whether each label is in the set of a row, or of a few rows.

        Parameters
        ----------
        scores : array or list of shape (K,) or (n, K)
            Scores in the order of ``classes``. Arrays of float32 or float64 are fastest. Frames are not for this:
            ``Certificate.sets`` finds their columns by name.

        Returns
        -------
        numpy.ndarray of bool
            Of the shape of the scores.

        Raises
        ------
        InputError
            As from ``Certificate.sets``: if the shape is wrong, a score is NaN or +inf, or the scores are plainly
            of another kind than those of the calibration.
        """
        if isinstance(scores, (list, tuple)):
            scores = to_floats(scores, "scores")
        if type(scores) is np.ndarray:
            if scores.shape == self._shape:
                members = self._one(scores)
                if members is not None:
                    return members
            elif scores.ndim == 2 and 0 < len(scores) < FEWEST_ROWS and scores.shape[1:] == self._shape:
                few = [self._one(row) for row in scores]
                if all(one is not None for one in few):
                    return np.array(few)
        return np.asarray(self._certificate.sets(scores))

    def labels(self, scores: ScoresLike | Rows) -> list[Any]:
        """The class names in the set of a row, the most likely first; of several rows, one list each.

        Parameters
        ----------
        scores : array or list of shape (K,) or (n, K)
            As in ``sets``.

        Returns
        -------
        list
            Class names for one row, lists of class names for several.

        Raises
        ------
        InputError
            As from ``sets``.
        """
        if not isinstance(scores, (np.ndarray, list, tuple)):
            rows = as_rows(scores, *self._shape) if is_row(scores) else scores
            lists = list(self._certificate.labels(rows))
            return list(lists[0]) if is_row(scores) else lists
        values = to_floats(scores, "scores")
        sets = self.sets(values)
        if sets.ndim == 1:
            return self._list_labels(sets, values)
        return [self._list_labels(members, row) for members, row in zip(sets, values, strict=True)]

    def _list_labels(self, members: BoolArray, row: Row) -> list[Label]:
        values = softmax_of_row(row) if self._softmax else row  # two logits may become one probability
        places = np.flatnonzero(members)
        order = places[np.argsort(-values[places], kind="stable")]
        return [self._certificate.classes[place] for place in order.tolist()]

    def _one(self, row: Row) -> BoolArray | None:
        """The set of a row; None where the quick look does not suffice."""
        kind = row.dtype
        make = self._makers.get(kind)
        if make is None or not self._is_usual(row, self._ones[kind]):
            return None
        if self._softmax:
            row = softmax_of_row(row)
        return make(row if self._is_plain else self._transform.apply(row[None])[0], row, None)
