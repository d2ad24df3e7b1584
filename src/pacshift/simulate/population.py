"""A population of scored rows, where the true error of any thresholds is known."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacshift.arrays import FloatArray, IntArray, Label, LabelsLike, ScoresLike
from pacshift.scores.check import check_labels, check_rate, check_rng, check_scores, is_finite, not_finite_error
from pacshift.scores.frames import in_class_order, require_same_index
from pacshift.simulate.best import cheapest_thresholds, highest_threshold
from pacshift.simulate.mix import check_mix, check_row_weights, require_rows, resample
from pacshift.simulate.synthetic import synthetic_scores

ROUNDING = 1e-12
"""Relative rounding error that the sum of many shares may have."""


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
    ) -> "Population":
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
        scores = synthetic_scores(index, len(names), strength, check_rng(rng))
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

    def _draw_rows(self, mix: Any, size: int, rng: Any) -> IntArray:
        if self._row_weights is None:
            return resample(self.index, mix, size, rng)
        share = self.row_shares(mix)
        return np.asarray(check_rng(rng).choice(len(share), size, p=share / share.sum()))

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
        rows = self._draw_rows(mix, size, rng)
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
        return highest_threshold(self._true_scores, self.row_shares(mix), allowed)

    def best_class_thresholds(self, epsilon: float, mix: Any, *, class_epsilon: float = 1.0) -> FloatArray:
        """Find the thresholds per class with the smallest sets whose error under ``mix`` is at most ``epsilon``.

        By default a class may be missed always, if that makes the sets smallest. The search goes along the convex
        hull of error and size, so it is exact up to a few rows per class; without a limit per class it is never
        worse than the best single threshold.

        Parameters
        ----------
        epsilon : float
            Allowed error, strictly between 0 and 1.
        mix : array-like of shape (K,)
            Label mix of the population that is asked about; scaled to add up to 1.
        class_epsilon : float, default 1
            No class may be missed more often than this.

        Returns
        -------
        numpy.ndarray of shape (K,)
            One threshold per class; infinite for a class that is in no set.
        """
        allowed, most = check_rate(epsilon, "epsilon") * (1 + ROUNDING), class_epsilon * (1 + ROUNDING)
        found = cheapest_thresholds(self.scores, self.index, self.row_shares(mix), allowed, most)
        if class_epsilon < 1:
            return found
        single = np.full(len(self.classes), self.best_threshold(epsilon, mix))
        return min(found, single, key=lambda thresholds: self.size(thresholds, mix))

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
