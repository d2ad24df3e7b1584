"""Label mixes, rows drawn to them, and populations of scored rows whose true error is known for any thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacshift.arrays import FloatArray, IntArray, Label, LabelsLike, ScoresLike, cached_property
from pacshift.errors import InputError
from pacshift.files.reading import read_arrays
from pacshift.scores.check import check_labels, check_rate, check_rng, check_scores, is_finite, not_finite_error
from pacshift.scores.frames import in_class_order, require_same_index
from pacshift.scores.transforms import softmax

ROUNDING = 1e-12
"""Relative rounding error that the sum of many shares may have."""

HARDEST_CLASS_LOSS = 0.25
"""Share of the strength that the last class lacks. Chosen so that a shift onto it hurts methods that ignore the
shift."""

BIAS = 0.3
"""Standard deviation of the bias that the logit of each class has: scores are not calibrated, but not absurd."""

GAP_UNIT = 1024
"""Stored scores are log-probability gaps to the row's largest, in units of 1/1024 (0.1 % of the value): two bytes
each."""


def tweak_one(n_classes: int, label: int, share: float) -> FloatArray:
    """Give one label a fixed share and divide the rest equally: the tweak-one mix of Lipton et al. (2018).

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    label : int
        Column index of the label whose share is given.
    share : float
        Its share, in [0, 1].

    Returns
    -------
    numpy.ndarray
        Label mix of length ``n_classes`` that adds up to 1.

    Raises
    ------
    InputError
        If the label is not a column index, or the share is outside [0, 1].

    Examples
    --------
    >>> tweak_one(4, 2, 0.7).round(3).tolist()
    [0.1, 0.1, 0.7, 0.1]
    """
    if n_classes < 2 or not 0 <= label < n_classes or not 0 <= share <= 1:
        raise InputError(f"tweak_one needs 0 <= label < n_classes and a share in [0, 1]; got {label}, {share}.")
    mix = np.full(n_classes, (1 - share) / (n_classes - 1))
    mix[label] = share
    return mix


def check_mix(mix: Any, n_classes: int) -> FloatArray:
    """Shares >= 0, one per class, scaled to add up to 1 (so percentages are welcome)."""
    try:
        shares = np.asarray(mix, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (n_classes,) or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise InputError(f"a label mix needs {n_classes} finite shares >= 0, not all 0; got {mix!r}.")
    return np.asarray(shares / shares.sum())


def check_row_weights(weights: Any, n_rows: int) -> FloatArray:
    """Weights >= 0, one per row; those of the rows of one label need not add up to 1."""
    values = np.asarray(weights, np.float64)
    if values.shape != (n_rows,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"row_weights must be {n_rows} finite numbers >= 0, one per row.")
    return values


def resample(labels: IntArray, mix: Any, size: int, rng: Any) -> IntArray:
    """Draw row numbers with replacement: a label from ``mix``, then a row of that label.

    The drawn rows follow the label shift from the base to ``mix``.

    Parameters
    ----------
    labels : array of int
        Column index (0 to K-1) of the true label of every row of the base.
    mix : array-like
        One share per class, in the order of the columns; scaled to add up to 1.
    size : int
        Number of rows to draw, at least 1.
    rng : int, numpy.random.Generator or None
        Seed or generator.

    Returns
    -------
    numpy.ndarray
        ``size`` row numbers.

    Raises
    ------
    InputError
        If the mix is not valid, or gives a share to a class without rows.

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 1])
    >>> rows = resample(labels, [0.5, 0.5], 1000, rng=0)
    >>> bool(abs(labels[rows].mean() - 0.5) < 0.05)
    True
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or size < 1:
        raise InputError(f"resample needs a list of column indices and a size >= 1; got {labels.dtype}, {size!r}.")
    n_classes = max(len(np.atleast_1d(mix)), 2)
    shares = check_mix(mix, n_classes)
    if not len(labels) or labels.min() < 0 or labels.max() >= n_classes:
        raise InputError(f"labels must be column indices 0 to {n_classes - 1}, at least one.")
    available = np.bincount(labels, minlength=n_classes)
    require_rows(available, shares)
    grouped = np.argsort(labels, kind="stable")
    first = np.concatenate([[0], np.cumsum(available)])
    rng = check_rng(rng)
    drawn = rng.choice(n_classes, size, p=shares)
    place = first[drawn] + (rng.random(size) * available[drawn]).astype(np.int64)
    return np.asarray(grouped[place])


def require_rows(available: NDArray[Any], shares: FloatArray) -> None:
    """Refuse a mix that gives a share to a class without rows."""
    lacking = np.flatnonzero((available == 0) & (shares > 0))
    if len(lacking):
        raise InputError(f"the mix asks for class {lacking[0]}, of which there are no rows to draw from.")


class Population:
    """A finite population of scored rows: the true error and size of any thresholds are known exactly.

    Draw source and target samples from it to any label mixes. Given its label, a row is equally likely on both
    sides, so label shift holds exactly. What a method achieves on the target is computed without a test sample.

    Parameters
    ----------
    scores : array-like of shape (n, K)
        One row per example, one column per class.
    labels : array-like of shape (n,)
        True label of every row, matched to ``classes`` by value.
    classes : sequence, optional
        Names of the columns; default: the column names of a frame, else 0 to K-1.
    row_weights : array-like of shape (n,), optional
        How likely each row is among the rows of its label; default: all rows of a label are equally likely.

    Attributes
    ----------
    scores : numpy.ndarray
        The scores.
    index : numpy.ndarray
        Column index of the true label of every row.
    classes : tuple
        Names of the columns.

    Raises
    ------
    InputError
        If scores, labels or weights do not fit together, or are not finite.

    Examples
    --------
    >>> from pacshift import Population, calibrate
    >>> population = Population.synthetic(3, strength=4, rng=0)
    >>> target_mix = [0.2, 0.3, 0.5]
    >>> source, labels = population.draw([0.6, 0.3, 0.1], 4000, rng=1)
    >>> target, _ = population.draw(target_mix, 4000, rng=2)
    >>> certificate = calibrate(source, labels, target, epsilon=0.1, delta=0.05)
    >>> population.error(certificate.thresholds, target_mix) <= 0.1
    True
    >>> best = population.best_threshold(0.1, target_mix)
    >>> population.error(best, target_mix) <= 0.1
    True
    """

    def __init__(
        self,
        scores: ScoresLike,
        labels: LabelsLike,
        *,
        classes: Sequence[Label] | None = None,
        row_weights: ArrayLike | None = None,
    ) -> None:
        matrix = check_scores(scores, name="population", classes=classes)
        if not is_finite(matrix.values):
            raise not_finite_error(matrix, "population")
        self.scores: NDArray[np.floating[Any]] = matrix.values
        self.classes = matrix.classes
        self.index = check_labels(
            labels, matrix.classes, n_rows=len(matrix), name="population", index=matrix.index
        )
        require_same_index(matrix.index, row_weights, "population", what="row_weights")
        self._row_weights = None if row_weights is None else check_row_weights(row_weights, len(matrix))

    @classmethod
    def synthetic(
        cls, classes: int | Sequence[Label], *, strength: float = 3.0, rows_per_class: int = 1000, rng: Any = None
    ) -> Population:
        """Make the scores of an imagined classifier: not calibrated, and worst on the last class.

        Parameters
        ----------
        classes : int or sequence
            Number of classes, or their names.
        strength : float
            How far the logit of the true label stands above the noise. At 4 and 10 classes about 4 of 5
            predictions are right; at 0 none is better than chance.
        rows_per_class : int
            Rows of every class.
        rng : int, numpy.random.Generator or None
            Seed or generator.

        Returns
        -------
        Population
            Probabilities of ``rows_per_class`` rows per class.

        Examples
        --------
        >>> Population.synthetic(["cat", "dog"], rows_per_class=5, rng=0).scores.shape
        (10, 2)
        """
        names = tuple(range(classes)) if isinstance(classes, int) else tuple(classes)
        index = np.repeat(np.arange(len(names)), rows_per_class)
        draw = check_rng(rng)
        logits = strength * np.eye(len(names))[index] + draw.gumbel(size=(len(index), len(names)))
        # With a bias per class the scores are not calibrated, like those of most trained classifiers.
        logits += draw.normal(0, BIAS, len(names))
        # A shift onto the hardest class hurts methods that ignore the shift.
        logits[index == len(names) - 1, -1] -= strength * HARDEST_CLASS_LOSS
        scores = same_everywhere(softmax(logits, single=False))
        return cls(scores, [names[place] for place in index], classes=names)

    def row_shares(self, mix: Any) -> FloatArray:
        """Compute the probability of every row under a label mix.

        Parameters
        ----------
        mix : array-like of shape (K,)
            Label mix of the population that is asked about; scaled to add up to 1.

        Returns
        -------
        numpy.ndarray of shape (n,)
            Probabilities that add up to 1.
        """
        per_class = self._class_shares(mix) / np.where(self._class_weight > 0, self._class_weight, 1)
        per_row = per_class[self.index]
        return np.asarray(per_row if self._row_weights is None else per_row * self._row_weights)

    def draw(self, mix: Any, size: int, rng: Any = None) -> tuple[NDArray[np.floating[Any]], NDArray[Any]]:
        """Draw independent rows with replacement: a label from ``mix``, then a row of that label.

        Parameters
        ----------
        mix : array-like of shape (K,)
            Label mix to draw to; scaled to add up to 1.
        size : int
            Number of rows.
        rng : int, numpy.random.Generator or None
            Seed or generator.

        Returns
        -------
        scores : numpy.ndarray of shape (size, K)
            Scores of the drawn rows.
        labels : numpy.ndarray of shape (size,)
            Their true labels, by name.
        """
        if self._row_weights is None:
            rows = resample(self.index, mix, size, rng)
        else:
            share = self.row_shares(mix)
            rows = check_rng(rng).choice(len(share), size, p=share / share.sum())
        alike = len({type(name) for name in self.classes}) == 1
        dtype = None if alike else object  # NumPy would turn a 1 among texts into '1'
        names = np.array(self.classes, dtype=dtype)
        return self.scores[rows], names[self.index[rows]]

    def class_error(self, thresholds: Any) -> FloatArray:
        """Compute for every class the share of its rows whose set misses the true label.

        Parameters
        ----------
        thresholds : float or array-like of shape (K,)
            A label is in the set where its score is at least its threshold.

        Returns
        -------
        numpy.ndarray of shape (K,)
            Error per class; NaN for a class without rows.
        """
        return self._by_class(self._true_scores < self._per_class(thresholds)[self.index])

    def class_size(self, thresholds: Any) -> FloatArray:
        """Compute for every true class the mean number of labels per set.

        Parameters
        ----------
        thresholds : float or array-like of shape (K,)
            A label is in the set where its score is at least its threshold.

        Returns
        -------
        numpy.ndarray of shape (K,)
            Mean size per class; NaN for a class without rows.
        """
        return self._by_class(np.count_nonzero(self.scores >= self._per_class(thresholds), axis=1))

    def error(self, thresholds: Any, mix: Any) -> float:
        """Compute the true error: the probability that a set misses the true label.

        Parameters
        ----------
        thresholds : float or array-like of shape (K,)
            A label is in the set where its score is at least its threshold.
        mix : array-like of shape (K,)
            Label mix of the population that is asked about; scaled to add up to 1.

        Returns
        -------
        float
            The error, exact up to rounding.
        """
        return self._mean(self.class_error(thresholds), mix)

    def size(self, thresholds: Any, mix: Any) -> float:
        """Compute the true mean number of labels per set.

        Parameters
        ----------
        thresholds : float or array-like of shape (K,)
            A label is in the set where its score is at least its threshold.
        mix : array-like of shape (K,)
            Label mix of the population that is asked about; scaled to add up to 1.

        Returns
        -------
        float
            The mean size, exact up to rounding.
        """
        return self._mean(self.class_size(thresholds), mix)

    def empty(self, thresholds: Any, mix: Any) -> float:
        """Compute the true share of empty sets.

        Parameters
        ----------
        thresholds : float or array-like of shape (K,)
            A label is in the set where its score is at least its threshold.
        mix : array-like of shape (K,)
            Label mix of the population that is asked about; scaled to add up to 1.

        Returns
        -------
        float
            The share, exact up to rounding.
        """
        sizes = np.count_nonzero(self.scores >= self._per_class(thresholds), axis=1)
        return self._mean(self._by_class(sizes == 0), mix)

    def best_threshold(self, epsilon: float, mix: Any) -> float:
        """Find the largest single threshold whose error under ``mix`` is at most ``epsilon``.

        Its sets are the smallest that any method with one threshold for all classes can give.

        Parameters
        ----------
        epsilon : float
            Allowed error, strictly between 0 and 1.
        mix : array-like of shape (K,)
            Label mix of the population that is asked about; scaled to add up to 1.

        Returns
        -------
        float
            The threshold.

        Examples
        --------
        >>> scores = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]
        >>> Population(scores, [0, 0, 1, 1]).best_threshold(0.3, [1, 1])
        0.7
        """
        allowed = check_rate(epsilon, "epsilon") * (1 + ROUNDING)
        order = np.argsort(self._true_scores)
        missed = np.cumsum(self.row_shares(mix)[order])  # by a threshold just above each score
        position = int(np.searchsorted(missed, allowed, side="right"))
        return float(self._true_scores[order][min(position, len(order) - 1)])

    @cached_property
    def _true_scores(self) -> NDArray[np.floating[Any]]:
        return np.asarray(self.scores[np.arange(len(self.index)), self.index])

    @cached_property
    def _class_weight(self) -> NDArray[Any]:
        return np.bincount(self.index, self._row_weights, minlength=len(self.classes))

    def _class_shares(self, mix: Any) -> FloatArray:
        shares = check_mix(in_class_order(mix, self.classes, "mix"), len(self.classes))
        require_rows(self._class_weight, shares)
        return shares

    def _per_class(self, thresholds: Any) -> FloatArray:
        return np.broadcast_to(np.asarray(thresholds, np.float64), len(self.classes))

    def _by_class(self, values: NDArray[Any]) -> FloatArray:
        """Mean of a value per row over the rows of each class; weights of 1 keep the sums exact."""
        weighted = values if self._row_weights is None else values * self._row_weights
        sums = np.bincount(self.index, weighted, minlength=len(self.classes))
        with np.errstate(invalid="ignore"):  # a class without rows: NaN
            return np.asarray(sums / self._class_weight)

    def _mean(self, by_class: FloatArray, mix: Any) -> float:
        shares = self._class_shares(mix)
        # A sum, not `@`: the same bits on any number of BLAS threads.
        return float((shares * by_class)[shares > 0].sum())


def same_everywhere(scores: NDArray[np.floating[Any]]) -> FloatArray:
    """Scores rounded to single precision, so that they are the same on every processor.

    Processors disagree about the last bits of an exponential, and coins depend on every bit (tally/coins.py).
    """
    return scores.astype(np.float32).astype(np.float64)


def heart_arrays() -> dict[str, NDArray[Any]]:
    """The scores of a real model that the package ships, for ``pacshift demo``: heart disease in a health survey.

    Gaps, labels, class_names, row_ids, and facts about the model as JSON.
    """
    with resources.as_file(resources.files("pacshift.simulate") / "heart.npz") as path:
        return read_arrays(path)


def unpack_scores(gaps: NDArray[np.uint16]) -> FloatArray:
    """Turn stored gaps back into probabilities; rows sum to 1.

    >>> unpack_scores(np.array([[0, 1283, 1993]], np.uint16)).round(3)
    array([[0.7, 0.2, 0.1]])
    """
    shares = np.exp(-gaps.astype(np.float64) / GAP_UNIT)
    return same_everywhere(np.asarray(shares / shares.sum(axis=1, keepdims=True)))
